"""Does ranking suffer from lazy updates of sparse columns? Both ways on the same splits.

`python benchmarks/lazy_updates.py` measures both data sets; a set's name measures that one only.
"""

from unittest.mock import patch

import numpy as np
import sections
from sections import Effort

from devnet import DevNet, datasets
from devnet.detectors import network_detector
from devnet.experiments.measures import ranking

N_COLUMNS = 10_000  # the most frequent ones: a dense batch of them still fits
N_RUNS = 3


def news20(effort: Effort) -> None:
    compare("news20", effort)


def URL(effort: Effort) -> None:
    compare("URL", effort)


def compare(name: str, effort: Effort) -> None:
    dataset = datasets.load(name)
    frequency = np.bincount(dataset.rows.indices, minlength=dataset.rows.shape[1])
    frequent = np.sort(np.argsort(-frequency)[:N_COLUMNS])
    dataset = dataset._replace(rows=dataset.rows[:, frequent].tocsr())
    n_epochs = 1 if effort.is_quick else 50
    for way, wide in (("dense", N_COLUMNS + 1), ("lazy", N_COLUMNS)):
        with patch.object(network_detector, "WIDE", wide):
            runs = [
                ranking(DevNet(n_epochs=n_epochs, device="cpu", random_state=seed), dataset, seed)
                for seed in range(effort.repeats(N_RUNS))
            ]
        roc, pr = (np.mean([run.metrics[m] for run in runs]) for m in ("AUC-ROC", "AUC-PR"))
        seconds = np.mean([run.seconds["fit"] for run in runs])
        print(
            f"{name:<7} {way:<6} AUC-ROC {roc:.3f}  AUC-PR {pr:.3f}  fit {seconds:.1f} s",
            flush=True,
        )


SECTIONS = (news20, URL)

if __name__ == "__main__":
    sections.run(__file__, SECTIONS, __doc__)
