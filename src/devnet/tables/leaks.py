"""Columns that predict the label too well: alone, or two or three of them together.

A pattern of anomalies is also found in rows that nobody labelled. A column that is filled in only
after an anomaly is confirmed is not: it separates labelled anomalies from all other rows. So small
trees look at few columns at a time, and are judged by rows that they did not learn from.
"""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier

from devnet.core.model_file import edited, is_texts
from devnet.core.parameters import whole_number
from devnet.core.sentence import Sentence, Setting
from devnet.tables.encoder import TableEncoder

FEWEST_LABELLED = 6  # with fewer, columns separate them by chance
FEWEST_UNLABELLED = 50
MOST_LABELLED, MOST_UNLABELLED = 300, 2_000  # rows that are looked at
MOST_WIDTH = 4_096  # columns of the matrix
RECALL, PRECISION = 0.85, 0.95  # on unseen rows, from which columns separate too well
DEPTH = 4  # of the trees that judge
N_SINGLES, N_PAIRS, N_TRIPLES = 8, 16, 12  # that trees look at
N_ALONG = 4  # columns that matter most to a weighted sum of all
MOST_CUTS = 400  # that are combined in pairs


class Leak(NamedTuple):
    """Columns that separate labelled anomalies from other rows, and how well on unseen rows."""

    columns: tuple[str, ...]
    n_found: int  # labelled anomalies that they recognise
    n_labelled: int  # that were looked at
    n_others: int  # unlabelled rows that they take for anomalies
    n_unlabelled: int  # that were looked at

    def note(self) -> Sentence:
        """What a user should know about it."""
        *first, last = map(repr, self.columns)
        subject, it, filled = f"the column {last}", "it", "it is"
        how = "almost by itself"
        if first:
            subject, it, filled = f"the columns {', '.join(first)} and {last}", "them", "they are"
            how = "almost completely, together"
        return Sentence(
            f"{subject} separate{'' if first else 's'} labelled anomalies {how}: on unseen rows, "
            f"{self.n_found:,} of {self.n_labelled:,} from all but {self.n_others:,} of "
            f"{self.n_unlabelled:,} others. If {filled} filled in only after an anomaly is "
            f"confirmed, leave {it} out: ",
            Setting("ignore", list(self.columns)),
        )


class _Rows(NamedTuple):
    """Rows that are looked at."""

    matrix: np.ndarray  # (n, d) float64
    y: np.ndarray  # (n,) bool
    weight: np.ndarray  # (n,) so that both kinds count alike
    is_first: np.ndarray  # (n,) bool: one half learns, the other judges, then they swap


def find_leak(
    encoder: TableEncoder, unlabelled: Any, labelled: Any, generator: np.random.Generator
) -> Leak | None:
    """The fewest columns that separate labelled anomalies from other rows, if any do.

    Parameters
    ----------
    encoder : TableEncoder
    unlabelled, labelled : matrices of shapes (n, d) and (k, d)
        Encoded training rows.
    generator : numpy Generator
        Draws which rows are looked at.
    """
    if labelled.shape[0] < FEWEST_LABELLED or unlabelled.shape[0] < FEWEST_UNLABELLED:
        return None
    dense = _dense_columns(encoder)
    if len(dense) < 2 or sum(map(len, dense.values())) > MOST_WIDTH:
        return None
    names, used = list(dense), np.concatenate(list(dense.values()))
    ends = np.cumsum([len(columns) for columns in dense.values()])
    parts = dict(zip(names, np.split(np.arange(len(used)), ends[:-1]), strict=True))
    rows = _drawn(unlabelled, labelled, used, generator)
    for chosen in _candidates(rows, list(parts.values())):
        columns = tuple(names[i] for i in sorted(chosen))
        matrix = rows.matrix[:, np.concatenate([parts[name] for name in columns])]
        found = _separation(rows, matrix, along=False) or _separation(rows, matrix, along=True)
        if found is not None:
            return Leak(columns, found[0], int(rows.y.sum()), found[1], int((~rows.y).sum()))
    return None


