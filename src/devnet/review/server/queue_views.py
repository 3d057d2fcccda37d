"""The queue: cards, verdicts, undo, search, and the rows that are judged."""

from collections.abc import Mapping
from secrets import token_urlsafe
from typing import NamedTuple

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from devnet.core.sentence import UserError
from devnet.core.wording import count_text, cut
from devnet.review.desk.cards import queue_lines, show_card, show_history
from devnet.review.desk.desk import Desk
from devnet.review.desk.leases import Lease
from devnet.review.desk.verdicts import Verdict
from devnet.review.events import ANOMALY, NORMAL, REOPENED, UNSURE, VERDICTS, Event
from devnet.review.server.site import Site, Visit

SHOWN = 200  # judged rows on a page
SAID = {ANOMALY: "an anomaly", NORMAL: "normal", UNSURE: "unsure", REOPENED: "open again"}


class JudgedLine(NamedTuple):
    """A row that was judged."""

    row: int  # -1 if the table does not have it any more
    name: str
    event: Event
    mark: str


class QueueViews:
    """The pages on which analysts work."""

    def __init__(self, site: Site, desk: Desk) -> None:
        self._site = site
        self._desk = desk

    def routes(self) -> list[Route]:
        """All of them."""
        site = self._site
        return [
            site.reads("/", self.queue, name="Queue"),
            site.reads("/history", self.history),
            site.reads("/search", self.search),
            site.reads("/judged", self.judged, name="Judged"),
            site.writes("/verdict", self.verdict, is_kept=True),
            site.writes("/undo", self.undo, is_kept=True),
            site.writes("/reopen", self.reopen, is_kept=True),
            site.writes("/lease", self.lease),
        ]

    def queue(self, visit: Visit) -> Response:
        """The card at hand beside the next ones; `?row=` chooses one."""
        who = visit.visitor.name
        self._desk.same.check()
        if "row" not in visit.query:
            self._desk.let_go(who)
        hand = self._desk.hand(who)
        lease, done = self._chosen(visit.query, hand, who), self._done(visit.query)
        if isinstance(lease, str):
            if not done:
                raise UserError(f"this row is being looked at by {lease} now; it was not opened.")
            done += f" {lease} is looking at it now."
            lease = hand[0] if hand else None
        if lease is not None:
            self._desk.look_at(lease)
        hand = self._desk.hand(who)
        at = hand.index(lease) if lease in hand else 0
        last = self._desk.last_said(who)
        name = "" if last is None else self._desk.names.name(last.row)
        return self._site.page(
            "queue.html",
            visit,
            here="/",
            card=None if lease is None else show_card(self._desk, lease),
            lines=queue_lines(self._desk, hand),
            before=hand[at - 1].leader.row if at > 0 else None,
            after=hand[at + 1].leader.row if at + 1 < len(hand) else None,
            n_open=self._desk.n_open,
            last=last,
            last_name=name,
            said=done or _said(last, name, lease),
            can_undo=last is not None and not done,
            token=token_urlsafe(18),
        )

    def _chosen(self, query: Mapping[str, str], hand: list[Lease], who: str) -> Lease | str | None:
        """The lease of the card to show, or who else has it."""
        if "row" not in query:
            return hand[0] if hand else None
        row = _number(query, "row")
        own = next((lease for lease in hand if lease.leader.row == row), None)
        return own or self._desk.open(who, row) or self._desk.holder(row) or "somebody else"

    def _done(self, query: Mapping[str, str]) -> str:
        """What became of the row that was reopened, or whose verdict was taken back."""
        done = _DONE.get(query.get("done", ""))
        if done is None:
            return ""
        desk, row = self._desk, _number(query, "row")
        desk.names.refuse_unknown(row)
        (key,) = desk.keys.of([row])
        latest, name = desk.latest_of(key), cut(desk.names.name(key))
        if latest is None:
            return ""
        if latest.verdict != REOPENED:
            again = latest.undoes is not None
            how = "again, by the verdict before" if again else f"now, by {latest.who}"
            return f"{done if again else 'Judged since'}: {name} is {SAID[latest.verdict]} {how}."
        if desk.own_label(row) is not None:
            return f"{done}: {name} has no verdict now, and the table's own label counts again."
        return f"{done}: {name} is open again, without a label."

    def history(self, visit: Visit) -> Response:
        """Other rows of the same entity."""
        row = _number(visit.query, "row")
        history = show_history(self._desk, row)
        return self._site.page("history.html", visit, history=history, is_piece=True)

    def search(self, visit: Visit) -> Response:
        """Go to a row by its name."""
        row = self._desk.names.find(visit.query.get("id", ""))
        return RedirectResponse(f"/?row={row}", 303)

    def judged(self, visit: Visit) -> Response:
        """Rows that were judged, the latest first, by verdict, name and text."""
        kind, who, text = (visit.query.get(name, "") for name in ("verdict", "who", "text"))
        latest = sorted(self._desk.latest().values(), key=lambda event: -event.number)
        found = [event for event in latest if _fits(event, kind, who, text.strip().lower())]
        shown = found[:SHOWN]
        numbers = self._desk.keys.find([event.row for event in shown]).tolist()
        lines = [
            JudgedLine(
                number,
                self._desk.names.name(event.row),
                event,
                self._desk.names.mark(number) if number >= 0 else "",
            )
            for number, event in zip(numbers, shown, strict=True)
        ]
        return self._site.page(
            "judged.html",
            visit,
            here="/judged",
            lines=lines,
            n_found=len(found),
            chosen={"verdict": kind, "who": who, "text": text},
            verdicts=VERDICTS,
            people=sorted({event.who for event in latest}),
            token=token_urlsafe(18),
        )

    def verdict(self, visit: Visit) -> Response:
        """Record what somebody says."""
        form = visit.form
        verdict = Verdict(
            row=_number(form, "row"),
            mark=form.get("mark", ""),
            verdict=form.get("verdict", ""),
            seen=_number(form, "seen"),
            token=form.get("token", ""),
            note=form.get("note", "").replace("\r\n", "\n").strip(),
            together=form.get("together") == "yes",
        )
        self._desk.judge(visit.visitor.name, verdict)
        self._desk.read_ahead_soon()
        return RedirectResponse("/", 303)

    def undo(self, visit: Visit) -> Response:
        """Take the latest verdict back."""
        lease = self._desk.undo(visit.visitor.name)
        return RedirectResponse(f"/?row={lease.leader.row}&done=undone", 303)

    def reopen(self, visit: Visit) -> Response:
        """Take a label away."""
        form = visit.form
        row, seen = _number(form, "row"), _number(form, "seen")
        mark, token = form.get("mark", ""), form.get("token", "")
        self._desk.reopen(visit.visitor.name, row, mark, seen=seen, token=token)
        return RedirectResponse(f"/?row={row}&done=reopened", 303)

    def lease(self, visit: Visit) -> Response:
        """The page is still open."""
        self._desk.renew(visit.visitor.name)
        return Response(status_code=204)


def _fits(event: Event, kind: str, who: str, text: str) -> bool:
    is_kind = kind in ("", event.verdict) and who in ("", event.who)
    return is_kind and (text in event.row.lower() or text in event.note.lower())


_DONE = {"undone": "Taken back", "reopened": "Reopened"}


def _said(last: Event | None, name: str, lease: Lease | None) -> str:
    """What happened last, for the status line."""
    if last is None:
        return "" if lease is not None else "The queue is empty."
    rows = (
        "" if last.together == 1 else f" and {count_text(last.together - 1, 'row', 'rows')} like it"
    )
    return f"{cut(name)}{rows}: {SAID[last.verdict]}."


def _number(fields: Mapping[str, str], name: str) -> int:
    text = fields.get(name, "")
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise UserError(f"{name} is {cut(text)!r}, which is not a number; open the page again.")
    return int(text)
