"""Methods to compare with, each one file."""

from devnet.competitors.bagged_trees import PUBaggedTrees
from devnet.competitors.boosting import GradientBoosting
from devnet.competitors.isolation_forest import IForest
from devnet.competitors.logistic_regression import BalancedLogistic

__all__ = ["BalancedLogistic", "GradientBoosting", "IForest", "PUBaggedTrees"]
