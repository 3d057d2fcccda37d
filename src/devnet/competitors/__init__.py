"""Methods to compare with, each one file."""

from devnet.competitors.bagged_trees import PUBaggedTrees
from devnet.competitors.boosting import GradientBoosting
from devnet.competitors.boosting_libraries import CatBoost, LightGBM, XGBoost
from devnet.competitors.isolation_forest import IForest
from devnet.competitors.logistic_regression import BalancedLogistic

__all__ = [
    "BalancedLogistic",
    "CatBoost",
    "GradientBoosting",
    "IForest",
    "LightGBM",
    "PUBaggedTrees",
    "XGBoost",
]
