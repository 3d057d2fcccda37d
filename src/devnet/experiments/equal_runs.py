"""Runs that another experiment has done already: the same numbers need not be computed twice.

Table 1 and the figures of labels and of contamination meet in 30 labels and 2% contamination.
"""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from devnet.experiments.plan import Run
from devnet.experiments.results import RunRecord, read_results


class EqualRuns:
    """Finished runs of other experiments, by what was computed.

    Parameters
    ----------
    paths : iterable of Path
        Results files of other experiments.
    """

    def __init__(self, paths: Iterable[Path] = ()) -> None:
        self.records: list[RunRecord] = []
        self._found: dict[str, list[RunRecord]] = {}
        for path in paths:
            for record in read_results(path):
                if not record.error:
                    taken_from = record.taken_from or path.stem
                    self.records.append(replace(record, taken_from=taken_from))
                    self._found.setdefault(_computed(record.run), []).append(self.records[-1])

    def find(self, run: Run, data: dict[str, Any], versions: dict[str, str]) -> RunRecord | None:
        """The record of an equal run on equal data with the same versions.

        None if there is none, or if experiments disagree about it: one of them is outdated.
        """
        found = self._found.get(_computed(run), [])
        if any(record.metrics != found[0].metrics for record in found):
            return None
        usable = [one for one in found if (one.data, one.versions) == (data, versions)]
        return replace(usable[0], method=run.method) if usable else None


def _computed(run: Run) -> str:
    """The same text for runs that compute the same; experiments may name a method differently."""
    return json.dumps(run._replace(method=""), sort_keys=True)
