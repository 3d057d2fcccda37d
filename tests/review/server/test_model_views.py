"""Training in the background: a new ranking, a step back, and what a killed process leaves."""

import time

import pyarrow.parquet as pq
import pytest
from support.reviews import card_id, open_for, open_locally, small_review

from devnet.core.sentence import UserError
from devnet.review.desk.review import open_review
from devnet.review.desk.server_lock import only_server


@pytest.fixture
def review(tmp_path):
    found = small_review(tmp_path)
    yield found
    found.close()


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
    from support.payment_tables import make_table

    table = tmp_path / "t.parquet"
    pq.write_table(make_table(600)[0].drop_columns("fraud"), table)
    review = open_review(table, tmp_path / "review.db", who="boot")
    browser = open_locally(review)
    assert "no label" in browser.get("/models").text
    browser.judge("normal")
    browser.post("/train")
    wait(review)
    assert "knows an anomaly" in browser.get("/models").text
    assert review.in_use.number == 1
    review.store.close()
    again = open_review(table, tmp_path / "review.db", who="boot")
    assert len(again.store.models()) == 1
    assert again.desk.n_open == 599


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
    with pytest.raises(UserError, match="the model 1 is gone"):
        small_review(tmp_path)


def test_some_cards_are_unlike_the_others(review):
    review.desk._shares = review.desk._shares._replace(unlike=0.5)
    review.find_unlike().join()
    browser = open_locally(review)
    assert "unlike the rows that are known" in "".join(
        browser.get("/", row=one.leader.row).text for one in review.desk.hand("root")
    )
    assert {lease.dealt.reason for lease in review.desk.hand("ana")} >= {"highest", "unlike"}
