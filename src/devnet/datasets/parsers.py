"""The file formats in which the paper's data sets are published."""

import csv
import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple, TextIO

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from devnet.core.wording import is_number
from devnet.datasets.preparation import categories, min_max, numbers, side_by_side

NEWS20_ANOMALIES = 0.05  # share after thinning out the smaller class
URL_DAYS = range(7)  # the paper has the first week of the collection
BANK_FILE = "bank-additional-full.csv"  # the archive also holds a sample of it
CENSUS_CONTINUOUS = (0, 5, 16, 17, 18, 30, 39)
CENSUS_WEIGHT = 24  # number of people that a record stands for, not a property of a person
CENSUS_NAMES = """age|class of worker|industry code|occupation code|education|wage per hour|
enrolled in edu inst last wk|marital status|major industry code|major occupation code|race|
hispanic origin|sex|member of a labor union|reason for unemployment|
full or part time employment stat|capital gains|capital losses|dividends from stocks|
tax filer status|region of previous residence|state of previous residence|
detailed household and family stat|detailed household summary|instance weight|
migration code-change in msa|migration code-change in reg|migration code-move within reg|
live in this house 1 year ago|migration prev res in sunbelt|num persons worked for employer|
family members under 18|country of birth father|country of birth mother|country of birth self|
citizenship|own business or self employed|fill inc questionnaire for veteran's admin|
veterans benefits|weeks worked in year|year""".replace("\n", "").split("|")


class RawSet(NamedTuple):
    """What a parser finds."""

    rows: Any  # (n, d) float32 array or CSR matrix
    is_anomaly: np.ndarray  # (n,) bool
    names: list[str]  # of the columns; may be empty


def labelled_csv(path: Path) -> RawSet:
    """Numbers with a header line and `class` as the last column: .csv, or in a .tar.xz archive."""
    with _open_text(path) as file:
        names = next(csv.reader([file.readline()]))
        values = np.loadtxt(file, delimiter=",", dtype=np.float32)
    return RawSet(np.ascontiguousarray(values[:, :-1]), values[:, -1] == 1, names[:-1])


def matrix_npz(path: Path) -> RawSet:
    """Arrays `X` and `y` in an .npz file, and `feature_names` if present."""
    with np.load(path, allow_pickle=False) as file:
        names = file["feature_names"].tolist() if "feature_names" in file.files else []
        return RawSet(file["X"].astype(np.float32, copy=False), file["y"] == 1, names)


def raw_matrix_npz(path: Path) -> RawSet:
    """As `matrix_npz`, and scale columns to [0, 1]."""
    table = matrix_npz(path)
    return table._replace(rows=min_max(table.rows))


def csr_npz(rows: Path, labels: Path) -> RawSet:
    """A CSR matrix saved by SciPy, and its labels."""
    matrix = sp.csr_matrix(sp.load_npz(rows), dtype=np.float32)
    return RawSet(matrix, np.load(labels, allow_pickle=False) == 1, [])


def credit_card_csv(path: Path) -> RawSet:
    """The credit card transactions of ULB: V1 to V28 and Amount, scaled; Class 1 is fraud."""
    with _open_text(path) as file:
        names = next(csv.reader([file.readline()]))
        values = np.loadtxt((line.replace('"', "") for line in file), delimiter=",")
    columns = [i for i, name in enumerate(names) if name not in ("Time", "Class")]
    is_anomaly = values[:, names.index("Class")] == 1
    return RawSet(min_max(values[:, columns]), is_anomaly, [names[i] for i in columns])


def bank_marketing_csv(path: Path) -> RawSet:
    """UCI bank marketing, separated by semicolons; `y` is yes for a successful campaign.

    Either .csv, or the published .zip archive.
    """
    with _open_text(path, BANK_FILE) as file:
        records = list(csv.reader(file, delimiter=";"))
    names, columns = records[0], list(zip(*records[1:], strict=True))
    parts = []
    for name, texts in zip(names[:-1], columns[:-1], strict=True):
        encode = numbers if is_number(texts[0]) else categories
        parts.append(encode(name, list(texts)))
    table = side_by_side(parts)
    return RawSet(min_max(table.values), np.array(columns[-1]) == "yes", table.names)


