"""Estimators that learn from a table, not a matrix: our model of raw tables, and CatBoost."""

import importlib
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator


class RawTableEnsemble(BaseEstimator):
    """`TableModel` as it is used, on the table as people write it."""

    frame: ClassVar[str] = "raw"  # of `LoadedTable`, to learn from instead of a matrix

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: np.ndarray) -> Self:
        """Learn from a data frame or an Arrow table."""
        from devnet.tables import TableModel  # needs an extra, which other methods do without

        self.model_ = TableModel(random_state=self.random_state).fit(X, y)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Anomaly scores."""
        return np.asarray(self.model_.score(X)["anomaly_score"])


class CategoryBoosting(BaseEstimator):
    """CatBoost with categories as they are, both kinds of rows of the same total weight."""

    frame: ClassVar[str] = "clean"

    def __init__(
        self, n_trees: int = 300, *, learning_rate: float = 0.1, random_state: int | None = None
    ) -> None:
        self.n_trees = n_trees
        self.learning_rate = learning_rate
        self.random_state = random_state

    def fit(self, X: Any, y: np.ndarray) -> Self:
        """Learn from a data frame; columns that are not numbers are categories."""
        library = importlib.import_module("catboost")
        categories = [name for name, column in X.items() if column.dtype != float]
        self.model_ = library.CatBoostClassifier(
            iterations=self.n_trees,
            learning_rate=self.learning_rate,
            auto_class_weights="Balanced",
            cat_features=categories,
            random_seed=self.random_state,
            thread_count=1,
            allow_writing_files=False,
            logging_level="Silent",
        ).fit(X, y)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Log-odds."""
        return np.asarray(self.model_.predict(X, prediction_type="RawFormulaVal"))
