"""BalancedLogistic: logistic regression with balanced class weights."""

import logging
import warnings
from typing import Any, ClassVar

import numpy as np

from devnet.core.arrays import one_blas_thread
from devnet.core.known_normals import learning_weight
from devnet.core.labels import Labels
from devnet.core.model_file import refuse_unknown, tensor
from devnet.core.parameters import Constraint, number, whole_number
from devnet.core.rows import WIDE, Rows, dense_tiles, in_threads, sparse_tiles
from devnet.core.seeds import RANDOM_STATE
from devnet.detectors.base import FewLabelDetector

logger = logging.getLogger(__name__)

LARGEST = 1e100  # coefficient in a model file; columns that hardly vary have large ones


class BalancedLogistic(FewLabelDetector):
    """Separate labelled anomalies from unlabelled rows by a weighted sum of the columns.

    scikit-learn's LogisticRegression with class_weight="balanced" on standardised columns; 4,096
    or more sparse columns are scaled but not centred. The score is the linear predictor: the
    log-odds that a row is a labelled anomaly if both kinds were equally frequent.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the L2 penalty, relative to the loss of all rows.
    max_iter : int, default=100
        Most iterations. A search that has not converged by then is used as it is, and logged.
    confidence : float, default=0.95
        Sets `threshold_`: the score that this share of the unlabelled training rows stays below.
    pos_label : optional
        The value of y that marks an anomaly; by default the larger of its two values.
    normal_label : optional
        The value of y that marks rows known to be normal, such as dismissed alerts.
    random_state : int, numpy RandomState or Generator, optional
        Has no effect, because nothing is drawn; every detector has it.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The values of y for unlabelled rows and for anomalies.
    threshold_ : float
        Anomaly score above which `predict` reports an anomaly.
    coef_ : array of shape (n_columns,)
        What one unit of each column, unscaled, adds to the score.
    intercept_ : float
        The score of a row of zeros.
    n_iter_ : int
        Iterations of the search.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had column names.

    Notes
    -----
    `sample_weight` is a row's weight in the loss and in the mean and scale of the columns.

    References
    ----------
    G. King, L. Zeng. Logistic regression in rare events data. Political Analysis 9(2), 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet.competitors import BalancedLogistic
    >>> rows = np.random.default_rng(0).normal(size=(1000, 5))
    >>> rows[:10] += 3
    >>> y = np.arange(1000) < 5
    >>> model = BalancedLogistic().fit(rows, y)
    >>> bool(model.anomaly_score(rows[5:10]).min() > model.threshold_)
    True
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "C": number(0),
        "max_iter": whole_number(1),
        "confidence": number(0, below=1),
        "random_state": RANDOM_STATE,
    }

    coef_: np.ndarray
    intercept_: float
    n_iter_: int

    def __init__(
        self,
        C: float = 1.0,
        *,
        max_iter: int = 100,
        confidence: float = 0.95,
        pos_label: Any = None,
        normal_label: Any = None,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.max_iter = max_iter
        self.confidence = confidence
        self.pos_label = pos_label
        self.normal_label = normal_label
        self.random_state = random_state

    def _learn(
        self, rows: Rows, labels: Labels, sample_weight: np.ndarray | None, *, resume: bool
    ) -> None:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import StandardScaler

        every = slice(None)
        stays_sparse = rows.is_sparse and rows.shape[1] >= WIDE
        matrix = rows.sparse(every) if stays_sparse else np.ascontiguousarray(rows.dense(every))
        scaler = StandardScaler(with_mean=not stays_sparse)
        matrix = scaler.fit_transform(matrix, sample_weight=sample_weight)
        search = LogisticRegression(C=self.C, class_weight="balanced", max_iter=self.max_iter)
        with one_blas_thread(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            search.fit(matrix, labels.is_anomaly, learning_weight(labels, sample_weight))
        if caught:
            logger.info("BalancedLogistic: %s", caught[0].message)
        self.n_iter_ = int(search.n_iter_[0])
        self._set_predictor(search, scaler)

    def _set_predictor(self, search: Any, scaler: Any) -> None:
        """Fold the mean and scale of the columns into the coefficients."""
        self.coef_ = search.coef_[0].astype(np.float64) / scaler.scale_
        shift = float(self.coef_ @ scaler.mean_) if scaler.with_mean else 0.0
        self.intercept_ = float(search.intercept_[0]) - shift

    def _score(self, rows: Rows) -> np.ndarray:
        scores = np.empty(rows.shape[0])

        def score_span(span: slice) -> None:
            if rows.is_sparse:
                for selection, part in sparse_tiles(rows, span):
                    scores[selection] = part.astype(np.float64) @ self.coef_
            else:
                for selection, tile in dense_tiles(rows, span):
                    # Not a matrix product: BLAS rounds a row differently depending on its position.
                    scores[selection] = np.einsum("ij,j->i", tile, self.coef_)

        in_threads(rows.shape[0], score_span)
        return scores + self.intercept_

    def _threshold(self, rows: Rows, is_anomaly: np.ndarray) -> float:
        return self._unlabelled_quantile(rows, is_anomaly, self.confidence)

    def _tensors(self) -> dict[str, np.ndarray]:
        return {
            "coef": self.coef_,
            "intercept": np.array([self.intercept_]),
            "n_iter": np.array([self.n_iter_]),
        }

    def _facts(self) -> dict[str, Any]:
        return {}

    def _restore(self, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
        refuse_unknown(tensors, ("coef", "intercept", "n_iter"))
        self.coef_ = tensor(tensors, "coef", (self.n_features_in_,), "float64", LARGEST)
        self.intercept_ = float(tensor(tensors, "intercept", (1,), "float64", LARGEST)[0])
        self.n_iter_ = int(tensor(tensors, "n_iter", (1,), "int64")[0])
