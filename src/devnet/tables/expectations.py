"""What a model expects of the rows it will score, as far as the labels allow an estimate."""

from typing import Any, NamedTuple

from devnet.tables.table_model import TableModel

HIGHEST_SHARE = 0.1  # hidden anomalies that are more common cannot be told from ordinary rows
WIDE_INTERVAL = 0.5  # of the expected quality; a wider one says nothing
LEAST_LABELLED = 5  # labelled anomalies; with fewer, nothing is estimated

HIDDEN, QUALITY = "hidden_anomaly_share", "expected_quality"


class Expectations(NamedTuple):
    """The method's expectations by name, and why some of them are withheld."""

    known: dict[str, Any]  # JSON values; None where it is withheld
    withheld: dict[str, str]  # name -> why


def expectations(model: TableModel) -> Expectations:
    """Expectations that a user may rely on, the same for terminal, JSON and report.

    A share of hidden anomalies that may reach a tenth is withheld: where ordinary rows look like
    anomalies, the whole interval lies above the truth, and anomalies are seldom that common. The
    expected quality follows from the share, so it is not known without that.
    """
    found = model.detector_.expectations()
    n_labelled = model.n_labelled_
    withheld = {
        name: _why(name, n_labelled) for name, one in found.items() if _says_little(name, one)
    }
    if HIDDEN in withheld and QUALITY in found:
        withheld[QUALITY] = "it depends on the share of hidden anomalies, which cannot be estimated"
    known = {name: None if name in withheld else value for name, value in found.items()}
    return Expectations(known, withheld)


def _says_little(name: str, interval: dict[str, float]) -> bool:
    if name == HIDDEN:
        return not interval["high"] < HIGHEST_SHARE
    return not interval["high"] - interval["low"] < WIDE_INTERVAL


def _why(name: str, n_labelled: int) -> str:
    if n_labelled < LEAST_LABELLED:
        return f"it takes at least {LEAST_LABELLED} labelled anomalies"
    if name == HIDDEN:
        return "labelled anomalies and other rows score too much alike; more labels may help"
    return f"{n_labelled:,} labelled anomalies leave it too uncertain; more will help"
