"""Known names, and the one that was probably meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devnet.core.names import known, nearest
from devnet.core.sentence import UserError

NAMES = ["fraud", "Thyroid", "census"]


@given(st.lists(st.text(), min_size=1), st.data())
def test_a_known_name_is_returned_and_is_nearest_to_itself(names: list[str], data) -> None:
    name = data.draw(st.sampled_from(names))
    assert known(name, names, "column") == name
    assert nearest(name, names) == name


@given(st.text(), st.lists(st.text()))
def test_nearest_is_one_of_the_names_or_none(name: str, names: list[str]) -> None:
    assert nearest(name, names) in [*names, None]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("fruad", "fraud"), ("THYROID", "Thyroid"), ("thyriod", "Thyroid"), ("xyz", None), ("", None)],
)
def test_nearest_forgives_typing_errors_and_case(name: str, expected: str | None) -> None:
    assert nearest(name, NAMES) == expected


def test_an_exact_name_wins_over_one_in_another_case() -> None:
    assert nearest("a", ["A", "a", "b"]) == "a"
    assert nearest("A", ["A", "a", "b"]) == "A"


def test_no_names_have_no_nearest() -> None:
    assert nearest("fraud", []) is None


@pytest.mark.parametrize("name", ["it's 'odd'", "What? Did you mean 'b'?", "two\nlines", "{name}"])
def test_odd_characters_do_not_hide_the_nearest_name(name: str) -> None:
    assert nearest(name[:-1], [name, "zzz"]) == name


def test_an_unknown_name_is_an_error_of_the_user_with_a_hint() -> None:
    with pytest.raises(UserError, match=r"unknown data set 'fruad'.* Did you mean 'fraud'\?$"):
        known("fruad", NAMES, "data set")


def test_an_unknown_name_like_no_other_gets_the_names_alone() -> None:
    with pytest.raises(ValueError, match=r"known are fraud, Thyroid, census\.$"):
        known("xyz", NAMES, "data set")


def test_at_most_twenty_names_are_listed() -> None:
    names = [f"v{i}" for i in range(30)]
    with pytest.raises(ValueError, match=r"v19, \.\.\.") as caught:
        known("xyz", names, "column")
    assert "v20" not in str(caught.value)
