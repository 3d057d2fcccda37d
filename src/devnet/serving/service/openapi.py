"""The OpenAPI description of the service, with the columns of the model in use."""

from typing import Any

import pyarrow as pa

from devnet.serving.service.arrow_rows import ARROW
from devnet.serving.service.json_columns import NUMBERS, JsonColumn
from devnet.serving.service.limits import Limits
from devnet.serving.service.metrics import CONTENT_TYPE
from devnet.serving.service.refusal import JSON
from devnet.serving.service.served_model import ServedModel

Json = dict[str, Any]
VERSION = "3.1.0"
REFUSALS = {
    "400": "The body or the address cannot be read.",
    "401": "The token is missing or wrong.",
    "406": "Neither JSON nor Arrow is accepted.",
    "408": "The body did not arrive in time.",
    "413": "There is more than is taken at once.",
    "415": "The body is neither JSON nor Arrow.",
    "422": "A row or a column does not fit the model; row, column and value say which.",
    "500": "The service failed.",
    "503": "Too much is asked for at once, or it took too long; try again.",
}
_PAIRS = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["index", "value"],
        "properties": {"index": {"type": "integer", "minimum": 0}, "value": {"type": "number"}},
    },
}
_KINDS: dict[str, Json] = {
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "text": {"type": "string"},
    "list": _PAIRS,
}
_NUMBERS = {"type": "array", "items": {"type": ["number", "null"]}}
_TEXTS = {"type": "array", "items": {"type": "string"}}


def openapi(model: ServedModel, limits: Limits) -> Json:
    """The description as JSON values."""
    return {
        "openapi": VERSION,
        "info": {
            "title": "devnet",
            "version": model.fingerprint[:12],
            "description": "Scores of rows by a model of anomalies. The version is that of the "
            "model file: the beginning of its SHA-256.",
        },
        "security": [{"token": []}],
        "paths": {
            "/score": {"post": _score(limits)},
            "/health": {
                "get": {
                    **_read("Whether it answers, and by which model.", "Health", []),
                    "security": [],
                }
            },
            "/metrics": {"get": _metrics()},
            "/schema": {"get": _read("The columns that rows need.", "Schema", ["401"])},
            "/openapi.json": {"get": _read("This description.", None, ["401"])},
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": _schemas(model, limits),
            "responses": {f"Refused{status}": _refused(text) for status, text in REFUSALS.items()},
        },
    }


def _score(limits: Limits) -> Json:
    arrow = {ARROW: {"schema": {"type": "string", "format": "binary"}}}
    return {
        "summary": "Score rows.",
        "description": f"At most {limits.n_rows:,} rows and {limits.n_bytes:,} bytes.",
        "parameters": [
            {
                "name": "reasons",
                "in": "query",
                "description": "Which rows are to have reasons, of at most "
                f"{limits.n_reasons_rows:,} rows.",
                "schema": {"type": "string", "enum": ["none", "alerts", "all"], "default": "none"},
            }
        ],
        "requestBody": {
            "required": True,
            "content": {JSON: {"schema": _ref("Request")}, **arrow},
        },
        "responses": {
            "200": {
                "description": "A score for each row, in order.",
                "content": {JSON: {"schema": _ref("Answer")}, **arrow},
            },
            **_refusals(list(REFUSALS)),
        },
    }


def _read(summary: str, schema: str | None, refusals: list[str]) -> Json:
    content = {JSON: {"schema": {"type": "object"} if schema is None else _ref(schema)}}
    return {
        "summary": summary,
        "responses": {
            "200": {"description": summary, "content": content},
            **_refusals([*refusals, "500"]),
        },
    }


def _metrics() -> Json:
    summary = "What is counted, as Prometheus reads it."
    content = {CONTENT_TYPE: {"schema": {"type": "string"}}}
    answer = {"200": {"description": summary, "content": content}}
    return {"summary": summary, "responses": {**answer, **_refusals(["401", "500"])}}


def _refusals(statuses: list[str]) -> Json:
    return {one: {"$ref": f"#/components/responses/Refused{one}"} for one in statuses}


def _refused(description: str) -> Json:
    return {"description": description, "content": {JSON: {"schema": _ref("Refusal")}}}


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _schemas(model: ServedModel, limits: Limits) -> Json:
    text, number, array = {"type": "string"}, {"type": "number"}, {"type": "array"}
    rows = {**array, "items": _ref("Row"), "maxItems": limits.n_rows}
    return {
        "Row": {
            "type": "object",
            "description": "A value by column; null where it is missing. Every column of the "
            "model must be in some row. Other columns are ignored, with a note.",
            "properties": {one.name: _value(one) for one in model.json_columns},
        },
        "Request": {"oneOf": [rows, _object({"rows": rows})]},
        "ScoredRow": _scored_row(model),
        "Answer": _object(
            {"rows": {**array, "items": _ref("ScoredRow")}, "notes": _TEXTS, "model": text}
        ),
        "Refusal": {
            **_object({"error": text}),
            "properties": {"error": text, "row": {"type": "integer"}, "column": text, "value": {}},
        },
        "Health": {
            **_object({"status": {**text, "enum": ["ok", "stale"]}, "model": text, "since": text}),
            "description": "Stale if a newer model file cannot be used.",
        },
        "Schema": _object(
            {
                "model": text,
                "columns": {
                    **array,
                    "items": _object(
                        {
                            "name": text,
                            "kind": text,
                            "takes": text,
                            "arrow_type": text,
                            "missing_in_training": number,
                        }
                    ),
                },
                "id_column": {"type": ["string", "null"]},
                "ignored": _TEXTS,
                "answer": {**array, "items": _object({"name": text, "arrow_type": text})},
                "threshold": {"type": ["number", "null"]},
                "limits": {"type": "object", "additionalProperties": number},
            }
        ),
    }


def _object(properties: Json) -> Json:
    return {"type": "object", "required": [*properties], "properties": properties}


def _value(column: JsonColumn) -> Json:
    is_vector = column.empty == NUMBERS
    kinds = [_NUMBERS if is_vector else _KINDS[kind] for kind in column.converts]
    return {"anyOf": [*kinds, {"type": "null"}], "description": column.wanted}


def _scored_row(model: ServedModel) -> Json:
    """The fields of a scored row; reasons are there if they were asked for."""
    fields = {one.name: _answered(one.type) for one in model.answered("all")}
    required = [one.name for one in model.answered()]
    id_column: Json = {} if model.id_column is None else {model.id_column: {}}
    return {"type": "object", "required": required, "properties": {**id_column, **fields}}


def _answered(kind: pa.DataType) -> Json:
    if pa.types.is_boolean(kind):
        return {"type": "boolean"}
    if pa.types.is_floating(kind):
        return {"type": "number"}
    return {"anyOf": [_TEXTS, {"type": "null"}]}