def _dense_columns(encoder: TableEncoder) -> dict[str, np.ndarray]:
    """Matrix columns of each table column, without texts and sparse vectors."""
    return {
        column.name: np.arange(block.start, block.stop)
        for column, block in zip(encoder.columns, encoder.blocks(), strict=True)
        if not (column.n_entries or column.is_wide)
    }


def _drawn(
    unlabelled: Any, labelled: Any, used: np.ndarray, generator: np.random.Generator
) -> _Rows:
    """Some rows of both kinds, in random order, so that every other one is of the first half.

    Only the columns that are used become dense.
    """
    drawn = []
    for matrix, most in ((unlabelled, MOST_UNLABELLED), (labelled, MOST_LABELLED)):
        chosen = generator.permutation(matrix.shape[0])[:most]
        part = matrix[chosen][:, used]
        drawn.append(np.asarray(part.todense() if sp.issparse(part) else part, dtype=np.float64))
    y = np.repeat([False, True], [len(part) for part in drawn])
    halves = [np.arange(len(part)) % 2 == 0 for part in drawn]
    weight = np.where(y, 1 / y.sum(), 1 / (~y).sum())
    return _Rows(np.concatenate(drawn), y, weight, np.concatenate(halves))


def _candidates(rows: _Rows, parts: list[np.ndarray]) -> list[frozenset[int]]:
    """Single table columns, then pairs, then triples, that are worth a look.

    Cuts of single columns are ranked by how differently they fall among labelled anomalies and
    other rows, alone and in pairs; triples are pairs that share a column. A weighted sum of all
    columns finds those that tell the label only by their difference.
    """
    cuts, owner = _cuts(rows, parts)
    shares = [cuts[rows.y == kind].mean(axis=0) for kind in (False, True)]
    order = np.argsort(-abs(shares[1] - shares[0]), kind="stable")
    singles = [frozenset([i]) for i in dict.fromkeys(owner[order].tolist())]
    cuts, owner = cuts[:, order[:MOST_CUTS]], owner[order[:MOST_CUTS]]
    pairs = _best_pairs(_contrast(cuts, rows.y), owner)
    triples = [one | other for one, other in combinations(pairs, 2) if one & other]
    along = _along(rows, parts)
    found = [
        *singles[:N_SINGLES],
        *pairs,
        *(frozenset(two) for two in combinations(along, 2)),
        *triples[:N_TRIPLES],
        *(frozenset(three) for three in combinations(along, 3)),
    ]
    return sorted(dict.fromkeys(found), key=len)


