"""Who uses the page, and what they may do."""

from enum import StrEnum
from typing import NamedTuple


class Role(StrEnum):
    """Analysts label; leads also retrain, go back a model, export and read the log."""

    ANALYST = "analyst"
    LEAD = "lead"


class Visitor(NamedTuple):
    """Somebody who is signed in."""

    name: str
    role: Role

    def may(self, role: Role) -> bool:
        """Whether the visitor may do what needs this role."""
        return self.role is Role.LEAD or role is Role.ANALYST
