"""Hashed n-grams: the same for the same characters, wherever and whenever they occur."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devnet.tables.columns import ngrams
from devnet.tables.columns.ngrams import characters_of, matrix_of

WIDTH = 1 << 16


def texts_of(*texts):
    return pa.array(texts, pa.large_string())


def grams(text):
    """Every n-gram of a text with its column."""
    characters = characters_of(texts_of(text))
    letters = "".join(map(chr, characters.code))
    found = characters.ngrams(WIDTH, has_runs=True)
    return {
        (letters[start:stop], column)
        for column, start, stop in zip(found.column, found.start, found.stop, strict=True)
    }


def test_a_text_becomes_words_pairs_of_words_and_runs_of_characters():
    found = sorted(gram for gram, _ in grams("Go  to it"))
    runs = ["go ", "o t", " to", "to ", "o i", " it", "go t", "o to", " to ", "to i", "o it"]
    runs += ["go to", "o to ", " to i", "to it"]
    assert found == sorted(["go", "to", "it", "go to", "to it", *runs])


@settings(max_examples=50)
@given(st.lists(st.text(max_size=30), min_size=1, max_size=8))
def test_a_text_has_the_same_columns_alone_and_among_others(texts):
    together = matrix_of(texts_of(*texts), WIDTH, has_runs=True)
    for i, text in enumerate(texts):
        alone = matrix_of(texts_of(text), WIDTH, has_runs=True)
        assert together[[i]].indices.tolist() == alone.indices.tolist()
        assert alone.indices.tolist() == sorted({column for _, column in grams(text)})


def test_tiles_do_not_show(monkeypatch):
    texts = texts_of(*(f"message {i} about {i % 7} things" for i in range(300)), None, "")
    whole = matrix_of(texts, WIDTH, has_runs=True)
    monkeypatch.setattr(ngrams, "TILE_CHARACTERS", 100)
    assert (matrix_of(texts, WIDTH, has_runs=True) != whole).nnz == 0


def test_columns_are_the_same_on_every_machine():
    found = sorted(grams("Überweisung https://a.b"))
    assert [column for gram, column in found if gram in ("https", "überweisung")] == [
        12027,
        41152,
        27398,
    ]


@pytest.mark.parametrize("text", [None, "", " ", "\0\0"])
def test_an_empty_text_has_no_ngrams(text):
    assert matrix_of(texts_of(text), WIDTH, has_runs=True).nnz == 0


def test_long_texts_are_read_to_a_limit():
    text = "".join(chr(97 + i % 26) for i in range(3 * ngrams.MOST_CHARACTERS))
    both = matrix_of(texts_of(text, text[: ngrams.MOST_CHARACTERS]), WIDTH, has_runs=True)
    assert np.array_equal(both[[0]].indices, both[[1]].indices)


def test_without_runs_there_are_only_words_and_pairs():
    text = texts_of("go to it")
    assert matrix_of(text, WIDTH, has_runs=False).nnz == 5
