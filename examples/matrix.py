"""How much labels are worth: two detectors in scikit-learn, from 2 to 30 labelled anomalies.

Shows `DeviationEnsemble` and `DevNet`, the latter in a pipeline, on scikit-learn's breast cancer
data with malignant biopsies made rare. Each point is the mean of three draws of labels, measured on
biopsies that were not learned from.
"""

import numpy as np
from picture import save
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from devnet import DeviationEnsemble, DevNet
from devnet.experiments.figure import Panel, Series, point
from devnet.report.charts import chart

LABELS = (2, 5, 10, 30)
DRAWS = 3


def quality(detector, n_labels: int, seed: int) -> float:
    """AUC-PR on the half that is not learned from."""
    X, benign = load_breast_cancer(return_X_y=True)
    halves = train_test_split(X, benign == 0, stratify=benign, test_size=0.5, random_state=seed)
    learned, unseen, is_anomaly, is_unseen_anomaly = halves
    anomalies = np.random.default_rng(seed).permutation(np.flatnonzero(is_anomaly))
    y = np.isin(np.arange(len(learned)), anomalies[:n_labels])
    hidden = anomalies[n_labels : n_labels + 6]  # these stay, unlabelled; all others are taken out
    kept = ~is_anomaly | y | np.isin(np.arange(len(learned)), hidden)
    scores = detector.fit(learned[kept], y[kept]).decision_function(unseen)
    return average_precision_score(is_unseen_anomaly, scores)


def main() -> None:
    """Draw both curves."""
    detectors = {
        "deviation ensemble": DeviationEnsemble(random_state=0),
        "DevNet": make_pipeline(MinMaxScaler(), DevNet(random_state=0)),
    }
    series = []
    for name, detector in detectors.items():
        runs = {n: [quality(detector, n, seed) for seed in range(DRAWS)] for n in LABELS}
        series.append(Series(name, [point(n, values) for n, values in runs.items()]))
        print(f"{name}:", ", ".join(f"{n} labels {np.mean(v):.2f}" for n, v in runs.items()))
    panel = Panel("Labels", series, "labelled anomalies", "AUC-PR", is_log_x=True, has_bands=False)
    save(chart(panel), "matrix.svg", list(detectors))


if __name__ == "__main__":
    main()
