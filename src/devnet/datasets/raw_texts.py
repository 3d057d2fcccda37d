"""Raw texts of two of the paper's sets: messages of newsgroups, and web addresses.

The paper has both as matrices of millions of columns. Here they are what people have: a table
with a column of text. Messages come without their header lines, which name the group.
"""

import csv
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from devnet.core.names import known
from devnet.datasets import Folder, locate

USUAL_GROUPS = ("alt", "rec", "soc", "talk")
N_ODD_MESSAGES = 526  # of comp, misc and sci; as many as make 5% of all


class RawTexts(NamedTuple):
    """Texts, and which of them are anomalies."""

    name: str  # of the column
    texts: list[str]
    is_anomaly: np.ndarray  # (n,)
    description: str


class _Source(NamedTuple):
    file: str
    column: str
    description: str
    read: Callable[[Path], tuple[list[str], np.ndarray]]


def load_texts(name: str, folder: Folder | None = None) -> RawTexts:
    """Read one of `RAW_TEXTS`, from the folder that `devnet.datasets.load` looks into."""
    source = RAW_TEXTS[known(name, RAW_TEXTS, "set of texts")]
    texts, is_anomaly = source.read(locate(source.file, folder))
    return RawTexts(source.column, texts, is_anomaly, f"{name}: {source.description}")


def read_messages(path: Path) -> tuple[list[str], np.ndarray]:
    """20 Newsgroups, one file per message: all of alt, rec, soc and talk, and some others."""
    texts, is_odd = [], []
    with tarfile.open(path) as archive:
        for member in sorted(archive.getmembers(), key=lambda one: one.name):
            content = archive.extractfile(member) if member.isfile() else None
            if content is None:
                continue
            group = PurePosixPath(member.name).parent.name
            texts.append(content.read().decode("latin-1").partition("\n\n")[2])
            is_odd.append(not group.startswith(USUAL_GROUPS))
    odd = np.flatnonzero(is_odd)
    kept = np.random.default_rng(0).choice(odd, min(N_ODD_MESSAGES, len(odd)), replace=False)
    chosen = np.sort(np.append(np.flatnonzero(~np.array(is_odd)), kept))
    return [texts[i] for i in chosen], np.array(is_odd)[chosen]


def read_addresses(path: Path) -> tuple[list[str], np.ndarray]:
    """Web addresses in a CSV file: those of the task, 1 for phishing."""
    with lzma.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["in_task"] == "1"]
    return [row["url"] for row in rows], np.array([row["label"] == "1" for row in rows])


RAW_TEXTS = {
    "messages": _Source(
        "20_newsgroups-19997.tar.xz",
        "message",
        "messages of 20 Newsgroups without header lines; anomalies are 526 of comp, misc and sci",
        read_messages,
    ),
    "addresses": _Source(
        "urls.csv.xz",
        "url",
        "web addresses of three public lists; anomalies are phishing",
        read_addresses,
    ),
}
