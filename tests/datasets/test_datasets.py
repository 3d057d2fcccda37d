"""Parsers on real files where they are at hand, and on small files of the same format."""

import bz2
import gzip
import os
import re
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from devnet import datasets
from devnet.datasets import DATASETS, parsers
from devnet.datasets.download import checksum
from devnet.datasets.records import File
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
        FileNotFoundError,
        match=r"looked for creditcard.csv or fraud.npz.*datasets.fetch..fraud., .*DEVNET_DATA",
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


TABLE_1_FACTS = {  # objects, D, f1 and f2 in percent
    "donors": (619_326, 10, 0.01, 0.08),
    "census": (299_285, 500, 0.01, 0.16),
    "fraud": (284_807, 29, 0.01, 6.10),
    "celeba": (202_599, 39, 0.02, 0.66),
    "backdoor": (95_329, 196, 0.04, 1.29),
    "URL": (89_063, 3_231_961, 0.04, 1.69),
    "campaign": (41_188, 62, 0.10, 0.65),
    "news20": (10_523, 1_355_191, 0.37, 5.70),
    "thyroid": (7_200, 21, 0.55, 5.62),
}


def test_the_catalogue_has_the_facts_of_table_1_in_its_order():
    assert list(DATASETS) == list(TABLE_1_FACTS)
    assert {name: record[2:6] for name, record in DATASETS.items()} == TABLE_1_FACTS


@pytest.mark.parametrize("name", list(DATASETS))
def test_the_four_figures_of_a_set_agree_with_the_protocol(name):
    """30 labelled anomalies, 80% for training, 2% contamination: f1 follows from the others."""
    record = DATASETS[name]
    n_anomalies = 30 / (record.labelled_share_of_anomalies / 100)
    n_training = 0.8 * (record.n_rows - n_anomalies) / 0.98 + 30
    assert round(100 * 30 / n_training, 2) == record.labelled_share_of_training


@pytest.mark.parametrize("name", list(DATASETS))
def test_every_record_is_complete_and_can_be_fetched(name):
    record = DATASETS[name]
    assert all(record)
    assert record.address.startswith("http")
    assert record.public_source() is not None
    for source in record.sources:
        assert source.format
        for file in source.files:
            assert re.fullmatch("[0-9a-f]{64}|", file.sha256)
            assert re.fullmatch(r"https://\S+|", file.address)
            assert file.address or not file.sha256


@needs_data
@pytest.mark.parametrize("name", list(DATASETS))
def test_copies_at_hand_have_the_published_checksums(name):
    for source in DATASETS[name].sources:
        for file in source.files:
            if file.sha256 and (DATA / file.name).exists():
                assert checksum(DATA / file.name) == file.sha256


def test_bank_marketing_in_its_archive(tmp_path):
    text = '"age";"job";"y"\n30;"cook";"no"\n50;"admin.";"yes"\n'
    with zipfile.ZipFile(tmp_path / "bank-additional.zip", "w") as archive:
        archive.writestr("__MACOSX/bank-additional/._bank-additional-full.csv", "no table")
        archive.writestr("bank-additional/bank-additional.csv", "a sample")
        archive.writestr("bank-additional/bank-additional-full.csv", text)
    table = datasets.load("campaign", tmp_path)
    assert table.feature_names == ["age", "job=admin.", "job=cook"]
    assert table.is_anomaly.tolist() == [False, True]


def test_news20_compressed_reads_like_the_plain_file(tmp_path):
    text = "".join(f"{'+1' if i < 190 else '-1'} {i + 1}:0.5\n" for i in range(340))
    plain, packed = tmp_path / "news20.binary", tmp_path / "news20.binary.bz2"
    plain.write_text(text)
    packed.write_bytes(bz2.compress(text.encode()))
    one, other = parsers.news20_svmlight(plain), parsers.news20_svmlight(packed)
    np.testing.assert_array_equal(one.rows.toarray(), other.rows.toarray())
    np.testing.assert_array_equal(one.is_anomaly, other.is_anomaly)


def url_archive(folder, days):
    """An archive in the published form, its days out of order and more than the first week."""
    with tarfile.open(folder / "url_svmlight.tar.gz", "w:gz") as archive:
        for day in days:
            path = folder / f"Day{day}.svm"
            label = "+1" if day % 2 else "-1"
            path.write_text(f"{label} {day + 1}:1\n-1 1:{day / 10}\n")
            archive.add(path, f"url_svmlight/{path.name}")


