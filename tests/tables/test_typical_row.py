"""Reasons start from a row that can exist."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from support.payment_tables import fitted

import devnet
from devnet.cli.main import main
from devnet.report.fit_facts import fit_facts
from devnet.tables import TableModel
from devnet.tables.description import describe_model

N = 1500


def make_table(seed=0):
    """Six shops, none with a majority; a flag that is missing as often as not."""
    generator = np.random.default_rng(seed)
    shop = generator.choice(list("abcdef"), N, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.1])
    term = generator.choice([36, 60], N, p=[0.7, 0.3])
    is_fraud = (shop == "c") & (term == 60) & (generator.random(N) < 0.6)
    is_checked = [None if u < 0.2 else u < 0.6 for u in generator.random(N)]
    return {
        "shop": shop,
        "term": term,
        "checked": is_checked,
        "amount": generator.lognormal(3, 1, N),
        "fraud": [1 if fraud and i % 2 else None for i, fraud in enumerate(is_fraud)],
    }


@pytest.mark.parametrize("method", ["deviation ensemble", "PU trees", "logistic regression"])
def test_a_category_without_a_majority_has_its_most_common_value_in_the_typical_row(method):
    table = make_table()
    model = TableModel(method, random_state=0).fit(table, "fraud")
    explainer, encoder = model.explainer_, model.encoder_
    shop = encoder.columns[0]
    assert shop.values[0][0] == "a"
    np.testing.assert_array_equal(explainer.baseline[:6], [1, 0, 0, 0, 0, 0])
    matrix = encoder.encode_checked(encoder_rows(table, encoder))
    for block in encoder.layout.spans():
        values = explainer.baseline[block]
        assert (matrix[:, block] == values).all(axis=1).any(), "no row has this value"
    typical = model.explain(table, 0)[0].baseline_score
    scores = model.score(table)["anomaly_score"].to_numpy()
    assert typical < np.quantile(scores, 0.9)
    assert describe_model(model)["typical_row_score"] == typical


def encoder_rows(table, encoder):
    return pa.table(table).select(encoder.read_columns())


def test_contributions_add_up_to_the_score_above_that_of_the_typical_row():
    table = make_table()
    model = TableModel(random_state=0).fit(table, "fraud")
    for one in model.explain(table, range(30)):
        added = sum(one.contributions.values())
        assert one.score - one.baseline_score == pytest.approx(added, abs=1e-3)


def test_wide_vectors_start_from_the_empty_row(tmp_path):
    generator = np.random.default_rng(0)
    rows = sp.random_array((300, 5000), density=0.01, rng=generator, format="csr")
    lines = [
        f"{int(i < 20)} "
        + " ".join(
            f"{j + 1}:{v:.3f}" for j, v in zip(rows[[i]].indices, rows[[i]].data, strict=True)
        )
        for i in range(300)
    ]
    (tmp_path / "t.svm").write_text("\n".join(lines) + "\n")
    model = TableModel(random_state=0).fit(tmp_path / "t.svm", "label")
    assert not model.explainer_.baseline.any()


def test_a_typical_row_of_a_table_with_free_text_is_said_to_have_none(tmp_path):
    generator = np.random.default_rng(0)
    words = ["invoice", "office", "lunch", "travel", "hotel", "train", "ticket", "desk", "coffee"]
    text = [" ".join(generator.choice(words, 8)) for _ in range(600)]
    table = {
        "amount": generator.lognormal(3, 1, 600),
        "description": [f"urgent voucher {one}" if i < 20 else one for i, one in enumerate(text)],
        "fraud": [1 if i < 20 else None for i in range(600)],
    }
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    small = {"n_networks": 2, "n_trees": 8}
    model = TableModel(random_state=0, parameters=small).fit(table, "fraud")
    model.save(tmp_path / "m")
    score = model.explainer_.typical_score
    facts = describe_model(model)
    assert facts["typical_row"] == "a typical row, without text"
    page = fit_facts(model, tmp_path / "t.parquet")
    assert "a typical row, without text, scores" in dict(page.summary)
    runner, paths = CliRunner(), [str(tmp_path / "m"), str(tmp_path / "t.parquet")]
    done = runner.invoke(main, ["explain", *paths, "--row", "3"])
    assert f"  a typical row, without text  {score:>7.2f}" in done.stdout
    done = runner.invoke(main, ["inspect", paths[0]])
    said = " ".join(done.stdout.split())
    assert f"a typical row, without text, scores {score:.2f}" in said


def test_the_typical_row_of_an_old_file_stays(tmp_path):
    fitted().save(tmp_path / "m.devnet")
    loaded = devnet.load(tmp_path / "m.devnet")
    np.testing.assert_array_equal(loaded.explainer_.baseline, fitted().explainer_.baseline)
    assert loaded.explainer_.typical_score == fitted().explainer_.typical_score


def test_a_typical_row_of_values_that_rarely_occur_together_is_a_row_that_occurs():
    generator = np.random.default_rng(0)
    one = generator.choice(["a", "b"], N, p=[0.55, 0.45])
    other = np.where(one == "a", "y", "x")  # most common: a and x, which only anomalies have
    is_fraud = generator.random(N) < 0.04
    one[is_fraud], other[is_fraud] = "a", "x"
    other[(one == "a") & (generator.random(N) < 0.1)] = "z"
    table = {
        "one": one,
        "other": other,
        "amount": generator.lognormal(3, 1, N),
        "fraud": [1 if fraud and i % 2 else None for i, fraud in enumerate(is_fraud)],
    }
    model = TableModel("PU trees", random_state=0).fit(table, "fraud")
    scores = model.score(table)["anomaly_score"].to_numpy()
    assert model.explainer_.typical_score <= np.quantile(scores, 0.8)
    matrix = model.encoder_.encode_checked(encoder_rows(table, model.encoder_))
    assert (matrix == model.explainer_.baseline).all(axis=1).any()
