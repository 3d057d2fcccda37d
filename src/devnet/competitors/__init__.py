"""The methods that DevNet is compared with, by the same contract."""

from devnet.competitors.bagged_trees import PUBaggedTrees
from devnet.competitors.boosting import GradientBoosting
from devnet.competitors.boosting_libraries import CatBoost, LightGBM, XGBoost
from devnet.competitors.deep_svdd import DeepSVDD
from devnet.competitors.fsnet import FSNet
from devnet.competitors.isolation_forest import IForest
from devnet.competitors.logistic_regression import BalancedLogistic
from devnet.competitors.repen import REPEN

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
