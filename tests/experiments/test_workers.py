"""Workers answer every job, whatever becomes of them."""

import math
import os
import signal
import time

import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_info

from devnet.experiments.workers import Workers


def all_answers(workers, n):
    answers = []
    while len(answers) < n:
        answers += workers.answers()
    return {answer.label: answer for answer in answers}


def test_results_errors_and_deaths_are_told_apart():
    with Workers(3) as workers:
        workers.start("good", math.sqrt, 4.0)
        workers.start("bad", math.sqrt, -1.0)
        workers.start("dead", os._exit, 3)
        assert workers.n_free == 0
        answers = all_answers(workers, 3)
        assert answers["good"].result == 2.0
        assert answers["good"].error == ""
        assert answers["bad"].error.startswith("ValueError: ")
        assert answers["dead"].error == "the worker process died with exit code 3"
        for label in range(3):  # one of them in the place of the dead one
            workers.start(label, math.sqrt, float(label))
        assert [answer.error for answer in all_answers(workers, 3).values()] == [""] * 3


def test_fresh_workers_do_one_job_each():
    with Workers(1, fresh=True) as workers:
        found = []
        for label in range(2):
            workers.start(label, os.getpid)
            found.append(all_answers(workers, 1)[label].result)
    assert found[0] != found[1]


def test_leaving_ends_busy_workers_at_once():
    start = time.perf_counter()
    with Workers(1) as workers:
        workers.start("long", time.sleep, 600)
    assert time.perf_counter() - start < 30


def test_a_worker_that_died_while_idle_is_replaced():
    with Workers(1) as workers:
        workers.start("pid", os.getpid)
        os.kill(all_answers(workers, 1)["pid"].result, signal.SIGKILL)
        time.sleep(0.5)
        workers.start("good", math.sqrt, 4.0)
        assert all_answers(workers, 1)["good"].result == 2.0


def test_a_killed_worker_hints_at_memory():
    with Workers(1) as workers:
        workers.start("killed", signal.raise_signal, signal.SIGKILL)
        answer = all_answers(workers, 1)["killed"]
    assert answer.error == "the worker process died with exit code -9; out of memory?"


def test_a_worker_has_one_thread_of_what_its_jobs_load(monkeypatch):
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "2")
    with Workers(1) as workers:
        workers.start("load", scipy.linalg.inv, np.eye(3))
        all_answers(workers, 1)
        workers.start("pools", threadpool_info)
        pools = all_answers(workers, 1)["pools"].result
    assert pools
    assert {pool["num_threads"] for pool in pools} == {1}
