"""A service in this process, rows to send to it, and streams of Arrow."""

import datetime
import json
from functools import cache

import pyarrow as pa
from pyarrow import ipc
from starlette.testclient import TestClient
from support.payment_tables import make_table

from devnet.serving.service.app import service_app
from devnet.serving.service.bearer import Bearer
from devnet.serving.service.model_in_use import ModelInUse
from devnet.serving.service.served_model import ServedModel
from devnet.tables import TableModel

TOKEN = "0123456789abcdef"
BEARS = {"Authorization": f"Bearer {TOKEN}"}
ARROW = "application/vnd.apache.arrow.stream"
N = 1000


@cache
def quick_model():
    """A model of payments, shared by tests, which must leave it as it was."""
    model = TableModel("logistic regression", random_state=0)
    return model.fit(make_table(N)[0], "fraud")


def model_file(folder, model=None):
    """The path of a model file."""
    path = folder / "m.devnet"
    (model or quick_model()).save(path)
    return path


def served_model(folder, model=None):
    return ServedModel(model_file(folder, model).read_bytes())


def client(folder, model=None, headers=BEARS, peer="testclient", **options):
    """A client of a service in this process."""
    in_use = ModelInUse(model_file(folder, model))
    app = service_app(in_use, Bearer(TOKEN), **options)
    return TestClient(app, headers=headers, client=(peer, 5000), raise_server_exceptions=False)


def json_rows(table):
    """The rows of a table as JSON has them."""
    return [{name: _as_json(value) for name, value in row.items()} for row in table.to_pylist()]


def _as_json(value):
    is_time = isinstance(value, datetime.date | datetime.time)
    return value.isoformat() if is_time else value


def stream(table, **options):
    """A table as a stream of Arrow."""
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, table.schema, options=ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def post_arrow(client, body, path="/score", **headers):
    return client.post(path, content=body, headers={"Content-Type": ARROW, **headers})


def post_json(client, value, path="/score", **headers):
    """Post any JSON value, in ASCII, as browsers do not."""
    headers = {"Content-Type": "application/json", **headers}
    return client.post(path, content=json.dumps(value), headers=headers)
