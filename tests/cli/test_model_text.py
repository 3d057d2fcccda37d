"""A model in words: columns that are left out, and how to take them in."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner

from devnet.cli.main import main
from devnet.tables import TableModel
from devnet.tables.description import describe_model

N = 600


def test_advice_on_a_column_left_out_is_typed_as_an_option(tmp_path):
    generator = np.random.default_rng(0)
    columns = {
        "customer_id": generator.permutation(N) // 3,
        "amount": generator.lognormal(size=N),
        "fraud": [1 if i % 20 == 0 else None for i in range(N)],
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    words = ["fit", str(tmp_path / "t.parquet"), "--label", "fraud", "--method", "PU trees"]
    model = str(tmp_path / "m.devnet")
    done = CliRunner().invoke(main, [*words, "-o", model])
    typed = "identifier by its name; take it with --categorical customer_id"
    inspected = CliRunner().invoke(main, ["inspect", model])
    for one in (done, inspected):
        assert f"customer_id: {typed}" in " ".join(one.stdout.split())  # without line breaks
    shown = json.loads(CliRunner().invoke(main, ["inspect", model, "--json"]).stdout)
    assert shown["left_out"] == {"customer_id": typed}
    fitted = TableModel("PU trees", random_state=0).fit(tmp_path / "t.parquet", "fraud")
    (said,) = describe_model(fitted)["left_out"].values()
    assert str(said).endswith("take it with categorical=['customer_id']")
