"""A few rows through many trees at once: each comparison strikes out leaves, and one is left.

Leaves are bits of words of 64, from left to right. A comparison strikes out the leaves of the side
that the row does not go to, as a mask of bits. All masks of a word together leave the leaf that the
row reaches, or nothing if it is in another word of the tree. This takes a handful of operations on
arrays, however deep the trees are.
"""

from typing import NamedTuple, Self

import numpy as np

WORD = 64  # leaves
ALL = np.uint64(2**64 - 1)
ONE = np.uint64(1)
MOST_MASKS = 1 << 17  # of a forest; those of ordinary trees are a tenth of it
ROWS_AT_ONCE = 16  # few enough for their masks to stay in the processor's cache


class Splits(NamedTuple):
    """The inner nodes of many trees; leaves are counted from left to right, tree by tree."""

    column: np.ndarray  # (n,) compared
    threshold: np.ndarray  # (n,) float64; a row goes left if its value is not above it
    first: np.ndarray  # (n,) first leaf below
    middle: np.ndarray  # (n,) first leaf on the right
    end: np.ndarray  # (n,) after the last leaf below

    @property
    def are_few(self) -> bool:
        """Whether their masks take no more memory than is worth it."""
        return bool(((self.end - self.first) // WORD + 2).sum() <= MOST_MASKS)


class LeafBits:
    """The masks of a forest.

    Parameters
    ----------
    splits : Splits
    first : array of shape (n_trees,)
        The first leaf of each tree; each begins a word.
    value : array of shape (n_leaves,)
        What a leaf is worth.
    """

    def __init__(self, splits: Splits, first: np.ndarray, value: np.ndarray) -> None:
        n_words = -(-np.diff(first, append=len(value)) // WORD)
        word_start = np.cumsum(n_words) - n_words  # (n_trees,)
        leaf = np.arange(len(value))
        tree = np.searchsorted(first, leaf, side="right") - 1
        bit = WORD * word_start[tree] + leaf - first[tree]  # of each leaf, in all words
        self._value = np.zeros((n_words.sum(), WORD + 1))  # the last is that of no leaf
        self._value[bit // WORD, bit % WORD] = value
        pairs = zip(_Masks.of_words(bit), _Masks.of_splits(splits, bit), strict=True)
        masks = _Masks(*map(np.concatenate, pairs))
        order = np.argsort(masks.word, kind="stable")
        self._masks = _Masks(*(part[order] for part in masks))
        self._start = np.flatnonzero(np.diff(self._masks.word, prepend=-1))  # of each word
        self._row = np.arange(len(self._value)) * (WORD + 1)

    def sum_values(self, rows: np.ndarray) -> np.ndarray:
        """Sum of the values of the leaves that rows reach, tree after tree, (b, d) -> (b,)."""
        starts = range(0, len(rows), ROWS_AT_ONCE)
        parts = [self._sums(rows[start : start + ROWS_AT_ONCE]) for start in starts]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0), *parts])

    def _sums(self, rows: np.ndarray) -> np.ndarray:
        masks = self._masks
        is_right = rows.take(masks.column, axis=1) > masks.threshold  # (b, n_masks)
        kept = np.where(is_right, masks.right, masks.left)
        left = np.bitwise_and.reduceat(kept, self._start, axis=1)  # (b, n_words), one bit or none
        leaf = np.bitwise_count(left - ONE)  # its position; 64 if there is none
        sums: np.ndarray = np.cumsum(self._value.take(leaf + self._row), axis=1)[:, -1]
        return sums


class _Masks(NamedTuple):
    """Masks of words, one for each word that has leaves below a split."""

    word: np.ndarray
    column: np.ndarray
    threshold: np.ndarray  # float32, rounded down: no float32 value lies between
    left: np.ndarray  # uint64, without the leaves on the right
    right: np.ndarray

    @classmethod
    def of_words(cls, bit: np.ndarray) -> Self:
        """The leaves of each word: what is left where nothing is struck out."""
        start = np.flatnonzero(bit % WORD == 0)
        n_leaves = np.diff(start, append=len(bit))
        all_of_them = _below(n_leaves)
        word = np.arange(len(start))
        never = np.full(len(start), np.inf, np.float32)
        return cls(word, np.zeros_like(word), never, all_of_them, all_of_them)

    @classmethod
    def of_splits(cls, splits: Splits, bit: np.ndarray) -> Self:
        """The masks of splits, given the bit of each leaf."""
        first, middle, last = (bit[part] for part in (splits.first, splits.middle, splits.end - 1))
        n_words = last // WORD - first // WORD + 1
        split = np.repeat(np.arange(len(first)), n_words)
        begun = np.repeat(np.cumsum(n_words) - n_words, n_words)
        word = (first // WORD)[split] + np.arange(len(split)) - begun
        at = (part[split] - WORD * word for part in (first, middle, last + 1))
        first, middle, end = (np.clip(part, 0, WORD) for part in at)
        return cls(
            word,
            splits.column[split].astype(np.int64),
            _rounded_down(splits.threshold)[split],
            ~(_below(end) & ~_below(middle)),
            ~(_below(middle) & ~_below(first)),
        )


def _below(end: np.ndarray) -> np.ndarray:
    """Words with all bits before `end`, which is at most 64."""
    shift = np.minimum(end, WORD - 1).astype(np.uint64)
    found: np.ndarray = np.where(end >= WORD, ALL, (ONE << shift) - ONE)
    return found


def _rounded_down(threshold: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        rounded = threshold.astype(np.float32)
    below: np.ndarray = np.nextafter(rounded, np.float32(-np.inf))
    return np.where(rounded > threshold, below, rounded)
