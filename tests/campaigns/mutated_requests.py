"""Damaged requests to the service: a sentence or scores, and the next request is as before."""

import json
import random
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

import polars as pl
from pyarrow import ipc
from support.payment_tables import make_table
from support.services import ARROW, client, json_rows, quick_model, stream

from campaigns.campaign import Campaign
from devnet.serving.service.limits import Limits

TABLE = make_table(40, seed=1)[0]
JSON = "application/json"
ALLOWED = {200, 400, 413, 422}
CRUMBS = [b"", b"null", b"-1e999", b'"', b"{", b"]", b"\\ud800", b"\xff", b"[[[[", b"9" * 5000]
ODD = [None, True, -1, 1e308, "", "x" * 1000, "\ud800", [], {}, 2**70, "2026-01-01", "1e5"]


class Request(NamedTuple):
    """A body of a kind."""

    kind: str
    what: str
    body: bytes

    def __str__(self) -> str:
        return f"{self.kind}, {self.what}: {self.body[:200]!r}"


@cache
def bodies() -> dict[str, list[bytes]]:
    """Whole bodies, as several programs send them."""
    views = pl.from_arrow(TABLE).to_arrow(compat_level=pl.CompatLevel.newest())
    coded = TABLE.set_column(3, "shop", TABLE["shop"].combine_chunks().dictionary_encode())
    packed = [stream(TABLE, compression=one) for one in (None, "lz4", "zstd")]
    return {
        JSON: [json.dumps(json_rows(TABLE)).encode()],
        ARROW: [*packed, stream(views), stream(coded)],
    }


def make(rng: random.Random) -> Request:
    """Bytes that are changed, cut or put in, or values of other kinds."""
    kind = rng.choice([JSON, ARROW, ARROW])
    if kind == JSON and rng.random() < 0.5:
        return Request(kind, "values", _other_values(rng))
    body = bytearray(rng.choice(bodies()[kind]))
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(body) if rng.random() < 0.5 else min(len(body), 2500))
        action = rng.random()
        if action < 0.7:
            body[at] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
        elif action < 0.85:
            body[at:at] = rng.choice(CRUMBS)
        else:
            del body[at : at + rng.randint(1, 50)]
    return Request(kind, "bytes", bytes(body))


def _other_values(rng: random.Random) -> bytes:
    rows: list[dict[str, Any]] = json_rows(TABLE.slice(0, 5))
    for _ in range(rng.randint(1, 3)):
        row, name = rng.choice(rows), rng.choice([*TABLE.schema.names, "more", "a\x1bb"])
        if rng.random() < 0.2:
            row.pop(name, None)
        else:
            row[name] = rng.choice(ODD)
    return json.dumps(rows).encode()


@cache
def service() -> Any:
    """A service whose limits are those of small requests."""
    return client(Path(mkdtemp(prefix="devnet-campaign-")), limits=Limits(megabytes=0.5))


@cache
def good() -> tuple[bytes, list[float]]:
    """A whole request, and its scores."""
    return stream(TABLE), quick_model().score(TABLE)["anomaly_score"].to_pylist()


def judge(case: Request, folder: Path) -> None:
    """Send it, then a good one."""
    answer = service().post("/score", content=case.body, headers={"Content-Type": case.kind})
    assert answer.status_code in ALLOWED, f"{answer.status_code}: {answer.text[:300]}"
    if answer.status_code == 200:
        _check_scores(answer)
    else:
        assert answer.json()["error"].endswith("."), answer.text[:300]
    body, scores = good()
    headers = {"Content-Type": ARROW, "Accept": JSON}
    again = service().post("/score", content=body, headers=headers).json()
    assert [row["anomaly_score"] for row in again["rows"]] == scores, "the next request suffers"


def _check_scores(answer: Any) -> None:
    is_arrow = answer.headers["content-type"] == ARROW
    rows = (
        ipc.open_stream(answer.content).read_all().to_pylist()
        if is_arrow
        else answer.json()["rows"]
    )
    for row in rows:
        assert abs(row["anomaly_score"]) < float("inf"), row
        assert 0 < row["p_value"] <= 1, row


CAMPAIGN = Campaign("mutated_requests", make, judge, n_cases=10_000, n_short=100)
