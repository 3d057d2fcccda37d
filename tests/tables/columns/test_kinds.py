"""A kind of column is one class with its summary, and one line in the registry."""

import datetime
import json
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest

from devnet.tables import TableModel
from devnet.tables.columns import kinds
from devnet.tables.columns.arrow_values import is_missing, wall_clock
from devnet.tables.columns.column import ColumnEncoding, ColumnSummary, Entry, read_shared
from devnet.tables.columns.left_out import LeftOut, Why
from devnet.tables.description import describe_model
from devnet.tables.encoder import TableEncoder

NOON = 12 * 3600 * 10**6  # microseconds
N = 400


@dataclass
class NoonSummary(ColumnSummary):
    """How many times of day are after noon."""

    n_after: int = 0

    def add(self, values):
        missing = is_missing(values)
        self.n_missing += int(missing.sum())
        self.n_after += int((wall_clock(values) >= NOON)[~missing].sum())

    def merged(self, other):
        n_missing, n_after = self.n_missing + other.n_missing, self.n_after + other.n_after
        return replace(self, n_missing=n_missing, n_after=n_after)

    def learn(self, n_rows, sample):
        if not self.n_after:
            return LeftOut(self.name, Why.CONSTANT, "constant: always before noon")
        return NoonColumn(self.name, self.n_missing / n_rows)


@dataclass(frozen=True)
class NoonColumn(ColumnEncoding):
    """Whether a time of day is after noon."""

    kind = "noon"
    sources = ("time",)
    summary = NoonSummary
    width = 1
    accepts = frozenset(["time", "empty"])
    csv_type = pa.time64("us")

    def entries(self, values):
        return [Entry(0, (wall_clock(values) >= NOON).astype(np.float32))]

    def phrase(self, value):
        return f"{self.name} is after noon" if wall_clock(value)[0] >= NOON else "before noon"

    def detail(self):
        return "before or after noon"

    @classmethod
    def from_header(cls, header):
        return cls(**read_shared(header))


@pytest.fixture(autouse=True)
def with_noon(monkeypatch):
    monkeypatch.setattr(kinds, "KINDS", (NoonColumn, *kinds.KINDS))


def make_table(hours):
    generator = np.random.default_rng(0)
    return pa.table(
        {
            "clock": [datetime.time(int(hour)) for hour in hours],
            "amount": generator.lognormal(size=N),
            "fraud": [1 if i % 20 == 0 else None for i in range(N)],
        }
    )


def test_a_new_kind_goes_the_whole_way(tmp_path):
    table = make_table(np.where(np.arange(N) % 20 == 0, 15, 9))
    model = TableModel("PU trees", random_state=0).fit(table, "fraud")
    assert [type(one) for one in model.encoder_.columns][0] is NoonColumn
    header = json.loads(json.dumps(model.encoder_.to_header()))
    again = TableEncoder.from_header(header)
    assert again.columns == model.encoder_.columns
    np.testing.assert_array_equal(again.encode(table)[:, 0], np.arange(N) % 20 == 0)
    assert describe_model(model)["columns"][0]["detail"] == "before or after noon"
    (why,) = model.explain(table, 0)
    assert why.reasons[0].text.startswith("clock is after noon: +")


def test_a_new_kind_says_why_it_leaves_a_column_out():
    model = TableModel("PU trees", random_state=0).fit(make_table(np.full(N, 9)), "fraud")
    assert str(model.encoder_.left_out["clock"]) == "constant: always before noon"
