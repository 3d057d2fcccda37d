"""Made-up card payments before fraud: customers with habits, hours, trips and travels."""

from typing import NamedTuple

import numpy as np

from devnet.datasets.payment_world import (
    CATEGORIES,
    DEVICES,
    FAVOURITES,
    HOURS,
    N_MERCHANTS_EACH,
    POOL,
    WEEKDAYS,
    World,
)

DAY = 24 * 3600


class Draft(NamedTuple):
    """Payments in no particular order, one entry each; names are indices into the world's lists."""

    customer: np.ndarray
    second: np.ndarray  # since the batch began
    category: np.ndarray
    merchant: np.ndarray
    amount: np.ndarray
    is_online: np.ndarray
    country: np.ndarray
    distance: np.ndarray  # from home, in km
    device: np.ndarray
    device_days: np.ndarray  # since the device was first seen
    declined: np.ndarray  # attempts before this one that failed
    kind: np.ndarray  # 0 is normal


def draw_normal(generator: np.random.Generator, world: World, n_rows: int, n_days: int) -> Draft:
    """Payments of customers who follow their habits most of the time."""
    customers = world.customers
    customer = customers.active[generator.integers(POOL, size=n_rows)]
    following = np.arange(1, n_rows, 2)[generator.random(n_rows // 2) < 0.12]
    customer[following] = customer[following - 1]  # then visits another shop
    category = _choose_categories(generator, world, customer)
    online_share = np.array([one.online for one in CATEGORIES.values()], dtype=np.float32)
    is_online = _uniform(generator, n_rows) < online_share[category]
    second = _choose_times(generator, world, customer, category, n_days)
    second[following] = second[following - 1] + _gaps(generator, len(following), 900)
    is_away = _uniform(generator, n_rows) < customers.travels[customer]
    device, device_days = _choose_devices(generator, world, customer)
    return Draft(
        customer=customer,
        second=second,
        category=category,
        merchant=choose_merchants(generator, world, category),
        amount=draw_amounts(generator, category) * customers.spending[customer],
        is_online=is_online,
        country=_choose_countries(generator, world, customer, is_online, is_away),
        distance=_draw_distances(generator, is_online, is_away),
        device=device,
        device_days=device_days,
        declined=_draw_declined(generator, n_rows),
        kind=np.zeros(n_rows, dtype=np.int8),
    )


def draw_amounts(generator: np.random.Generator, category: np.ndarray) -> np.ndarray:
    """Amounts of a category, lognormal around its typical one."""
    typical = np.log([one.amount for one in CATEGORIES.values()]).astype(np.float32)
    spread = np.array([one.spread for one in CATEGORIES.values()], dtype=np.float32)
    noise = generator.standard_normal(len(category), dtype=np.float32)
    amounts: np.ndarray = np.exp(typical[category] + spread[category] * noise).astype(np.float64)
    return amounts


def choose_merchants(
    generator: np.random.Generator, world: World, category: np.ndarray
) -> np.ndarray:
    """Merchants of the categories, a few of them far more often than others."""
    index = world.merchant_pool[generator.integers(POOL, size=len(category))]
    merchant: np.ndarray = category * N_MERCHANTS_EACH + index
    return merchant


def round_prices(generator: np.random.Generator, amount: np.ndarray) -> np.ndarray:
    """Prices as in shops: round, one cent below, full tens, or any."""
    style = _uniform(generator, len(amount))
    whole = np.maximum(np.rint(amount), 1)
    price = np.where(style < 0.2, whole - 0.01, np.where(style < 0.34, whole, amount))
    tens = (style > 0.96) & (amount > 15)
    price = np.where(tens, 10 * np.rint(amount / 10), price)
    rounded: np.ndarray = np.maximum(np.rint(100 * price), 10) / 100
    return rounded


def _choose_categories(
    generator: np.random.Generator, world: World, customer: np.ndarray
) -> np.ndarray:
    n_rows = len(customer)
    usual = world.customers.favourites.ravel()[
        customer * FAVOURITES + generator.integers(FAVOURITES, size=n_rows, dtype=np.int32)
    ]
    other = world.category_pool[generator.integers(POOL, size=n_rows)]
    return np.where(_uniform(generator, n_rows) < 0.5, usual, other)


def _choose_times(
    generator: np.random.Generator,
    world: World,
    customer: np.ndarray,
    category: np.ndarray,
    n_days: int,
) -> np.ndarray:
    """Seconds since the batch began; late customers pay ten hours later half the time."""
    n_rows = len(customer)
    profiles = list(HOURS)
    profile = np.array([profiles.index(one.hours) for one in CATEGORIES.values()])
    hour = world.hour_pools[profile[category], generator.integers(POOL, size=n_rows)]
    is_late = world.customers.is_late[customer] & (_uniform(generator, n_rows) < 0.5)
    hour = (hour + 10 * is_late) % 24
    busy = np.resize(WEEKDAYS, n_days)
    days = np.searchsorted(np.cumsum(busy) / busy.sum(), (np.arange(POOL) + 0.5) / POOL)
    day = days[generator.integers(POOL, size=n_rows)]
    in_hour = generator.integers(3600, size=n_rows, dtype=np.int32)
    second: np.ndarray = DAY * day + 3600 * hour + in_hour
    return second


def _choose_countries(
    generator: np.random.Generator,
    world: World,
    customer: np.ndarray,
    is_online: np.ndarray,
    is_away: np.ndarray,
) -> np.ndarray:
    chance = _uniform(generator, len(customer))
    is_abroad = np.where(is_away, chance < 0.6, is_online & (chance < 0.12))
    country: np.ndarray = world.customers.country[customer]
    abroad = np.flatnonzero(is_abroad)
    country[abroad] = world.country_pool[generator.integers(POOL, size=len(abroad))]
    return country


def _draw_distances(
    generator: np.random.Generator, is_online: np.ndarray, is_away: np.ndarray
) -> np.ndarray:
    n_rows = len(is_online)
    noise = generator.standard_normal(n_rows, dtype=np.float32)
    is_masked = is_online & (_uniform(generator, n_rows) < 0.05)  # the network is elsewhere
    near = np.exp(np.float32(1.3) + np.float32(1.1) * noise)
    distance: np.ndarray = np.where(is_away | is_masked, np.exp(np.float32(6.2) + noise), near)
    return distance


def _choose_devices(
    generator: np.random.Generator, world: World, customer: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    n_rows = len(customer)
    device = world.customers.device[customer]
    days = generator.standard_exponential(n_rows, dtype=np.float32) * 260
    new = np.flatnonzero(_uniform(generator, n_rows) < 0.06)
    device[new] = generator.integers(len(DEVICES), size=len(new))
    days[new] = generator.exponential(3, len(new))
    return device, days


def _draw_declined(generator: np.random.Generator, n_rows: int) -> np.ndarray:
    """Failed attempts, mostly none; some customers keep trying."""
    declined = (_uniform(generator, n_rows) < 0.05).astype(np.int32)
    stubborn = np.flatnonzero(_uniform(generator, n_rows) < 0.008)
    declined[stubborn] += generator.geometric(0.3, len(stubborn)).astype(np.int32)
    return declined


def _gaps(generator: np.random.Generator, n: int, mean: float) -> np.ndarray:
    gaps: np.ndarray = (20 + generator.exponential(mean, n)).astype(np.int64)
    return gaps


def _uniform(generator: np.random.Generator, n: int) -> np.ndarray:
    return generator.random(n, dtype=np.float32)
