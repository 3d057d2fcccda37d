"""Sequences and long series: seconds and memory.

`python benchmarks/sequences.py` runs all sections. Needs the extra `torch`.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import sections
from sections import Effort

from devnet import DevNet, SequenceDevNet, find_events, fit_series
from devnet.deep.sequences.score_series import score_blocks
from devnet.experiments.memory import forget_peak_memory, peak_memory

N_SEQUENCES, N_STEPS, N_LABELLED = 5_000, 140, 30
N_LONG, LENGTH, STEP = 10_000_000, 100, 50
CHUNK = 1_000_000


def training(effort: Effort) -> None:
    n = effort.rows(N_SEQUENCES)
    X = np.random.default_rng(0).normal(size=(n, N_STEPS))
    X[:N_LABELLED, 20:40] += 2
    y = (np.arange(n) < N_LABELLED).astype(int)
    print(f"{n:,} sequences of {N_STEPS} steps, {N_LABELLED} labelled")
    print(f"  {'method':<34} {'fit':>8} {'score':>8}")
    epochs = {"n_epochs": 1} if effort.is_quick else {}
    for name, model in {
        "DevNet on steps": DevNet(random_state=0, **epochs),
        "SequenceDevNet": SequenceDevNet(random_state=0, **epochs),
        "SequenceDevNet, steps": SequenceDevNet(head="steps", random_state=0, **epochs),
        "SequenceDevNet, recurrent (16,)": SequenceDevNet(
            (16,), learner="recurrent", random_state=0, **epochs
        ),
    }.items():
        start = time.perf_counter()
        model.fit(X, y)
        fitted = time.perf_counter()
        model.anomaly_score(X)
        scored = time.perf_counter()
        print(f"  {name:<34} {fitted - start:>6.1f} s {scored - fitted:>6.1f} s", flush=True)


def series(effort: Effort) -> None:
    n = 50_000 if effort.is_quick else effort.n_longest or N_LONG
    generator = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "series.npy"
        write(path, n, generator)
        mapped = np.load(path, mmap_mode="r")
        train = wave(0, 40_000, generator)
        faults = [(start, start + 40) for start in range(500, 40_000, 1_300)]
        for start, end in faults:
            train[start:end] += 2
        detector = SequenceDevNet(random_state=0, n_epochs=1 if effort.is_quick else 20)
        ranks = fit_series(detector, train, faults, LENGTH, STEP, block=LENGTH, random_state=0)
        forget_peak_memory()
        before = peak_memory()
        start = time.perf_counter()
        events = find_events(score_blocks(detector, mapped, ranks), ranks.smallest, gap=LENGTH)
        seconds = time.perf_counter() - start
        more = (peak_memory() - before) / 1e6
    print(f"A series of {n:,} steps ({n * 8 / 1e6:,.0f} MB), windows of {LENGTH} every {STEP}")
    print(f"  {seconds:.1f} s, {more:,.0f} MB more at the peak, {len(events):,} events")


def write(path: Path, n: int, generator: np.random.Generator) -> None:
    file = np.lib.format.open_memmap(path, "w+", np.float64, (n,))
    for start in range(0, n, CHUNK):
        end = min(start + CHUNK, n)
        file[start:end] = wave(start, end, generator)
    file.flush()


def wave(start: int, end: int, generator: np.random.Generator) -> np.ndarray:
    steps = np.arange(start, end)
    return np.sin(steps / 7) + 0.3 * generator.normal(size=len(steps))


SECTIONS = [training, series]

if __name__ == "__main__":
    sections.run(__file__, SECTIONS, __doc__)
