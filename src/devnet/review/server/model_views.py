"""Models: training the next one, going back a step, and what was measured of each."""

from typing import Any

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from devnet.review.desk.review import Review
from devnet.review.events import LABELS
from devnet.review.server.site import Site, Visit
from devnet.review.server.visitors import Role


class ModelViews:
    """The page of models."""

    def __init__(self, site: Site, review: Review) -> None:
        self._site = site
        self._review = review

    def routes(self) -> list[Route]:
        """All of them."""
        site = self._site
        return [
            site.reads("/models", self.models, name="Models"),
            site.reads("/training", self.training),
            site.writes("/train", self.train, role=Role.LEAD),
            site.writes("/back", self.back, role=Role.LEAD),
        ]

    def models(self, visit: Visit) -> Response:
        """All models, the latest first."""
        review = self._review
        latest = review.desk.latest().values()
        in_use = review.in_use
        return self._site.page(
            "models.html",
            visit,
            here="/models",
            models=review.store.models()[::-1],
            in_use=in_use,
            changes=review.desk.ranked.changes,
            n_new=sum(
                event.number > in_use.last_event and event.verdict in LABELS for event in latest
            ),
            **self._state(),
        )

    def training(self, visit: Visit) -> Response:
        """How far the training is; when it is done, the page that asked is shown anew."""
        state = self._state()
        answer = self._site.page("training.html", visit, is_piece=True, **state)
        if visit.is_part and state["progress"] is None:
            answer.headers["HX-Refresh"] = "true"
        return answer

    def train(self, visit: Visit) -> Response:
        """Begin to learn from all verdicts."""
        self._review.train(visit.visitor.name)
        return RedirectResponse("/models", 303)

    def back(self, visit: Visit) -> Response:
        """Go back to the model before."""
        self._review.step_back(visit.visitor.name)
        return RedirectResponse("/models", 303)

    def _state(self) -> dict[str, Any]:
        trainer = self._review.trainer
        return {
            "progress": trainer.progress,
            "problem": trainer.problem,
            "n_now": self._review.in_use.number,
        }
