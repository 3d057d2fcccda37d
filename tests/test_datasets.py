"""Parsers on real files where they are at hand, and on small files of the same format."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from devnet import datasets
from devnet.datasets import DATASETS, parsers
from devnet.experiments.published import TABLE_1, TABLE_2

DATA = Path(os.environ.get("DEVNET_DATA") or "no-data")
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="DEVNET_DATA names no folder")


@needs_data
@pytest.mark.parametrize("name", [name for name in DATASETS if name != "census"])
def test_real_sets_have_the_paper_s_size_or_say_so(name):
    dataset = datasets.load(name)
    record = DATASETS[name]
    assert dataset.rows.shape[0] == record.n_rows
    assert dataset.rows.dtype == np.float32
    assert dataset.is_anomaly.dtype == bool
    assert 0 <= dataset.rows.min() <= dataset.rows.max() <= 1
    as_published = dataset.rows.shape[1] == record.n_columns
    assert ("as in the paper" in dataset.description) == as_published
    assert len(dataset.feature_names) in (0, dataset.rows.shape[1])


@needs_data
@pytest.mark.slow
def test_census_from_its_raw_files_has_the_paper_s_500_columns():
    dataset = datasets.load("census")
    assert dataset.rows.shape == (299_285, 500)
    assert dataset.is_anomaly.sum() == 18_568
    assert dataset.feature_names[0] == "age"
    assert "class of worker=Private" in dataset.feature_names
    assert "reconstruction" in dataset.description


@needs_data
def test_census_records_of_the_real_file(tmp_path):
    with gzip.open(DATA / "census-income.data.gz", "rt") as file:
        lines = [next(file) for _ in range(300)]
    for name in ("a.data", "a.test"):
        (tmp_path / name).write_text("".join(lines[:150]) + "\n")
    table = parsers.census(tmp_path / "a.data", tmp_path / "a.test")
    assert table.rows.shape[0] == 300
    assert not table.is_anomaly.all()
    assert not [name for name in table.names if name.endswith("=?") or "weight" in name]
    moved = [
        place for place, name in enumerate(table.names) if name.startswith("migration code-ch")
    ]
    row = lines[0].split(", ")
    assert row[25] == "?"
    assert not table.rows[0, moved].any()  # missing: zero in all columns of the one-hot code


@needs_data
def test_credit_card_sample_in_the_original_format():
    table = parsers.credit_card_csv(DATA / "creditcard_sample.csv.gz")
    assert table.rows.shape == (1490, 29)
    assert table.names == [*(f"V{i}" for i in range(1, 29)), "Amount"]
    assert table.is_anomaly.sum() >= 490
    np.testing.assert_array_equal([table.rows.min(0), table.rows.max(0)], [[0] * 29, [1] * 29])


@needs_data
def test_url_days_in_svmlight():
    days = sorted((DATA / "url_svmlight_mini").glob("Day*_mini.svm.gz"))
    table = parsers.svmlight_days(*days)
    assert sp.issparse(table.rows)
    assert table.rows.shape[0] == 1200
    assert 3_200_000 < table.rows.shape[1] <= 3_231_961
    assert 0 < table.is_anomaly.sum() < 1200


def test_bank_marketing_with_semicolons(tmp_path):
    path = tmp_path / "bank-additional-full.csv"
    path.write_text('"age";"job";"y"\n30;"cook";"no"\n50;"?";"yes"\n40;"admin.";"no"\n')
    table = datasets.load("campaign", tmp_path)
    assert table.feature_names == ["age", "job=admin.", "job=cook"]
    np.testing.assert_array_equal(table.rows, [[0, 0, 1], [1, 0, 0], [0.5, 1, 0]])
    assert table.is_anomaly.tolist() == [False, True, False]
    assert "the paper's has 41,188 rows and 62 columns" in table.description


def test_news20_is_thinned_out_to_five_percent(tmp_path):
    labels = ["+1"] * 190 + ["-1"] * 150
    (tmp_path / "news20.binary").write_text(
        "".join(f"{label} {i + 1}:0.5\n" for i, label in enumerate(labels))
    )
    one, other = (datasets.load("news20", tmp_path) for _ in range(2))
    assert one.rows.shape[0] == 200
    assert one.is_anomaly.sum() == 10
    np.testing.assert_array_equal(one.rows.indices, other.rows.indices)


def test_missing_numbers_become_the_mean():
    from devnet.datasets.preparation import numbers

    np.testing.assert_array_equal(numbers("a", ["1", "?", "3"]).values[:, 0], [1, 2, 3])


def test_unknown_and_absent_sets_get_a_sentence(tmp_path):
    with pytest.raises(ValueError, match="unknown data set 'tyroid'.*Did you mean 'thyroid'"):
        datasets.load("tyroid")
    with pytest.raises(
        FileNotFoundError, match=r"looked for creditcard.csv or fraud.npz.*DEVNET_DATA"
    ):
        datasets.load("fraud", tmp_path)


def test_published_tables_agree_with_each_other_and_with_the_averages():
    assert set(TABLE_1) == set(TABLE_2) == set(DATASETS)
    for name, methods in TABLE_1.items():
        assert (methods["DevNet"][0], methods["DevNet"][2]) == TABLE_2[name]["Def"]
    averages = {
        "DevNet": (0.916, 0.574),
        "REPEN": (0.838, 0.263),
        "DSVDD": (0.888, 0.473),
        "FSNet": (0.750, 0.270),
        "iForest": (0.708, 0.140),
    }
    for method, (auc_roc, auc_pr) in averages.items():
        found = np.mean([TABLE_1[name][method] for name in TABLE_1], axis=0)
        np.testing.assert_allclose(found[[0, 2]], [auc_roc, auc_pr], atol=6e-4)
    for variant, pair in {
        "Rep": (0.899, 0.550),
        "Linear": (0.865, 0.442),
        "3HL": (0.853, 0.520),
    }.items():
        found = np.mean([TABLE_2[name][variant] for name in TABLE_2], axis=0)
        np.testing.assert_allclose(found, pair, atol=6e-4)
