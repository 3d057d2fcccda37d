"""What is counted, as Prometheus reads it."""

import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Lock
from typing import final

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
TOGETHER = (1, 2, 4, 8, 16, 32, 64, 128, 256)  # requests of one batch
_PAGES = Path("/proc/self/statm")
_HELP = {
    "requests_total": "Requests, by path and status.",
    "request_seconds": "Time from a request to its answer, by path.",
    "rows_total": "Rows that were scored.",
    "alerts_total": "Rows among them that are alerts.",
    "batch_requests": "Requests that were scored together.",
    "model_swaps_total": "New model files, by whether they were taken.",
    "requests_in_progress": "Requests that wait or are worked on.",
    "model_info": "The model in use, by the SHA-256 of its file.",
    "model_since_seconds": "When the model in use was taken, in seconds since 1970.",
    "resident_memory_bytes": "Memory of the process.",
}


class _Histogram:
    """Counts by upper bound, and their sum."""

    def __init__(self, bounds: Iterable[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def lines(self, name: str, labels: dict[str, str]) -> Iterator[str]:
        n = 0
        for bound, count in zip((*self.bounds, "+Inf"), self.counts, strict=True):
            n += count
            yield _line(f"{name}_bucket", {**labels, "le": str(bound)}, n)
        yield _line(f"{name}_sum", labels, self.total)
        yield _line(f"{name}_count", labels, n)


@final
class Metrics:
    """Counters of the service; any thread may count.

    Paths are those of the service, and `other`, so that strangers cannot add to them.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: dict[str, _Histogram] = {}
        self._together = _Histogram(TOGETHER)
        self._swaps: Counter[bool] = Counter({True: 0, False: 0})
        self._n_rows = self._n_alerts = 0
        self.in_progress = 0

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count an answer."""
        with self._lock:
            self._requests[path, status] += 1
            self._seconds.setdefault(path, _Histogram(SECONDS)).add(seconds)

    def scored(self, n_rows: int, n_alerts: int) -> None:
        """Count rows that were scored."""
        with self._lock:
            self._n_rows += n_rows
            self._n_alerts += n_alerts

    def together(self, n_requests: int) -> None:
        """Count requests that are scored as one batch."""
        with self._lock:
            self._together.add(n_requests)

    def swapped(self, is_taken: bool) -> None:
        """Count a new model file."""
        with self._lock:
            self._swaps[is_taken] += 1

    def text(self, fingerprint: str, since: float) -> str:
        """All metrics, given the model in use and when it was taken."""
        with self._lock:
            families = list(self._families(fingerprint, since))
        return "".join(f"{line}\n" for family in families for line in family)

    def _families(self, fingerprint: str, since: float) -> Iterator[list[str]]:
        yield _family(
            "requests_total",
            "counter",
            [
                _line("requests_total", {"path": path, "status": str(status)}, count)
                for (path, status), count in sorted(self._requests.items())
            ],
        )
        seconds = [
            line
            for path, one in sorted(self._seconds.items())
            for line in one.lines("request_seconds", {"path": path})
        ]
        yield _family("request_seconds", "histogram", seconds)
        yield _family("rows_total", "counter", [_line("rows_total", {}, self._n_rows)])
        yield _family("alerts_total", "counter", [_line("alerts_total", {}, self._n_alerts)])
        together = list(self._together.lines("batch_requests", {}))
        yield _family("batch_requests", "histogram", together)
        swaps = [
            _line("model_swaps_total", {"taken": str(is_taken).lower()}, count)
            for is_taken, count in self._swaps.items()
        ]
        yield _family("model_swaps_total", "counter", swaps)
        gauges: dict[str, tuple[dict[str, str], float | None]] = {
            "requests_in_progress": ({}, self.in_progress),
            "model_info": ({"sha256": fingerprint}, 1),
            "model_since_seconds": ({}, since),
            "resident_memory_bytes": ({}, _memory()),
        }
        for name, (labels, value) in gauges.items():
            lines = [] if value is None else [_line(name, labels, value)]
            yield _family(name, "gauge", lines)


def _family(name: str, kind: str, lines: list[str]) -> list[str]:
    return [f"# HELP devnet_{name} {_HELP[name]}", f"# TYPE devnet_{name} {kind}", *lines]


def _line(name: str, labels: dict[str, str], value: float) -> str:
    """One value; labels are our own words and numbers, with nothing to escape."""
    listed = ",".join(f'{key}="{text}"' for key, text in labels.items())
    return f"devnet_{name}{f'{{{listed}}}' if listed else ''} {value}"


def _memory() -> int | None:
    """Bytes of the process, where the system tells them."""
    if not _PAGES.exists():
        return None
    return int(_PAGES.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
