"""Training in the background: a new ranking, a step back, and what a killed process leaves."""

import time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from support.payment_tables import make_table
from support.reviews import card_id, open_for, open_locally, quick_model, small_review

from devnet import TableModel
from devnet.core.sentence import UserError
from devnet.review.desk.review import open_review
from devnet.review.desk.server_lock import only_server
from devnet.review.events import StoreError
from devnet.review.queue import Shares
from devnet.review.server.doors import user_name


def wait(review):
    """Until the training process has ended."""
    deadline = time.monotonic() + 120
    while review.trainer.progress is not None:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def judge_some(browser, n=8):
    for i in range(n):
        browser.judge("normal" if i % 2 else "anomaly")


def test_a_new_model_ranks_the_rows_and_the_old_one_can_come_back(review):
    browser = open_locally(review)
    judge_some(browser)
    before = review.desk.ranked.scores
    first = card_id(browser.get("/").text)
    page = browser.post("/train")
    assert "started a new ranking" in page.text
    assert browser.judge("unsure").status_code == 200  # meanwhile
    wait(review)
    assert review.trainer.problem == ""
    old, new = review.store.models()
    assert review.in_use == new
    assert new.parent == old.number
    n_own = old.n_anomalies  # that the table itself marks: they teach as well
    assert new.n_anomalies + new.n_normal == n_own + 8
    assert n_own > 0
    learned = review.models.open(new)  # dismissed cards teach, too
    assert (learned.n_labelled_, learned.n_normal_) == (new.n_anomalies, new.n_normal)
    assert new.n_normal > 0
    assert (review.desk.ranked.scores != before).any()
    assert first not in browser.get("/").text.split("Your next cards")[1]
    browser.judge("normal")
    assert review.store.events()[-1].model in (old.number, new.number)
    assert browser.get("/models").text.count("in use<") == 1
    browser.post("/back")
    wait(review)
    assert review.in_use == old
    assert (review.desk.ranked.scores == before).all()
    assert len(review.store.models()) == 2


def test_rows_that_were_judged_since_a_model_learned_are_counted(review):
    browser = open_locally(review)
    judge_some(browser, 4)
    browser.judge("unsure")
    browser.post("/undo")
    browser.post("/undo")
    assert "3 rows were judged since model 1 learned" in browser.get("/models").text


def test_a_killed_training_leaves_the_model_in_use(review):
    browser = open_locally(review)
    judge_some(browser, 2)
    browser.post("/train")
    while review.trainer._process is None:
        time.sleep(0.01)
    review.trainer._process.kill()
    wait(review)
    assert review.in_use.number == 1
    assert "ended before it was done" in browser.get("/models").text
    assert len(review.store.models()) == 1
    browser.post("/train")
    wait(review)
    assert review.in_use.number == 2


def test_only_leads_train_and_only_one_at_a_time(review, tmp_path):
    ana, lena = open_for(review, tmp_path, "ana", "lena")
    judge_some(ana, 1)
    assert ana.post("/train").status_code == 403
    assert ana.post("/back").status_code == 403
    assert "Train from all" not in ana.get("/models").text
    nothing = lena.post("/back")
    assert nothing.status_code == 409
    assert "no model before" in nothing.text
    assert lena.post("/train").status_code == 200
    assert "lena started this already" in lena.post("/train").text
    wait(review)


def test_without_a_model_it_starts_without_labels(tmp_path):
    table = tmp_path / "t.parquet"
    pq.write_table(make_table(600)[0].drop_columns("fraud"), table)
    review = open_review(table, tmp_path / "review.db", who="boot")
    browser = open_locally(review)
    assert "no label" in browser.get("/models").text
    browser.post("/train")
    wait(review)
    assert "has a verdict on any row; judge some first" in browser.get("/models").text
    assert review.in_use.number == 1
    review.store.close()
    again = open_review(table, tmp_path / "review.db", who="boot")
    assert len(again.store.models()) == 1
    assert again.desk.n_open == 600
    again.store.close()


