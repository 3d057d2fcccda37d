"""Sentences: texts stay as they are, and each surface spells the settings."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devnet.core.sentence import Sentence, Setting, UserError

VALUES = st.one_of(st.none(), st.text(), st.integers(), st.lists(st.text()))
SETTINGS = st.builds(Setting, st.text(), VALUES)
PARTS = st.lists(st.one_of(st.text(), SETTINGS))
ODD = "braces {0} {x}, quotes ' and \", %s, a backslash \\n\nand a second line"


class OwnError(UserError):
    """A subclass, as rooms have them."""


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        (Setting("label"), "label"),
        (Setting("method", "deviation ensemble"), "method='deviation ensemble'"),
        (Setting("ignore", ["a b", "it's"]), "ignore=['a b', \"it's\"]"),
        (Setting("n_shown", 0), "n_shown=0"),
        (Setting("ignore", []), "ignore=[]"),
    ],
)
def test_a_setting_is_spelled_as_in_python(setting, expected):
    assert str(setting) == expected


@given(PARTS)
def test_str_spells_settings_as_in_python(parts):
    assert str(Sentence(*parts)) == "".join(map(str, parts))


@given(PARTS)
def test_a_surface_spells_settings_and_leaves_texts_alone(parts):
    spelled = Sentence(*parts).spelled(lambda setting: f"<{setting.name}>")
    assert spelled == "".join(p if isinstance(p, str) else f"<{p.name}>" for p in parts)


def test_texts_are_not_formatted_or_escaped():
    sentence = Sentence(ODD, Setting("label"), ODD)
    assert str(sentence) == f"{ODD}label{ODD}"
    assert sentence.spelled(lambda setting: "--label") == f"{ODD}--label{ODD}"


def test_what_a_surface_spells_is_not_read_again():
    assert Sentence("give ", Setting("label", ODD)).spelled(lambda s: s.value) == f"give {ODD}"


def test_equal_sentences_have_equal_parts():
    assert Sentence("give ", Setting("label")) == Sentence("give ", Setting("label"))
    assert Sentence("give ", Setting("label")) != Sentence("give label")
    assert Sentence("give") != "give"
    assert len({Sentence("a"), Sentence("a"), Sentence("b")}) == 2
    unhashable = Setting("ignore", ["a"])
    assert len({Sentence(unhashable), Sentence(unhashable)}) == 1


def test_an_error_is_a_value_error_that_speaks_python():
    with pytest.raises(ValueError, match=r"^give label\.$") as caught:
        raise UserError("give ", Setting("label"), ".")
    assert caught.value.spelled(lambda setting: f"--{setting.name}") == "give --label."


@pytest.mark.parametrize("kind", [UserError, OwnError])
@given(PARTS)
def test_an_error_survives_pickling_and_copying(kind, parts):
    error = kind(*parts)
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(twin) is kind
        assert str(twin) == str(error)
        assert twin.sentence == error.sentence
        assert twin.spelled(lambda setting: "?") == error.spelled(lambda setting: "?")