def _cuts(rows: _Rows, parts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Values of the matrix above a cut, (n, c) as 0 and 1, and the table column of each cut.

    Cuts are at the median, and where labelled anomalies and other rows differ most.
    """
    cuts, owner = [], []
    for i, part in enumerate(parts):
        for column in part:
            values = rows.matrix[:, column]
            places = {float(np.median(values)), _best_cut(values, rows.y)}
            cuts += [values > place for place in places]
            owner += [i] * len(places)
    return np.column_stack(cuts).astype(np.float32), np.array(owner)


def _best_cut(values: np.ndarray, y: np.ndarray) -> float:
    """Where the distributions of labelled anomalies and other rows differ most."""
    order = np.argsort(values, kind="stable")
    step = np.where(y, 1 / y.sum(), -1 / (~y).sum())[order]
    ordered = values[order]
    gap = np.where(ordered[1:] > ordered[:-1], abs(np.cumsum(step)[:-1]), -1.0)
    return float(ordered[np.argmax(gap)])


def _contrast(cuts: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Total variation between both kinds of rows in the four cells of each pair of cuts, (c, c)."""
    both, one = np.zeros((2, cuts.shape[1], cuts.shape[1])), np.zeros((2, cuts.shape[1]))
    for kind in (0, 1):
        part = cuts[y == bool(kind)]
        both[kind], one[kind] = part.T @ part / len(part), part.mean(axis=0)
    high, alone = both[1] - both[0], one[1] - one[0]
    first, second = alone[:, None] - high, alone[None, :] - high
    total: np.ndarray = abs(high) + abs(first) + abs(second) + abs(high + first + second)
    return total / 2


def _best_pairs(contrast: np.ndarray, owner: np.ndarray) -> list[frozenset[int]]:
    """Pairs of table columns with the highest contrast."""
    first, second = np.nonzero(owner[:, None] < owner[None, :])
    order = np.argsort(-contrast[first, second], kind="stable")[: 50 * N_PAIRS]
    best = zip(owner[first[order]].tolist(), owner[second[order]].tolist(), strict=True)
    return list(dict.fromkeys(map(frozenset, best)))[:N_PAIRS]


def _along(rows: _Rows, parts: list[np.ndarray]) -> list[int]:
    """The table columns that matter most to the weighted sum that separates best."""
    used = np.concatenate(parts)
    if len(used) > MOST_CUTS:
        return []
    matrix = rows.matrix[:, used]
    size = abs(_direction(matrix, rows.y)) * matrix.std(axis=0)
    owner = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    weight = np.bincount(owner, size, minlength=len(parts))
    ranked: list[int] = np.argsort(-weight, kind="stable")[:N_ALONG].tolist()
    return ranked


def _separation(rows: _Rows, matrix: np.ndarray, *, along: bool) -> tuple[int, int] | None:
    """Labelled anomalies and others that trees call anomalies, if they separate these.

    With `along`, cuts are along the direction that separates best.
    """
    n_found = n_others = 0
    n_labelled = int(rows.y.sum())
    for learns in (rows.is_first, ~rows.is_first):
        y = rows.y[learns]
        values = matrix @ _direction(matrix[learns], y)[:, None] if along else matrix
        called = _called(values.astype(np.float32), y, rows.weight[learns], learns)
        n_new = int(called[rows.y[~learns]].sum())
        n_found, n_others = n_found + n_new, n_others + int(called.sum()) - n_new
        if int(rows.y[~learns].sum()) - n_new > (1 - RECALL) * n_labelled:  # hopeless
            return None
    is_precise = n_found >= PRECISION * (n_found + n_others)
    return (n_found, n_others) if n_found >= RECALL * n_labelled and is_precise else None


def _called(
    values: np.ndarray, y: np.ndarray, weight: np.ndarray, learns: np.ndarray
) -> np.ndarray:
    """Which of the rows that it did not learn from a tree calls anomalies."""
    tree = DecisionTreeClassifier(max_depth=DEPTH, random_state=0)
    tree.fit(values[learns], y.astype(float), weight, check_input=False)
    called: np.ndarray = tree.predict(values[~learns], check_input=False) > 0
    return called


def _direction(matrix: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The weighted sum of columns that separates two kinds of rows best (Fisher's)."""
    means = [matrix[y == kind].mean(axis=0) for kind in (False, True)]
    centred = matrix - np.where(y[:, None], means[1], means[0])
    spread = centred.T @ centred / len(matrix)  # (d, d)
    tiny = 1e-9 * (np.trace(spread) or 1.0)
    found: np.ndarray = np.linalg.solve(spread + tiny * np.eye(len(spread)), means[1] - means[0])
    return found


def leak_from_header(value: Any) -> Leak | None:
    """A leak from the list that a model file has, or None; anything else raises an error."""
    if value is None:
        return None
    is_leak = isinstance(value, list) and len(value) == len(Leak._fields)
    if not (
        is_leak and is_texts(value[0]) and value[0] and all(map(whole_number(0).accepts, value[1:]))
    ):
        raise edited("the columns that tell the label", "this is not a list of names and counts")
    return Leak(tuple(value[0]), *value[1:])