def test_dismissed_rows_teach_before_an_anomaly_is_confirmed(tmp_path):
    table = tmp_path / "t.parquet"
    pq.write_table(make_table(600)[0].drop_columns("fraud"), table)
    review = open_review(table, tmp_path / "review.db", who="boot")
    browser = open_locally(review)
    for _ in range(5):
        browser.judge("normal")
    dismissed = [event.row for event in review.store.events()]
    before = review.desk.ranked.scores
    browser.post("/train")
    wait(review)
    assert review.trainer.problem == ""
    learned = review.models.open(review.in_use)
    assert (learned.method, learned.n_labelled_, learned.n_normal_) == ("taught deviation", 0, 5)
    rows, after = review.desk.keys.find(dismissed), review.desk.ranked.scores
    first, then = (np.argsort(np.argsort(-scores))[rows] for scores in (before, after))
    assert first.max() < 20 < np.median(then)  # rows like most of them are no longer the first
    browser.judge("anomaly")
    browser.post("/train")
    wait(review)
    assert (review.in_use.n_anomalies, review.in_use.n_normal) == (1, 5)
    review.close()


def test_the_model_used_last_goes_on_after_a_restart(review, tmp_path):
    browser = open_locally(review)
    judge_some(browser, 4)
    browser.post("/train")
    wait(review)
    review.store.close()
    again = small_review(tmp_path)  # with the model that it was started with
    assert again.in_use.number == 2
    assert again.desk.ranked.model == 2
    assert {*again.desk.latest()} == {*again.store.latest()}
    again.store.close()


def test_a_second_server_on_a_store_is_refused(tmp_path):
    store = tmp_path / "review.db"
    refused = pytest.raises(UserError, match="another devnet review serves")
    with only_server(store), refused, only_server(store):
        pass
    with only_server(store):  # given back
        pass


def test_a_lost_model_file_is_named(review, tmp_path):
    for file in (tmp_path / "review.db.models").iterdir():
        file.unlink()
    review.store.close()
    with pytest.raises(UserError, match="^model 1 is gone"):
        small_review(tmp_path)


def test_some_cards_are_unlike_the_others(review):
    review.desk._shares = review.desk._shares._replace(unlike=0.5)
    review.find_unlike().join()
    browser = open_locally(review)
    assert "unlike the other rows" in "".join(
        browser.get("/", row=one.leader.row).text for one in review.desk.hand(user_name())
    )
    assert {lease.dealt.reason for lease in review.desk.hand("ana")} >= {"highest", "unlike"}


def test_after_a_start_without_labels_some_cards_are_unlike_the_others(tmp_path):
    table = tmp_path / "t.parquet"
    pq.write_table(make_table(600)[0].drop_columns("fraud"), table)
    review = open_review(
        table, tmp_path / "review.db", who="boot", shares=Shares(random=0, unlike=0.5)
    )
    assert review.find_unlike() is None  # the first model ranks by that
    browser = open_locally(review)
    judge_some(browser)
    review.train("root")
    wait(review)
    assert review.trainer.problem == ""
    assert {lease.dealt.reason for lease in review.desk.hand("ana")} == {"highest", "unlike"}
    review.close()


def test_columns_of_many_values_do_not_count_at_the_start(tmp_path):
    """Of two hundred customers, those with a few more rows are not unlike the others."""
    rng = np.random.default_rng(0)
    n_rows = 3000
    amount = rng.lognormal(size=n_rows)
    amount[:30] *= 50
    columns = {"customer": [f"C{one}" for one in rng.integers(0, 200, n_rows)], "amount": amount}
    columns["shop"] = rng.choice(["baker", "grocer"], n_rows)
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    review = open_review(tmp_path / "t.parquet", tmp_path / "r.db", who="boot")
    assert [one.name for one in review.desk.ranked.opened.model.encoder_.columns] == [
        *("amount", "shop")
    ]
    assert np.median(np.argsort(np.argsort(-review.desk.ranked.scores))[:30]) < 100
    for i in range(4):
        open_locally(review).judge("anomaly" if i < 3 else "normal")
    review.train("root")
    wait(review)
    learned = review.models.open(review.in_use)  # which may learn from all columns again
    assert "customer" in [one.name for one in learned.encoder_.columns]
    review.close()


def test_a_model_is_in_use_only_if_it_ranks(review, monkeypatch):
    monkeypatch.setattr(
        "devnet.review.desk.desk.Desk.prepare",
        lambda self, ranked: (_ for _ in ()).throw(OSError("the disk is gone")),
    )
    judge_some(open_locally(review), 4)
    review.train("root")
    wait(review)
    assert "the disk is gone" in review.trainer.problem
    assert review.in_use.number == review.desk.ranked.model == 1


