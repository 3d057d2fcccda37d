"""Made-up raw card payments: mixed columns, missing values, and fraud that is rarely labelled."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from devnet.datasets.payment_draft import DAY, Draft, draw_normal, round_prices
from devnet.datasets.payment_fraud import KIND_NAMES, KINDS, commit_fraud
from devnet.datasets.payment_world import (
    CATEGORIES,
    COUNTRIES,
    CURRENCIES,
    DEVICES,
    ENTRY_MODES,
    OWN_CURRENCY,
    START,
    World,
    make_world,
)

if TYPE_CHECKING:
    import pyarrow as pa

LABELLED_SHARE = 0.0003  # of all payments
PER_DAY = 14_000  # payments
LEAST_DAYS = 14
PER_CUSTOMER = 10  # payments in LEAST_DAYS
MOST_CUSTOMERS = 20_000
SCHEMA_VERSION = 3


class Payments(NamedTuple):
    """Payments as a bank sees them, and the truth, which it does not know."""

    table: "pa.Table"
    kind: np.ndarray  # (n,) str: "normal" or the kind of fraud


def make_payments(n_rows: int = 200_000, *, seed: int = 0) -> Payments:
    """Make up card payments, in chronological order.

    About 0.6% are fraud, of four kinds: "stolen card", "card testing", "account takeover" and
    "collusion". The column `fraud` is 1 for 30 of 100,000 payments and null for all others;
    collusion is never labelled.

    Parameters
    ----------
    n_rows : int
    seed : int
        The same seed gives the same payments.

    Returns
    -------
    payments : Payments
        `table` (a pyarrow.Table) and `kind`, the truth.
    """
    _check_count("n_rows", n_rows)
    world = make_world(seed, _n_customers(n_rows))
    return _make_batch(world, seed, 0, n_rows)


def payment_batches(
    n_rows: int, *, seed: int = 0, batch_rows: int = 1_000_000
) -> Iterator["pa.Table"]:
    """Make up any number of card payments in bounded memory.

    Each batch continues in time where the previous one ends, with the same customers. It depends
    only on the seed, its number and `batch_rows`; the last batch is cut to size.

    Parameters
    ----------
    n_rows, seed
        As for `make_payments`, which makes the first batch of its size.
    batch_rows : int
        Rows per batch.
    """
    _check_count("n_rows", n_rows)
    _check_count("batch_rows", batch_rows)
    return _batches(n_rows, seed, batch_rows)


def _batches(n_rows: int, seed: int, batch_rows: int) -> Iterator["pa.Table"]:
    world = make_world(seed, _n_customers(batch_rows))
    for number, start in enumerate(range(0, n_rows, batch_rows)):
        batch = _make_batch(world, seed, number, batch_rows).table
        yield batch.slice(0, n_rows - start)


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name}={value!r} is not a whole number of 1 or more; give one.")


def _n_customers(n_rows: int) -> int:
    return int(np.clip(n_rows // PER_CUSTOMER, 100, MOST_CUSTOMERS))


def _make_batch(world: World, seed: int, number: int, n_rows: int) -> Payments:
    generator = np.random.default_rng([seed, 1, number])
    n_days = max(LEAST_DAYS, -(-n_rows // (7 * PER_DAY)) * 7)  # whole weeks
    draft = draw_normal(generator, world, n_rows, n_days)
    draft = draft._replace(amount=round_prices(generator, draft.amount))
    commit_fraud(generator, world, draft, n_days)
    order = np.argsort(draft.second)
    draft = Draft(*(column[order] for column in draft))
    table = _as_table(generator, world, draft, number, n_days)
    return Payments(table, np.array(KIND_NAMES)[draft.kind])


def _as_table(
    generator: np.random.Generator, world: World, draft: Draft, number: int, n_days: int
) -> "pa.Table":
    import pyarrow as pa

    n_rows = len(draft.kind)
    customers = world.customers
    gaps, attempts = _by_customer(generator, draft, has_past=number > 0)
    limit = customers.limit[draft.customer]
    since = (START.astype("datetime64[D]") - customers.days).astype("datetime64[D]")
    distance = np.round(draft.distance.astype(np.float64), 1)
    no_distance = generator.random(n_rows, dtype=np.float32) < 0.08
    own = np.array([CURRENCIES.index(OWN_CURRENCY.get(name, "EUR")) for name in COUNTRIES])
    begin = START + np.timedelta64(number * n_days, "D")
    columns = {
        "payment_id": _identifiers(number * n_rows, n_rows),
        "time": pa.array(begin + 1000 * draft.second.astype("timedelta64[ms]")),
        "customer_id": pa.array(10_000 + draft.customer.astype(np.int64)),
        "customer_since": pa.array(since).take(pa.array(draft.customer)),
        "amount": pa.array(np.maximum(np.rint(100 * draft.amount), 1) / 100),
        "currency": _texts(CURRENCIES, own[draft.country]),
        "category": _texts(CATEGORIES, draft.category),
        "merchant": _texts(world.merchants, draft.merchant),
        "country": _texts(COUNTRIES, draft.country),
        "entry_mode": _texts(ENTRY_MODES, _entry_modes(generator, draft)),
        "device": _texts(DEVICES, draft.device, ~draft.is_online),
        "device_days": pa.array(
            np.round(draft.device_days.astype(np.float64), 1), mask=~draft.is_online
        ),
        "is_online": pa.array(draft.is_online),
        "distance_km": pa.array(distance, mask=no_distance),
        "minutes_since_last": pa.array(gaps, mask=np.isnan(gaps)),
        "attempts_today": pa.array(attempts),
        "card_limit": pa.array(limit, mask=np.isnan(limit)),
        "schema_version": pa.array(np.full(n_rows, SCHEMA_VERSION)),
        "fraud": _labels(generator, draft.kind),
    }
    return pa.table(columns)


def _by_customer(
    generator: np.random.Generator, draft: Draft, *, has_past: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Minutes since a customer's last payment, and attempts so far that day, this one included.

    In the first batch a customer's first payment has no predecessor; in later batches it lies
    before the batch.
    """
    n_rows = len(draft.customer)
    order = np.argsort(draft.customer.astype(np.int64) * n_rows + np.arange(n_rows))
    customer, second = draft.customer[order], draft.second[order]
    is_first = np.diff(customer, prepend=-1) != 0
    gaps = np.diff(second, prepend=0) / 60
    firsts = np.flatnonzero(is_first)
    before = second[firsts] / 60 + generator.exponential(2000, len(firsts))
    gaps[firsts] = before if has_past else np.nan
    day = second // DAY
    starts_day = is_first | (np.diff(day, prepend=-1) != 0)
    so_far = np.cumsum(1 + draft.declined[order])
    day_starts = np.flatnonzero(starts_day)
    earlier = (so_far - 1 - draft.declined[order])[day_starts]
    attempts = so_far - np.repeat(earlier, np.diff(day_starts, append=n_rows))
    return _unordered(np.round(gaps, 1), order), _unordered(attempts.astype(np.int64), order)


