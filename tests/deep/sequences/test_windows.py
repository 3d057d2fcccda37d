"""Windows of a series, and their labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devnet.deep.sequences.windows import windows


@given(st.data())
def test_windows_are_slices_and_their_labels_follow_the_rule(data):
    n = data.draw(st.integers(5, 60))
    length = data.draw(st.integers(1, n))
    step = data.draw(st.integers(1, length))
    pairs = st.tuples(st.integers(0, n - 1), st.integers(1, n)).filter(lambda p: p[0] < p[1])
    intervals = data.draw(st.lists(pairs, max_size=3))
    found = windows(np.arange(n), length, step, intervals=intervals)
    expected = {}
    for start in range(0, n - length + 1, step):
        steps = set(range(start, start + length))
        shared = [len(steps & set(range(*one))) for one in intervals]
        holds = [s >= max(1, 0.5 * (e - a)) for s, (a, e) in zip(shared, intervals, strict=True)]
        if any(holds) or (sum(shared) >= 0.5 * length and sum(shared)):
            expected[start] = 1
        elif not sum(shared):
            expected[start] = 0
    assert dict(zip(found.start.tolist(), found.y.tolist(), strict=True)) == expected
    for X, start in zip(found.X, found.start, strict=True):
        assert X[:, 0].tolist() == list(range(start, start + length))


def test_channels_stay_together():
    series = np.arange(20).reshape(10, 2)
    np.testing.assert_array_equal(windows(series, 4, 3).X[1], series[3:7])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"length": 11}, "length=11 is longer than the series, which has 10 steps"),
        ({"length": 0}, "length=0 must be a whole number of at least 1"),
        ({"length": 4, "step": 2.5}, "step=2.5 must be a whole number"),
        ({"length": 4, "step": 5}, "step=5 is larger than length=4"),
        ({"length": 4, "intervals": [(2, 3), (8, 12)]}, r"interval 1 is \(8, 12\).*steps 0 to 9"),
        ({"length": 4, "intervals": [(-1, 3)]}, "not within the series"),
        ({"length": 4, "intervals": [(3, 3)]}, "which has no steps"),
        ({"length": 4, "intervals": [(3, 4, 5)]}, r"interval 0 is \(3, 4, 5\).*must be a pair"),
        ({"length": 4, "intervals": [(3, 4.5)]}, "must be a pair of steps"),
    ],
)
def test_windows_that_cannot_be_cut(arguments, message):
    with pytest.raises(ValueError, match=message):
        windows(np.arange(10.0), **arguments)


@pytest.mark.parametrize(
    ("series", "message"),
    [
        (np.zeros((3, 2, 2)), r"shape \(3, 2, 2\), but must be \(t,\) or \(t, c\)"),
        ([], "at least one step"),
        (["a", "b"], "no numbers"),
    ],
)
def test_what_is_no_series(series, message):
    with pytest.raises(ValueError, match=message):
        windows(series, 1)