def test_another_model_that_is_given_has_the_first_as_its_parent(review, tmp_path):
    review.store.close()
    other = tmp_path / "other.devnet"
    TableModel("iForest", random_state=1).fit(make_table(600)[0], "fraud").save(other)
    again = small_review(tmp_path, model=other)
    assert (again.in_use.number, again.in_use.parent) == (2, 1)
    again.close()


def test_a_store_that_was_killed_while_it_was_made_is_made(tmp_path):
    (tmp_path / "review.db").write_bytes(b"")
    small_review(tmp_path).close()


def test_the_store_of_another_table_and_another_label_are_told(review, tmp_path):
    review.store.close()
    other = pa.table({"a": [1, 2, 3], "b": [4, 5, 6]})
    pq.write_table(other, tmp_path / "other.parquet")
    with pytest.raises(StoreError, match=r"is the store of payments\.parquet, and other\.parquet"):
        open_review(tmp_path / "other.parquet", tmp_path / "review.db", who="boot")
    table = tmp_path / "payments.parquet"
    with pytest.raises(UserError, match="was made with the labels in 'fraud'"):
        open_review(table, tmp_path / "review.db", who="boot", label="shop")


def test_a_model_of_another_table_is_told(tmp_path):
    quick_model().save(tmp_path / "m.devnet")  # it names rows by "payment"
    table = make_table(60)[0].drop_columns("payment")
    pq.write_table(table, tmp_path / "money.parquet")
    with pytest.raises(UserError, match=r"m\.devnet learned from a table whose column 'payment'"):
        open_review(
            tmp_path / "money.parquet",
            tmp_path / "review.db",
            who="boot",
            model=tmp_path / "m.devnet",
        )
    assert not (tmp_path / "review.db").exists()


def test_changes_since_the_model_learned_are_told(tmp_path):
    review = small_review(tmp_path)
    assert "has changed since" not in open_locally(review).get("/models").text
    review.close()
    changed = make_table(600)[0]
    at = changed.schema.get_field_index("amount")
    changed = changed.set_column(at, "amount", pc.multiply(changed["amount"], 100.0))
    pq.write_table(changed, tmp_path / "payments.parquet")
    again = open_review(tmp_path / "payments.parquet", tmp_path / "review.db", who="boot")
    told = open_locally(again).get("/models").text
    assert "The table has changed since model 1 learned" in told
    assert "amount" in told
    again.close()


def labelled_table(folder, n_rows=600):
    """Payments with a column of three states, 20 of them frauds and 30 false alarms."""
    table = make_table(n_rows)[0].drop_columns("fraud")
    state = ["fraud"] * 20 + ["false alarm"] * 30 + [None] * (n_rows - 50)
    path = folder / "t.parquet"
    pq.write_table(table.append_column("state", [state]), path)
    return path


@pytest.mark.parametrize("is_given", [False, True])
def test_normal_rows_that_the_table_knows_count(tmp_path, is_given):
    table, words = labelled_table(tmp_path), {"anomaly": "fraud", "normal": "false alarm"}
    if is_given:
        model = TableModel("logistic regression", **words, random_state=0).fit(table, "state")
        model.save(tmp_path / "m.devnet")
        how = {"model": tmp_path / "m.devnet"}
    else:
        how = {"label": "state", **words}
    review = open_review(table, tmp_path / "r.db", who="boot", **how)
    assert review.desk.n_open == 550  # the others need no review
    assert review.desk.own_label(0) == "anomaly"
    assert review.desk.own_label(20) == "normal"
    browser = open_locally(review)
    assert "The table itself labels it as normal" in browser.get("/", row="20").text
    browser.judge("normal")
    review.train("root")
    wait(review)
    assert review.trainer.problem == ""
    counts = [(one.n_anomalies, one.n_normal) for one in review.store.models()]
    assert counts == [(20, 30), (20, 31)]
    review.close()
    again = open_review(table, tmp_path / "r.db", who="boot")  # it knows what the values mean
    assert again.desk.n_open == 549
    again.close()


def test_labels_named_beside_a_model_of_other_labels_are_used(review, tmp_path):
    review.store.close()
    how = {"model": tmp_path / "m.devnet", "who": "boot"}
    (tmp_path / "other").mkdir()
    table = labelled_table(tmp_path / "other")
    other = open_review(table, tmp_path / "s.db", label="state", anomaly="fraud", **how)
    assert other.desk.n_open == 580
    other.close()
    with pytest.raises(UserError, match="no row has the value 'theft'"):
        open_review(table, tmp_path / "u.db", label="state", anomaly="theft", **how)
