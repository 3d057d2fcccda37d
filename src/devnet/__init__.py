"""Anomaly detection from few labelled anomalies, with scores that read as deviations."""

from devnet.data_reference import DataReference, HybridReference
from devnet.deviation_network import DevNet
from devnet.ensemble.deviation_ensemble import DeviationEnsemble
from devnet.methods import load
from devnet.model_file import ModelFileError
from devnet.reference_scores import GaussianPrior
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
