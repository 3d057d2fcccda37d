"""A network of your own under the deviation loss: it sees what a plain layer does not.

Shows `DevNet(hidden=module)` with a torch module that multiplies neighbouring columns. Anomalies
are rows in which two columns go up or down together, which neither column shows alone.
"""

import numpy as np
import torch
from picture import save

from devnet import DevNet
from devnet.experiments.figure import Panel, Point, Series
from devnet.report.charts import chart

N_ROWS, N_ANOMALIES, N_KNOWN = 4_000, 100, 40
LOOKED_AT = (10, 30, 60, 100, 150)  # rows


class Pairs(torch.nn.Module):
    """Rows (b, 8) with the products of neighbouring columns, through one layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(15, 16)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Rows (b, 8) to representations (b, 16)."""
        products = rows[:, :-1] * rows[:, 1:]
        return torch.relu(self.layer(torch.cat([rows, products], dim=1)))


def main() -> None:
    """Train both networks, and count what they find among the rows that nobody labelled."""
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(N_ROWS, 8)).astype(np.float32)
    side = draw.choice([-2, 2], size=(N_ANOMALIES, 1))
    rows[:N_ANOMALIES, 3:5] = side + 0.3 * draw.normal(size=(N_ANOMALIES, 2))
    y = np.arange(N_ROWS) < N_KNOWN
    torch.manual_seed(0)  # for the weights that the module starts with
    series = []
    for name, hidden in (("one layer of 20 units", (20,)), ("with products", Pairs())):
        model = DevNet(hidden=hidden, random_state=0).fit(rows, y)
        order = np.argsort(-model.anomaly_score(rows[N_KNOWN:]))
        found = (order < N_ANOMALIES - N_KNOWN).cumsum() / (N_ANOMALIES - N_KNOWN)
        series.append(Series(name, [Point(n, found[n - 1], np.nan, np.nan) for n in LOOKED_AT]))
        print(f"{name}: {found[LOOKED_AT[2] - 1]:.0%} found in {LOOKED_AT[2]} rows")
    panel = Panel("Anomalies found", series, "rows looked at", "share of hidden anomalies found")
    save(chart(panel), "own_network.svg", [one.name for one in series])


if __name__ == "__main__":
    main()
