"""The methods that DevNet is compared with, under the same contract."""

from devnet.detectors.competitors.bagged_trees import PUBaggedTrees
from devnet.detectors.competitors.boosting import GradientBoosting
from devnet.detectors.competitors.boosting_libraries import CatBoost, LightGBM, XGBoost
from devnet.detectors.competitors.deep_svdd import DeepSVDD
from devnet.detectors.competitors.fsnet import FSNet
from devnet.detectors.competitors.isolation_forest import IForest
from devnet.detectors.competitors.logistic_regression import BalancedLogistic
from devnet.detectors.competitors.repen import REPEN

__all__ = [
    "REPEN",
    "BalancedLogistic",
    "CatBoost",
    "DeepSVDD",
    "FSNet",
    "GradientBoosting",
    "IForest",
    "LightGBM",
    "PUBaggedTrees",
    "XGBoost",
]
