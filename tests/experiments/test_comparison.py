"""Methods are compared on rows that they have not seen, whatever they and the table are."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import average_precision_score

from devnet.experiments import comparison
from devnet.experiments.comparison import compare_methods
from devnet.experiments.contest import RECALLS, precision_at
from devnet.tables.table_error import TableError

OURS = "deviation ensemble"
QUICK = ("logistic regression", "sklearn.tree:DecisionTreeClassifier")


def make_table(seed=0, n=400, n_labelled=40, shift=3.0):
    """Labelled anomalies are shifted in one of three columns."""
    generator = np.random.default_rng(seed)
    columns = generator.normal(size=(3, n))
    label = np.arange(n) < n_labelled
    columns[0, label] += shift
    return {**dict(zip("abc", columns, strict=True)), "fraud": label.astype(int)}


def test_only_a_tree_ranks_what_lies_in_the_middle(seed):
    table = make_table(seed, shift=0)
    generator = np.random.default_rng(seed)
    for name in "ab":
        table[name][:40] = generator.uniform(-0.3, 0.3, 40)
    found = compare_methods(table, "fraud", methods=QUICK, random_state=seed)
    tree, line = found.methods
    assert (found.recommended, tree.method) == (QUICK[1], QUICK[1])
    assert tree.auc_roc.mean > 0.7
    assert line.auc_roc.low < 0.5 < line.auc_roc.high
    assert found.advice.startswith(f"Take {QUICK[1]}: AUC-PR {tree.auc_pr.mean:.3f} (")
    assert f"ahead of {QUICK[0]} by {-line.lead.mean:.3f}" in found.advice


def test_what_was_compared_is_told():
    found = compare_methods(make_table(), "fraud", methods=QUICK, n_repeats=2, random_state=0)
    assert (found.n_rows, found.n_labelled, found.n_unlabelled) == (400, 40, 360)
    assert (found.n_splits, found.chance, found.anomaly) == (6, 0.1, "1")
    assert found.failed == {}
    assert found.methods[0].precision.shape == (6, len(RECALLS))
    assert found.to_beat == found.methods[0].method
    assert found.methods[0].lead == (0, 0, 0)


def test_rows_that_are_ranked_were_neither_learned_from_nor_encoded_by():
    found = compare_methods(
        make_table(), "fraud", methods=["support.odd_estimators:Watchful"], random_state=0
    )
    assert found.failed == {}
    assert found.methods[0].auc_roc.mean > 0.9


def test_labels_without_meaning_are_not_ranked_above_chance(seed):
    table = make_table(seed + 1, n=150, n_labelled=15, shift=0)
    found = compare_methods(table, "fraud", methods=(OURS, QUICK[0]), n_repeats=1, random_state=0)
    assert "No method ranks labelled anomalies clearly above chance" in found.advice
    assert found.recommended == OURS


def test_the_recommended_method_is_held_against_the_others():
    table = make_table(n=150, n_labelled=15)
    found = compare_methods(table, "fraud", methods=(QUICK[1], OURS), n_repeats=1, random_state=0)
    assert found.to_beat == OURS
    ours = next(one for one in found.methods if one.method == OURS)
    assert ours.lead == (0, 0, 0)
    assert ours.auc_pr.mean > 0.6


@pytest.mark.parametrize(
    ("name", "reason"), [("Failing", "'three\\nlines\\nof woe'"), ("Silent", "AssertionError")]
)
def test_a_method_that_fails_is_left_out_with_its_sentence(name, reason):
    path = f"support.odd_estimators:{name}"
    found = compare_methods(make_table(), "fraud", methods=[path, QUICK[0]], random_state=0)
    assert [one.method for one in found.methods] == [QUICK[0]]
    assert list(found.failed) == [path]
    assert reason in found.failed[path]
    assert "compared with no other method" in found.advice


def test_a_user_who_gives_up_is_heard():
    with pytest.raises(KeyboardInterrupt):
        compare_methods(make_table(), "fraud", methods=["support.odd_estimators:Interrupted"])


def test_where_all_methods_fail_there_is_a_sentence():
    with pytest.raises(TableError, match="no method could learn from the table: .*woe"):
        compare_methods(make_table(), "fraud", methods=["support.odd_estimators:Failing"])


def test_other_methods_do_not_change_a_method_s_figures():
    alone, among = (
        compare_methods(make_table(), "fraud", methods=methods, random_state=3)
        for methods in (QUICK[1:], ("support.odd_estimators:Failing", *QUICK))
    )
    (one,) = (one for one in among.methods if one.method == QUICK[1])
    assert one.auc_pr == alone.methods[0].auc_pr


def test_a_seed_decides_everything():
    first, again, other = (
        compare_methods(make_table(shift=1), "fraud", methods=QUICK, random_state=seed)
        for seed in (5, 5, 6)
    )
    assert [one.auc_pr for one in first.methods] == [one.auc_pr for one in again.methods]
    assert first.advice == again.advice
    assert [one.auc_pr for one in first.methods] != [one.auc_pr for one in other.methods]


def test_fits_and_rows_are_counted():
    fits, rows = [], []
    compare_methods(
        make_table(), "fraud", methods=QUICK, n_repeats=1,
        on_rows=rows.append, on_fit=lambda *facts: fits.append(facts),
    )  # fmt: skip
    assert rows[-1] == 400
    assert fits == [(done, 6, QUICK[done % 2]) for done in range(6)]


@pytest.mark.parametrize(("n", "n_labelled", "count"), [(50, 5, "5 labelled"), (45, 40, "5 unl")])
def test_too_few_rows_of_a_kind_are_refused(n, n_labelled, count):
    with pytest.raises(TableError, match=f"has {count}.* takes at least 6.* method='deviation"):
        compare_methods(make_table(n=n, n_labelled=n_labelled), "fraud", anomaly="1", methods=QUICK)


def test_the_fewest_labels_that_are_taken_can_be_compared():
    found = compare_methods(make_table(n=60, n_labelled=6), "fraud", n_repeats=1, methods=QUICK)
    assert np.isfinite([*found.methods[0].auc_pr, *found.methods[1].lead]).all()


def test_bad_arguments_are_refused_before_anything_is_read():
    with pytest.raises(ValueError, match="n_repeats=0 is not possible"):
        compare_methods("nowhere.csv", "fraud", n_repeats=0)
    with pytest.raises(ValueError, match="unknown method 'devnet'.*Did you mean 'DevNet'"):
        compare_methods("nowhere.csv", "fraud", methods=["devnet"])


def test_a_sample_stands_for_the_whole_table(monkeypatch):
    """AUC-PR is that of the table, not of a sample in which anomalies are more frequent."""
    table = make_table(n=20_000, n_labelled=120, shift=2)
    whole = compare_methods(table, "fraud", methods=QUICK[:1], random_state=0)
    monkeypatch.setattr(comparison, "COMPARED_ROWS", 2000)
    part = compare_methods(table, "fraud", methods=QUICK[:1], random_state=0)
    assert (part.n_unlabelled, whole.n_unlabelled) == (2000, 19_880)
    assert part.chance == whole.chance == 0.006
    in_sample = average_precision_score(
        np.array(table["fraud"])[:2120], np.array(table["a"])[:2120]
    )
    (of_part,), (of_whole,) = part.methods, whole.methods
    assert abs(of_part.auc_pr.mean - of_whole.auc_pr.mean) < 0.05 < in_sample - 0.3


def test_a_text_label_and_columns_of_any_kind_are_compared():
    table = make_table()
    state = ["fraud" if label else None for label in table.pop("fraud")]
    shop = ["casino" if a > 2 else "grocer" for a in table["a"]]
    table = pa.table({**table, "shop": shop, "state": state})
    found = compare_methods(
        table, "state", methods=QUICK, n_repeats=1, ignore=["a"], categorical=["shop"]
    )
    assert (found.anomaly, found.n_labelled) == ("fraud", 40)
    assert found.methods[0].auc_roc.mean > 0.7


def test_precision_is_that_of_the_highest_threshold_that_reaches_a_recall():
    y, scores = np.array([1, 0, 1, 0, 0, 1]), np.array([6.0, 5, 4, 3, 2, 1])
    found = precision_at(np.array([0, 0.3, 1 / 3, 0.5, 2 / 3, 0.9, 1]), y, scores, np.ones(6))
    assert found == pytest.approx([1, 1, 1, 2 / 3, 2 / 3, 0.5, 0.5])
    worst = precision_at(RECALLS, y, -scores, np.ones(6))
    assert worst[0] == 1  # the last row of all is an anomaly
    assert precision_at(RECALLS, y, np.zeros(6), np.ones(6)) == pytest.approx(0.5)


def test_a_weight_counts_like_equal_rows(seed):
    generator = np.random.default_rng(seed)
    y, scores = generator.random(40) < 0.3, generator.normal(size=40)
    weight = np.where(y, 1, 3)
    repeated = precision_at(
        RECALLS, np.repeat(y, weight), np.repeat(scores, weight), np.ones(weight.sum())
    )
    assert precision_at(RECALLS, y, scores, weight) == pytest.approx(repeated)


def test_columns_that_tell_the_label_together_are_noted():
    table = make_table()
    is_first = np.random.default_rng(3).random(len(table["fraud"])) < 0.5
    is_labelled = np.array([value == 1 for value in table["fraud"]])
    leaking = {**table, "sent": is_first, "received": is_first ^ is_labelled}
    found = compare_methods(leaking, "fraud", methods=QUICK[:1], n_repeats=1)
    assert any("'sent' and 'received' separate labelled" in str(note) for note in found.notes)


@pytest.mark.parametrize(
    ("labels", "anomaly"),
    [({0: "ok", 1: "1"}, 1), ({0: "ok", 1: "1"}, 1.0), ({0: 0, 1: 1}, "1"), ({0: 0, 1: 1}, 1),
     ({0: False, 1: True}, True), ({0: 0, 1: 1}, True)],
)  # fmt: skip
def test_anomaly_1_is_the_label_1_whatever_the_type_of_either(labels, anomaly):
    table = make_table()
    table["fraud"] = [labels[value] for value in table["fraud"]]
    found = compare_methods(table, "fraud", methods=QUICK[:1], n_repeats=1, anomaly=anomaly)
    assert found.n_labelled == 40


@pytest.mark.parametrize(
    ("labels", "anomaly", "said"),
    [(["ok", "fraud"], 1, "no row has the value '1' .* 'fraud', 'ok'; name one of them with anom"),
     ([0, 1], "fraud", "no row has the value 'fraud' .* '0', '1'; name one of them with anomaly")],
)  # fmt: skip
def test_anomaly_1_among_texts_and_fraud_among_numbers_get_a_sentence(labels, anomaly, said):
    table = make_table()
    table["fraud"] = [labels[value] for value in table["fraud"]]
    with pytest.raises(TableError, match=said):
        compare_methods(table, "fraud", methods=QUICK[:1], n_repeats=1, anomaly=anomaly)


def test_compare_takes_labels_and_names_as_fit_does():
    table = make_table()
    settings = {"methods": QUICK[:1], "n_repeats": 1, "random_state": 0}
    expected = compare_methods(table, "fraud", **settings, ignore=["a"])
    labels = table.pop("fraud")
    beside = compare_methods(table, labels, **settings, ignore="a")
    assert beside.methods[0].auc_pr == expected.methods[0].auc_pr
    assert beside.label == "label"
    numbered = dict(enumerate([*table.values(), labels]))
    found = compare_methods(numbered, 3, **settings, ignore=[0])
    assert found.methods[0].auc_pr == expected.methods[0].auc_pr
    with pytest.raises(TableError, match=r"wrong order: 'fraud' .* fit\(table, 'fraud'\)"):
        compare_methods("fraud", table, **settings)
