"""The application: what each path answers."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from devnet.core.sentence import UserError
from devnet.serving.service.answers import Answer, chosen_kind
from devnet.serving.service.arrow_rows import ARROW, read_arrow
from devnet.serving.service.asked import Asked
from devnet.serving.service.bearer import Bearer
from devnet.serving.service.body import RETRY, Bodies
from devnet.serving.service.description import describe
from devnet.serving.service.guard import OPEN, Guard
from devnet.serving.service.json_rows import read_json, typed
from devnet.serving.service.limits import Limits
from devnet.serving.service.metrics import CONTENT_TYPE, Metrics
from devnet.serving.service.model_in_use import ModelInUse
from devnet.serving.service.openapi import openapi
from devnet.serving.service.paths import Paths, Route
from devnet.serving.service.refusal import JSON, Refusal, json_response
from devnet.serving.service.served_model import Reasons, ServedModel
from devnet.serving.service.waiting_room import WaitingRoom

READERS: dict[str, Callable[[bytes, ServedModel, Limits], Asked]] = {
    JSON: read_json,
    ARROW: read_arrow,
}
SMALL = 1 << 15  # bytes of a body that is read at once and scored with others


def service_app(
    model: ModelInUse,
    bearer: Bearer,
    *,
    limits: Limits | None = None,
    metrics: Metrics | None = None,
    proxy: str | None = None,
) -> ASGIApp:
    """The application that answers requests.

    Parameters
    ----------
    model : ModelInUse
    bearer : Bearer
        Knows the token.
    limits : Limits, optional
    metrics : Metrics, optional
        Counts; those that `model` tells about swaps.
    proxy : str, optional
        Address of the https proxy in front of the service; nobody else is answered.
    """
    metrics = metrics or Metrics()
    service = _Service(model, limits or Limits(), metrics)
    routes = service.routes()
    return Guard(Paths(routes), bearer, metrics, [one.path for one in routes], proxy)


@final
class _Service:
    """Answers the paths of the service."""

    def __init__(self, model: ModelInUse, limits: Limits, metrics: Metrics) -> None:
        self._model, self._limits, self._metrics = model, limits, metrics
        self._bodies = Bodies(limits)
        quick, self._long = (ThreadPoolExecutor(1, name) for name in ("quick", "long"))
        self._room = WaitingRoom(quick, lambda n, n_rows: metrics.together(n))
        self._n_scoring = 0

    def routes(self) -> list[Route]:
        """The paths."""
        reads = {
            OPEN: self._health,
            "/metrics": self._show_metrics,
            "/schema": self._schema,
            "/openapi.json": self._openapi,
        }
        return [
            Route("/score", ("POST",), self._score),
            *(Route(path, ("GET", "HEAD"), endpoint) for path, endpoint in reads.items()),
        ]

    async def _score(self, request: Request) -> Response:
        if self._n_scoring >= self._limits.n_waiting:
            raise Refusal(503, "too many requests wait; try again in a moment.", RETRY)
        self._n_scoring += 1
        held = bytearray()
        try:
            sent, reasons = _sent(request), _reasons(request)
            kind = chosen_kind(request.headers.get("accept"), sent)
            body = await self._bodies.read(request, held)
            return await self._in_time(self._answered(body, sent, reasons, kind))
        finally:
            self._bodies.give_back(held)
            self._n_scoring -= 1

    async def _in_time(self, answer: Coroutine[Any, Any, Response]) -> Response:
        try:
            async with asyncio.timeout(self._limits.seconds):
                return await answer
        except TimeoutError:
            raise Refusal(
                503,
                f"the answer took longer than {self._limits.seconds:g} s; send fewer rows at once, "
                "or try again later.",
                RETRY,
            ) from None
        except UserError as error:  # of the scorer, about these rows
            raise Refusal(422, str(error)) from None

    async def _answered(self, body: bytes, sent: str, reasons: Reasons, kind: str) -> Response:
        """The answer: a small one shares a batch with others, a long one has a thread."""
        model = self._model.now
        if len(body) > SMALL or reasons is not None:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(
                self._long, self._at_once, model, body, sent, reasons, kind
            )
        asked = READERS[sent](body, model, self._limits)
        scored = await self._room.score(model, asked.rows)
        return self._response(model, asked, scored, kind)

    def _at_once(
        self, model: ServedModel, body: bytes, sent: str, reasons: Reasons, kind: str
    ) -> Response:
        """The answer to a long request, all of it in the caller's thread."""
        asked = READERS[sent](body, model, self._limits)
        most = self._limits.n_reasons_rows
        if reasons is not None and len(asked.rows) > most:
            raise Refusal(
                413,
                f"reasons are given for at most {most:,} rows at once, and the request has "
                f"{len(asked.rows):,}; score all of them, then ask for the reasons of alerts.",
            )
        rows = typed(asked.rows, model) if isinstance(asked.rows, list) else asked.rows
        return self._response(model, asked, model.score(rows, reasons), kind)

    def _response(self, model: ServedModel, asked: Asked, scored: Any, kind: str) -> Response:
        answer = Answer(scored, model.id_column, asked.ids, asked.notes, model.fingerprint)
        self._metrics.scored(len(scored), answer.n_alerts)
        return answer.response(kind)

    async def _health(self, request: Request) -> Response:
        """That the service answers; as anybody may ask, it does not say where its files are."""
        refused = self._model.refused
        said: dict[str, Any] = {
            "status": "ok" if refused is None else "stale",
            "model": self._model.now.fingerprint,
            "since": self._model.since.isoformat(timespec="seconds"),
        }
        if refused is not None:
            said["refused"] = refused.at.isoformat(timespec="seconds")
            said["note"] = (
                "a newer model file cannot be used, so the one before it is; the log says why."
            )
        return json_response(said)

    async def _show_metrics(self, request: Request) -> Response:
        text = self._metrics.text(self._model.now.fingerprint, self._model.since.timestamp())
        return Response(text, headers={"Content-Type": CONTENT_TYPE})

    async def _schema(self, request: Request) -> Response:
        return json_response(describe(self._model.now, self._limits))

    async def _openapi(self, request: Request) -> Response:
        return json_response(openapi(self._model.now, self._limits))


def _sent(request: Request) -> str:
    """The kind of a body."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in READERS:
        raise Refusal(
            415,
            f"rows come as {JSON} or {ARROW}, named in Content-Type; this request has "
            f"{kind[:100]!r}.",
        )
    return kind


def _reasons(request: Request) -> Reasons:
    """Which rows are to have reasons."""
    if not request.scope["query_string"]:
        return None
    query = request.query_params
    unknown = {*query} - {"reasons"}
    given = query.getlist("reasons")
    if unknown or len(given) > 1 or not {*given} <= {"alerts", "all", "none"}:
        raise Refusal(
            400,
            "the only thing to ask for in the address is reasons: ?reasons=alerts, ?reasons=all or "
            "?reasons=none.",
        )
    return None if not given or given[0] == "none" else given[0]  # type: ignore[return-value]
