"""A small check of values against JSON Schema, as far as our OpenAPI description uses it."""

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "null": type(None),
}
KNOWN = {
    *("type", "properties", "required", "items", "enum", "anyOf", "oneOf", "$ref", "description"),
    *("minimum", "maxItems", "additionalProperties", "format", "default"),
}


def resolve(schema, document):
    """What a reference stands for."""
    while "$ref" in schema:
        found = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        schema = found
    return schema


def fits(value, schema, document):
    """Whether a value is as a schema says."""
    schema = resolve(schema, document)
    assert schema.keys() <= KNOWN, schema.keys() - KNOWN
    return all(test(value, schema, document) for test in (_type, _choices, _object, _array))


def _type(value, schema, document):
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    is_number = isinstance(value, bool) and not {"boolean"} & {*kinds}
    fitting = [kind for kind in kinds if isinstance(value, TYPES[kind]) and not is_number]
    return bool(fitting or not kinds) and not ("minimum" in schema and value < schema["minimum"])


def _choices(value, schema, document):
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "oneOf" in schema and sum(fits(value, one, document) for one in schema["oneOf"]) != 1:
        return False
    return "anyOf" not in schema or any(fits(value, one, document) for one in schema["anyOf"])


def _object(value, schema, document):
    if not isinstance(value, dict):
        return True
    named, others = schema.get("properties", {}), schema.get("additionalProperties", {})
    parts = ((one, named.get(name, others)) for name, one in value.items())
    return {*schema.get("required", [])} <= {*value} and all(
        fits(one, part, document) for one, part in parts
    )


def _array(value, schema, document):
    if not isinstance(value, list):
        return True
    is_short = len(value) <= schema.get("maxItems", len(value))
    return is_short and all(fits(one, schema.get("items", {}), document) for one in value)
