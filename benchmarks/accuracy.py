"""Ranking quality of DevNet and its variants beside the paper's tables.

Usage: python benchmarks/accuracy.py [--runs 10] [--variant Def] [SET ...]; `make accuracy`.
"""

import argparse
import time

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from devnet import DevNet, datasets
from devnet.experiments.protocol import make_task
from devnet.experiments.published import TABLE_2

VARIANTS = {
    "Def": {},
    "Rep": {"end_to_end": False},
    "Linear": {"hidden": ()},
    "3HL": {"hidden": (1000, 250, 20)},
}


def run(dataset: datasets.Dataset, variant: str, seed: int) -> tuple[float, float, float]:
    """AUC-ROC and AUC-PR on the test rows, seconds of the fit."""
    task = make_task(dataset.rows, dataset.is_anomaly, seed=seed)
    model = DevNet(**VARIANTS[variant], device="cpu", random_state=seed)
    start = time.perf_counter()
    model.fit(task.train, task.y)
    seconds = time.perf_counter() - start
    scores = model.anomaly_score(task.test)
    auc_pr = average_precision_score(task.is_anomaly, scores)
    return roc_auc_score(task.is_anomaly, scores), auc_pr, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sets", nargs="*", metavar="SET", default=list(datasets.DATASETS))
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--variant", choices=VARIANTS, default="Def")
    options = parser.parse_args()
    print(
        f"{options.variant}: mean (standard deviation) of {options.runs} runs; the paper's figures"
    )
    for name in options.sets:
        dataset = datasets.load(name)
        runs = [run(dataset, options.variant, seed) for seed in range(options.runs)]
        (roc, pr, seconds), (roc_std, pr_std, _) = np.mean(runs, 0), np.std(runs, 0)
        paper_roc, paper_pr = TABLE_2[name][options.variant]
        print(
            f"  {name:<9} AUC-ROC {roc:.3f} ({roc_std:.3f}) {paper_roc:.3f}   "
            f"AUC-PR {pr:.3f} ({pr_std:.3f}) {paper_pr:.3f}   fit {seconds:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
