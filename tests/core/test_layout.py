"""Layouts: which columns of a matrix were one column of a table."""

import pytest

from devnet.core.layout import Layout


def test_columns_know_their_block():
    layout = Layout((1, 3, 2), (False, False, True))
    assert layout.n_columns == 6
    assert layout.block.tolist() == [0, 1, 1, 1, 2, 2]
    assert layout.spans() == [slice(0, 1), slice(1, 4), slice(4, 6)]


def test_without_wide_blocks_the_others_remain():
    assert Layout((1, 9000, 3), (False, True, False)).narrow() == Layout((1, 3), (False, False))
    assert Layout((9000,), (True,)).narrow() is None


@pytest.mark.parametrize(
    ("widths", "is_wide"),
    [
        ((), ()),
        ((1, 2), (False,)),
        ((0,), (False,)),
        ((1.5,), (False,)),
        ((1,), (1,)),
        ((1 << 28,), (True,)),
    ],
)
def test_impossible_layouts_are_refused(widths, is_wide):
    with pytest.raises(ValueError, match="layout"):
        Layout(widths, is_wide)
