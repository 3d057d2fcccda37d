"""Labels of a store beside the rows of a table: anomaly, normal, or nothing known."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from devnet.core.wording import count_text, path_text
from devnet.review.events import ANOMALY, NORMAL, UNSURE, Event, StoreError
from devnet.review.reviewed_table import refuse_another
from devnet.review.row_keys import RowKeys
from devnet.review.store import LabelStore
from devnet.tables.label_column import find_label_values, label_text, same_label
from devnet.tables.sources.opening import open_table
from devnet.tables.sources.table_file import changed
from devnet.tables.training_rows import OnRows

UNKNOWN = 2  # the state of a row that nobody labelled; 0 is an anomaly, 1 is normal
STATES = {ANOMALY: 0, NORMAL: 1, UNSURE: UNKNOWN}


class OwnLabels(NamedTuple):
    """The table's own column of labels, and what its values mean."""

    column: str
    anomaly: str | None = None  # None: the obvious one
    normal: str | None = None  # None: no value means that a row is known to be normal


class LabelledRows(NamedTuple):
    """The labels of a table's rows, for `TableModel.fit`."""

    name: str  # of the column that they stand for
    column: pa.DictionaryArray  # (n_rows,) the words below, or null
    anomaly: str  # the word for anomalies
    normal: str
    n_anomalies: int
    n_normal: int
    n_gone: int  # labelled rows that the table does not have


def labelled_rows(
    store: LabelStore,
    table: Any,
    *,
    label: str | None = None,
    anomaly: str | None = None,
    normal: str | None = None,
    needs_anomalies: bool = True,
    needs_values: bool = True,
    on_rows: OnRows | None = None,
) -> LabelledRows:
    """What a store, and the table itself, say about each row; the store has the last word.

    Parameters
    ----------
    store : LabelStore
        Of this table.
    table : path, glob, frame, Arrow table or dict of columns
    label : str, optional
        The table's own column of labels, for rows without a verdict.
    anomaly, normal : str, optional
        Its values that mark anomalies, if it is not the obvious one, and known normal rows.
    needs_anomalies : bool, default=True
        Whether it is an error that no anomaly is known; without this, a known normal row is enough.
    needs_values : bool, default=True
        Whether it is an error that no row has `anomaly` or `normal` in that column.
    on_rows : callable, optional
        Gets the number of rows read so far.
    """
    known = store.table
    keys = RowKeys.read(
        table, id_column=known.id_column, label=label or known.label, on_rows=on_rows
    )
    refuse_another(store.path, known, keys.table)
    words, state = (ANOMALY, NORMAL), np.full(keys.n_rows, UNKNOWN, np.int8)
    if label is not None:
        own = OwnLabels(label, anomaly, normal)
        state, words = own_states(table, keys.n_rows, own, needs_values=needs_values)
    n_gone = _add_verdicts(state, keys, store.latest())
    n_anomalies, n_normal, _ = np.bincount(state, minlength=3).tolist()
    if not n_anomalies and needs_anomalies:
        raise StoreError(
            f"neither {path_text(store.path)} nor {keys.table.name} knows an anomaly "
            f"({count_text(n_normal, 'row is', 'rows are')} known to be normal); confirm at least "
            "one row first."
        )
    if not (n_anomalies or n_normal):
        raise StoreError(
            f"neither {path_text(store.path)} nor {keys.table.name} has a verdict on any row; "
            "judge some first."
        )
    codes = pa.array(state, mask=state == UNKNOWN)
    column = pa.DictionaryArray.from_arrays(codes, pa.array(words))
    name = label or known.label or "verdict"
    return LabelledRows(name, column, *words, n_anomalies, n_normal, n_gone)


def _add_verdicts(state: np.ndarray, keys: RowKeys, latest: Mapping[str, Event]) -> int:
    """Put verdicts into the states of their rows; returns how many labelled rows are gone.

    Where somebody is unsure, the table's own label does not count either.
    """
    said = {row: STATES[one.verdict] for row, one in latest.items() if one.verdict in STATES}
    numbers, verdicts = keys.find(list(said)), np.array(list(said.values()), dtype=np.int8)
    is_there = numbers >= 0
    state[numbers[is_there]] = verdicts[is_there]
    return int((~is_there & (verdicts != UNKNOWN)).sum())


def own_states(
    table: Any, n_rows: int, own: OwnLabels, *, needs_values: bool = True
) -> tuple[np.ndarray, tuple[str, str]]:
    """What the table's own labels say of each row, (n_rows,), and its words for both."""
    label, anomaly, normal = own
    state = np.full(n_rows, UNKNOWN, np.int8)
    source, codes, counts = open_table(table), [], Counter[str]()
    for batch in source.batches([label]):
        texts = label_text(batch[label])
        codes.append(texts.dictionary_encode())
        found = texts.value_counts().to_pylist()
        counts.update({one["values"]: one["counts"] for one in found if one["values"] is not None})
    if sum(map(len, codes)) != len(state):
        raise changed(source.name)
    word = anomaly or ANOMALY
    if counts and (needs_values or anomaly is None):
        n_missing = len(state) - counts.total()
        word, _ = find_label_values(
            label, dict(counts), n_missing, anomaly, normal, needs_anomalies=False
        )
    words = word, normal or _other_word(word)
    done = 0
    for part in codes:
        known = [_state(text, word, normal) for text in part.dictionary.to_pylist()]
        position = np.asarray(part.indices.fill_null(-1))
        state[done : done + len(part)] = np.array([*known, UNKNOWN], np.int8)[position]
        done += len(part)
    return state, words


def _state(text: str, anomaly: str, normal: str | None) -> int:
    if same_label(anomaly, [text]) is not None:
        return STATES[ANOMALY]
    return STATES[NORMAL] if normal and same_label(normal, [text]) is not None else UNKNOWN


def _other_word(anomaly: str) -> str:
    """A word for normal rows, which must not be that for anomalies."""
    return NORMAL if same_label(anomaly, [NORMAL]) is None else "not an anomaly"


def labelled_numbers(store: LabelStore, table: Any, *, on_rows: OnRows | None = None) -> np.ndarray:
    """The numbers of a table's rows that a store calls anomalies or normal."""
    known = store.table
    keys = RowKeys.read(table, id_column=known.id_column, label=known.label, on_rows=on_rows)
    refuse_another(store.path, known, keys.table)
    numbers = keys.find(list(store.labels()))
    return numbers[numbers >= 0]


def gone_note(n_gone: int, store: Path, table: str) -> str:
    """That some verdicts are about rows that a table does not have."""
    verdicts = "1 verdict is" if n_gone == 1 else f"{n_gone:,} verdicts are"
    return (
        f"{verdicts} about rows that {table} does not have; {path_text(store)} keeps them, and "
        "they count again if the rows come back."
    )
