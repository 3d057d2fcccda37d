"""Anomaly detection from few labelled anomalies, with scores that read as deviations."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from devnet.data_reference import DataReference, HybridReference
    from devnet.deviation_network import DevNet
    from devnet.ensemble.deviation_ensemble import DeviationEnsemble
    from devnet.model_file import ModelFileError
    from devnet.reference_scores import GaussianPrior
    from devnet.saved_models import load
    from devnet.standard_prior import StandardPrior

__version__ = "0.1.0"

__all__ = [
    "DataReference",
    "DevNet",
    "DeviationEnsemble",
    "GaussianPrior",
    "HybridReference",
    "ModelFileError",
    "StandardPrior",
    "__version__",
    "load",
]

_HOMES = {  # imported when asked for, so that `devnet --help` need not wait for SciPy
    "DataReference": "devnet.data_reference",
    "DevNet": "devnet.deviation_network",
    "DeviationEnsemble": "devnet.ensemble.deviation_ensemble",
    "GaussianPrior": "devnet.reference_scores",
    "HybridReference": "devnet.data_reference",
    "ModelFileError": "devnet.model_file",
    "StandardPrior": "devnet.standard_prior",
    "load": "devnet.saved_models",
}


_SUBMODULES = ("competitors", "datasets", "explanation", "significance", "tables")


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"devnet.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'devnet' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
