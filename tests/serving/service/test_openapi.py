"""The OpenAPI description tells the truth: what it allows is taken, what is answered fits it."""

import json

import pytest
from support.json_schema import fits, resolve
from support.payment_tables import fitted, make_table
from support.services import client, json_rows, post_json

from devnet.serving.service.limits import Limits

TABLE = make_table(30, seed=1)[0]
ROWS = json_rows(TABLE)
METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    return client(tmp_path_factory.mktemp("api"), fitted(), limits=Limits(n_rows=50))


@pytest.fixture(scope="module")
def document(service):
    return service.get("/openapi.json").json()


def schema_of(document, path, method, status):
    answer = resolve(document["paths"][path][method]["responses"][str(status)], document)
    return answer["content"]["application/json"]["schema"]


def test_it_is_an_openapi_document(document):
    assert document["openapi"].startswith("3.1.")
    assert {"title", "version"} <= document["info"].keys()
    for path, item in document["paths"].items():
        assert path.startswith("/")
        assert item.keys() <= METHODS
        for operation in item.values():
            assert operation["summary"]
            for status, answer in operation["responses"].items():
                assert 200 <= int(status) < 600
                assert resolve(answer, document)["description"]


def test_every_reference_leads_somewhere(document):
    def references(value):
        if isinstance(value, dict):
            yield from ([value["$ref"]] if "$ref" in value else [])
            value = list(value.values())
        if isinstance(value, list):
            for one in value:
                yield from references(one)

    found = set(references(document))
    assert all(resolve({"$ref": one}, document) for one in found)
    parts = document["components"]
    named = {
        f"#/components/{kind}/{name}" for kind in ("schemas", "responses") for name in parts[kind]
    }
    assert named == found


def test_it_has_every_path_and_no_other(service, document):
    routes = service.app._app.routes
    assert {route.path for route in routes} == document["paths"].keys()
    for route in routes:
        own = {method.lower() for method in route.methods} - {"head"}
        assert own == document["paths"][route.path].keys()


def test_only_health_needs_no_token(document):
    assert document["security"] == [{"token": []}]
    opened = [
        path
        for path, item in document["paths"].items()
        if item.get("get", {}).get("security") == []
    ]
    assert opened == ["/health"]
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


@pytest.mark.parametrize("path", ["/health", "/schema", "/openapi.json"])
def test_what_is_read_fits_the_description(service, document, path):
    assert fits(service.get(path).json(), schema_of(document, path, "get", 200), document)


@pytest.mark.parametrize("query", ["", "?reasons=alerts", "?reasons=all"])
def test_scores_fit_the_description(service, document, query):
    answer = service.post(f"/score{query}", json=ROWS)
    assert fits(answer.json(), schema_of(document, "/score", "post", 200), document)
    assert (
        "nominal_p_value"
        in resolve({"$ref": "#/components/schemas/ScoredRow"}, document)["required"]
    )


BODIES = [
    (ROWS, True),
    ({"rows": ROWS}, True),
    ([], True),
    ([{**ROWS[0], "amount": None}], True),
    ([{**ROWS[0], "amount": "much"}], False),
    ([{**ROWS[0], "shop": 5}], False),
    ([{**ROWS[0], "time": True}], False),
    ([1], False),
    ({"row": ROWS}, False),
    ("x", False),
    ([ROWS[0]] * 51, False),
]


@pytest.mark.parametrize(("body", "is_right"), BODIES)
def test_what_it_allows_is_taken_and_what_it_forbids_is_not(service, document, body, is_right):
    (wanted,) = [
        one["schema"]
        for kind, one in document["paths"]["/score"]["post"]["requestBody"]["content"].items()
        if kind == "application/json"
    ]
    assert fits(body, wanted, document) == is_right
    answer = post_json(service, body)
    assert (answer.status_code == 200) == is_right
    if not is_right:
        wanted = schema_of(document, "/score", "post", answer.status_code)
        assert fits(answer.json(), wanted, document)


def test_the_description_is_small_enough_to_read(document):
    assert len(json.dumps(document)) < 20_000


def test_the_check_itself_notices_what_does_not_fit():
    one = {"type": "object", "required": ["a"], "properties": {"a": {"type": "number"}}}
    assert fits({"a": 1}, one, {})
    assert not any(fits(value, one, {}) for value in ({}, {"a": "1"}, {"a": True}, [], None))
    assert not fits([1, 2], {"type": "array", "maxItems": 1}, {})
    assert not fits("c", {"enum": ["a", "b"]}, {})
