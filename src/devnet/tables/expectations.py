"""What a model expects of the rows it will score, as far as the labels allow an estimate."""

from typing import Any, NamedTuple

from devnet.tables.table_model import TableModel

WIDE_INTERVAL = 0.5  # a wider one says nothing
LEAST_LABELLED = 5  # labelled anomalies; with fewer, nothing is estimated

HIDDEN, QUALITY = "hidden_anomaly_share", "expected_quality"


class Expectations(NamedTuple):
    """The method's expectations by name, and why some of them are withheld."""

    known: dict[str, Any]  # JSON values; None where it is withheld
    withheld: dict[str, str]  # name -> why


def expectations(model: TableModel) -> Expectations:
    """Expectations that a user may rely on, the same for terminal, JSON and report.

    A wide interval is withheld with its value: where ordinary rows look like anomalies, all of it
    may lie above the truth. The expected quality follows from the share of hidden anomalies, so
    it is not known without that.
    """
    found = model.detector_.expectations()
    n_labelled = model.n_labelled_
    withheld = {name: _why(name, n_labelled) for name, one in found.items() if _is_wide(one)}
    if HIDDEN in withheld and QUALITY in found:
        withheld[QUALITY] = "it depends on the share of hidden anomalies, which cannot be estimated"
    known = {name: None if name in withheld else value for name, value in found.items()}
    return Expectations(known, withheld)


def _is_wide(interval: dict[str, float]) -> bool:
    return not interval["high"] - interval["low"] < WIDE_INTERVAL


def _why(name: str, n_labelled: int) -> str:
    if n_labelled < LEAST_LABELLED:
        return f"it takes at least {LEAST_LABELLED} labelled anomalies"
    if name == HIDDEN:
        return "labelled anomalies and other rows score too much alike; more labels may help"
    return f"{n_labelled:,} labelled anomalies leave it too uncertain; more will help"
