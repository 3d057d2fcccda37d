"""A DeviationEnsemble as named tensors and header facts, and back with everything checked."""

from typing import Any

import numpy as np

from devnet.core.model_file import (
    edited,
    field,
    is_count,
    is_finite_number,
    refuse_unknown,
    size_of,
    tensor,
)
from devnet.detectors.ensemble.combination import Combination
from devnet.detectors.ensemble.hidden_anomalies import HiddenShare
from devnet.detectors.ensemble.learners import Learners, OutOfBag
from devnet.detectors.ensemble.table_learners import TableLearners
from devnet.detectors.ensemble.wide_learners import WideLearners

KINDS: dict[str, type[Learners]] = {kind.__name__: kind for kind in (TableLearners, WideLearners)}


def to_tensors(ensemble: Any) -> dict[str, np.ndarray]:
    """Everything learned."""
    important = np.flatnonzero(ensemble.column_importance_)
    return {
        **ensemble.learners_.to_tensors(),
        "combination_scale": ensemble.combination_.scale,
        "out_of_bag_unlabelled": ensemble.out_of_bag_.unlabelled,
        "out_of_bag_labelled": ensemble.out_of_bag_.labelled,
        "pool": ensemble.pool_,
        "posterior": ensemble.posterior_,
        "pool_weight": ensemble.pool_weight_,
        "important_column": important,
        "importance": ensemble.column_importance_[important],
    }


def facts(ensemble: Any) -> dict[str, Any]:
    """What the header says of it."""
    return {
        "learners": type(ensemble.learners_).__name__,
        "n_rows": ensemble.n_rows_,
        "n_labelled": len(ensemble.out_of_bag_.labelled),
        "pool_checksum": ensemble.pool_checksum_,
        "combination_shift": ensemble.combination_.shift,
        "hidden_anomaly_share": list(ensemble.hidden_anomaly_share_),
    }


def restore(ensemble: Any, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
    """Take over what `to_tensors` and `facts` gave, or raise a ModelFileError."""
    d = ensemble.n_features_in_
    n = size_of(tensors, "out_of_bag_unlabelled")
    k = field(header, "n_labelled", is_count)
    kind = KINDS[field(header, "learners", lambda value: isinstance(value, str) and value in KINDS)]
    ensemble.learners_ = kind.from_tensors(tensors, d, n)
    if "bag_labelled" in tensors and len(tensors["bag_labelled"]) != k:
        raise edited("the ensemble", f"the bags are not of {k} labelled anomalies")
    ensemble.combination_ = Combination(
        tensor(tensors, "combination_scale", (kind.n_scorers,), "float64"),
        float(field(header, "combination_shift", is_finite_number)),
    )
    if not (ensemble.combination_.scale > 0).all():
        raise edited("the ensemble", "its learners must count with positive scales")
    ensemble.out_of_bag_ = OutOfBag(
        tensor(tensors, "out_of_bag_unlabelled", (n,), "float64"),
        tensor(tensors, "out_of_bag_labelled", (k,), "float64"),
    )
    ensemble.n_rows_ = field(header, "n_rows", is_count)
    checksum = field(header, "pool_checksum", lambda value: type(value) is int)
    ensemble.pool_checksum_ = checksum
    ensemble.pool_ = _ascending(tensors, "pool", n, ensemble.n_rows_)
    ensemble.posterior_ = _shares(tensors, "posterior", n)
    ensemble.pool_weight_ = _shares(tensors, "pool_weight", n)
    if not ensemble.pool_weight_.any():
        raise edited("the ensemble", "no unlabelled row has a weight")
    share = field(header, "hidden_anomaly_share", _is_share)
    ensemble.hidden_anomaly_share_ = HiddenShare(*map(float, share))
    n_important = size_of(tensors, "important_column")
    important = _ascending(tensors, "important_column", n_important, d)
    try:
        ensemble.column_importance_ = np.zeros(d)
    except (MemoryError, ValueError):
        raise edited(
            "the ensemble", f"no memory holds one number for each of {d} columns"
        ) from None
    ensemble.column_importance_[important] = _shares(tensors, "importance", n_important)
    if ensemble.column_importance_.sum() > 1 + 1e-6:
        raise edited("the ensemble", "the importance of columns must add up to 1")
    refuse_unknown(tensors, to_tensors(ensemble))


def _ascending(tensors: dict[str, np.ndarray], name: str, size: int, end: int) -> np.ndarray:
    numbers = tensor(tensors, name, (size,), "int64")
    if size and not (numbers[0] >= 0 and (np.diff(numbers) > 0).all() and numbers[-1] < end):
        raise edited("the ensemble", f"{name!r} must be ascending numbers below {end}")
    return numbers


def _shares(tensors: dict[str, np.ndarray], name: str, size: int) -> np.ndarray:
    shares = tensor(tensors, name, (size,), "float64")
    if size and not (shares.min() >= 0 and shares.max() <= 1):
        raise edited("the ensemble", f"{name!r} must be numbers from 0 to 1")
    return shares


def _is_share(value: Any) -> bool:
    is_numbers = isinstance(value, list) and len(value) == 3 and all(map(is_finite_number, value))
    return is_numbers and 0 <= value[1] <= value[0] <= value[2] <= 1
