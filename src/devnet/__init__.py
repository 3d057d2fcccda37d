"""Anomaly detection from few labelled anomalies, with scores that read as deviations."""

from devnet.deviation_network import DevNet
from devnet.methods import load
from devnet.model_file import ModelFileError
from devnet.reference_scores import GaussianPrior

__version__ = "0.1.0"

__all__ = ["DevNet", "GaussianPrior", "ModelFileError", "__version__", "load"]
