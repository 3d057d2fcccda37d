"""The board, the log, and the export of everything."""

import io

import pyarrow as pa
import pyarrow.csv
from starlette.responses import Response
from starlette.routing import Route

from devnet.review.desk.board import make_board
from devnet.review.desk.review import Review
from devnet.review.exchange import events_table, models_table
from devnet.review.server.site import Site, Visit
from devnet.review.server.visitors import Role
from devnet.tables.spreadsheet import safe_batch

SHOWN = 300  # events of the log on a page


class BoardViews:
    """The pages that tell how the work goes."""

    def __init__(self, site: Site, review: Review) -> None:
        self._site = site
        self._review = review

    def routes(self) -> list[Route]:
        """All of them."""
        site = self._site
        return [
            site.reads("/board", self.board, name="Board"),
            site.reads("/log", self.log, role=Role.LEAD, name="Log"),
            site.reads("/export.csv", self.export, role=Role.LEAD),
            site.reads("/models.csv", self.export_models, role=Role.LEAD),
        ]

    def board(self, visit: Visit) -> Response:
        """Days, models, and what remains."""
        review = self._review
        with review.store.snapshot():
            events, models = review.store.events(), review.store.models()
        gone = review.desk.names.gone({event.row for event in events})
        board = make_board(events, models, review.desk.n_open, gone)
        return self._site.page(
            "board.html", visit, here="/board", board=board, in_use=review.in_use.number
        )

    def log(self, visit: Visit) -> Response:
        """Every event, the latest first."""
        events = self._review.store.events()
        return self._site.page(
            "log.html",
            visit,
            here="/log",
            events=[(self._review.desk.names.name(one.row), one) for one in events[::-1][:SHOWN]],
            n_events=len(events),
        )

    def export(self, visit: Visit) -> Response:
        """All events as CSV; what a spreadsheet would run as a formula is made text."""
        store = self._review.store
        with store.snapshot():
            models = {one.number: one.name for one in store.models()}
            return _download("verdicts.csv", events_table(store.events(), models))

    def export_models(self, visit: Visit) -> Response:
        """All models with what was measured of them, as CSV."""
        return _download("models.csv", models_table(self._review.store.models()))


def _download(name: str, table: pa.Table) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(as_csv(table), media_type="text/csv; charset=utf-8", headers=headers)


def as_csv(table: pa.Table) -> bytes:
    """A CSV file that is safe to open in a spreadsheet."""
    (batch,) = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
    written = io.BytesIO()
    pyarrow.csv.write_csv(pa.Table.from_batches([safe_batch(batch)]), written)
    return written.getvalue()
