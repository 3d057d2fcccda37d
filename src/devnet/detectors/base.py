"""FewLabelDetector: the scikit-learn shell that all detectors share."""

from abc import ABC, abstractmethod
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from devnet.core import model_file
from devnet.core.labels import Labels, order_classes, read_labels, read_weights, unlabelled
from devnet.core.layout import Layout
from devnet.core.parameters import Constraint, check_parameters
from devnet.core.rows import Rows, as_rows
from devnet.core.sparse_matrix import refuse_malformed, without_duplicates
from devnet.significance.calibration import Calibration, Quantile

QUANTILE_ROWS = 10_000  # unlabelled rows scored to find a quantile


class ScoreError(ValueError):
    """A row whose score is not finite, so that it cannot be ranked."""

    def __init__(self, method: str, row: int, score: float) -> None:
        super().__init__(
            f"{method} gives row {row} the score {score}, which cannot be ranked: its weights, or "
            "the values of the row, are too large. Scale the columns, and fit again."
        )
        self.method, self.row, self.score = method, row, score

    def __reduce__(self) -> tuple[Any, ...]:
        return ScoreError, (self.method, self.row, self.score)

    def at(self, row: int) -> "ScoreError":
        """The same, with the row's number in the caller's table."""
        return ScoreError(self.method, row, self.score)