def census(data: Path, test: Path) -> RawSet:
    """UCI census-income: 7 continuous columns scaled, 33 nominal ones one-hot, `?` as all zeros."""
    records = [record for path in (data, test) for record in _census_records(path)]
    columns = list(zip(*records, strict=True))
    nominal = [
        i for i in range(len(CENSUS_NAMES)) if i not in CENSUS_CONTINUOUS and i != CENSUS_WEIGHT
    ]
    parts = [numbers(CENSUS_NAMES[i], list(columns[i])) for i in CENSUS_CONTINUOUS]
    parts += [categories(CENSUS_NAMES[i], list(columns[i]), drop_one_of_two=True) for i in nominal]
    table = side_by_side(parts)
    is_anomaly = np.array([label.startswith("50000+") for label in columns[-1]])
    return RawSet(min_max(table.values), is_anomaly, table.names)


def svmlight_days(*paths: Path) -> RawSet:
    """Days of the URL collection, one svmlight file each; label +1 is a malicious URL."""
    return _stacked_days([_svmlight(str(path)) for path in paths])


def svmlight_days_archive(path: Path) -> RawSet:
    """The first week of the URL collection, straight from its .tar.gz archive."""
    wanted = [f"Day{day}.svm" for day in URL_DAYS]
    days = {}
    with tarfile.open(path) as archive:
        for member in archive:  # one pass: going back in a compressed file means starting over
            name = PurePosixPath(member.name).name
            if name in wanted:
                with _member(archive, member) as file:
                    days[name] = _svmlight(file)
            if len(days) == len(wanted):
                break
    absent = [name for name in wanted if name not in days]
    if absent:
        raise ValueError(f"the archive has no {', '.join(absent)}")
    return _stacked_days([days[name] for name in wanted])


def news20_svmlight(path: Path) -> RawSet:
    """LIBSVM's news20.binary with the smaller class thinned to 5%, always the same rows."""
    rows, labels = _svmlight(str(path))
    is_anomaly = labels == (1 if (labels == 1).sum() < (labels != 1).sum() else -1)
    normal, anomalies = np.flatnonzero(~is_anomaly), np.flatnonzero(is_anomaly)
    size = round(len(normal) * NEWS20_ANOMALIES / (1 - NEWS20_ANOMALIES))
    kept = np.random.default_rng(0).choice(anomalies, min(size, len(anomalies)), replace=False)
    chosen = np.sort(np.concatenate([normal, kept]))
    return RawSet(rows[chosen], is_anomaly[chosen], [])


@contextmanager
def _open_text(path: Path, member: str = "*.csv") -> Iterator[TextIO]:
    """Read text from a plain file, a .gz file, or a member of a .tar.xz or .zip archive."""
    if ".tar" in path.name:
        with tarfile.open(path) as archive:
            found = next((m for m in archive if PurePosixPath(m.name).match(member)), None)
            with _member(archive, found) as content, _text(content) as file:
                yield file
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path) as packed:
            # macOS leaves a file ._NAME next to each NAME; `match` compares complete names
            name = next((n for n in packed.namelist() if PurePosixPath(n).match(member)), member)
            with packed.open(name) as content, _text(content) as file:
                yield file
    elif path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8") as file:
            yield file
    else:
        with path.open(encoding="utf-8") as file:
            yield file


def _text(content: IO[bytes]) -> TextIO:
    return io.TextIOWrapper(content, encoding="utf-8")


def _member(archive: tarfile.TarFile, member: tarfile.TarInfo | None) -> IO[bytes]:
    content = archive.extractfile(member) if member is not None else None
    if content is None:
        raise ValueError("the archive holds no such file")
    return content


def _svmlight(file: str | IO[bytes]) -> tuple[Any, np.ndarray]:
    """Rows and labels of an svmlight file, possibly compressed with gzip or bzip2."""
    rows, labels = load_svmlight_file(file, dtype=np.float32)
    return rows, labels


def _stacked_days(days: list[tuple[Any, np.ndarray]]) -> RawSet:
    """All rows, as wide as the widest day."""
    width = max(rows.shape[1] for rows, _ in days)
    for rows, _ in days:
        rows.resize(rows.shape[0], width)
    labels = np.concatenate([labels for _, labels in days])
    return RawSet(sp.vstack([rows for rows, _ in days], format="csr"), labels == 1, [])


def _census_records(path: Path) -> Iterator[list[str]]:
    with _open_text(path) as file:
        for line in file:
            if line.strip():
                yield [text.strip() for text in line.split(",")]
