"""Scoring a table on a cluster: the coordinator, from the parts of a table to a folder of parts."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from devnet.core.sentence import Sentence
from devnet.core.wording import path_text
from devnet.serving.cluster.folder import OutputFolder, places_of
from devnet.serving.cluster.folder import output_folder as folder_for
from devnet.serving.cluster.manifest import ScoredFolder, manifest_of, recorded
from devnet.serving.cluster.part_files import PartRecord, read_table
from devnet.serving.cluster.parts import Part, counted
from devnet.serving.cluster.plan import Plan
from devnet.serving.cluster.running import run_tasks
from devnet.serving.cluster.stores import Store, is_address
from devnet.serving.cluster.work import Done, alert_part, count_rows, score_part
from devnet.significance.policies import AlertPolicy, Threshold
from devnet.tables.drift import Watch
from devnet.tables.opened_table import OpenedTable
from devnet.tables.overwriting import refuse_overwriting
from devnet.tables.scoring import scoring_notes
from devnet.tables.table_error import TableError
from devnet.tables.table_model import TableModel
from devnet.tables.training_rows import OnRows

if TYPE_CHECKING:
    from distributed import Client

FILES = (".parquet", ".pq", ".csv", ".tsv", ".arrow", ".feather")  # a folder is not called so


def score_on_cluster(
    model: TableModel,
    table: str | os.PathLike[str],
    output_folder: str | os.PathLike[str],
    client: "Client",
    *,
    policy: AlertPolicy | None = None,
    only_id: bool = False,
    on_rows: OnRows | None = None,
) -> ScoredFolder:
    """Write the parts of a table with their scores, p-values and alerts to a folder.

    The parts, one after the other, have the rows that `devnet.score_table` writes. A part appears
    when it is complete, and `_SUCCESS` when all are. Run again after an interruption, it takes
    finished parts over; with another model, table or policy it starts anew in a folder beside.

    Parameters
    ----------
    model : TableModel
    table : path, glob or folder
        Files that all workers see under the same name. A file is a part; a long Parquet file is
        several, by its row groups.
    output_folder : path or fsspec address
        A folder that all workers see, or an address such as s3://bucket/scores.
    client : distributed.Client
        See `local_cluster` and `joined_cluster`.
    policy : AlertPolicy, optional
        Used instead of the model's. If it depends on all rows, parts are staged first.
    only_id : bool, default=False
        Leave out the table's columns except the one that names rows; without one, rows are
        numbered from 0.
    on_rows : callable, optional
        Gets the number of rows scored so far.

    Returns
    -------
    done : ScoredFolder
    """
    place, name = _place(output_folder), _name(table)
    opened = OpenedTable(model, name)
    plan = Plan.of(opened, name, policy or model.policy, only_id=only_id)
    plan.check(opened)
    for one in places_of(place, plan.digest()):
        _refuse_input(name, one, model)
    with folder_for(place, plan.digest()) as folder:
        manifest = folder.manifest(plan.part_names())
        if manifest is not None:
            done = recorded(folder.store.address, plan, manifest)
        else:
            folder.begin(plan.header(), plan.model)
            done, records = _Job(client, folder.store, opened, plan, on_rows).run()
            folder.finish(manifest_of(done, plan, records))
        return done._replace(notes=[*_elsewhere(place, folder), *done.notes])


@final
class _Job:
    """The steps of a job in its folder."""

    def __init__(
        self,
        client: "Client",
        store: Store,
        opened: OpenedTable,
        plan: Plan,
        on_rows: OnRows | None,
    ) -> None:
        self._client, self._store, self._opened, self._plan = client, store, opened, plan
        self._watch = Watch(opened, plan.policy)
        self._work = plan.work(opened, self._watch, store.address)
        self._parts, self._on_rows = plan.parts, on_rows

    def run(self) -> tuple[ScoredFolder, list[PartRecord]]:
        """Do what is not done yet; returns what was written, and the records of its parts."""
        if any(part.first_row is None or part.n_rows is None for part in self._parts):
            self._count()
        scored = self._all(score_part, [(self._work, part) for part in self._parts])
        threshold, final = self._work.threshold, scored
        if threshold is None:
            threshold, final = self._alerts()
        self._look_at([one.record for one in scored])
        records = [one.record for one in final]
        done = ScoredFolder(
            folder=self._store.address,
            n_parts=len(records),
            n_taken_over=sum(one.was_done for one in scored),
            n_rows=sum(one.n_rows for one in records),
            n_alerts=sum(one.n_alerts for one in records),
            threshold=threshold.score,
            policy=self._plan.policy.in_words(),
            notes=scoring_notes(self._opened, self._plan.policy, self._watch),
        )
        return done, records

    def _count(self) -> None:
        """Count the rows of text files, which have no index that tells."""
        arguments = [(self._work, part) for part in self._parts]
        tasks = dict(run_tasks(self._client, count_rows, self._parts, arguments))
        n_rows = [tasks[part] for part in self._parts]
        self._parts = counted(self._parts, n_rows)
        self._work = self._work._replace(n_rows=sum(n_rows))

    def _all(self, task: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Done]:
        """Do a task for all parts; returns what was done in the order of rows."""
        found: dict[Part, Done] = {}
        n_rows = 0
        for part, done in run_tasks(self._client, task, self._parts, arguments):
            found[part] = done
            n_rows += done.record.n_rows
            if self._on_rows is not None:
                self._on_rows(n_rows)
        return [found[part] for part in self._parts]

    def _alerts(self) -> tuple[Threshold, list[Done]]:
        """Choose the threshold by all scores, and write the final parts."""
        model, policy = self._opened.model, self._plan.policy
        quantile = model.detector_.prior_quantile
        threshold = policy.threshold_of(model.calibration_, self._summaries(), quantile)
        each = policy.by_part(threshold, self._summaries())
        arguments = [(self._work, *one) for one in zip(self._parts, each, strict=True)]
        return threshold, self._all(alert_part, arguments)

    def _summaries(self) -> Iterator[np.ndarray]:
        """What the policy has to know of each part's scores, in the order of rows."""
        for part in self._parts:
            table = read_table(self._store, self._work.names(part).summary)
            yield table["summary"].to_numpy()

    def _look_at(self, records: Sequence[PartRecord]) -> None:
        """See what all parts have seen, to compare the table with that of training."""
        for part, record in zip(self._parts, records, strict=True):
            self._watch.seen.merge_table(read_table(self._store, self._work.names(part).seen))
            self._opened.add_unread(record.unread)


