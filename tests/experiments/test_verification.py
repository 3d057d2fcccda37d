"""Results that were made again are compared run by run and cell by cell."""

from support.experiments import record

from devnet.experiments.verification import verify

OLD = [record(0, value=0.5), record(1, value=0.6), record(2, value=0.7)]


def test_the_same_runs_are_reproduced():
    verdict = verify(OLD, list(reversed(OLD)))
    assert verdict == (3, 0, 3, 0.0, [], 1)
    assert verdict.is_reproduced


def test_means_within_their_intervals_are_reproduced():
    verdict = verify(OLD, [record(0, value=0.52), *OLD[1:]])
    assert verdict.n_equal == 2
    assert round(verdict.largest_difference, 6) == 0.02
    assert verdict.is_reproduced


def test_means_outside_of_their_intervals_are_named():
    verdict = verify(OLD, [record(seed, value=0.99) for seed in range(3)])
    assert not verdict.is_reproduced
    assert verdict.outside == [
        "value of DevNet on thyroid (n_labelled=30): 0.9900, was 0.6000 (0.3516 to 0.8484)"
    ]


def test_missing_runs_are_not_reproduced():
    verdict = verify(OLD, OLD[:2])
    assert (verdict.n_runs, verdict.n_missing) == (2, 1)
    assert not verdict.is_reproduced


def test_nothing_in_common_is_not_reproduced():
    assert not verify(OLD, [record(0, error="no")]).is_reproduced
