"""Built-in networks and all other detectors work if torch cannot be imported."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ImportError(f"{name} is not installed")

sys.meta_path.insert(0, NoTorch())

import numpy as np
import scipy.sparse as sp
import devnet
from devnet.detectors.methods import METHODS

generator = np.random.default_rng(0)
y = (np.arange(120) < 20).astype(int)
dense = generator.normal(size=(120, 5)) + y[:, None]
wide = sp.random_array((120, 5000), density=0.01, format="csr", rng=generator)
quick = {
    **dict.fromkeys(("DevNet", "REPEN", "DSVDD", "FSNet"), {"n_epochs": 2, "n_batches": 3}),
    "deviation ensemble": {"n_networks": 2, "n_trees": 4},
}
for name, method in METHODS.items():
    for rows in (dense, wide):
        model = method(random_state=0, **quick.get(name, {})).fit(rows, y)
        model.save(sys.argv[1])
        again = devnet.load(sys.argv[1])
        assert np.array_equal(again.anomaly_score(rows), model.anomaly_score(rows)), name
        again.predict(rows)
        if hasattr(again, "partial_fit"):
            again.partial_fit(rows, y)
assert not any(module.partition(".")[0] == "torch" for module in sys.modules)
print(len(METHODS), "methods")
"""


def test_every_detector_fits_saves_loads_and_scores(tmp_path):
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "model")],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
        cwd=Path(__file__).parent,
    )
    assert done.stdout.endswith("methods\n"), done.stderr
