"""Does drift cry wolf, and does it name planted changes? On the paper's sets and on payments.

`python benchmarks/drift.py` runs all sections; sets that are not found are left out.
"""

from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
import sections
from sections import Effort

from devnet import TableModel, datasets, find_drift
from devnet.datasets.payments import make_payments
from devnet.tables import Drift

N_SPLITS, N_DRAWS = 5, 4  # models of a set, and tables of each size for each of them
SIZES = (200, 2_000, 20_000)
MOST_ROWS = 60_000  # of a set, in both halves
N_LABELLED = 30
BEFORE, AFTER = 0.02, 0.1  # shares of anomalies


def halves(effort: Effort) -> None:
    print("Tables drawn from one half of a set, against a model of the other half")
    print(f"  {'set':<10} {'rows':>7} {'tries':>6} {'with a change':>14}  causes")
    for name, rows, is_anomaly in found_sets(effort):
        causes: dict[int, list[str]] = {}  # of each try, by rows
        for seed in range(effort.repeats(N_SPLITS)):
            generator = np.random.default_rng([seed, len(is_anomaly)])
            order = generator.permutation(len(is_anomaly))[:MOST_ROWS]
            learned, others = np.array_split(order, 2)
            model = fit(rows[learned], is_anomaly[learned], generator)
            for size in [size for size in SIZES if size <= len(others)]:
                for _ in range(effort.repeats(N_DRAWS)):
                    drawn = generator.choice(others, size, replace=False)
                    found = find_drift(model, as_table(rows[drawn]))
                    causes.setdefault(size, []).append(causes_of(found))
        for size, tries in causes.items():
            wrong = [one for one in tries if one]
            told = "; ".join(sorted(set(wrong)))
            print(f"  {name:<10} {size:>7,} {len(tries):>6} {len(wrong):>14}  {told}", flush=True)


def anomalies(effort: Effort) -> None:
    print(f"The share of anomalies from {BEFORE:.0%} to {AFTER:.0%}")
    print(f"  {'set':<10} {'rows':>7} {'alerts, learned -> found':>26}  named as")
    for name, rows, is_anomaly in found_sets(effort):
        generator = np.random.default_rng(0)
        order = generator.permutation(len(is_anomaly))
        normal, odd = order[~is_anomaly[order]][:MOST_ROWS], order[is_anomaly[order]]
        learned, new = np.array_split(normal, 2)
        n_hidden = min(int(BEFORE * len(learned)), len(odd) // 4)
        learned = np.append(learned, odd[: n_hidden + N_LABELLED])
        odd = odd[n_hidden + N_LABELLED :]
        model = fit(rows[learned], is_anomaly[learned], generator)
        n_normal = min(len(new), int(len(odd) * (1 - AFTER) / AFTER))
        new = np.append(new[:n_normal], odd[: int(n_normal * AFTER / (1 - AFTER))])
        found = find_drift(model, as_table(rows[new]))
        assert found.scores is not None
        shares = f"{found.scores.learned_alerts:.1%} -> {found.scores.alerts:.1%}"
        told = causes_of(found) or "nothing"
        print(f"  {name:<10} {len(new):>7,} {shares:>26}  {told}", flush=True)


def payments(effort: Effort) -> None:
    print("Changes of payments: models that name the right column, and no other")
    table, _ = make_payments(effort.rows(60_000), seed=1)
    named: Counter[tuple[str, int]] = Counter()
    n_splits = effort.repeats(N_SPLITS)
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(table.num_rows)
        is_labelled = table["fraud"].is_valid().to_numpy()[order]
        learned, others = np.array_split(order[~is_labelled], 2)
        rows = table.take(np.append(learned, order[is_labelled]))
        model = TableModel(random_state=seed).fit(rows, "fraud")
        for size in [size for size in SIZES if size <= len(others)]:
            rows = table.take(others[:size])
            for name, change in CHANGES.items():
                column, changed = change(rows)
                changes = find_drift(model, changed).changes
                is_named = [one.column for one in changes if one.column] == [column] * bool(column)
                named[name, size] += is_named
    for (name, size), count in named.items():
        print(f"  {name:<40} {size:>7,} {count} of {n_splits}")


def causes_of(found: Drift) -> str:
    return ", ".join(sorted({f"{one.column or ''} {one.cause}".strip() for one in found.changes}))


def replaced(rows: pa.Table, name: str, change: Callable[[pa.Array], pa.Array]) -> pa.Table:
    return rows.set_column(rows.column_names.index(name), name, change(rows[name]))


def renamed(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.replace_substring_regex(values, "^DE$", "Germany")


CHANGES: dict[str, Callable[[pa.Table], tuple[str, pa.Table]]] = {
    "nothing": lambda rows: ("", rows),
    "amount times 100": lambda rows: (
        "amount",
        replaced(rows, "amount", lambda values: pc.multiply(values, 100.0)),
    ),
    "DE is called Germany": lambda rows: ("country", replaced(rows, "country", renamed)),
    "distance_km is missing": lambda rows: (
        "distance_km",
        replaced(rows, "distance_km", lambda values: pa.nulls(len(values), pa.float64())),
    ),
}


def found_sets(effort: Effort) -> Iterator[tuple[str, np.ndarray | sp.csr_array, np.ndarray]]:
    names = ["thyroid"] if effort.is_quick else list(datasets.DATASETS)
    for name in names:
        if datasets.find(name) is not None:
            found = datasets.load(name)
            yield name, found.rows, found.is_anomaly
        else:
            print(f"  {name}: no copy; set DEVNET_DATA")


def fit(
    rows: np.ndarray | sp.csr_array, is_anomaly: np.ndarray, generator: np.random.Generator
) -> TableModel:
    """A model that knows some of the anomalies."""
    label = np.zeros(len(is_anomaly), dtype=np.int64)
    label[generator.choice(np.flatnonzero(is_anomaly), N_LABELLED, replace=False)] = 1
    table = as_table(rows).append_column("label", pa.array(label))
    return TableModel(random_state=0).fit(table, "label")


def as_table(rows: np.ndarray | sp.csr_array) -> pa.Table:
    """A column for each of the matrix, or one of sparse vectors."""
    if not sp.issparse(rows):
        return pa.table({f"c{i}": column for i, column in enumerate(rows.T)})
    pairs = pa.StructArray.from_arrays(
        [pa.array(rows.indices.astype(np.int64)), pa.array(rows.data.astype(np.float64))],
        names=["index", "value"],
    )
    return pa.table({"vector": pa.LargeListArray.from_arrays(rows.indptr.astype(np.int64), pairs)})


SECTIONS = (halves, anomalies, payments)

if __name__ == "__main__":
    sections.run(__file__, SECTIONS, __doc__)
