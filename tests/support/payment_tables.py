"""A small raw table of payments and a model fitted to it, for several test files."""

import datetime
from functools import cache

import numpy as np
import pyarrow as pa

from devnet.tables import TableModel

N = 3000


def make_table(n_rows=N, seed=0):
    """Payments: fraud is expensive, at night, and in the casino."""
    generator = np.random.default_rng(seed)
    is_fraud = np.arange(n_rows) % 50 == 7
    amount = generator.lognormal(3, 1, n_rows) * np.where(is_fraud, 12, 1)
    shop = generator.choice(["grocer", "baker", "casino"], n_rows, p=[0.6, 0.38, 0.02])
    shop = np.where(is_fraud & (generator.random(n_rows) < 0.8), "casino", shop)
    hour = np.where(is_fraud, generator.integers(1, 5, n_rows), generator.integers(7, 23, n_rows))
    days = generator.integers(0, 60, n_rows)
    time = [
        datetime.datetime(2026, 1, 1) + datetime.timedelta(days=int(d), hours=int(h))
        for d, h in zip(days, hour, strict=True)
    ]
    limit = np.where(generator.random(n_rows) < 0.1, np.nan, generator.choice([1e3, 5e3], n_rows))
    label = np.where(is_fraud & (np.arange(n_rows) < n_rows // 2), 1.0, np.nan)
    columns = {
        "payment": [f"P{i:05}" for i in range(n_rows)],
        "time": time,
        "amount": amount,
        "shop": shop,
        "limit": pa.array(limit, mask=np.isnan(limit)),
        "currency": ["EUR"] * n_rows,
        "fraud": pa.array(label, mask=np.isnan(label)),
    }
    return pa.table(columns), is_fraud


@cache
def fitted():
    """A model shared by tests, which must leave it as it was."""
    return TableModel(random_state=0).fit(make_table()[0], "fraud")