def test_url_days_out_of_the_archive_are_the_first_week_in_order(tmp_path):
    url_archive(tmp_path, [0, 1, 10, 100, 3, 2, 6, 5, 4, 7])
    one = datasets.load("URL", tmp_path)
    other = parsers.svmlight_days(*(tmp_path / f"Day{day}.svm" for day in range(7)))
    assert one.rows.shape == (14, 7)
    np.testing.assert_array_equal(one.rows.toarray(), other.rows.toarray())
    np.testing.assert_array_equal(one.is_anomaly, other.is_anomaly)
    assert one.is_anomaly.tolist() == [False, False, True, False] * 3 + [False, False]


def test_damaged_copies_get_a_sentence(tmp_path):
    url_archive(tmp_path, [0, 1, 2, 3, 4, 6])
    with pytest.raises(
        ValueError,
        match=r"cannot read .*url_svmlight\.tar\.gz as svmlight.*no Day5\.svm.*fetch..URL",
    ):
        datasets.load("URL", tmp_path)
    for name, file in {
        "donors": "donors.npz",
        "census": "census-income.data.gz",
        "backdoor": "UNSW_NB15_traintest_backdoor.tar.xz",
        "campaign": "bank-additional.zip",
        "news20": "news20.binary.bz2",
        "thyroid": "annthyroid_21feat_normalised.csv",
    }.items():
        (tmp_path / file).write_bytes(b"<html>not found</html>\n<p>")
        (tmp_path / "census-income.test.gz").touch()
        with pytest.raises(ValueError, match=f"cannot read .*{file}.*delete it and get it again"):
            datasets.load(name, tmp_path)


def test_census_cut_in_the_middle_gets_a_sentence(tmp_path):
    whole = gzip.compress(os.urandom(5000))
    for name in ("census-income.data.gz", "census-income.test.gz"):
        (tmp_path / name).write_bytes(whole[:2000])
    with pytest.raises(ValueError, match="cannot read .*census-income.data.gz"):
        datasets.load("census", tmp_path)


def test_fetch_takes_every_file_of_the_first_public_source(server, monkeypatch, tmp_path):
    record = DATASETS["census"]
    names = [file.name for file in record.sources[0].files]
    files = tuple(File(name, f"{server.address}/{name}") for name in names)
    source = record.sources[0]._replace(files=files)
    by_hand = source._replace(files=(File("by-hand.csv"),))
    monkeypatch.setitem(DATASETS, "census", record._replace(sources=(by_hand, source)))
    server.files = {f"/{name}": name.encode() for name in names}
    steps = []
    paths = datasets.fetch("census", tmp_path / "new", lambda *step: steps.append(step))
    assert [path.read_text() for path in paths] == names
    assert {name for name, _, _ in steps} == set(names)
    assert datasets.find("census", tmp_path / "new") == (source, paths)
    # one of the two files lies elsewhere: both are needed in one folder
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("DEVNET_DATA", str(tmp_path / "new"))
    paths[0].unlink()
    paths = datasets.fetch("census")
    assert [path.parent for path in paths] == [tmp_path / "devnet"] * 2
    assert datasets.find("census") == (source, paths)


def test_fetch_takes_files_that_are_there_as_they_are(server, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DEVNET_DATA", str(tmp_path))
    (tmp_path / "donors.npz").touch()
    assert datasets.fetch("donors") == [tmp_path / "donors.npz"]
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("platform", "variable", "rest"),
    [
        ("linux", "XDG_CACHE_HOME", ".cache"),
        ("darwin", None, "Library/Caches"),
        ("win32", "LOCALAPPDATA", "AppData/Local"),
    ],
)
def test_the_cache_folder_is_the_platform_s(platform, variable, rest, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.delenv("DEVNET_DATA", raising=False)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    sought = f"no copy of donors in {re.escape(str(tmp_path / rest / 'devnet'))}: .*fetch..donors"
    with pytest.raises(FileNotFoundError, match=sought):
        datasets.load("donors")
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
        with pytest.raises(FileNotFoundError, match=re.escape(str(tmp_path / "elsewhere"))):
            datasets.load("donors")
