"""What a job does, and the fingerprint by which it is known again."""

from typing import Any, NamedTuple
from uuid import uuid4

from devnet.core import model_file
from devnet.serving.cluster.fingerprints import bytes_checksum, digest
from devnet.serving.cluster.folder import FORMAT
from devnet.serving.cluster.parts import Part, cut
from devnet.serving.cluster.work import Work
from devnet.significance.policies import AlertPolicy, policy_to_json
from devnet.tables.drift import Watch
from devnet.tables.opened_table import OpenedTable
from devnet.tables.output import check_columns
from devnet.tables.row_scores import alert_threshold
from devnet.tables.table_model import to_file
from devnet.tables.written_rows import WrittenRows


class Plan(NamedTuple):
    """A job, before it has a place."""

    table: str
    parts: list[Part]
    model: bytes  # its file
    only_id: bool
    policy: AlertPolicy

    @classmethod
    def of(cls, opened: OpenedTable, table: str, policy: AlertPolicy, *, only_id: bool) -> "Plan":
        """Score a table that was opened."""
        return cls(
            table, cut(opened.source), model_file.pack(*to_file(opened.model)), only_id, policy
        )

    def header(self) -> dict[str, Any]:
        """The job in JSON values."""
        return {
            "table": self.table,
            "model": bytes_checksum(self.model),
            "only_id": self.only_id,
            "policy": policy_to_json(self.policy),
            "n_parts": len(self.parts),
        }

    def settings(self) -> str:
        """A digest of what decides about the output, besides the model and the rows."""
        names = ("only_id", "policy", "n_parts")
        return digest([FORMAT, *(self.header()[name] for name in names)])

    def digest(self) -> str:
        """A digest of the job: another model, table or policy is another job."""
        rows = [part.digest() for part in self.parts]
        return digest([self.header()["model"], self.settings(), rows])

    def part_names(self) -> list[str]:
        """The files of rows."""
        return [f"{part.name(len(self.parts))}.parquet" for part in self.parts]

    def check(self, opened: OpenedTable) -> None:
        """Refuse columns that the parts cannot hold."""
        rows = WrittenRows(opened, only_id=self.only_id)
        check_columns(self.part_names()[0], rows.schema)

    def work(self, opened: OpenedTable, watch: Watch, place: str) -> Work:
        """What all tasks share."""
        rows = WrittenRows(opened, only_id=self.only_id)
        fixed = None if self.policy.needs_scores else alert_threshold(opened.model, self.policy)
        return Work(
            run=uuid4().hex,
            place=place,
            model=bytes_checksum(self.model),
            settings=self.settings(),
            readings=opened.readings,
            only_id=self.only_id,
            schema=rows.schema,
            distinct=rows.distinct,
            policy=self.policy,
            threshold=fixed,
            ends=watch.seen.ends,
            n_parts=len(self.parts),
            n_rows=opened.source.n_rows or 0,
        )
