"""Text from outside, as it is shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.hostile import EVIL, acts, check_clean

from devnet.core.wording import visible


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("two\nlines\r\tand a tab", r"two\nlines\r\tand a tab"),
        ("\x7f\x9b", r"\x7f\x9b"),
        ("invoice\u202exslx.exe", r"invoice\u202exslx.exe"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("not UTF-8: \udcff", r"not UTF-8: \udcff"),
    ],
)
def test_what_acts_on_a_terminal_is_written_out(text, told):
    assert visible(text) == told


@pytest.mark.parametrize(
    "text", ["", "amount", r"C:\new", "סכום", "مبلغ", "日本", "👩\u200d💻", "a\u00a0b", "1 ± 2"]
)
def test_ordinary_text_of_any_script_stays_as_it_is(text):
    assert visible(text) == text


@given(st.text(st.characters()))
def test_nothing_acts_in_what_is_shown_and_it_can_be_shown_again(text):
    once = visible(text + EVIL)
    check_clean(once)
    assert not any(map(acts, once))
    assert visible(once) == once
    once.encode()
