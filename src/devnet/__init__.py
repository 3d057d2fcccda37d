"""Anomaly detection from few labelled anomalies, with scores that read as deviations."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from devnet.core.model_file import ModelFileError
    from devnet.deep.images.image_devnet import ImageDevNet
    from devnet.deep.images.image_model import ImageModel
    from devnet.deep.sequences.score_series import find_events, score_series
    from devnet.deep.sequences.sequence_devnet import SequenceDevNet
    from devnet.deep.sequences.series_calibration import fit_series
    from devnet.deep.sequences.series_model import SeriesModel
    from devnet.deep.sequences.window_features import WindowFeatures
    from devnet.deep.sequences.windows import windows
    from devnet.detectors.deviation_network import DevNet
    from devnet.detectors.ensemble.deviation_ensemble import DeviationEnsemble
    from devnet.detectors.ensemble.review_ensemble import ReviewEnsemble
    from devnet.detectors.rank_deviation import RankDeviation
    from devnet.detectors.taught_deviation import TaughtDeviation
    from devnet.engine.data_reference import DataReference, HybridReference
    from devnet.engine.reference_scores import GaussianPrior
    from devnet.engine.standard_prior import StandardPrior
    from devnet.loading import load
    from devnet.serving.onnx.exporting import export
    from devnet.significance.policies import (
        Budget,
        Confidence,
        ExpectedCost,
        FalseAlarmRate,
        FalseDiscoveryRate,
    )
    from devnet.tables.alerts import find_alerts
    from devnet.tables.drift import find_drift
    from devnet.tables.scorer import Scorer
    from devnet.tables.scoring import score_table
    from devnet.tables.table_error import TableError
    from devnet.tables.table_model import TableModel

__version__ = "0.1.0"

__all__ = [
    "Budget",
    "Confidence",
    "DataReference",
    "DevNet",
    "DeviationEnsemble",
    "ExpectedCost",
    "FalseAlarmRate",
    "FalseDiscoveryRate",
    "GaussianPrior",
    "HybridReference",
    "ImageDevNet",
    "ImageModel",
    "ModelFileError",
    "RankDeviation",
    "ReviewEnsemble",
    "Scorer",
    "SequenceDevNet",
    "SeriesModel",
    "StandardPrior",
    "TableError",
    "TableModel",
    "TaughtDeviation",
    "WindowFeatures",
    "__version__",
    "export",
    "find_alerts",
    "find_drift",
    "find_events",
    "fit_series",
    "load",
    "score_series",
    "score_table",
    "windows",
]

_HOMES = {  # imported when asked for, so that `import devnet` and `devnet --help` stay quick
    "Budget": "devnet.significance.policies",
    "Confidence": "devnet.significance.policies",
    "DataReference": "devnet.engine.data_reference",
    "DevNet": "devnet.detectors.deviation_network",
    "DeviationEnsemble": "devnet.detectors.ensemble.deviation_ensemble",
    "ExpectedCost": "devnet.significance.policies",
    "FalseAlarmRate": "devnet.significance.policies",
    "FalseDiscoveryRate": "devnet.significance.policies",
    "GaussianPrior": "devnet.engine.reference_scores",
    "HybridReference": "devnet.engine.data_reference",
    "ImageDevNet": "devnet.deep.images.image_devnet",
    "ImageModel": "devnet.deep.images.image_model",
    "ModelFileError": "devnet.core.model_file",
    "RankDeviation": "devnet.detectors.rank_deviation",
    "ReviewEnsemble": "devnet.detectors.ensemble.review_ensemble",
    "Scorer": "devnet.tables.scorer",
    "SequenceDevNet": "devnet.deep.sequences.sequence_devnet",
    "SeriesModel": "devnet.deep.sequences.series_model",
    "StandardPrior": "devnet.engine.standard_prior",
    "TableError": "devnet.tables.table_error",
    "TableModel": "devnet.tables.table_model",
    "TaughtDeviation": "devnet.detectors.taught_deviation",
    "WindowFeatures": "devnet.deep.sequences.window_features",
    "export": "devnet.serving.onnx.exporting",
    "find_alerts": "devnet.tables.alerts",
    "find_drift": "devnet.tables.drift",
    "find_events": "devnet.deep.sequences.score_series",
    "fit_series": "devnet.deep.sequences.series_calibration",
    "load": "devnet.loading",
    "score_series": "devnet.deep.sequences.score_series",
    "score_table": "devnet.tables.scoring",
    "windows": "devnet.deep.sequences.windows",
}

_SUBMODULES = (
    "competitors",
    "datasets",
    "explanation",
    "review",
    "serving",
    "significance",
    "tables",
)


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"devnet.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'devnet' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
