"""Open whatever `save` wrote: a detector, or a model of tables, images or series."""

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from devnet.core import model_file
from devnet.deep.methods import DEEP_METHODS, KEPT_MODELS, detector_tensors, find_deep, find_kept
from devnet.detectors.base import FewLabelDetector
from devnet.detectors.methods import restore

if TYPE_CHECKING:
    from devnet.deep.kept_model import KeptModel
    from devnet.tables.table_model import TableModel


def load(
    path: str | PathLike[str], *, hidden: Any = None
) -> "FewLabelDetector | TableModel | KeptModel":
    """Open a model that `save` wrote.

    Parameters
    ----------
    path : str or path
        The model file.
    hidden : torch.nn.Module, optional
        The feature learner of a detector that was trained with a module of yours: the file holds
        its weights, not its code.

    Returns
    -------
    model : the fitted detector, or the model of raw tables, of folders of images or of series

    Raises
    ------
    ModelFileError
        If the file is truncated, damaged, foreign, newer or edited. Nothing in it is executed.
    """
    header, tensors = model_file.read(path)
    name = header.get("method")
    if isinstance(name, str) and name in DEEP_METHODS:
        return _restore_deep(header, tensors, path, hidden)
    if "table" not in header:
        return restore(header, tensors, hidden=hidden)
    from devnet.tables.table_model import restore as restore_table_model  # needs pyarrow

    return restore_table_model(header, tensors, path)


def _restore_deep(
    header: dict[str, Any], tensors: dict[str, np.ndarray], path: str | PathLike[str], hidden: Any
) -> "FewLabelDetector | KeptModel":
    """A detector of images or sequences, or the model that keeps it."""
    own = {name: header[name] for name in KEPT_MODELS if name in header}
    rest = {name: value for name, value in header.items() if name not in own}
    others = [find_deep(header["method"])]
    detector = restore(rest, detector_tensors(tensors), hidden=hidden, others=others)
    for kind in own:
        model: KeptModel = find_kept(kind).restore(detector, own, tensors, path)
        return model
    return detector
