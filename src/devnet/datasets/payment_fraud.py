"""Four kinds of fraud, written over normal payments."""

from typing import NamedTuple

import numpy as np

from devnet.datasets.payment_draft import (
    DAY,
    Draft,
    choose_merchants,
    draw_amounts,
    round_prices,
)
from devnet.datasets.payment_world import CATEGORIES, DEVICES, N_MERCHANTS_EACH, POOL, World


class Fraud(NamedTuple):
    """How often a kind of fraud occurs."""

    share: float  # of all payments
    is_labelled: bool  # whether any of it is ever detected


KINDS = {
    "stolen card": Fraud(0.0020, True),
    "card testing": Fraud(0.0021, True),
    "account takeover": Fraud(0.0014, True),
    "collusion": Fraud(0.0005, False),
}
KIND_NAMES = ("normal", *KINDS)
ROUND_AMOUNTS = (50, 100, 150, 200, 250, 300, 400, 500)


def commit_fraud(generator: np.random.Generator, world: World, draft: Draft, n_days: int) -> None:
    """Turn some of the payments into fraud."""
    n_rows = len(draft.kind)
    counts = [round(fraud.share * n_rows) for fraud in KINDS.values()]
    victims = generator.choice(n_rows, sum(counts), replace=False)
    parts = np.split(victims, np.cumsum(counts)[:-1])
    for code, rows in enumerate(parts, start=1):
        draft.kind[rows] = code
    stolen, tested, taken, colluded = parts
    _steal_cards(generator, world, draft, stolen)
    _test_cards(generator, draft, tested, n_days)
    _take_over(generator, world, draft, taken)
    _collude(generator, draft, colluded)


def _steal_cards(
    generator: np.random.Generator, world: World, draft: Draft, rows: np.ndarray
) -> None:
    """High amounts in shops far from home, in quick succession."""
    n = len(rows)
    _in_bursts(generator, draft, rows, 5, 600)
    names = ("electronics", "clothing", "jewellery", "fuel", "groceries", "sports", "restaurants")
    category = _some(generator, names, n)
    draft.category[rows] = category
    draft.merchant[rows] = choose_merchants(generator, world, category)
    amount = draw_amounts(generator, category) * generator.lognormal(1.2, 0.4, n)
    draft.amount[rows] = round_prices(generator, amount)
    draft.is_online[rows] = False
    draft.distance[rows] = generator.lognormal(5.0, 1.3, n)
    abroad = rows[generator.random(n) < 0.5]
    draft.country[abroad] = world.country_pool[generator.integers(POOL, size=len(abroad))]
    draft.declined[rows] += generator.poisson(0.4, n).astype(np.int32)


def _test_cards(
    generator: np.random.Generator, draft: Draft, rows: np.ndarray, n_days: int
) -> None:
    """Tiny amounts online at night, attempt after attempt, at a few merchants."""
    n = len(rows)
    at_night = rows[generator.random(n) < 0.9]
    night = generator.integers(n_days, size=len(at_night)) * DAY
    draft.second[at_night] = night + (generator.beta(2, 2, len(at_night)) * 6 * 3600).astype(int)
    _in_bursts(generator, draft, rows, 5, 150)
    category = _some(generator, ("apps and games", "streaming", "charity", "books"), n)
    draft.category[rows] = category
    draft.merchant[rows] = category * N_MERCHANTS_EACH + 40 + generator.integers(4, size=n)
    draft.amount[rows] = generator.lognormal(0.8, 0.8, n)
    draft.is_online[rows] = True
    draft.distance[rows] = generator.lognormal(3.5, 2.2, n)
    _change_devices(generator, draft, rows[generator.random(n) < 0.6], 30.0)
    draft.declined[rows] += generator.poisson(0.9, n).astype(np.int32)


def _take_over(
    generator: np.random.Generator, world: World, draft: Draft, rows: np.ndarray
) -> None:
    """Online from a new device, at unusual hours, for goods that can be resold."""
    n = len(rows)
    _in_bursts(generator, draft, rows, 2, 3600)
    category = _some(generator, ("electronics", "gift cards", "travel", "jewellery"), n)
    draft.category[rows] = category
    draft.merchant[rows] = choose_merchants(generator, world, category)
    amount = draw_amounts(generator, category) * generator.lognormal(0.7, 0.4, n)
    draft.amount[rows] = round_prices(generator, amount)
    draft.is_online[rows] = True
    draft.distance[rows] = generator.lognormal(4, 2.2, n)
    odd = rows[generator.random(n) < 0.85]
    draft.second[odd] = draft.second[odd] // DAY * DAY + generator.integers(7 * 3600, size=len(odd))
    _change_devices(generator, draft, rows[generator.random(n) < 0.88], 2.0)


def _collude(generator: np.random.Generator, draft: Draft, rows: np.ndarray) -> None:
    """Round amounts at a few particular merchants; otherwise as usual."""
    n = len(rows)
    category = _some(generator, ("restaurants", "clothing", "furniture"), n)
    draft.category[rows] = category
    draft.merchant[rows] = category * N_MERCHANTS_EACH + 77 + generator.integers(2, size=n)
    draft.amount[rows] = generator.choice(ROUND_AMOUNTS, n)


def _in_bursts(
    generator: np.random.Generator, draft: Draft, rows: np.ndarray, size: int, gap: float
) -> None:
    """Give each run of `size` rows the customer of its first row, shortly after one another."""
    n = len(rows)
    first = rows[np.arange(n) // size * size]
    waits = 15 + generator.exponential(gap, n)
    waits[::size] = 0
    since = np.cumsum(waits)
    start = draft.second[first] + since - since[np.arange(n) // size * size]
    for column in (draft.customer, draft.country, draft.device):
        column[rows] = column[first]
    draft.second[rows] = start.astype(draft.second.dtype)


def _change_devices(
    generator: np.random.Generator, draft: Draft, rows: np.ndarray, days: float
) -> None:
    draft.device[rows] = generator.integers(len(DEVICES), size=len(rows))
    draft.device_days[rows] = generator.exponential(days, len(rows))


def _some(generator: np.random.Generator, names: tuple[str, ...], n: int) -> np.ndarray:
    codes = np.array([list(CATEGORIES).index(name) for name in names], dtype=np.int32)
    return codes[generator.integers(len(names), size=n)]
