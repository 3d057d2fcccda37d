"""TableModel: from a raw table with few labels to scores, alerts and reasons."""

from collections.abc import Collection, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags

from devnet.core import model_file
from devnet.core.model_file import (
    edited,
    field,
    is_count,
    is_texts,
    refuse_unknown,
    size_of,
    tensor,
)
from devnet.core.names import known
from devnet.core.parameters import check_parameters
from devnet.core.seeds import RANDOM_STATE, as_generator, draw_seed
from devnet.detectors.base import FewLabelDetector
from devnet.detectors.methods import NAMED, RECOMMENDED
from devnet.detectors.methods import restore as restore_detector
from devnet.significance.calibration import Calibration, calibrate
from devnet.significance.policies import (
    Alarm,
    AlertPolicy,
    FalseAlarmRate,
    policy_from_json,
    policy_to_json,
)
from devnet.tables.chosen_rows import choose_id_column, row_ids
from devnet.tables.column_spreads import learn_wholes, read_wholes
from devnet.tables.columns.whole import Whole
from devnet.tables.encoded_rows import NORMAL, EncodedRows
from devnet.tables.encoder import TableEncoder
from devnet.tables.explainer import Explainer, Explanation
from devnet.tables.fit_options import is_text_or_none, options_of, take_options
from devnet.tables.given_labels import GivenLabels, given_labels
from devnet.tables.label_column import as_label
from devnet.tables.leaks import Leak, find_leak, leak_from_header
from devnet.tables.opened_table import OpenedTable
from devnet.tables.overwriting import refuse_replacing
from devnet.tables.readings.reading import Conventions
from devnet.tables.row_scores import alert_threshold, scored_columns
from devnet.tables.score_columns import ALERT, SCORE
from devnet.tables.sources.opening import open_table
from devnet.tables.sources.parts import Spread
from devnet.tables.table_summary import names_of
from devnet.tables.training_rows import OnRows, TrainingRows, read_training_rows

DEFAULT_POLICY = FalseAlarmRate(0.01)
HELD_BACK = ("unlabelled", "weight")  # fields of a calibration that a file keeps
TEXT_ROWS = 20_000  # of each kind to learn from if there is text: a row has many n-grams
PREFIX = "table_"  # of the model's tensors in a file; all others are the detector's