def _unordered(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    restored = np.empty_like(values)
    restored[order] = values
    return restored


def _entry_modes(generator: np.random.Generator, draft: Draft) -> np.ndarray:
    """Small amounts are mostly contactless; online also has wallets and subscriptions."""
    chance = generator.random(len(draft.kind), dtype=np.float32)
    n_contactless = np.where(draft.amount < 50, 0.72, 0.25)
    in_shop = np.where(
        chance < n_contactless, 0, np.searchsorted([0.0, 0.95, 0.99], chance, side="right")
    )
    online = 4 + np.searchsorted([0.72, 0.93], chance)
    return np.where(draft.is_online, online, in_shop)


def _labels(generator: np.random.Generator, kind: np.ndarray) -> Any:
    """1 for some fraud of the kinds that are detected, null otherwise."""
    import pyarrow as pa

    detected = [code for code, fraud in enumerate(KINDS.values(), start=1) if fraud.is_labelled]
    candidates = np.flatnonzero(np.isin(kind, detected))
    n_labelled = min(len(candidates), max(1, round(LABELLED_SHARE * len(kind))))
    is_missing = np.ones(len(kind), dtype=bool)
    is_missing[generator.choice(candidates, n_labelled, replace=False)] = False
    return pa.array(np.ones(len(kind), dtype=np.int64), mask=is_missing)


def _identifiers(start: int, n: int) -> Any:
    """P00000001 and so on."""
    import pyarrow as pa
    import pyarrow.compute as pc

    digits = pc.utf8_lpad(pa.array(np.arange(start + 1, start + n + 1)).cast("string"), 9, "0")
    return pc.binary_join_element_wise("P", digits, "")


def _texts(names: Any, codes: np.ndarray, is_missing: np.ndarray | None = None) -> Any:
    import pyarrow as pa

    return pa.array(list(names)).take(pa.array(codes, mask=is_missing))
