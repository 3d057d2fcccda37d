"""Raw tables: files, columns, categories and missing values. Arrow in, matrix out."""

try:
    import pyarrow as _  # noqa: F401
except ImportError:  # pragma: no cover - an installation without extras
    raise ImportError(
        "raw tables need one more package: pip install 'deviation-network[tables]'"
    ) from None

from devnet.tables.alerts import Alerts, find_alerts
from devnet.tables.drift import Drift, find_drift
from devnet.tables.encoder import TableEncoder
from devnet.tables.explainer import Explanation, Reason
from devnet.tables.scorer import Scorer
from devnet.tables.scoring import score_table
from devnet.tables.sources.opening import open_table
from devnet.tables.table_error import TableError
from devnet.tables.table_model import TableModel

__all__ = [
    "Alerts",
    "Drift",
    "Explanation",
    "Reason",
    "Scorer",
    "TableEncoder",
    "TableError",
    "TableModel",
    "find_alerts",
    "find_drift",
    "open_table",
    "score_table",
]
