"""The world of made-up card payments: categories, countries, merchants, customers."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

POOL = 1 << 16  # entries of the tables that choices are drawn from
N_MERCHANTS_EACH = 240  # per category
START = np.datetime64("2025-03-03", "ms")  # a Monday
FAVOURITES = 4  # categories that a customer prefers


class Category(NamedTuple):
    """What payments of a merchant category look like."""

    share: float
    amount: float  # typical, in EUR
    spread: float  # of the amount's logarithm
    online: float  # share of payments
    hours: str  # a key of HOURS


CATEGORIES = {
    "groceries": Category(22, 32, 0.8, 0.08, "shop"),
    "restaurants": Category(11, 28, 0.6, 0.1, "meal"),
    "coffee and bakery": Category(9, 6, 0.5, 0.02, "shop"),
    "fuel": Category(7, 55, 0.35, 0.0, "shop"),
    "public transport": Category(7, 6, 0.7, 0.4, "shop"),
    "clothing": Category(6, 60, 0.7, 0.5, "home"),
    "parking": Category(4, 4, 0.6, 0.3, "shop"),
    "pharmacy": Category(4, 18, 0.7, 0.1, "shop"),
    "apps and games": Category(3.5, 4, 0.9, 1.0, "home"),
    "electronics": Category(3, 160, 1.0, 0.55, "home"),
    "streaming": Category(2.5, 12, 0.3, 1.0, "home"),
    "utilities": Category(2.5, 80, 0.6, 0.9, "shop"),
    "books": Category(2, 22, 0.6, 0.6, "home"),
    "sports": Category(2, 55, 0.8, 0.4, "shop"),
    "doctors": Category(2, 70, 0.8, 0.1, "shop"),
    "travel": Category(1.5, 300, 0.9, 0.85, "home"),
    "hotels": Category(1.5, 190, 0.7, 0.5, "meal"),
    "furniture": Category(1.5, 210, 1.0, 0.4, "shop"),
    "gift cards": Category(1.2, 50, 0.8, 0.6, "home"),
    "charity": Category(1, 20, 0.9, 0.8, "home"),
    "jewellery": Category(0.6, 240, 1.0, 0.25, "shop"),
}
# How busy each hour of the day is, from midnight on.
HOURS = {
    "shop": (
        1, 0, 0, 0, 0, 2, 8, 20, 34, 40, 48, 52, 54, 46, 42, 46, 54, 62, 54, 36, 18, 8, 4, 2,
    ),
    "meal": (
        6, 3, 1, 1, 0, 1, 4, 10, 12, 12, 16, 44, 70, 52, 22, 16, 22, 44, 74, 80, 62, 40, 24, 12,
    ),
    "home": (
        14, 8, 5, 3, 2, 3, 6, 12, 20, 26, 30, 32, 34, 32, 30, 32, 36, 42, 50, 60, 66, 62, 46, 26,
    ),
}  # fmt: skip
WEEKDAYS = (1.0, 0.97, 1.0, 1.03, 1.16, 1.26, 0.84)  # Monday to Sunday
COUNTRIES = {
    "DE": 24, "FR": 15, "IT": 11, "ES": 10, "NL": 7, "AT": 5, "BE": 5, "GB": 4, "PT": 3, "IE": 2.5,
    "PL": 2, "CH": 2, "US": 1.6, "SE": 1.2, "FI": 1, "GR": 1, "DK": 0.8, "CZ": 0.8, "HU": 0.6,
    "NO": 0.6, "RO": 0.5, "SK": 0.5, "SI": 0.4, "HR": 0.4, "LU": 0.4, "EE": 0.3, "LV": 0.3,
    "LT": 0.3, "BG": 0.3, "TR": 0.3, "CA": 0.25, "JP": 0.2, "AE": 0.2, "TH": 0.2, "BR": 0.15,
    "MX": 0.15, "CN": 0.15, "MA": 0.1, "SG": 0.1, "AU": 0.1,
}  # fmt: skip
CURRENCIES = ("EUR", "GBP", "CHF", "USD", "SEK", "PLN")
OWN_CURRENCY = {"GB": "GBP", "CH": "CHF", "US": "USD", "SE": "SEK", "PL": "PLN"}
ENTRY_MODES = ("contactless", "chip", "swipe", "manual", "online", "wallet", "recurring")
DEVICES = tuple(
    f"{make} {model}"
    for make, models in {
        "iPhone": (11, 12, 13, 14, 15, 16), "Galaxy": ("A14", "A54", "S21", "S22", "S23", "S24"),
        "Pixel": (6, 7, 8), "Xiaomi": (11, 12, 13), "Chrome on": ("Windows", "macOS", "Linux"),
        "Firefox on": ("Windows", "Linux"), "Safari on": ("macOS", "iPad"), "Edge on": ("Windows",),
    }.items()
    for model in models
)  # fmt: skip
LIMITS = (500.0, 1000.0, 1500.0, 2000.0, 3000.0, 5000.0, 10000.0)
FIRST_WORDS = (
    "North", "Blue", "Old", "Green", "City", "Golden", "River", "Corner", "Royal", "Little",
    "Lake", "Harbour", "Silver", "Garden", "Market", "Sunny", "Central", "Stone", "Park", "Lucky",
)  # fmt: skip
SECOND_WORDS = (
    "Star", "House", "Point", "Works", "Fox", "Lane", "Square", "Tree", "Bridge", "Mill", "Gate",
    "Hill",
)  # fmt: skip


class Customers(NamedTuple):
    """All customers and their habits; one entry per customer."""

    active: np.ndarray  # (POOL,) customers, as often as they pay
    country: np.ndarray  # where home is
    days: np.ndarray  # customer since, in days before START
    spending: np.ndarray  # factor of amounts
    favourites: np.ndarray  # (n, FAVOURITES) categories
    device: np.ndarray
    is_late: np.ndarray  # awake at night
    travels: np.ndarray  # share of payments away from home
    limit: np.ndarray  # nan if unknown


class World(NamedTuple):
    """What all batches with the same seed share."""

    customers: Customers
    merchants: list[str]  # N_MERCHANTS_EACH per category
    merchant_pool: np.ndarray  # (POOL,) indices within a category, some far more often
    category_pool: np.ndarray  # (POOL,)
    country_pool: np.ndarray  # (POOL,)
    hour_pools: np.ndarray  # (n_profiles, POOL) hours


def make_world(seed: int, n_customers: int) -> World:
    """The world of a seed."""
    generator = np.random.default_rng([seed, 0])
    category_pool = pool_of([category.share for category in CATEGORIES.values()])
    country_pool = pool_of(list(COUNTRIES.values()))
    return World(
        customers=_make_customers(generator, n_customers, category_pool, country_pool),
        merchants=_merchant_names(generator),
        merchant_pool=pool_of(1 / np.arange(4, N_MERCHANTS_EACH + 4)),
        category_pool=category_pool,
        country_pool=country_pool,
        hour_pools=np.stack([pool_of(busy) for busy in HOURS.values()]),
    )


def _make_customers(
    generator: np.random.Generator, n: int, category_pool: np.ndarray, country_pool: np.ndarray
) -> Customers:
    is_traveller = generator.random(n) < 0.08
    limit = generator.choice(LIMITS, n, p=(0.05, 0.2, 0.15, 0.25, 0.15, 0.15, 0.05))
    limit[generator.random(n) < 0.12] = np.nan
    return Customers(
        active=pool_of(generator.lognormal(0, 0.5, n)),
        country=country_pool[generator.integers(POOL, size=n)],
        days=(3000 * generator.beta(1, 1.5, n)).astype(np.int64),
        spending=generator.lognormal(0, 0.35, n),
        favourites=category_pool[generator.integers(POOL, size=(n, FAVOURITES))],
        device=generator.integers(len(DEVICES), size=n),
        is_late=generator.random(n) < 0.06,
        travels=np.where(is_traveller, 0.25, 0.02),
        limit=limit,
    )


def _merchant_names(generator: np.random.Generator) -> list[str]:
    n = len(CATEGORIES) * N_MERCHANTS_EACH
    first = generator.integers(len(FIRST_WORDS), size=n)
    second = generator.integers(len(SECOND_WORDS), size=n)
    return [f"{FIRST_WORDS[first[i]]} {SECOND_WORDS[second[i]]} {i:04d}" for i in range(n)]


def pool_of(weights: ArrayLike) -> np.ndarray:
    """Indices 0, 1, ... in proportion to their weights, (POOL,), to draw from."""
    edges = np.cumsum(weights) / np.sum(weights)
    return np.searchsorted(edges, (np.arange(POOL) + 0.5) / POOL).astype(np.int32)
