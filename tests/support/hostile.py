"""Text that acts on a terminal if it is printed as it is, and whether some text does."""

import unicodedata

EVIL = (
    "x\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\u202eabc\u202c\u2066\u2069\u200e\u200f\u061c\u2028\u2029"
    "\r\tforged\nforged: yes"
)
DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
MARKS = "\u200e\u200f\u061c"


def acts(sign):
    """Whether a character moves the cursor, ends a line or turns text around."""
    is_control = unicodedata.category(sign) in ("Cc", "Zl", "Zp", "Cs")
    return is_control or sign in MARKS or unicodedata.bidirectional(sign) in DIRECTIONS


def check_clean(text):
    """Nothing acts but the ends of our own lines, and no line is forged."""
    assert {sign for sign in text if acts(sign)} <= {"\n"}, ascii(text)
    assert not [line for line in text.split("\n") if line.startswith("forged")], ascii(text)
