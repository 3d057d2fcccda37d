"""The page of a table's drift: one file, columns that have changed first, nothing unescaped."""

import re

import numpy as np
import pyarrow as pa
from support.payment_tables import N, fitted, make_table

from devnet import find_drift
from devnet.report.drift_page import make_drift_page
from devnet.report.spread_chart import change_chart
from devnet.tables.columns.spread import Spread


def page_of(table):
    return make_drift_page(find_drift(fitted(), table), table="new.csv", model="m.devnet")


def test_columns_that_have_changed_come_first_with_pictures():
    table = make_table(seed=1)[0]
    table = table.set_column(4, "limit", pa.nulls(N, pa.float64()))
    page = page_of(table)
    names = re.findall(r'<span class="name">(\w+)</span>', page)
    assert names[0] == "limit"
    assert sorted(names) == ["amount", "limit", "shop", "time"]
    assert page.count('<tr class="changed">') == 1
    assert page.count("<svg") == 3
    assert page.startswith("<!doctype html>")
    assert "http" not in page


def test_names_from_outside_are_escaped():
    page = make_drift_page(
        find_drift(fitted(), make_table(seed=1)[0]), table="<b>&\u202e", model="m"
    )
    assert "<b>" not in page
    assert "\u202e" not in page


def test_a_chart_has_a_place_for_values_that_training_did_not_have():
    spread = Spread((1, 1), (50, 50), 2, 100, points=(1.0, 2.0))
    known, other = (
        change_chart("x", spread, np.array(counts)) for counts in ([5, 5, 0], [5, 5, 9])
    )
    assert ">2</text>" in known
    assert ">other values</text>" in other
