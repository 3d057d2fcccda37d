"""Results that were made again are compared run by run and cell by cell."""

from dataclasses import replace

from support.experiments import record

from devnet.experiments.verification import digest_of, verify

OLD = [record(0, value=0.5), record(1, value=0.6), record(2, value=0.7)]


def test_the_same_runs_are_reproduced():
    verdict = verify(OLD, list(reversed(OLD)))
    assert verdict == (3, 0, 3, 0.0, [], 1, 0, 0, 0)
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


def test_a_run_alone_is_held_against_the_interval_of_all_runs():
    nearly = [record(0, value=0.74)]
    verdict = verify(OLD[:1], nearly, OLD)
    assert verdict.n_equal == 0
    assert verdict.outside == []
    assert verdict.is_reproduced
    far = verify(OLD[:1], [record(0, value=0.76)], OLD)
    assert far.outside == [
        "value of DevNet on thyroid (n_labelled=30): 0.7600, was 0.5000 (0.2516 to 0.7484)"
    ]


def test_rounding_is_no_difference_where_there_is_no_spread():
    alike = [record(seed, value=1.0) for seed in range(3)]
    for old in (alike, alike[:1]):
        assert verify(old, [record(0, value=1 - 1e-12), *old[1:]]).is_reproduced
        assert not verify(old, [record(0, value=0.99), *old[1:]]).is_reproduced


def test_runs_without_an_earlier_one_are_counted():
    verdict = verify(OLD[:2], [*OLD, record(3, error="no")])
    assert (verdict.n_runs, verdict.n_missing, verdict.n_new) == (2, 0, 1)


def test_runs_that_another_experiment_has_repeated_are_counted():
    new = [replace(one, taken_from="other") for one in OLD[:2]]
    verdict = verify(OLD, [new[0], replace(new[1], metrics={"value": 0.61}), OLD[2]])
    assert (verdict.n_runs, verdict.n_equal) == (3, 2)
    assert (verdict.n_taken, verdict.n_taken_equal) == (2, 1)


def test_a_digest_is_of_the_metrics_of_finished_runs():
    digest = digest_of(OLD)
    assert digest_of([*reversed(OLD), record(3, error="no")]) == digest
    assert digest_of([replace(one, seconds={"total": 9.0}) for one in OLD]) == digest
    assert digest_of([record(0, value=0.5 + 1e-12), *OLD[1:]]) != digest
    assert digest_of(OLD[1:]) != digest


def test_nothing_in_common_is_not_reproduced():
    assert not verify(OLD, [record(0, error="no")]).is_reproduced
