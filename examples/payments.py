"""Which payments to look at: a raw table with few labels, a threshold, and what it catches.

Shows `TableModel` on made-up card payments, a false-alarm rate as the threshold, reasons in words,
and draws where labelled frauds and all other payments score: unlabelled ones upwards, labelled
ones downwards, each by members of the ensemble that did not see it.
"""

from picture import save

from devnet import FalseAlarmRate, TableModel, find_alerts
from devnet.datasets.payments import make_payments
from devnet.report.distribution_chart import score_chart

RATE = 0.005  # of normal payments may be bothered


def main() -> None:
    """Learn from one table, and look at its alerts."""
    payments, truth = make_payments(30_000, seed=3)
    model = TableModel(random_state=0).fit(payments, "fraud")
    model.policy = FalseAlarmRate(RATE)

    found = find_alerts(model, payments, n_shown=None)
    rows = [alert.row for alert in found.unfolded()]
    n_fraud = sum(truth[row] != "normal" for row in rows)
    print(f"{model.n_labelled_} labelled frauds, {found.n_alerts} alerts, {n_fraud} of them fraud")
    highest = found.shown[0]
    print(
        f"{highest.id}: score {highest.score:.1f}, a typical payment {highest.baseline_score:.1f}"
    )
    for reason in highest.reasons:
        print(f"  {reason.text}")

    seen_by_others = model.calibration_  # scores by members that did not see the row
    chart = score_chart(seen_by_others.unlabelled, seen_by_others.labelled, found.threshold)
    save(chart, "payments.svg")


if __name__ == "__main__":
    main()
