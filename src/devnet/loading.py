"""Open whatever `save` wrote: a detector, or a model of raw tables."""

from os import PathLike
from typing import TYPE_CHECKING, Any

from devnet.core import model_file
from devnet.deep.methods import DEEP_METHODS, find_deep
from devnet.detectors.base import FewLabelDetector
from devnet.detectors.methods import restore

if TYPE_CHECKING:
    from devnet.tables.table_model import TableModel


def load(path: str | PathLike[str], *, hidden: Any = None) -> "FewLabelDetector | TableModel":
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
    model : the fitted detector, or the `TableModel` of raw tables

    Raises
    ------
    ModelFileError
        If the file is truncated, damaged, foreign, newer or edited. Nothing in it is executed.
    """
    header, tensors = model_file.read(path)
    if header.get("method") in DEEP_METHODS:
        return restore(header, tensors, hidden=hidden, others=[find_deep(header["method"])])
    if "table" not in header:
        return restore(header, tensors, hidden=hidden)
    from devnet.tables.table_model import restore as restore_table_model  # needs pyarrow

    return restore_table_model(header, tensors, path)
