"""The desk: cards are dealt to analysts, verdicts are recorded, and may be taken back.

One server has one desk. Its lock is held for moments only: rows are read and verdicts written
outside of it, while the lease of a card keeps everybody else away from its rows.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from threading import Lock, RLock, Thread

import numpy as np

from devnet.core.wording import cut, visible
from devnet.review.desk.entities import Entities
from devnet.review.desk.leases import Lease, Leases
from devnet.review.desk.ranked_table import RankedTable
from devnet.review.desk.row_names import RowNames
from devnet.review.desk.said import Said, Sayings
from devnet.review.desk.same_table import SameTable
from devnet.review.desk.shelf import Shelf
from devnet.review.desk.verdicts import NOT_TOGETHER, DeskError, Verdict, number_of
from devnet.review.events import (
    CHOSEN,
    LABELS,
    REOPENED,
    Dealt,
    Event,
    Judged,
    JudgedMeanwhile,
    standing,
)
from devnet.review.labelled import STATES, UNKNOWN
from devnet.review.queue import Card, Queue, Shares, reviewed_rows
from devnet.review.row_keys import RowKeys
from devnet.review.store import LabelStore

HAND = 6  # cards that one analyst has at a time
AHEAD = 48  # cards whose rows are read before anybody asks for them


class Desk:
    """What lies before analysts.

    Parameters
    ----------
    ranked : RankedTable
    keys : RowKeys
    store : LabelStore
    same : SameTable
        The table that all of these are about.
    own : array of shape (n_rows,), optional
        What the table's own labels say, see `own_states`; rows that they label need no review.
    entities : Entities, optional
    shares : Shares
        How many cards are random or unlike others.
    clock : callable
        Seconds, for leases.
    """

    def __init__(
        self,
        ranked: RankedTable,
        keys: RowKeys,
        store: LabelStore,
        *,
        same: SameTable,
        own: np.ndarray | None = None,
        entities: Entities | None = None,
        shares: Shares | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.keys, self.store, self.entities = keys, store, entities
        self.names = RowNames(keys)
        self.same = same
        self._own = np.full(keys.n_rows, UNKNOWN, np.int8) if own is None else own
        self._known = np.flatnonzero(self._own != UNKNOWN)
        self._unlike: np.ndarray | None = None
        self._shares, self._clock = shares or Shares(), clock
        self._lock, self._switching = RLock(), Lock()
        self._leases = Leases()
        self._reader: Thread | None = None
        self._latest = store.latest()
        self._sayings = Sayings()
        self.ranked, self.shelf = ranked, Shelf(ranked.opened)
        self._queue = self._make_queue(ranked, self._latest)
        self._queue.n_dealt = len({event.token for event in self._latest.values()})

    def _make_queue(self, ranked: RankedTable, latest: Mapping[str, Event]) -> Queue:
        numbers = self.keys.find(reviewed_rows(latest))
        return Queue(
            ranked.scores,
            seed=ranked.model,
            shares=self._shares,
            fold=ranked.fold,
            unlike=self._unlike,
            reviewed=np.union1d(self._known, numbers[numbers >= 0]).tolist(),
        )

    def prepare(self, ranked: RankedTable) -> None:
        """Read and fold the rows that come first by a ranking, so that nobody waits for it."""
        for rows in self._make_queue(ranked, self.latest()).blocks_ahead():
            ranked.fold(rows)

    def switch(self, ranked: RankedTable, unlike: np.ndarray | None = None) -> None:
        """Rank by another model; everybody keeps the card that they look at, and gets new ones.

        With `unlike`, some cards are dealt by that from now on, see `take_unlike`.
        """
        with self._switching:
            self._unlike = self._unlike if unlike is None else unlike
            self._deal_from(ranked, keeps_all=False)

    def take_unlike(self, unlike: np.ndarray) -> None:
        """Deal some cards by how unlike the others rows are, (n_rows,), from now on."""
        with self._switching:
            self._unlike = unlike
            self._deal_from(self.ranked)

    def _deal_from(self, ranked: RankedTable, *, keeps_all: bool = True) -> None:
        """Begin with a ranking while cards are looked at; by default, people keep all of theirs."""
        self._note(self.store.latest().values())  # labels may have been imported meanwhile
        before = self.latest()
        queue = self._make_queue(ranked, before)  # sorts all rows, so outside of the lock
        with self._lock:
            if not keeps_all:
                self._take_back_unseen()
            for lease in self._leases:
                queue.hold(lease.rows)
            new = {key: one for key, one in self._latest.items() if before.get(key) is not one}
            numbers = self.keys.find(list(new)).tolist()
            self._follow(queue, list(zip(numbers, new.values(), strict=True)))
            queue.n_dealt = self._queue.n_dealt
            self._queue = queue
            if ranked is not self.ranked:
                self.ranked, self.shelf = ranked, Shelf(ranked.opened)

    def _take_back_unseen(self) -> None:
        """Take everybody's cards back but the one that they look at."""
        for hand in self._leases.hands():
            shown = max(hand, key=lambda lease: lease.looked_at)
            for lease in hand:
                if lease is not shown and not lease.writing:
                    self._leases.take_back(lease)

    def hand(self, who: str) -> list[Lease]:
        """The cards of somebody, the next one first; looking at them renews their leases."""
        with self._lock:
            now = self._clock()
            self._take_back(now)
            self._leases.renew(who, now)
            while len(self._leases.hand(who)) < HAND and (card := self._queue.deal()):
                self._leases.give(self._leased(who, card), now)
            return self._leases.hand(who)

    def open(self, who: str, row: int) -> Lease | None:
        """Lease a certain row; None if somebody else looks at it."""
        with self._lock:
            self.names.refuse_unknown(row)
            now = self._clock()
            self._take_back(now)
            lease = self._leases.of_row(row)
            if lease is not None:
                return lease if lease.holder == who else None
            return self._open_free(who, row, now)

    def _open_free(self, who: str, row: int, now: float) -> Lease:
        """Lease a row that nobody looks at."""
        dealt, standing = Dealt(CHOSEN, datetime.now(UTC)), self.ranked.standing(row)
        found = Lease(who, standing, (), dealt, self.ranked.model)
        self._queue.hold([row])
        self._leases.give(found, now, first=True)
        return found

    def look_at(self, lease: Lease) -> None:
        """A card is the one that its holder is shown."""
        with self._lock:
            lease.looked_at = self._clock()

    def holder(self, row: int) -> str | None:
        """Who looks at a row."""
        with self._lock:
            self._take_back(self._clock())
            lease = self._leases.of_row(row)
            return None if lease is None else lease.holder

    def judge(self, who: str, verdict: Verdict) -> list[Event]:
        """Record a verdict; it is on disk when this returns."""
        self.same.check()
        key = self.names.key(verdict.row, verdict.mark)
        with self._lock:
            latest = self._latest.get(key)
            if latest is not None and latest.token == verdict.token:
                verdict.check_same(latest)
                return [latest]
            lease = self._own_lease(who, verdict)
            verdict.check_seen(latest)
            lease.writing = verdict.token
            standings = [lease.leader, *(lease.like_it if verdict.together else ())]
            names = self.keys.of([one.row for one in standings])
            seen = {name: number_of(self._latest.get(name)) for name in names}
        try:
            events = self.store.add(
                verdict.verdict,
                [Judged(name, *one[1:]) for name, one in zip(names, standings, strict=True)],
                who=who,
                note=verdict.note,
                dealt=lease.dealt,
                model=lease.model,
                token=verdict.token,
                seen=seen,
            )
        except BaseException as error:
            with self._lock:
                lease.writing = ""
                if isinstance(error, JudgedMeanwhile):  # by somebody who does not use the page
                    self._note([error.latest])
                    self._end(lease)
            raise
        with self._lock:
            lease.writing = ""
            self._note(events)
            if not self._sayings.has(who, verdict.token):  # else it was sent twice
                self._end(lease)
                card = replace(lease, like_it=tuple(standings[1:]))
                self._sayings.add(who, Said(verdict.token, card))
        return events

    def undo(self, who: str) -> Lease:
        """Take back the latest verdict of somebody; its card is theirs again."""
        with self._lock:
            said = self._sayings.latest(who)
        if said is None:
            raise DeskError("there is no verdict of yours to undo since the page was started.")
        self._refuse_overruled(who, said)
        events, lease = self.store.undo(said.token, who=who), said.lease
        with self._lock:
            self._note(events)
            self._sayings.forget(who, said)
            for again in filter(None, map(self._leases.of_row, lease.rows)):  # opened meanwhile
                self._leases.end(again)
                self._queue.put_back(again.rows)
            self._queue.hold(lease.rows)
            self._leases.give(lease, self._clock(), first=True)
        return lease

    def _refuse_overruled(self, who: str, said: Said) -> None:
        """Raise a DeskError if somebody else has gone on from a verdict, and forget it."""
        rows = said.lease.rows
        histories = [self.store.history(key) for key in self.keys.of(rows)]
        self._note([history[-1] for history in histories])  # some may not have used the page
        with self._lock:
            for row, history in zip(rows, histories, strict=True):
                latest, holder = (standing(history) or history)[-1], self.holder(row)
                is_overruled = latest.token != said.token
                if is_overruled or holder not in (None, who):
                    self._sayings.forget(who, said)
                    other = f"{latest.verdict}, by {latest.who}" if is_overruled else holder
                    raise DeskError(
                        f"{cut(visible(latest.row))} is with somebody else now ({other}), so "
                        "nothing was undone; open the row if you see it otherwise."
                    )

    def last_said(self, who: str) -> Event | None:
        """The latest verdict of somebody that can be undone."""
        with self._lock:
            said = self._sayings.latest(who)
            if said is None:
                return None
            return self._latest.get(self.keys.of([said.lease.leader.row])[0])

    def reopen(self, who: str, row: int, mark: str, *, seen: int, token: str) -> list[Event]:
        """Take a row's label away, the event `seen` by number; the row will be dealt again."""
        self.same.check()
        key = self.names.key(row, mark)
        try:
            events = self.store.add(REOPENED, [Judged(key)], who=who, token=token, seen={key: seen})
        except JudgedMeanwhile as meanwhile:
            self._note([meanwhile.latest])
            raise
        self._note(events)
        return events

    def let_go(self, who: str) -> None:
        """Put back rows that somebody only looked up."""
        with self._lock:
            for lease in self._leases.hand(who):
                if lease.dealt.reason == CHOSEN and not lease.writing:
                    self._leases.take_back(lease)
                    self._queue.put_back(lease.rows)

    def renew(self, who: str) -> None:
        """Extend the leases of somebody whose page is open."""
        with self._lock:
            self._leases.renew(who, self._clock())

    def read_ahead(self) -> None:
        """Fold and read the rows of cards that will be dealt next, if half of them are not there.

        Nobody has to wait for it: the table is read outside of the lock.
        """
        with self._lock:
            ranked, blocks = self.ranked, self._queue.blocks_ahead()
        for rows in blocks:
            ranked.fold(rows)
        with self._lock:
            numbers, shelf = [card.row for card in self._queue.upcoming(AHEAD)], self.shelf
        if 2 * shelf.n_missing(numbers) >= len(numbers):
            shelf.explained(numbers)

    def read_ahead_soon(self) -> None:
        """The same in the background, unless that is going on already."""
        with self._lock:
            if self._reader is None or not self._reader.is_alive():
                self._reader = Thread(target=self._try_to_read_ahead, daemon=True)
                self._reader.start()

    def _try_to_read_ahead(self) -> None:
        with suppress(ValueError, OSError):  # whoever opens the card is told
            self.read_ahead()

    def latest(self) -> dict[str, Event]:
        """The latest event of each row that has one, by key."""
        with self._lock:
            return dict(self._latest)

    def latest_of(self, key: str) -> Event | None:
        """The latest event of a row."""
        with self._lock:
            return self._latest.get(key)

    @property
    def n_open(self) -> int:
        """Rows that are not judged, including those that are being looked at."""
        with self._lock:
            return self._queue.n_open

    def own_label(self, row: int) -> str | None:
        """What the table itself calls a row: an anomaly, normal, or nothing."""
        return {STATES[one]: one for one in LABELS}.get(int(self._own[row]))

    def _own_lease(self, who: str, verdict: Verdict) -> Lease:
        """The lease of the card that somebody judges; others may have got it meanwhile."""
        row, now = verdict.row, self._clock()
        self._take_back(now)
        lease = self._leases.of_row(row)
        if lease is not None and (lease.holder != who or lease.leader.row != row):
            holder = "you, in another card" if lease.holder == who else lease.holder
            raise DeskError(
                f"this row is being looked at by {holder} now, as your time for it ran out; "
                "nothing was recorded. Open the queue for the next card."
            )
        if lease is not None and lease.writing not in ("", verdict.token):
            raise DeskError("another verdict of yours on this row is being recorded right now.")
        if lease is None:
            lease = self._lease_again(who, row, now, together=verdict.together)
        if verdict.together and not lease.like_it:
            raise DeskError(NOT_TOGETHER)
        return lease

    def _lease_again(self, who: str, row: int, now: float, *, together: bool) -> Lease:
        """A card that was taken back, as it was shown, without rows that others have got since."""
        past = self._leases.past(who, row)
        if past is None:
            return self._open_free(who, row, now)
        free = tuple(one for one in past.like_it if self._is_free(one.row))
        if together and free != past.like_it:
            raise DeskError(NOT_TOGETHER)
        lease = replace(past, like_it=free)
        self._queue.hold(lease.rows)
        self._leases.give(lease, now, first=True)
        return lease

    def _is_free(self, row: int) -> bool:
        """Whether a row is not judged, and nobody looks at it."""
        return self._leases.of_row(row) is None and self._queue.is_open(row)

    def _end(self, lease: Lease) -> None:
        """A card is done; rows of it that were not judged are dealt again."""
        self._leases.end(lease)
        self._queue.put_back(lease.rows)

    def _note(self, events: Iterable[Event]) -> None:
        """Remember those events that are the latest of their rows; the queue follows them."""
        given = {event.row: event for event in events}
        numbers = dict(zip(given, self.keys.find(list(given)).tolist(), strict=True))
        with self._lock:
            new = {
                key: event
                for key, event in given.items()
                if event.number > number_of(self._latest.get(key))
            }
            self._latest.update(new)
            self._follow(self._queue, [(numbers[key], event) for key, event in new.items()])

    def _follow(self, queue: Queue, latest: Sequence[tuple[int, Event]]) -> None:
        """Settle or reopen rows by their latest events; a row that is gone has a negative number.

        Where a verdict was taken back, the table's own label counts again: such rows stay settled.
        """
        known = [(row, event.verdict == REOPENED) for row, event in latest if row >= 0]
        queue.reopen([row for row, is_open in known if is_open and self.own_label(row) is None])
        queue.settle([row for row, is_open in known if not is_open])

    def _take_back(self, now: float) -> None:
        """Cards whose leases ran out go back into the queue."""
        for lease in self._leases.run_out(now):
            self._queue.put_back(lease.rows)

    def _leased(self, who: str, card: Card) -> Lease:
        leader, *like_it = map(self.ranked.standing, [card.row, *card.like_it])
        dealt = Dealt(card.reason, datetime.now(UTC), card.probability)
        return Lease(who, leader, tuple(like_it), dealt, self.ranked.model)
