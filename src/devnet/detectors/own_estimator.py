"""A caller's own scikit-learn estimator as a method of the experiments, named by import path."""

import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, is_outlier_detector

from devnet.core.labels import Labels, read_labels
from devnet.core.layout import Layout
from devnet.significance.calibration import Calibration

EXAMPLE = "write it as in 'sklearn.ensemble:RandomForestClassifier'"


class OwnEstimator(BaseEstimator):
    """An estimator with the calls that experiments need.

    It learns from labelled anomalies and all other rows; it knows no third state of labels.

    Parameters
    ----------
    estimator : scikit-learn estimator
        Its scores are those of decision_function, predict_proba or score_samples, the first of
        these that it has. Outlier detectors score normal rows higher, so their sign is reversed.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the estimator; y is 1 for a labelled anomaly and 0 for an unlabelled row."""
        if sample_weight is not None:
            raise ValueError(
                f"{type(self).__name__} takes no sample_weight; leave it out, or use a method of "
                "devnet.detectors.methods.NAMED."
            )
        self.estimator.fit(X, y)
        return self

    def read_y(self, y: Any, n_rows: int) -> Labels:
        """Separate labelled anomalies from unlabelled rows; the estimator gets 1 and 0."""
        if y is None:
            raise ValueError("y is None; give 1 for labelled anomalies and 0 for unlabelled rows.")
        return read_labels(y)._replace(classes=np.array([0, 1]))

    # The answers of a detector about which nothing is known: see `FewLabelDetector`.
    uses_text = uses_normals = False
    keeps_unseen_scores = False
    prior_quantile = None
    baseline = None
    makes_rows_dense = False
    is_thread_safe = False

    def take_layout(self, layout: Layout) -> None:
        """Ignore it: the estimator learns from a plain matrix."""

    def unseen_scores(self) -> Calibration:
        """It keeps none."""
        raise NotImplementedError(f"{type(self).__name__} keeps no scores of unseen rows.")

    def expectations(self) -> dict[str, Any]:
        """It expects nothing."""
        return {}

    def nominal_p_value(self, scores: np.ndarray) -> None:
        """None: the scores have no scale."""

    def own_contributions(self, X: Any, baseline: np.ndarray) -> None:
        """None: the model cannot be read."""

    def anomaly_score(self, X: Any) -> np.ndarray:
        """Score each row; higher is more anomalous."""
        estimator = self.estimator
        if hasattr(estimator, "decision_function"):
            scores = np.asarray(estimator.decision_function(X))
            return -scores if is_outlier_detector(estimator) else scores
        if hasattr(estimator, "predict_proba"):
            return np.asarray(estimator.predict_proba(X))[:, 1]
        if hasattr(estimator, "score_samples"):
            return -np.asarray(estimator.score_samples(X))
        raise ValueError(
            f"{type(estimator).__name__} has none of decision_function, predict_proba and "
            "score_samples, so its rows cannot be ranked; name another estimator."
        )

    def score_encoded(self, matrix: Any) -> np.ndarray:
        """Score rows of a matrix that an encoder made."""
        return self.anomaly_score(matrix)


def import_estimator(path: str) -> Callable[..., OwnEstimator]:
    """Return a builder of the estimator at `package.module:Class`, from parameters and a seed."""
    kind = _find_class(path)
    takes_seed = "random_state" in inspect.signature(kind).parameters

    def build(*, random_state: Any = None, **parameters: Any) -> OwnEstimator:
        seed = {"random_state": random_state} if takes_seed else {}
        return OwnEstimator(kind(**seed, **parameters))

    return build


def check_path(path: str) -> None:
    """Refuse an import path that names no estimator, without importing anything for it.

    In a module that is not loaded yet, only the import itself can tell whether there is one.
    """
    module, _, name = path.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), name)):
        raise ValueError(f"the method {path!r} is not an import path; {EXAMPLE}.")
    if module in sys.modules:
        _find_class(path)


def _find_class(path: str) -> Any:
    module, _, name = path.partition(":")
    try:
        kind = getattr(importlib.import_module(module), name)
    except (ImportError, ValueError) as error:
        raise ValueError(f"the method {path!r} cannot be imported ({error}); {EXAMPLE}.") from error
    except AttributeError:
        raise ValueError(
            f"the method {path!r} is unknown: {module} has no {name!r}; {EXAMPLE}."
        ) from None
    if not (inspect.isclass(kind) and hasattr(kind, "fit")):
        raise ValueError(f"the method {path!r} is not an estimator: it has no fit; {EXAMPLE}.")
    return kind
