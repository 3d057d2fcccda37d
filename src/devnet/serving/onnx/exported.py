"""An exported graph, opened again: checked, and run by onnxruntime."""

import json
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pyarrow as pa

from devnet.core.model_file import field
from devnet.core.wording import cut, path_text
from devnet.serving.onnx.export_error import ExportError
from devnet.serving.onnx.exporting import MATRIX
from devnet.serving.onnx.graph import Graph
from devnet.serving.onnx.inputs import ColumnInput, plan_inputs
from devnet.serving.onnx.metadata import FORMAT, checksum, read_metadata
from devnet.serving.onnx.prepared import input_arrays
from devnet.tables.encoder import TableEncoder
from devnet.tables.readings.table_reader import Tally
from devnet.tables.score_columns import SCORE, SCORE_COLUMNS
from devnet.tables.sources.opening import open_table
from devnet.tables.table_model import TableModel

OLDEST = (1, 21)  # onnxruntime with the operator TreeEnsemble
LONGEST_REASON = 200  # characters of what onnxruntime says
ERRORS_ONLY = 3  # of onnxruntime's log


class ExportedModel:
    """A graph that `export` wrote, to be run by onnxruntime.

    Parameters
    ----------
    path : str or path
    n_threads : int, optional
        Of onnxruntime; by default one per core. Scores do not depend on it.

    Attributes
    ----------
    path : Path
    header : dict
        The header of the model that was exported.
    threshold : float
        The score above which rows are alerts.
    alerts : str
        Which rows are alerts, in words.
    inputs : list of ColumnInput
        What the graph takes, by column; empty if it takes a matrix, `X`.
    """

    def __init__(self, path: str | PathLike[str], *, n_threads: int | None = None) -> None:
        self.path = Path(path)
        content = _content(self.path)
        said = _checked(content, path_text(path))
        try:
            self.header: dict[str, Any] = dict(json.loads(said["header"]))
            threshold = json.loads(said["threshold"])
            self.threshold = float("inf") if threshold is None else float(threshold)
            self.alerts = said["alerts"]
        except (KeyError, TypeError, ValueError):
            raise _edited(path_text(path)) from None
        self.inputs: list[ColumnInput] = []
        if self.is_of_tables:
            self.inputs = plan_inputs(self.encoder, Graph(SCORE_COLUMNS))
        self._session = _session(content, path_text(path), n_threads)

    @property
    def is_of_tables(self) -> bool:
        """Whether it takes the columns of a table, not a matrix."""
        return "table" in self.header

    @cached_property
    def encoder(self) -> TableEncoder:
        """How the columns of a table are read and encoded."""
        return TableEncoder.from_header(self.table_header.get("encoder"))

    @property
    def table_header(self) -> dict[str, Any]:
        """What the header says about tables."""
        found: dict[str, Any] = field(self.header, "table", lambda value: isinstance(value, dict))
        return found

    def table_model(self) -> TableModel:
        """A model that knows the columns of tables, as far as reading them goes."""
        self._refuse_matrix()
        table, model = self.table_header, TableModel()
        model.encoder_ = self.encoder
        for name in ("label_", "anomaly_", "normal_", "id_column_"):
            setattr(model, name, field(table, name.removesuffix("_"), _is_text_or_none))
        for name in ("decimal_comma", "day_first"):
            setattr(model, name, field(table, name, lambda value: value in (None, True, False)))
        return model

    def prepare(self, batch: pa.RecordBatch) -> dict[str, np.ndarray]:
        """The graph's inputs, made from rows of a raw table.

        Texts are read as numbers and dates, times become integers, categories their texts, and
        missing values are marked. Whoever gives the inputs some other way does the same: the
        graph's metadata says what is to be done for each of them.
        """
        self._refuse_matrix()
        encoder, columns = self.encoder, self.encoder.read_columns()
        source = open_table(batch, types=encoder.csv_types(), missing=encoder.reader.missing)
        encoder.check(source.schema, "the batch")
        parts = list(source.batches(columns)) or [source.first_rows(columns)]
        made = [input_arrays(self.inputs, encoder.reader.read(one, Tally())) for one in parts]
        return {name: np.concatenate([one[name] for one in made]) for name in made[0]}

    def score(self, rows: Any) -> pa.RecordBatch:
        """Scores, p-values and alerts of a record batch, or of a matrix if the graph takes one."""
        if self.is_of_tables:
            return self.run(self.prepare(rows), len(rows))
        return self.run({MATRIX: np.asarray(rows, dtype=np.float32)}, len(rows))

    def run(self, arrays: dict[str, np.ndarray], n_rows: int) -> pa.RecordBatch:
        """Scores, p-values and alerts of prepared inputs."""
        names = [one.name for one in self._session.get_outputs()]
        if not n_rows:
            kinds = {"tensor(double)": pa.float64(), "tensor(bool)": pa.bool_()}
            types = [kinds[one.type] for one in self._session.get_outputs()]
            return pa.RecordBatch.from_arrays([pa.array([], kind) for kind in types], names)
        try:
            found = self._session.run(names, arrays)
        except MemoryError:
            raise
        except Exception as error:  # onnxruntime has an error class for each of its status codes
            raise ExportError(
                f"{path_text(self.path)} cannot score these rows ({_reason(error)}); give what its "
                "metadata lists."
            ) from error
        _refuse_not_finite(found[names.index(SCORE)])
        return pa.RecordBatch.from_arrays(list(map(pa.array, found)), names)

    def _refuse_matrix(self) -> None:
        if not self.is_of_tables:
            raise ExportError(
                f"{path_text(self.path)} takes a matrix {MATRIX!r}, not a table; give float32 rows "
                "of shape (n_rows, n_columns)."
            )


