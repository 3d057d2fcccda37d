"""Why a row has its score: contributions of columns that add up, for any detector."""

from devnet.explanation.contributions import (
    Nearest,
    baseline_score,
    contributions,
    nearest,
    sum_groups,
    typical_row,
)

__all__ = ["Nearest", "baseline_score", "contributions", "nearest", "sum_groups", "typical_row"]