class FewLabelDetector(CallbackSupportMixin, ClassifierMixin, BaseEstimator, ABC):
    """A binary classifier that learns from few labelled anomalies and many unlabelled rows.

    Some of the other rows may be known to be normal, such as dismissed alerts: `normal_label` is
    their label. Higher scores are more anomalous.

    Abstract. A detector defines how it learns (`_learn`), how it scores (`_score`), above which
    score it raises an alert (`_threshold`) and which tensors it consists of (`_tensors`,
    `_restore`).
    """

    _constraints: ClassVar[dict[str, Constraint]]
    classes_: np.ndarray
    threshold_: float
    n_features_in_: int
    feature_names_in_: np.ndarray

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn to score rows.

        Parameters
        ----------
        X : array, frame or CSR matrix of shape (n_rows, n_columns)
            Finite numbers; labelled and unlabelled rows together.
        y : array of shape (n_rows,)
            1 for a labelled anomaly; 0 or missing for an unlabelled row. Any other two values
            work too: the larger one is the anomaly, unless `pos_label` names it. A third value
            marks rows that are known to be normal if `normal_label` names it.
        sample_weight : array of shape (n_rows,), optional
            A row is drawn for a batch with probability proportional to its weight, separately
            among labelled, known normal and unlabelled rows. Weight 0 leaves a row out.

        Returns
        -------
        self : the fitted detector
        """
        return self._fit(X, y, sample_weight, resume=getattr(self, "warm_start", False))

    def anomaly_score(self, X: Any) -> np.ndarray:
        """Score each row; higher is more anomalous, and a row's score depends on that row alone.

        Parameters
        ----------
        X : array, frame or CSR matrix of shape (n_rows, n_columns)

        Returns
        -------
        scores : array of shape (n_rows,)
        """
        check_is_fitted(self)
        return self._finite_scores(self._rows(X, reset=False))

    def score_encoded(self, matrix: Any) -> np.ndarray:
        """Score rows as `anomaly_score` does, without looking at their form again.

        Parameters
        ----------
        matrix : float32 array or CSR matrix of shape (n_rows, n_columns)
            Finite numbers in the columns of `fit`, as the encoder of a table makes them.
        """
        return self._finite_scores(as_rows(matrix, getattr(self, "feature_names_in_", None)))

    def decision_function(self, X: Any) -> np.ndarray:
        """Anomaly score minus `threshold_`: positive if `predict` reports an anomaly."""
        return self.anomaly_score(X) - self.threshold_

    def predict(self, X: Any) -> np.ndarray:
        """Classify rows: `classes_[1]` for an anomaly, `classes_[0]` for any other row."""
        is_anomaly = self.decision_function(X) > 0
        predicted: np.ndarray = self.classes_[is_anomaly.astype(int)]
        return predicted

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted detector to one file, without pickle; open it with `devnet.load`."""
        model_file.write(path, self.header(), self.tensors())

    def header(self) -> dict[str, Any]:
        """The header of the fitted detector's model file, as JSON values."""
        check_is_fitted(self)
        return {
            "method": type(self).__name__,
            "parameters": model_file.encode_parameters(self.get_params(deep=False)),
            "classes": self.classes_.tolist(),
            "classes_dtype": "str" if self.classes_.dtype.kind == "U" else self.classes_.dtype.name,
            "n_features_in": self.n_features_in_,
            "feature_names_in": getattr(self, "feature_names_in_", np.array([])).tolist(),
            "threshold": self.threshold_,
            **self._facts(),
        }

    def tensors(self) -> dict[str, np.ndarray]:
        """Everything learned, as the named arrays of a model file."""
        check_is_fitted(self)
        return self._tensors()

    def read_y(self, y: Any, n_rows: int, classes: Any = None) -> Labels:
        """Tell labelled anomalies, known normal and unlabelled rows apart, as `fit` does."""
        self._refuse_no_labels(y)
        named = {"pos_label": self.pos_label, "normal_label": self.normal_label}
        labels = None if self._needs_labels() else unlabelled(y, n_rows, self.normal_label)
        return labels or read_labels(y, **named, classes=classes)

    # What other rooms ask a detector. A new one overrides the answers that it can give.

    uses_text: ClassVar[bool] = False  # if not, tables come without their columns of free text
    uses_normals: ClassVar[bool] = True  # if not, known normal rows are unlabelled to it

    def take_layout(self, layout: Layout) -> None:
        """Take, before `fit`, which columns belong together; by default it makes no difference."""

    keeps_unseen_scores: ClassVar[bool] = False  # if not, rows are held back to calibrate it

    def unseen_scores(self) -> Calibration:
        """Scores of training rows by members that did not see them, if it keeps any."""
        raise NotImplementedError(f"{type(self).__name__} keeps no scores of unseen rows.")

    def nominal_p_value(self, scores: np.ndarray) -> np.ndarray | None:
        """Probability that a normal row scores as high under the model's own assumptions.

        None, the default, if scores have no scale.
        """
        return None

    @property
    def prior_quantile(self) -> Quantile | None:
        """Quantile function of the prior that scores are measured against; None without one."""
        return None

    @property
    def baseline(self) -> np.ndarray | None:
        """The row (d,) that contributions start from, if the detector has its own."""
        return None

    def own_contributions(self, X: Any, baseline: np.ndarray) -> Any:
        """What each column adds to the score of a baseline, read off the model itself.

        None, the default, if the model cannot be read; random walks answer then.
        """
        return None

    @property
    def has_sparse_rows(self) -> bool:
        """Whether it learned from wide sparse rows, of which no dense matrix should be made."""
        return False

    @property
    def makes_rows_dense(self) -> bool:
        """Whether sparse rows become dense before they are scored, so that it takes either."""
        return False

    @property
    def is_thread_safe(self) -> bool:
        """Whether several threads may score at once; not assumed of third-party code."""
        return False

    def expectations(self) -> dict[str, Any]:
        """What it expects of the rows it will score, as JSON values; nothing by default."""
        return {}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "threshold_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, *, resume: bool, classes: Any = None
    ) -> Self:
        before = _fitted_attributes(self)
        try:
            return self._fit_or_raise(X, y, sample_weight, resume=resume, classes=classes)
        except BaseException:  # a fit that fails leaves the detector as it was
            for name in _fitted_attributes(self):
                delattr(self, name)
            self.__dict__.update(before)
            raise

    def _fit_or_raise(
        self, X: Any, y: Any, sample_weight: Any, *, resume: bool, classes: Any
    ) -> Self:
        check_parameters(self, self._constraints)
        resume = resume and self.__sklearn_is_fitted__()
        self._refuse_no_labels(y)
        if sp.issparse(X):
            refuse_malformed(X)
            X = without_duplicates(X.tocsr())
        rows = self._rows(X, reset=not resume)
        rows.check_finite()
        if hasattr(y, "__len__") and len(y) not in (0, rows.shape[0]):
            raise ValueError(
                f"X has {rows.shape[0]} rows but y has {len(y)} labels: inconsistent numbers of "
                "samples. Give one label per row."
            )
        known = None
        if classes is not None:
            known = order_classes(classes, self.pos_label, self.normal_label)
        if resume:
            known = self.classes_
        labels = self.read_y(y, rows.shape[0], classes=known)
        if sample_weight is not None:
            sample_weight = read_weights(sample_weight, labels.is_anomaly)
        self.classes_ = labels.classes
        self._learn(rows, labels, sample_weight, resume=resume)
        self.threshold_ = self._threshold(rows, labels.is_anomaly)
        return self

    def _rows(self, X: Any, *, reset: bool) -> Rows:
        if sp.issparse(X):
            refuse_malformed(X)
        try:
            matrix = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr",
                dtype="numeric",
                ensure_all_finite=False,  # our own check names row and column
                ensure_min_samples=2 if reset else 1,
            )
            if matrix.dtype.kind not in "fiub":  # text or categories may hold numbers
                matrix = matrix.astype(np.float64)
        except ValueError as error:
            _refuse_text(X, error)
            raise
        return as_rows(matrix, getattr(self, "feature_names_in_", None))

    def _checked_rows(self, X: Any) -> Rows:
        """Rows to explain, with every value checked."""
        rows = self._rows(X, reset=False)
        rows.check_finite()
        return rows

    def _finite_scores(self, rows: Rows) -> np.ndarray:
        scores = self._score(rows)
        bad = np.flatnonzero(~np.isfinite(scores))
        if len(bad):
            raise ScoreError(type(self).__name__, int(bad[0]), float(scores[bad[0]]))
        return scores

    def _refuse_no_labels(self, y: Any) -> None:
        if y is None and self._needs_labels():
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Give 1 "
                "for labelled anomalies and 0 for unlabelled rows."
            )

    @property
    def needs_labels(self) -> bool:
        """Whether it must have a labelled anomaly to learn from."""
        return self._needs_labels()

    def _needs_labels(self) -> bool:
        """Whether at least one labelled anomaly is required."""
        return True

    @abstractmethod
    def _learn(
        self, rows: Rows, labels: Labels, sample_weight: np.ndarray | None, *, resume: bool
    ) -> None:
        """Learn from rows; with `resume` continue from the present state."""

    @abstractmethod
    def _score(self, rows: Rows) -> np.ndarray:
        """Score rows, float64 of shape (n,)."""

    @abstractmethod
    def _threshold(self, rows: Rows, is_anomaly: np.ndarray) -> float:
        """Score above which `predict` reports an anomaly, given the training rows."""

    def _unlabelled_quantile(self, rows: Rows, is_anomaly: np.ndarray, share: float) -> float:
        """Score that this share of the training rows that are no labelled anomalies stays below.

        The threshold of a detector whose scores have no scale of their own. If there are very
        many rows, an even selection is scored.
        """
        unlabelled = np.flatnonzero(~is_anomaly)
        step = -(-len(unlabelled) // QUANTILE_ROWS)
        chosen = unlabelled[::step]
        try:
            scores = self._finite_scores(rows.select(chosen))
        except ScoreError as error:
            raise error.at(int(chosen[error.row])) from None
        return float(np.quantile(scores, share))

    @abstractmethod
    def _tensors(self) -> dict[str, np.ndarray]:
        """Everything learned, as named arrays."""

    @abstractmethod
    def _facts(self) -> dict[str, Any]:
        """Header fields of a model file besides parameters and labels."""

    @abstractmethod
    def _restore(self, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
        """Restore what `_tensors` and `_facts` returned, or raise a ModelFileError."""


def _fitted_attributes(detector: FewLabelDetector) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(detector).items()
        if name.endswith("_") and not name.startswith("_")
    }


def _refuse_text(X: Any, error: ValueError) -> None:
    """If validation failed because of text, name the value and what to do about it."""
    if "could not convert string" not in str(error) and "bytes/strings" not in str(error):
        return
    values = np.asarray(X, dtype=object)
    for column in range(values.shape[1] if values.ndim == 2 else 0):
        for value in values[:, column]:
            if isinstance(value, str | bytes):
                name = f" ({X.columns[column]!r})" if hasattr(X, "columns") else ""
                raise ValueError(
                    f"could not convert string to float: {value!r} in column {column}{name} of X. "
                    "Encode text columns first, for example with sklearn.preprocessing."
                    "OneHotEncoder()."
                ) from error
