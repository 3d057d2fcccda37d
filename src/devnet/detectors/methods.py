"""The registry of detectors: find one by name, restore a saved one."""

from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Any

import numpy as np

from devnet.core import model_file
from devnet.core.layout import Layout
from devnet.core.model_file import CLASSES_DTYPES, ModelFileError, field, is_finite_number
from devnet.core.names import known
from devnet.core.parameters import check_parameters
from devnet.core.wording import cut
from devnet.detectors.base import FewLabelDetector
from devnet.detectors.competitors import (
    REPEN,
    BalancedLogistic,
    DeepSVDD,
    FSNet,
    GradientBoosting,
    IForest,
    PUBaggedTrees,
)
from devnet.detectors.competitors.boosting_libraries import LIBRARY_METHODS
from devnet.detectors.deviation_network import DevNet
from devnet.detectors.ensemble.deviation_ensemble import DeviationEnsemble
from devnet.detectors.ensemble.review_ensemble import ReviewEnsemble
from devnet.detectors.own_estimator import import_estimator
from devnet.detectors.rank_deviation import RankDeviation
from devnet.detectors.taught_deviation import TaughtDeviation
from devnet.engine.data_reference import REFERENCES

PARAMETER_KINDS: dict[str, Any] = {**REFERENCES, "Layout": Layout}  # as model files name them
ADDED_PARAMETERS = {"layout", "normal_label"}  # since 0.1.0; a file without one means the default
RECOMMENDED = "deviation ensemble"  # for tables
STARTING = "rank deviation"  # for tables in which nothing was judged
TAUGHT = "taught deviation"  # for reviewed tables with fewer anomalies than HAND_OVER
REVIEWING = "review ensemble"  # for reviewed tables with more
HAND_OVER = 3

METHODS: dict[str, type[FewLabelDetector]] = {  # with the names and order of the result tables
    "DevNet": DevNet,
    "REPEN": REPEN,
    "DSVDD": DeepSVDD,
    "FSNet": FSNet,
    "iForest": IForest,
    RECOMMENDED: DeviationEnsemble,
    "PU trees": PUBaggedTrees,
    "logistic regression": BalancedLogistic,
    "gradient boosting": GradientBoosting,
    STARTING: RankDeviation,
    **{m.__name__: m for m in LIBRARY_METHODS if find_spec(m.library)},  # if installed
}
REVIEW_METHODS: dict[str, type[FewLabelDetector]] = {  # for tables under review alone
    TAUGHT: TaughtDeviation,
    REVIEWING: ReviewEnsemble,
}
NAMED = METHODS | REVIEW_METHODS


def find_method(name: str) -> Callable[..., Any]:
    """Find, by name, what builds a detector from parameters and a `random_state`.

    Parameters
    ----------
    name : str
        One of `NAMED`, or the import path of your own estimator.

    Returns
    -------
    method : class or function
        It returns an object with `fit(X, y)` and `anomaly_score(X)`.

    Examples
    --------
    >>> from devnet.detectors.methods import find_method
    >>> find_method("DevNet")(random_state=0)
    DevNet(random_state=0)
    >>> find_method("sklearn.svm:LinearSVC")(C=0.1, random_state=0)
    OwnEstimator(estimator=LinearSVC(C=0.1, random_state=0))
    """
    if ":" in name:
        return import_estimator(name)
    return NAMED[known(name, NAMED, "method")]


def method_for(n_anomalies: int) -> str:
    """The method to rank a table with for review, given how many anomalies are labelled in it.

    One or two anomalies may lead the ensemble astray: it looks for rows like them alone.
    """
    return REVIEWING if n_anomalies >= HAND_OVER else TAUGHT


def restore(
    header: dict[str, Any],
    tensors: dict[str, np.ndarray],
    *,
    hidden: Any = None,
    others: Iterable[type[FewLabelDetector]] = (),
) -> FewLabelDetector:
    """Restore the fitted detector of a model file, with every field checked.

    Parameters
    ----------
    header, tensors
        As returned by `model_file.read`.
    hidden : torch.nn.Module, optional
        The feature learner of a model that was trained with the caller's own module.
    others : classes, optional
        Detectors of other rooms that the file may hold.
    """
    name = field(header, "method", lambda value: isinstance(value, str))
    classes = {method.__name__: method for method in (*NAMED.values(), *LIBRARY_METHODS, *others)}
    if name not in classes:
        raise ModelFileError(
            f"the model was saved by a method {cut(name)!r} that is unknown here; known methods "
            f"are {', '.join(classes)}. Upgrade with: pip install --upgrade deviation-network"
        )
    detector = _with_parameters(classes[name], header, hidden)
    _restore_labels(detector, header)
    detector._restore(header, tensors)
    detector.threshold_ = float(field(header, "threshold", is_finite_number))
    return detector


def _with_parameters(
    method: type[FewLabelDetector], header: dict[str, Any], hidden: Any
) -> FewLabelDetector:
    names = set(model_file.encode_parameters(method().get_params(deep=False)))
    # A device belongs to a machine, not to a model: one in an old file is ignored.
    parameters = field(
        header,
        "parameters",
        lambda value: (
            isinstance(value, dict) and names - ADDED_PARAMETERS <= set(value) <= names | {"device"}
        ),
    )
    known_here = {name: value for name, value in parameters.items() if name in names}
    parameters = model_file.decode_parameters(known_here, PARAMETER_KINDS)
    needs_module = isinstance(parameters.get("hidden"), dict)
    if needs_module != (hidden is not None):
        raise ModelFileError(
            "this model was trained with a torch module of yours "
            f"({cut(str(parameters['hidden'].get('module')))}); give it: "
            "devnet.load(path, hidden=module)."
            if needs_module
            else "this model has a built-in network; load it without hidden."
        )
    if needs_module:
        parameters["hidden"] = hidden
    detector = method(**parameters)
    try:
        check_parameters(detector, detector._constraints)
    except ValueError as error:
        reason = cut(str(error), model_file.MAX_ECHO)
        raise ModelFileError(f"the model file has an impossible parameter: {reason}") from error
    return detector


def _restore_labels(detector: FewLabelDetector, header: dict[str, Any]) -> None:
    detector.n_features_in_ = field(header, "n_features_in", lambda v: type(v) is int and v > 0)
    names = field(
        header,
        "feature_names_in",
        lambda v: (
            isinstance(v, list)
            and all(isinstance(name, str) for name in v)
            and len(v) in (0, detector.n_features_in_)
        ),
    )
    if names:
        detector.feature_names_in_ = np.array(names, dtype=object)
    classes = field(header, "classes", _is_classes)
    dtype = field(header, "classes_dtype", lambda v: isinstance(v, str) and v in CLASSES_DTYPES)
    try:
        detector.classes_ = np.array(classes).astype(dtype)
    except (ValueError, OverflowError) as error:
        raise ModelFileError(
            f"the model file's classes {cut(str(classes), model_file.MAX_ECHO)} are not {dtype}."
        ) from error


def _is_classes(value: Any) -> bool:
    if not (isinstance(value, list) and len(value) == 2):
        return False
    kinds = {type(item) for item in value}
    is_plain = len(kinds) == 1 and kinds <= {bool, int, float, str} and value[0] != value[1]
    return is_plain and (kinds <= {bool, str} or all(map(is_finite_number, value)))
