"""The loop: verdicts of analysts in a store, and what to show them next."""

from devnet.review.events import Dealt, Event, GivenLabel, Judged, StoreError
from devnet.review.reviewed_table import ReviewedTable
from devnet.review.store import LabelStore, ModelRecord

__all__ = [
    "Dealt",
    "Event",
    "GivenLabel",
    "Judged",
    "LabelStore",
    "ModelRecord",
    "ReviewedTable",
    "StoreError",
]
