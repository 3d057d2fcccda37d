"""ISO dates that come as text; readings take other spellings, and say so."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from devnet.tables import TableModel
from devnet.tables.sources.opening import open_table
from devnet.tables.sources.text_dates import with_dates


@pytest.mark.parametrize(
    "texts",
    [
        ["2026-03-01", None, "2025-12-31"],
        ["2026-03-01 00:00:00", None, "2025-12-31 00:00:00"],
        ["2026-03-01T00:00:00", None, "2025-12-31T00:00:00"],
    ],
)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_text_that_is_dates_becomes_dates(texts, kind):
    found = with_dates(pa.table({"day": pa.array(texts, kind)}), lambda name: True)
    expected = [datetime.datetime(2026, 3, 1), None, datetime.datetime(2025, 12, 31)]
    assert found["day"].to_pylist() == expected


@pytest.mark.parametrize(
    "texts",
    [
        ["2026-03-01", "soon"],
        ["2026-02-30", "2026-03-01"],
        ["2026", "2025"],
        ["20260301", "20260302"],
        ["12.5", "13.5"],
        ["01.03.2026", "31.12.2025"],
        [None, None],
        [],
    ],
)
def test_other_text_stays(texts):
    table = pa.table({"day": pa.array(texts, pa.string())})
    assert with_dates(table, lambda name: True).equals(table)


def test_columns_that_are_text_by_word_stay():
    table = pa.table({"day": ["2026-03-01"], "night": ["2026-03-01"]})
    found = with_dates(table, lambda name: name == "night")
    assert found.schema.types == [pa.string(), pa.timestamp("us")]
    forced = open_table({"day": ["2026-03-01"]}, types={"day": pa.string()})
    assert forced.schema.field("day").type == pa.string()


def test_a_frame_and_its_csv_give_the_same_model_and_can_be_mixed(tmp_path):
    generator = np.random.default_rng(0)
    n_rows = 1200
    days = pd.Timestamp("2026-01-01") + pd.to_timedelta(generator.integers(0, 90, n_rows), "D")
    is_fraud = np.arange(n_rows) % 40 == 0
    hours = pd.to_timedelta(np.where(is_fraud, 3, generator.integers(0, 24, n_rows)), "h")
    frame = pd.DataFrame(
        {
            "day": days.strftime("%d.%m.%Y"),
            "time": (days + hours).strftime("%Y-%m-%d %H:%M:%S"),
            "amount": generator.random(n_rows).round(4) + is_fraud,
            "fraud": np.where(is_fraud, 1.0, np.nan),
        }
    )
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    by_frame = TableModel(random_state=0).fit(frame, "fraud")
    by_file = TableModel(random_state=0).fit(path, "fraud")
    assert [one.kind for one in by_frame.encoder_.columns] == ["date", "date", "number"]
    for model in (by_frame, by_file):
        told = {name: one.in_words() for name, one in model.encoder_.reader.readings.items()}
        assert told == {"day": "text read as dates, day first"}
    expected = by_file.score(path)["anomaly_score"].to_pylist()
    for model in (by_frame, by_file):
        for table in (frame, path):
            assert model.score(table)["anomaly_score"].to_pylist() == expected