def _content(path: Path) -> bytes:
    if not path.is_file():
        what = "is not a file" if path.exists() else "does not exist"
        raise ExportError(
            f"{path_text(path)} {what}; give the name of a graph, or export one: devnet export "
            "MODEL model.onnx"
        )
    return path.read_bytes()


def _checked(content: bytes, name: str) -> dict[str, str]:
    """The metadata of a graph of ours that is not damaged."""
    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:  # whatever protobuf raises
        raise ExportError(
            f"{name} is not an ONNX graph, or it is damaged; export the model again: devnet export "
            "MODEL model.onnx"
        ) from error
    said = read_metadata(model)
    if "format" not in said:
        raise ExportError(
            f"{name} was not written by devnet, so nothing says what its inputs mean; export a "
            "model: devnet export MODEL model.onnx"
        )
    if said["format"] != FORMAT:
        raise ExportError(
            f"{name} has the format {cut(said['format'])!r}, which a newer version wrote. Upgrade "
            "with: pip install --upgrade deviation-network"
        )
    if said.pop("checksum", None) != checksum(model):
        raise _edited(name)
    return said


def _edited(name: str) -> ExportError:
    return ExportError(
        f"{name} was edited or damaged; export the model again: devnet export MODEL model.onnx"
    )


def _reason(error: Exception) -> str:
    return cut(" ".join(str(error).split()), LONGEST_REASON)


def _is_text_or_none(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _session(content: bytes, name: str, n_threads: int | None) -> Any:
    onnxruntime = _onnxruntime()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = ERRORS_ONLY
    if n_threads is not None:
        options.intra_op_num_threads = n_threads
    try:
        return onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has an error class for each of its status codes
        raise ExportError(
            f"onnxruntime {onnxruntime.__version__} cannot open {name} ({_reason(error)}); upgrade "
            "it with: pip install --upgrade 'deviation-network[onnx]'"
        ) from error


def _onnxruntime() -> Any:
    """The package, if it is there and new enough."""
    try:
        import onnxruntime
    except ImportError:
        raise ImportError(
            "running an exported graph needs one more package: pip install "
            "'deviation-network[onnx]'"
        ) from None
    version = tuple(int(part) for part in onnxruntime.__version__.split(".")[:2])
    if version < OLDEST:
        raise ImportError(
            f"onnxruntime {onnxruntime.__version__} is too old for the operator TreeEnsemble: it "
            f"takes {'.'.join(map(str, OLDEST))} or newer; pip install --upgrade "
            "'deviation-network[onnx]'"
        )
    return onnxruntime


def _refuse_not_finite(scores: np.ndarray) -> None:
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        raise ExportError(
            f"row {bad[0]} has the score {scores[bad[0]]}, which cannot be ranked: one of its "
            "values is missing, infinite or too large; fill or clip it first."
        )