def _elsewhere(place: str, folder: OutputFolder) -> list[str | Sentence]:
    """A note if the parts are not where they were asked for."""
    if not folder.is_other:
        return []
    return [
        f"{path_text(place)} has the parts of another model, table or policy, which are never "
        f"mixed; these are in {folder.store.shown}."
    ]


def _name(table: Any) -> str:
    """The table, if it is made of files."""
    if not isinstance(table, str | os.PathLike):
        raise TableError(
            f"a cluster reads a table from files, not from a {type(table).__name__}; write it to "
            "Parquet where all workers see it, or score it here with devnet.score_table."
        )
    return str(os.fspath(table))


def _place(folder: str | os.PathLike[str]) -> str:
    """The output folder, if it is called like one."""
    place = str(os.fspath(folder))
    suffix = Path(place).suffix.lower()
    if suffix in FILES:
        raise TableError(
            f"a cluster writes a folder of parts, and {path_text(place)} is called like a file; "
            f"give a folder, such as {path_text(place.removesuffix(suffix))}/"
        )
    return place


def _refuse_input(table: str, place: str, model: TableModel) -> None:
    """Refuse a folder whose parts would be read with the table."""
    if not is_address(place):
        refuse_overwriting(table, Path(place) / "part-00000.parquet", model=model.file)
