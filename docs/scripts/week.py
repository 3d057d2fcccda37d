"""Let two analysts and a lead review made-up payments for a week, and write what the board says.

docs/how_to/review.md shows the table. Verdicts are the truth of the payments; the store, the desk,
the trainings and the board are those of `devnet review`.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from devnet.datasets.payments import make_payments
from devnet.review.desk.board import make_board
from devnet.review.desk.review import Review, open_review
from devnet.review.desk.verdicts import Verdict
from devnet.review.events import ANOMALY, NORMAL

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
CARDS = 40  # judged in a day
N_ROWS, SEED = 50_000, 1


def judge_cards(review: Review, is_fraud: np.ndarray, day: str) -> None:
    """Ana and Ben judge the cards of a day, in turn."""
    for number, who in zip(range(CARDS), cycle(("ana", "ben")), strict=False):
        row = review.desk.hand(who)[0].leader.row
        verdict, token = ANOMALY if is_fraud[row] else NORMAL, f"{day} {number}"
        review.desk.judge(who, Verdict(row, review.desk.names.mark(row), verdict, 0, token))


def train(review: Review) -> None:
    """Lena trains in the evening."""
    review.train("lena")
    while review.trainer.progress is not None:
        time.sleep(0.1)
    assert not review.trainer.problem, review.trainer.problem


def week(folder: Path) -> Iterator[str]:
    """A row for each day, then what remains."""
    payments, kind = make_payments(N_ROWS, seed=SEED)
    is_fraud = kind != "normal"
    table = folder / "payments.parquet"
    pq.write_table(payments.drop_columns("fraud"), table)
    review = open_review(table, folder / "review.db", who="lena", id_column="payment_id")
    for day in DAYS:
        judge_cards(review, is_fraud, day)
        board = make_board(review.store.events(), review.store.models(), review.desk.n_open)
        record, line = review.in_use, board.models[0]
        yield (
            f"| {day} | {record.number}, from {record.n_anomalies} | {board.n_reviewed} "
            f"| {board.n_confirmed} | {line.precision} of {line.n_judged} |"
        )
        if day != DAYS[-1]:
            train(review)
    review.close()
    yield f"Estimated to remain: {board.remaining}; random cards: {board.remaining_from}."
    yield f"In truth: {int(is_fraud.sum()) - board.n_confirmed} of {int(is_fraud.sum())}."


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        for text in week(Path(temporary)):
            sys.stdout.write(f"{text}\n")
