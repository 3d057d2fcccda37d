"""The site: who visits, what they may do, and pages with or without their frame."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from markupsafe import Markup, escape
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from devnet.core.sentence import UserError
from devnet.core.wording import (
    capitalised,
    count_text,
    interval_text,
    number_text,
    score_text,
    share_text,
)
from devnet.report.page import templates_of
from devnet.review.server.doors import Door, NotAdmitted
from devnet.review.server.forms import FormError, read_form
from devnet.review.server.listening import Listening
from devnet.review.server.visitors import Role, Visitor

KEPT = "kept_"  # before the names of fields that wait for a sign-in
Endpoint = Callable[[Request], Awaitable[Response]]


class Visit(NamedTuple):
    """A request of somebody who is signed in."""

    visitor: Visitor
    form: Mapping[str, str]
    query: Mapping[str, str]
    is_part: bool  # whether the page is there already, and only its content is asked for


View = Callable[[Visit], Response]


class Site:
    """Shows pages to those who may see them.

    Parameters
    ----------
    door : Door
    listening : Listening
    title : str
        What is reviewed.
    """

    def __init__(self, door: Door, listening: Listening, title: str) -> None:
        self.door = door
        self.listening = listening
        self._title = title
        self._kept: dict[str, View] = {}
        self._listed: list[tuple[str, str, Role]] = []
        self._templates = templates_of("devnet.review", "devnet.report")
        self._templates.globals.update(
            capitalised=capitalised,
            count=count_text,
            number=number_text,
            score_text=score_text,
            share=share_text,
            figure=_figure_text,
            as_sent=lambda value: Markup(escape(value)),  # not made visible: it is sent again
        )
        for name in self._templates.list_templates(["html"]):  # a running server takes up no edit
            self._templates.get_template(name)

    def reads(
        self, path: str, view: View, *, role: Role = Role.ANALYST, name: str | None = None
    ) -> Route:
        """A page that changes nothing; with a name it is listed on every page."""
        if name is not None:
            self._listed.append((path, name, role))
        return Route(path, self._guarded(path, view, role), methods=["GET"])

    def writes(
        self, path: str, view: View, *, role: Role = Role.ANALYST, is_kept: bool = False
    ) -> Route:
        """A form that changes something; with `is_kept` it outlasts the end of a session."""
        if is_kept:
            self._kept[path] = view
        return Route(path, self._guarded(path, view, role), methods=["POST"])

    def entrances(self) -> list[Route]:
        """The way in and out."""
        return [
            Route("/sign-in", self._ask, methods=["GET"]),
            Route("/sign-in", self._enter, methods=["POST"]),
            Route("/sign-out", self._leave, methods=["POST"]),
        ]

    def page(self, template: str, visit: Visit, status: int = 200, **facts: Any) -> Response:
        """A page, or its content alone."""
        return self._render(template, visit.visitor, visit.is_part, status, facts)

    def _render(
        self,
        template: str,
        visitor: Visitor | None,
        is_part: bool,
        status: int,
        facts: dict[str, Any],
    ) -> Response:
        shared = {
            "frame": "part.html" if is_part else "frame.html",
            "title": self._title,
            "visitor": visitor,
            "is_lead": visitor is not None and visitor.may(Role.LEAD),
            "is_local": self.listening.is_local,
            "pages": [one[:2] for one in self._listed if visitor and visitor.may(one[2])],
            "here": "",
            "said": "",
            "can_undo": False,  # whether what is said can be taken back
            "is_piece": False,  # of a page that is there, and keeps its title and what it said
        }
        text = self._templates.get_template(template).render(shared | facts)
        return HTMLResponse(text, status)

    def _guarded(self, path: str, view: View, role: Role) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            form: dict[str, str] = {}
            try:
                form = await read_form(request)
                visitor = await run_in_threadpool(self._visitor, request)
            except FormError as error:
                return self._refuse_form(request, error)
            except UserError as error:  # of the accounts
                return self._problem(request, 400, str(error))
            except OSError as error:  # of the accounts
                return self._problem(request, 503, str(error), note=form.get("note", ""))
            if visitor is None:
                return self._sign_in(request, 401, self._to_keep(path, form))
            if not visitor.may(role):
                said = f"only a {role} may do this; ask one."
                return self._problem(request, 403, said, visitor)
            visit = Visit(visitor, form, request.query_params, _is_part(request))
            return await run_in_threadpool(self._answer, view, visit, request)

        return endpoint

    def _answer(self, view: View, visit: Visit, request: Request) -> Response:
        """What a view answers, or what went wrong in a sentence."""
        try:
            return view(visit)
        except (UserError, OSError) as error:
            note = visit.form.get("note", "")
            return self._problem(request, 409, str(error), visit.visitor, note)

    def _refuse_form(self, request: Request, error: FormError) -> Response:
        """What is wrong with a form; the rest of it, if there is any, is not waited for."""
        answer = self._problem(request, error.status, str(error))
        answer.headers["Connection"] = "close"
        return answer

    def _problem(
        self,
        request: Request,
        status: int,
        sentence: str,
        visitor: Visitor | None = None,
        note: str = "",
    ) -> Response:
        facts = {"sentence": sentence, "said": "That did not work.", "note": note}
        return self._render("problem.html", visitor, _is_part(request), status, facts)

    async def failed(self, request: Request, error: Exception) -> Response:
        """What a visitor sees where we are wrong; the log has the error itself."""
        sentence = "the server failed at this, through no fault of yours; its log says why."
        return self._problem(request, 500, sentence)

    async def missing(self, request: Request, error: Exception) -> Response:
        """What a visitor sees where there is no page."""
        return self._problem(request, 404, "there is no such page.")

    def _visitor(self, request: Request) -> Visitor | None:
        ticket = request.cookies.get(self.listening.cookie)
        return None if ticket is None else self.door.visitor(ticket)

    def _to_keep(self, path: str, form: Mapping[str, str]) -> dict[str, str]:
        """The fields of a form that will be sent again after a sign-in."""
        if path not in self._kept:
            return {}
        return {"then": path, **{f"{KEPT}{name}": value for name, value in form.items()}}

    def _sign_in(
        self, request: Request, status: int, kept: Mapping[str, str], why: str = ""
    ) -> Response:
        facts = {"asks_for": self.door.asks_for, "kept": kept, "why": why, "said": why}
        return self._render("sign_in.html", None, _is_part(request), status, facts)

    async def _ask(self, request: Request) -> Response:
        """The sign-in form, or the exchange of a token in the address for a cookie.

        An address never has anything else that counts: no password, and no form to send on.
        """
        token = request.query_params.get("token")
        if token is None or self.door.asks_for != "token" or request.method != "GET":
            return self._sign_in(request, 200, {})
        return await self._admit(request, {"token": token})

    async def _enter(self, request: Request) -> Response:
        try:
            form = await read_form(request)
        except FormError as error:
            return self._refuse_form(request, error)
        return await self._admit(request, form)

    async def _admit(self, request: Request, form: Mapping[str, str]) -> Response:
        """Let somebody in, and do what their session ended before."""
        address = request.client.host if request.client else "unknown"
        then = self._kept.get(form.get("then", ""))
        try:
            visitor, ticket = await run_in_threadpool(self.door.enter, form, address)
        except (NotAdmitted, OSError) as error:
            kept = {name: form[name] for name in form if _waits(name)} if then else {}
            status = 401 if isinstance(error, NotAdmitted) else 503
            return self._sign_in(request, status, kept, str(error))
        answer: Response = RedirectResponse("/", 303)
        if then is not None:
            fields = {name.removeprefix(KEPT): form[name] for name in form if _waits(name)}
            visit = Visit(visitor, fields, {}, _is_part(request))
            answer = await run_in_threadpool(self._answer, then, visit, request)
        self._give_ticket(answer, ticket)
        return answer

    async def _leave(self, request: Request) -> Response:
        ticket = request.cookies.get(self.listening.cookie)
        if ticket is not None:
            await run_in_threadpool(self.door.leave, ticket)
        answer = RedirectResponse("/sign-in", 303)
        answer.delete_cookie(self.listening.cookie, **self._cookie_rules())
        return answer

    def _give_ticket(self, answer: Response, ticket: str) -> None:
        answer.set_cookie(self.listening.cookie, ticket, **self._cookie_rules())

    def _cookie_rules(self) -> dict[str, Any]:
        secure = not self.listening.is_local
        return {"path": "/", "httponly": True, "samesite": "strict", "secure": secure}


def _figure_text(figure: Mapping[str, float] | None, form: str) -> str:
    """A measured figure with its interval, if there is one."""
    if figure is None:
        return ""
    value, low, high = figure.values()
    return interval_text(value, low, high, form)


def _waits(name: str) -> bool:
    return name == "then" or name.startswith(KEPT)


def _is_part(request: Request) -> bool:
    return request.headers.get("hx-request") == "true"
