"""Does ranking quality suffer from lazy updates of sparse columns? Both ways on the same splits."""

import numpy as np
from accuracy import run

from devnet import datasets
from devnet.detectors import network_detector

N_COLUMNS = 10_000  # the most frequent ones: a dense batch of them still fits
N_RUNS = 3

for name in ("news20", "URL"):
    dataset = datasets.load(name)
    frequency = np.bincount(dataset.rows.indices, minlength=dataset.rows.shape[1])
    frequent = np.sort(np.argsort(-frequency)[:N_COLUMNS])
    dataset = dataset._replace(rows=dataset.rows[:, frequent].tocsr())
    for way, wide in (("dense", N_COLUMNS + 1), ("lazy", N_COLUMNS)):
        network_detector.WIDE = wide
        roc, pr, seconds = np.mean([run(dataset, "Def", seed) for seed in range(N_RUNS)], axis=0)
        print(
            f"{name:<7} {way:<6} AUC-ROC {roc:.3f}  AUC-PR {pr:.3f}  fit {seconds:.1f} s",
            flush=True,
        )