class TableModel(ClassifierMixin, BaseEstimator):
    """Learns from a raw table with a few labels in one column, and scores raw tables.

    Files and frames are read batch by batch, so tables may be larger than memory: one pass learns
    how to encode the columns and keeps a uniform sample of the rows for a detector to learn from.

    It is a scikit-learn classifier of raw tables: `fit(X, y)`, `decision_function` and `predict`
    work in a pipeline, in `cross_val_score` and in `GridSearchCV`. `score(table)` returns scores
    of rows, not the quality of the model, so name a scorer: `scoring="average_precision"`.

    Parameters
    ----------
    method : str, default="deviation ensemble"
        The detector: a name in `devnet.detectors.methods.NAMED`.
    parameters : mapping, optional
        Its parameters.
    ignore : str or collection of str
        Columns that are not used.
    categorical : str or collection of str
        Columns that are categories although they hold numbers or dates.
    anomaly : str, number or bool, optional
        The label that marks anomalies. By default the larger of two numbers, the rarer of two
        texts, or the only value next to missing ones; it must be named if most rows have it.
    normal : str, number or bool, optional
        The label that marks rows known to be normal, such as dismissed alerts. All of these are
        learned from, however long the table is. Rows with any other label are unlabelled.
    id_column : str, optional
        The column that names rows in alerts; it is not learned from. By default the first one
        whose values are all distinct.
    decimal_comma : bool, optional
        Whether texts such as "1,234" have a decimal comma. By default, the values of the table
        decide, or else commas separate thousands.
    day_first : bool, optional
        Whether 04/05/2017 is in May. By default, the values of the table decide, or else the
        month comes first between slashes, and the day between dashes or points.
    missing : collection of str
        Values that stand for a missing one, in all columns, such as "9999" or "unknown". The
        usual marks, such as "n/a", are recognised among numbers and dates anyway.
    policy : AlertPolicy, default=FalseAlarmRate(0.01)
        Which rows are alerts. It may be changed at any time, without fitting again.
    random_state : int, numpy RandomState or Generator, optional

    Attributes
    ----------
    classes_ : array of shape (2,)
        What `predict` returns for other rows and for alerts: 0 and 1, or the values of y.
    encoder_ : TableEncoder
    detector_ : FewLabelDetector
    calibration_ : Calibration
        Scores of rows by scorers that did not see them; p-values are ranks among these.
    explainer_ : Explainer
    wholes_ : dict of Whole by column
        What sparse vectors and texts are like as a whole.
    label_, anomaly_ : str
        The label column, and its value that marks anomalies; empty if there was none.
    normal_ : str or None
        Its value that marks rows known to be normal, if any does.
    id_column_ : str or None
        The column that names rows.
    spellings_ : tuple of str
        How the label of anomalies is written in the table, the most common spelling first.
    leak_ : Leak or None
        The fewest columns that separate labelled anomalies from other rows too well, if any do.
    n_rows_, n_labelled_, n_normal_ : int
        Rows of the training table, labelled anomalies and known normal rows among them.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet.tables import TableModel
    >>> amount = np.random.default_rng(0).lognormal(size=2000)
    >>> shop = np.where(amount > 9, "casino", "grocer")
    >>> fraud = [1 if value > 12 else None for value in amount]
    >>> payments = {"amount": amount, "shop": shop, "fraud": fraud}
    >>> model = TableModel(random_state=0).fit(payments, "fraud")
    >>> model.predict({"amount": [1.0, 30.0], "shop": ["grocer", "casino"]}).tolist()
    [0, 1]
    """

    classes_: np.ndarray
    encoder_: TableEncoder
    detector_: FewLabelDetector
    calibration_: Calibration
    explainer_: Explainer
    wholes_: dict[str, Whole]
    label_: str
    anomaly_: str
    normal_: str | None
    id_column_: str | None
    spellings_: tuple[str, ...]
    leak_: Leak | None
    n_rows_: int
    n_labelled_: int
    n_normal_: int
    _file: Path | None = None
    _learned_from: tuple[Path, ...] = ()

    def __init__(
        self,
        method: str = RECOMMENDED,
        *,
        parameters: Mapping[str, Any] | None = None,
        ignore: str | Collection[str] = (),
        categorical: str | Collection[str] = (),
        anomaly: str | float | None = None,
        normal: str | float | None = None,
        id_column: str | None = None,
        decimal_comma: bool | None = None,
        day_first: bool | None = None,
        missing: str | Collection[str] = (),
        policy: AlertPolicy = DEFAULT_POLICY,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.parameters = parameters
        self.ignore = ignore
        self.categorical = categorical
        self.anomaly = anomaly
        self.normal = normal
        self.id_column = id_column
        self.decimal_comma = decimal_comma
        self.day_first = day_first
        self.missing = missing
        self.policy = policy
        self.random_state = random_state

    def __repr__(self) -> str:
        is_fitted = hasattr(self, "label_")
        to = f"{self.label_} = {self.anomaly_}" if is_fitted and self.label_ else "no labels"
        state = f", fitted to {to}" if is_fitted else ""
        return f"TableModel({self.method!r}{state})"

    def fit(
        self,
        table: Any,
        label: Any = None,
        *,
        spread: Spread | None = None,
        on_rows: OnRows | None = None,
    ) -> Self:
        """Learn from a table.

        Parameters
        ----------
        table : path, glob, frame, Arrow table or dict of columns
            See `devnet.tables.open_table`.
        label : str, or array of shape (n_rows,)
            The column that marks labelled anomalies, or a label for each row, such as 1 and 0 or
            missing. All other rows are unlabelled, unless `normal` names a label. Required unless
            the method learns without labels, as "iForest" does.
        spread : callable, optional
            How the parts of the table are read, by default one after the other in this process:
            `spread(read, merge, parts)` returns `read(part)` of all parts, merged in any order.
            The model is the same. See `devnet.serving.cluster.fitting` for a cluster.
        on_rows : callable, optional
            Gets the number of rows read so far.
        """
        check_parameters(self, {"random_state": RANDOM_STATE})
        generator = as_generator(self.random_state)
        method = NAMED[known(self.method, NAMED, "method")]
        detector = method(random_state=draw_seed(generator), **(self.parameters or {}))
        labels = given_labels(table, label, needed=detector.needs_labels)
        categorical = names_of(self.categorical)
        conventions = Conventions(self.decimal_comma, self.day_first, tuple(names_of(self.missing)))
        source = open_table(
            table,
            types=dict.fromkeys(categorical, pa.string()),
            missing=conventions.missing,
            decimal_comma=self.decimal_comma,
        )
        rows = read_training_rows(
            labels.beside(source),
            labels.name,
            anomaly=as_label(self.anomaly),
            normal=as_label(self.normal),
            needs_anomalies=detector.needs_labels,
            ignore=names_of(self.ignore),
            id_column=self.id_column,
            categorical=categorical,
            conventions=conventions,
            generator=generator,
            spread=spread,
            on_rows=on_rows,
        )
        self._learn(rows, detector, generator, labels)
        self._learned_from = tuple(path.resolve() for path in source.paths)
        return self

    def _learn(
        self, rows: TrainingRows, detector: Any, generator: np.random.Generator, given: GivenLabels
    ) -> None:
        classes = given.classes(rows.anomaly, rows.normal_label)
        encoder = TableEncoder.learn(rows.summary, rows.others().rows)
        if not detector.uses_text:
            encoder = encoder.without_text(self.method)
        encoded = EncodedRows.encode(rows, encoder, TEXT_ROWS if encoder.has_text else None)
        detector.take_layout(encoder.layout)
        if rows.n_normal:
            detector.set_params(normal_label=NORMAL)
        self.calibration_ = calibrate(
            detector, encoded.matrix, encoded.y, encoded.weight, random_state=draw_seed(generator)
        )
        self.classes_, self.detector_, self.encoder_ = classes, detector, encoder
        self.id_column_ = self.id_column or choose_id_column(encoder.left_out)
        ids = row_ids(encoded.sample.rows, self.id_column_, encoded.sample.number)
        self.explainer_ = Explainer.learn(encoder, detector, encoded.others, encoded.labelled, ids)
        self.wholes_ = learn_wholes(encoder, encoded.others, encoded.labelled)
        self.leak_ = find_leak(encoder, encoded.others, encoded.labelled, generator)
        self.label_, self.anomaly_, self.normal_ = rows.label, rows.anomaly, rows.normal_label
        self.spellings_ = tuple(rows.spellings)
        self.n_rows_ = rows.n_rows
        self.n_labelled_, self.n_normal_ = rows.n_labelled, rows.n_normal

    def score(self, table: Any, y: Any = None) -> pa.Table:
        """Scores, p-values and alerts of a table that fits into memory, row by row.

        `devnet.tables.score_table` writes them from file to file. This is not the quality that
        scikit-learn calls score, so no `y` is taken.
        """
        if y is not None:
            raise TypeError(
                "TableModel.score(table) returns the scores of rows and takes no labels. To "
                "measure quality, name a scorer, such as scoring='average_precision' in "
                "cross_val_score and GridSearchCV."
            )
        scored = OpenedTable(self, table).scored_batches()
        scores = np.concatenate([np.empty(0), *(one.scores for one in scored)])
        alarm = Alarm(alert_threshold(self, None, [scores]))
        return pa.table(scored_columns(self, scores, alarm))

    def decision_function(self, table: Any) -> np.ndarray:
        """Anomaly scores minus the score above which rows are alerts by `policy`.

        If no row is an alert, 0 is the highest score; if every row is, 0 is the lowest.
        """
        scores = self.score(table)[SCORE].to_numpy()
        threshold = alert_threshold(self, None, [scores]).score
        above: np.ndarray = scores - np.clip(threshold, *_extremes(scores))
        return above

    def predict(self, table: Any) -> np.ndarray:
        """1 for rows that are alerts by `policy`, 0 for others; or the two values of y."""
        alerts = self.score(table)[ALERT].to_numpy().astype(int)
        predicted: np.ndarray = self.classes_[alerts]
        return predicted

    def explain(self, table: Any, rows: int | Sequence[int]) -> list[Explanation]:
        """Why rows have their scores, given their numbers, counted from 0."""
        numbers = np.atleast_1d(rows)
        if numbers.dtype.kind not in "iu" and numbers.size:
            raise TypeError(
                f"rows are given by their numbers, counted from 0, but rows has {numbers.dtype} "
                "values; of a mask, give numpy.flatnonzero(mask)."
            )
        return OpenedTable(self, table).explain(numbers.astype(int).tolist())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "encoder_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_class = False
        return tags

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one file without pickle; read it with `devnet.load`."""
        refuse_replacing(path, self._learned_from)
        model_file.write(path, *to_file(self))
        self._file = Path(path).resolve()

    @property
    def file(self) -> Path | None:
        """The file that it was loaded from or saved to last, which no output replaces."""
        return self._file


def to_file(model: TableModel) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and tensors of its model file."""
    table = {
        "method": model.method,
        "label": model.label_,
        "anomaly": model.anomaly_,
        "normal": model.normal_,
        "spellings": list(model.spellings_),
        "classes": model.classes_.tolist(),
        "id_column": model.id_column_,
        "options": options_of(model),
        "n_rows": model.n_rows_,
        "n_labelled": model.n_labelled_,
        "n_normal": model.n_normal_,
        "policy": policy_to_json(model.policy),
        "labelled_ids": model.explainer_.ids,
        "leak": None if model.leak_ is None else list(model.leak_),
        "spreads": {name: one.to_header() for name, one in model.explainer_.spreads.items()},
        "wholes": {name: one.to_header() for name, one in model.wholes_.items()},
        "encoder": model.encoder_.to_header(),
    }
    tensors = {PREFIX + name: array for name, array in _own_tensors(model).items()}
    return {**model.detector_.header(), "table": table}, {**model.detector_.tensors(), **tensors}


def restore(
    header: dict[str, Any], tensors: dict[str, np.ndarray], path: str | PathLike[str] | None
) -> TableModel:
    """Rebuild a model from header and tensors, all of them checked, of the file at a path."""
    model = TableModel()
    model._file = None if path is None else Path(path).resolve()
    own = {name.removeprefix(PREFIX): t for name, t in tensors.items() if name.startswith(PREFIX)}
    others = {name: array for name, array in tensors.items() if not name.startswith(PREFIX)}
    table = field(header, "table", lambda value: isinstance(value, dict))
    for name in ("method", "label", "anomaly"):
        field(table, name, lambda value: isinstance(value, str))
    model.method, model.label_, model.anomaly_ = table["method"], table["label"], table["anomaly"]
    model.classes_ = np.array(field({"classes": [0, 1], **table}, "classes", _are_classes))
    model.spellings_ = tuple(field({"spellings": [], **table}, "spellings", is_texts))
    model.id_column_ = field(table, "id_column", is_text_or_none)
    take_options(model, field(table, "options", lambda value: isinstance(value, dict)))
    model.n_rows_ = field(table, "n_rows", is_count)
    model.n_labelled_ = field(table, "n_labelled", lambda value: is_count(value, 0))
    model.normal_ = field({"normal": None, **table}, "normal", is_text_or_none)
    model.n_normal_ = field({"n_normal": 0, **table}, "n_normal", lambda value: is_count(value, 0))
    model.policy = policy_from_json(table.get("policy"))
    model.leak_ = leak_from_header(table.get("leak"))
    model.detector_ = restore_detector({k: v for k, v in header.items() if k != "table"}, others)
    model.encoder_ = TableEncoder.from_header(table.get("encoder"))
    if model.encoder_.n_columns != model.detector_.n_features_in_:
        raise edited(
            "the encoder",
            f"it makes {model.encoder_.n_columns} columns, but the detector takes "
            f"{model.detector_.n_features_in_}",
        )
    if model.detector_.has_sparse_rows and not model.encoder_.is_sparse:
        raise edited(
            "the encoder",
            f"it makes dense rows of {model.encoder_.n_columns} columns, but the detector learned "
            "from sparse ones",
        )
    model.calibration_ = _read_calibration(model.detector_, own)
    model.explainer_ = Explainer.from_tensors(model.encoder_, model.detector_, table, own)
    model.wholes_ = read_wholes(table, model.encoder_)
    refuse_unknown(own, _own_tensors(model))
    return model


def _own_tensors(model: TableModel) -> dict[str, np.ndarray]:
    tensors: dict[str, np.ndarray] = model.explainer_.to_tensors()
    if model.detector_.keeps_unseen_scores:
        return tensors
    return {**tensors, **held_back_tensors(model.calibration_)}


def held_back_tensors(calibration: Calibration) -> dict[str, np.ndarray]:
    """What a file keeps of scores of rows that were held back."""
    return {f"held_back_{name}": getattr(calibration, name) for name in HELD_BACK}


def _read_calibration(detector: Any, tensors: dict[str, np.ndarray]) -> Calibration:
    if detector.keeps_unseen_scores:
        calibration: Calibration = detector.unseen_scores()
        return calibration
    return held_back_calibration(tensors)


def held_back_calibration(tensors: dict[str, np.ndarray]) -> Calibration:
    """Invert `held_back_tensors`, or raise a ModelFileError."""
    n = size_of(tensors, "held_back_unlabelled")
    scores, weight = (tensor(tensors, f"held_back_{name}", (n,), "float64") for name in HELD_BACK)
    if not n or weight.min() < 0 or weight.max() > 1 or not weight.any():
        raise edited("the calibration", "rows must count from 0 to 1, and some must count")
    return Calibration(scores, weight, None, None)


def _extremes(scores: np.ndarray) -> tuple[float, float]:
    return (scores.min(), scores.max()) if len(scores) else (0.0, 0.0)


def _are_classes(value: Any) -> bool:
    is_pair = isinstance(value, list) and len(value) == 2
    return is_pair and all(isinstance(one, str | int | float) for one in value)
