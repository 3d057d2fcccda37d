"""`devnet demo`: the main job on a data set that comes with scikit-learn."""

import time
from typing import NamedTuple

import click
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import average_precision_score, roc_auc_score

from devnet.ensemble.deviation_ensemble import DeviationEnsemble

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
    columns: np.ndarray  # their names


def make_task() -> Task:
    """Benign biopsies are normal, malignant ones are the anomalies."""
    biopsies = load_breast_cancer()
    rows, is_benign = biopsies.data, biopsies.target
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
        columns=biopsies.feature_names,
    )


@click.command()
def demo() -> None:
    """Train on real biopsies, score unseen ones and show what was found."""
    task = make_task()
    start = time.perf_counter()
    model = DeviationEnsemble(confidence=0.9, random_state=SEED).fit(task.train, task.y)
    seconds = time.perf_counter() - start
    scores, p_values = model.anomaly_score(task.test), model.p_value(task.test)
    n_anomalies = int(task.is_anomaly.sum())
    share = model.hidden_anomaly_share_
    print(f"""\
Breast cancer biopsies (Wisconsin, {task.train.shape[1]} columns): malignant is the anomaly.

Training rows    {N_LABELLED} labelled anomalies, {int((~task.y).sum())} unlabelled rows
                 ({task.n_hidden} of the unlabelled are anomalies that nobody labelled)
Test rows        {len(scores)}, of which {n_anomalies} are anomalies
Trained in       {seconds:.2f} s

What the training rows alone say
  hidden anomalies  {share.value:.1%} of the unlabelled rows ({share.low:.1%} to {share.high:.1%})
  what matters most {", ".join(task.columns[np.argsort(-model.column_importance_)[:3]])}

Ranking quality on the test rows
  AUC-PR   {average_precision_score(task.is_anomaly, scores):.3f}   (chance: \
{task.is_anomaly.mean():.3f})
  AUC-ROC  {roc_auc_score(task.is_anomaly, scores):.3f}   (chance: 0.500)

Alerts: scores above {model.threshold_:.3f}, which one unlabelled row in ten exceeds
  {"row":>4}  {"score":>6}  {"p-value":>7}  truth      mostly because of""")
    alerts = [row for row in np.argsort(-scores) if scores[row] > model.threshold_]
    reasons = model.contributions(task.test).argmax(axis=1)
    for row in alerts[:N_SHOWN]:
        truth = "malignant" if task.is_anomaly[row] else "benign"
        reason = task.columns[reasons[row]]
        print(f"  {row:>4}  {scores[row]:>6.2f}  {p_values[row]:>7.4f}  {truth:<9}  {reason}")
    if len(alerts) > N_SHOWN:
        print(f"  ... and {len(alerts) - N_SHOWN} more")
    found = int(task.is_anomaly[alerts].sum())
    print(f"{len(alerts)} alerts, {found} of them are among the {n_anomalies} anomalies.")
