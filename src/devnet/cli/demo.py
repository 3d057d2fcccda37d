"""`devnet demo`: the main job on a data set that comes with scikit-learn."""

import time
from typing import NamedTuple

import click
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from devnet.deviation_network import DevNet

N_LABELLED = 30
N_SHOWN = 10
SEED = 0


class Task(NamedTuple):
    """The paper's task: many unlabelled rows, few labelled anomalies, rows to rank."""

    train: np.ndarray
    y: np.ndarray  # 1 for a labelled anomaly
    test: np.ndarray
    is_anomaly: np.ndarray  # truth of the test rows
    n_hidden: int  # anomalies among the unlabelled rows


def make_task() -> Task:
    """Benign biopsies are normal, malignant ones are the anomalies."""
    rows, is_benign = load_breast_cancer(return_X_y=True)
    generator = np.random.default_rng(SEED)
    benign = generator.permutation(np.flatnonzero(is_benign))
    malignant = generator.permutation(np.flatnonzero(is_benign == 0))
    n_hidden = 6  # 2% of the unlabelled rows
    labelled, malignant = malignant[:N_LABELLED], malignant[N_LABELLED:]
    unlabelled = np.concatenate([benign[:285], malignant[:n_hidden]])
    test = np.concatenate([benign[285:], malignant[n_hidden : n_hidden + 8]])
    return Task(
        train=rows[np.concatenate([labelled, unlabelled])],
        y=np.arange(len(labelled) + len(unlabelled)) < len(labelled),
        test=rows[test],
        is_anomaly=is_benign[test] == 0,
        n_hidden=n_hidden,
    )


@click.command()
def demo() -> None:
    """Train on real biopsies, score unseen ones and show what was found."""
    task = make_task()
    model = make_pipeline(MinMaxScaler(), DevNet(device="cpu", random_state=SEED))
    start = time.perf_counter()
    model.fit(task.train, task.y)
    seconds = time.perf_counter() - start
    detector = model[-1]
    test = model[:-1].transform(task.test)
    scores, p_values = detector.anomaly_score(test), detector.p_value(test)
    n_anomalies = int(task.is_anomaly.sum())
    n_unlabelled = int((~task.y).sum())
    auc_pr = average_precision_score(task.is_anomaly, scores)
    auc_roc = roc_auc_score(task.is_anomaly, scores)
    print(f"""\
Breast cancer biopsies (Wisconsin, {task.train.shape[1]} columns): malignant is the anomaly.

Training rows   {N_LABELLED} labelled anomalies, {n_unlabelled} unlabelled rows
                ({task.n_hidden} of the unlabelled are anomalies that nobody labelled)
Test rows       {len(scores)}, of which {n_anomalies} are anomalies
Trained in      {seconds:.2f} s

Ranking quality on the test rows
  AUC-PR   {auc_pr:.3f}   (chance: {task.is_anomaly.mean():.3f})
  AUC-ROC  {auc_roc:.3f}   (chance: 0.500)

Alerts: scores above {detector.threshold_:.3f}, which 5% of normal rows exceed if the prior holds
  {"row":>4}  {"score":>6}  {"p-value":>8}  truth""")
    alerts = [row for row in np.argsort(-scores) if scores[row] > detector.threshold_]
    for row in alerts[:N_SHOWN]:
        truth = "malignant" if task.is_anomaly[row] else "benign"
        print(f"  {row:>4}  {scores[row]:>6.2f}  {p_values[row]:>8.1e}  {truth}")
    if len(alerts) > N_SHOWN:
        print(f"  ... and {len(alerts) - N_SHOWN} more")
    found = int(task.is_anomaly[alerts].sum())
    print(f"{len(alerts)} alerts, {found} of them are among the {n_anomalies} anomalies.")
