"""`devnet export`: a model as one ONNX graph, for programs without Python."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from devnet.cli.table_options import as_json, chosen_policy, policy_options
from devnet.cli.terminal import echo, echo_json

if TYPE_CHECKING:
    from devnet.significance.policies import AlertPolicy

SUFFIX = ".onnx"


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("output", type=click.Path(path_type=Path), metavar="GRAPH")
@policy_options
@click.option(
    "--threshold", type=float, metavar="SCORE", help="Alert on rows that score above SCORE."
)
@as_json
def export(
    model: Path, output: Path, threshold: float | None, wants_json: bool, **policy: Any
) -> None:
    """Write MODEL as one ONNX graph, from raw columns to score, p-value and alert.

    The graph runs in onnxruntime, in any language. Its alerts are those of the model's policy, of
    the policy given here, or above a score: a graph sees one batch at a time, so a budget or a
    false discovery rate needs --threshold. `devnet score model.onnx TABLE` runs it as a check.

    \b
    devnet export fraud.devnet fraud.onnx
    devnet export fraud.devnet fraud.onnx --threshold 6.5
    """
    from devnet.deep.kept_model import KeptModel
    from devnet.loading import load
    from devnet.serving.onnx import export as export_model
    from devnet.tables.overwriting import refuse_overwriting

    chosen = chosen_policy(**policy)
    opened = load(model)
    if isinstance(opened, KeptModel):
        raise click.UsageError(f"{model} is a model of {opened.kind}, which is not exported.")
    refuse_overwriting((), output, model=model)
    done = export_model(opened, output, policy=chosen, threshold=threshold)
    if wants_json:
        said = done._asdict() | {"path": str(done.path)}
        echo_json({"model": str(model), **said})
        return
    prepared = [one["column"] for one in done.inputs if one["prepared"]]
    inputs = f"{len(done.inputs)} columns" if done.inputs else "the matrix X"
    echo(f"{output} takes {inputs}; alerts are {done.alerts}.")
    if not done.has_p_values:
        echo("It has no p-values: the method keeps no scores of rows that it did not learn from.")
    if prepared:
        echo(f"To be prepared, as the graph's metadata says: {', '.join(prepared)}")


def is_graph(model: Path) -> bool:
    """Whether a file is called like a graph."""
    return model.suffix.lower() == SUFFIX


def scorer_of_graph(model: Path, policy: "AlertPolicy | None") -> Callable[..., Any] | None:
    """What scores tables with a graph; None if the file is no graph."""
    if not is_graph(model):
        return None
    if policy is not None:
        raise click.UsageError(
            f"{model} has its alerts in the graph; choose others with devnet export MODEL {model}."
        )
    from devnet.serving.onnx import ExportedModel
    from devnet.serving.onnx.scoring import score_with_graph

    return partial(score_with_graph, ExportedModel(model, n_threads=1))
