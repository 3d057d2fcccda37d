"""Speed, as ratios against named rivals measured in the same run: `make bench`.

`python benchmarks/run.py` measures everything; a section's name measures that one only.
"""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import sections
from sections import Effort
from sklearn.ensemble import RandomForestClassifier

from devnet import DeviationEnsemble, DevNet
from devnet.competitors import PUBaggedTrees
from devnet.detectors.methods import METHODS
from devnet.experiments.memory import forget_peak_memory, peak_memory

REPEATS = 5
N_LABELLED = 30


def median_seconds(
    effort: Effort, *calls: Callable[[], object], repeats: int = REPEATS
) -> list[float]:
    """Median time of each call; calls take turns, so that a slow moment hits all of them."""
    seconds: list[list[float]] = [[] for _ in calls]
    for turn in range(effort.is_quick, effort.repeats(repeats) + 1):  # the first turn warms up
        for call, times in zip(calls, seconds, strict=True):
            start = time.perf_counter()
            call()
            if turn:
                times.append(time.perf_counter() - start)
    return [float(np.median(times)) for times in seconds]


def make_rows(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rows = np.random.default_rng(0).random((n, d), dtype=np.float32)
    y = np.zeros(n)
    y[:N_LABELLED] = 1
    rows[:N_LABELLED] += 0.3
    return rows, y


def fit(rows: object, y: np.ndarray) -> DevNet:
    return DevNet(device="cpu", random_state=0).fit(rows, y)


def fit_against_plain_port(effort: Effort) -> None:
    import plain_port  # the only section that needs torch

    print("Fit with the paper's settings against a plain PyTorch port of Algorithm 1")
    print(f"  {'columns':>8} {'devnet s':>9} {'port s':>8} {'times faster':>13}")
    widths, n_steps = (20, 60, 200, 500, 1000, 2000), 1000
    if effort.is_quick:
        widths, n_steps = (20,), 10
    for d in widths:
        rows, y = make_rows(effort.rows(20_000), d)
        ours, port = median_seconds(
            effort,
            lambda rows=rows, y=y: fit(rows, y),
            lambda rows=rows, y=y: plain_port.fit(rows, y, 0, n_steps),
        )
        print(f"  {d:>8} {ours:>9.3f} {port:>8.3f} {port / ours:>13.1f}")


def fit_against_number_of_rows(effort: Effort) -> None:
    print("\nFit at 50 columns, without one validation pass over the rows")
    print(f"  {'rows':>10} {'fit s':>7} {'validation s':>13} {'rest s':>7} {'ratio':>6}")
    first = None
    for n in sorted({*map(effort.rows, (10_000, 100_000, 1_000_000, 5_000_000))}):
        rows, y = make_rows(n, 50)
        one_step = DevNet(device="cpu", n_epochs=1, n_batches=1, batch_size=2, random_state=0)
        complete, validation = median_seconds(
            effort,
            lambda rows=rows, y=y: fit(rows, y),
            lambda rows=rows, y=y, m=one_step: m.fit(rows, y),
        )
        rest = complete - validation
        first = first or rest
        print(f"  {n:>10,} {complete:>7.3f} {validation:>13.3f} {rest:>7.3f} {rest / first:>6.2f}")


def scoring_against_bare_product(effort: Effort) -> None:
    n = effort.rows(1_000_000)
    rows, y = make_rows(n, 50)
    model = fit(rows[:20_000], y[:20_000])
    generator = np.random.default_rng(0)
    kernel, unit = generator.normal(size=(50, 20)).astype("f4"), np.ones(20, dtype="f4")
    bias = np.ones(20, dtype="f4")
    ours, bare = median_seconds(
        effort,
        lambda: model.anomaly_score(rows),
        lambda: np.maximum(rows @ kernel + bias, 0) @ unit,
    )
    print(f"\nScoring {n:,} x 50 against the bare relu(X @ W + b) @ w in NumPy")
    print(f"  devnet {ours:.3f} s, bare {bare:.3f} s, ratio {ours / bare:.2f}")


def sparse_fit(effort: Effort) -> None:
    generator = np.random.default_rng(0)
    n, d, per_row = effort.rows(89_000), effort.rows(3_200_000), 115
    # Column frequencies fall off as in text and URLs: many rare columns, few frequent ones.
    columns = np.empty((n, per_row), dtype=np.int32)
    for row in columns:
        row[:] = d * generator.random(per_row) ** 3
    indptr = np.arange(0, columns.size + 1, per_row, dtype=np.int32)
    rows = sp.csr_matrix((np.ones(columns.size, "f4"), columns.ravel(), indptr), shape=(n, d))
    y = np.zeros(n)
    y[:N_LABELLED] = 1
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    model = fit(rows, y)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    model.anomaly_score(rows)
    scoring = time.perf_counter() - start
    print(f"\nSparse fit, {n:,} x {d:,} with {per_row} non-zeros a row, the paper's settings")
    print(
        f"  fit {seconds:.1f} s, peak memory {peak / 1e6:.2f} GB ({before / 1e6:.2f} GB before), "
        f"scoring all rows {scoring:.2f} s"
    )


def competitors(effort: Effort) -> None:
    print("\nMethods trained by gradients: fit at 60 columns and 1,000 steps of 512 rows,")
    n = effort.rows(1_000_000)
    print(f"scoring {n:,} rows, and how much memory that adds to the rows")
    rows, y = make_rows(effort.rows(20_000), 60)
    many, _ = make_rows(n, 60)
    methods = {
        name: METHODS[name](n_epochs=50, n_batches=20, device="cpu", random_state=0)
        for name in ("DevNet", "REPEN", "DSVDD", "FSNet")
    }
    # A step of REPEN computes three rows for each of its triplets.
    sizes = {"DevNet": 512, "REPEN": 170, "DSVDD": 512, "FSNet": 512}
    for name, method in methods.items():
        method.set_params(batch_size=sizes[name])
    fits = median_seconds(
        effort, *(lambda m=m: m.fit(rows, y) for m in methods.values()), repeats=3
    )
    for (name, method), seconds in zip(methods.items(), fits, strict=True):
        forget_peak_memory()
        before = peak_memory()
        start = time.perf_counter()
        method.anomaly_score(many)
        scoring = time.perf_counter() - start
        print(
            f"  {name:<7} fit {seconds:.3f} s, {seconds / fits[0]:.2f} x DevNet's; scoring "
            f"{scoring:.2f} s, {(peak_memory() - before) / 1e6:.0f} MB"
        )


def ensemble(effort: Effort) -> None:
    n = effort.rows(100_000)
    print(f"\nDeviationEnsemble on {n:,} x 60 against PU trees and scikit-learn's random forest")
    rows, y = make_rows(n, 60)
    models = {
        "deviation ensemble": DeviationEnsemble(random_state=0),
        "PU trees": PUBaggedTrees(random_state=0),
        "random forest": RandomForestClassifier(class_weight="balanced", n_jobs=-1, random_state=0),
    }
    scorers = [m.predict_proba if "forest" in n else m.anomaly_score for n, m in models.items()]
    fits = median_seconds(effort, *(lambda m=m: m.fit(rows, y) for m in models.values()), repeats=3)
    scores = median_seconds(
        effort, *(lambda score=score: score(rows) for score in scorers), repeats=3
    )
    for name, fit_seconds, seconds in zip(models, fits, scores, strict=True):
        print(f"  {name:<18} fit {fit_seconds:.2f} s, scoring {len(rows) / seconds:,.0f} rows/s")
    ours = models["deviation ensemble"]
    y[:40] = 1
    (refit,) = median_seconds(effort, lambda: ours.refit(rows, y), repeats=3)
    print(f"  refit with ten more labels {refit:.2f} s, {refit / fits[0]:.2f} x the fit")
    (explain,) = median_seconds(effort, lambda: ours.contributions(rows[:1000]), repeats=3)
    print(f"  contributions of 1,000 rows {explain:.3f} s")
    many, _ = make_rows(effort.rows(1_000_000), 60)
    forget_peak_memory()
    before = peak_memory()
    ours.anomaly_score(many)
    print(f"  scoring {len(many):,} rows adds {(peak_memory() - before) / 1e6:.0f} MB to them")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        ours.save(path)
        print(f"  model file {path.stat().st_size / 1e6:.1f} MB")


def import_time(effort: Effort) -> None:
    program = (
        "import time, sklearn.base; s = time.perf_counter(); import devnet; devnet.DevNet; "
        "print(time.perf_counter() - s)"
    )
    runs = [
        float(subprocess.run([sys.executable, "-c", program], capture_output=True).stdout)
        for _ in range(effort.repeats(REPEATS))
    ]
    print(f"\nfrom devnet import DevNet adds {np.median(runs):.2f} s to import sklearn")


SECTIONS = (
    fit_against_plain_port,
    fit_against_number_of_rows,
    scoring_against_bare_product,
    sparse_fit,
    competitors,
    ensemble,
    import_time,
)

if __name__ == "__main__":
    sections.run(__file__, SECTIONS, __doc__)
