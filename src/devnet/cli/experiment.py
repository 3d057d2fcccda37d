"""`devnet experiment`: run the paper's experiments, show their tables, write the report."""

from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from devnet.cli.table_options import as_json
from devnet.cli.terminal import echo, echo_json, echo_laid_out
from devnet.core.wording import duration_text, visible

if TYPE_CHECKING:
    from devnet.experiments.plan import Experiment
    from devnet.experiments.results import RunRecord
    from devnet.experiments.runner import Progress
    from devnet.experiments.table import ResultTable
    from devnet.experiments.verification import Verification

FOLDER = Path("experiments")
VERIFICATION = "verification.json"  # in the folder of experiments
FORMATS = ("text", "markdown", "csv", "json")


@click.group()
def experiment() -> None:
    """Reproduce the paper's experiments."""


def folders(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options for the folders of experiments and results."""
    command = click.option(
        "--results",
        type=click.Path(path_type=Path),
        help="Folder of results.  [default: results in the folder of experiments]",
    )(command)
    return click.option(
        "--folder",
        type=click.Path(path_type=Path),
        default=FOLDER,
        show_default=True,
        help="Folder of experiments, one TOML file each.",
    )(command)


@experiment.command("list")
@as_json
@folders
def list_experiments(folder: Path, results: Path | None, wants_json: bool) -> None:
    """Show the experiments and how many of their runs are done."""
    from devnet.experiments.plan import read_experiments
    from devnet.experiments.results import computing_seconds, read_results

    found: list[dict[str, Any]] = []
    for one in read_experiments(folder):
        planned = {run.key for run in one.plan()}
        records = read_results(_results_path(one.name, folder, results))
        done = planned & {record.run.key for record in records if not record.error}
        question = {"name": one.name, "question": one.question}
        counts = {"done": len(done), "planned": len(planned), "seconds": computing_seconds(records)}
        found.append({**question, **counts})
    if wants_json:
        echo_json(found)
        return
    for facts in found:
        echo("{name:<18} {done:>5} of {planned:>5} runs done   {question}".format(**facts))
    total = duration_text(sum(facts["seconds"] for facts in found))
    echo(f"Computing time of all runs, one after the other: {total}.")


@experiment.command()
@click.argument("name")
@click.option("--datasets", multiple=True, help="Run only these sets: --datasets thyroid,fraud.")
@click.option("--methods", multiple=True, help="Run only these methods.")
@click.option("--runs", type=click.IntRange(min=1), help="Run only the first seeds.")
@click.option(
    "--workers", type=click.IntRange(min=1), help="Number of processes.  [default: one per core]"
)
@as_json
@folders
def run(
    name: str,
    datasets: tuple[str, ...],
    methods: tuple[str, ...],
    runs: int | None,
    workers: int | None,
    folder: Path,
    results: Path | None,
    wants_json: bool,
) -> None:
    """Do the missing runs of experiment NAME.

    You can stop it at any time; the same command resumes. A run that another experiment has done
    already is taken from its results.

    \b
    devnet experiment run effectiveness
    devnet experiment run effectiveness --datasets thyroid,campaign --runs 2
    """
    from devnet.experiments.plan import experiment_names, read_experiment
    from devnet.experiments.runner import run_experiment

    one = read_experiment(name, folder)
    plan = one.plan(_split(datasets), _split(methods), runs)
    path = _results_path(name, folder, results)
    others = [_results_path(o, folder, results) for o in experiment_names(folder) if o != name]
    display = _Display(name)
    try:
        records = run_experiment(
            one, plan, path, others=others, n_workers=workers, on_progress=display
        )
    except KeyboardInterrupt:
        raise click.ClickException(
            f"stopped. Finished runs are in {path}; the same command resumes from there."
        ) from None
    finally:
        display.close()
    failed = [record for record in records if record.error]
    n_done = len(records) - len(failed)
    if wants_json:
        echo_json({"results": str(path), "done": n_done, "planned": len(plan)})
    else:
        echo(f"{n_done} of {len(plan)} runs are in {path}.")
    for record in failed:
        echo(f"failed: {record.method} on {record.dataset}, seed {record.seed}", err=True)
        echo(f"  {record.error}", err=True)
    if failed:
        _echo_missing_data([record.dataset for record in failed])
        raise click.ClickException(f"{len(failed)} runs failed; the same command tries them again.")
    if not wants_json:
        echo(f"Show them with: devnet experiment table {quote(name)}{_where(folder, results)}")


@experiment.command()
@click.argument("name")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("--json", "form", flag_value="json", help="Print JSON for other programs.")
@folders
def table(name: str, form: str, folder: Path, results: Path | None) -> None:
    """Show the results of experiment NAME next to the paper's."""
    from devnet.experiments.plan import read_experiment
    from devnet.experiments.results import read_results
    from devnet.experiments.tables import tables

    one = read_experiment(name, folder)
    path = _results_path(name, folder, results)
    made = tables(one, read_results(path))
    if not made:
        raise ValueError(
            f"no finished runs in {path} yet; do some: devnet experiment run {quote(name)}"
            f"{_where(folder, results)}"
        )
    _show(made, form)


@experiment.command()
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("--json", "form", flag_value="json", help="Print JSON for other programs.")
@folders
def claims(form: str, folder: Path, results: Path | None) -> None:
    """Show which of the paper's claims hold, with our numbers."""
    from devnet.cli.claims_text import show
    from devnet.experiments.claim_evidence import Evidence
    from devnet.experiments.claims import read_claims
    from devnet.experiments.verdicts import check

    found = read_claims(folder)
    echo_laid_out(show(check(found, Evidence(_all_results(folder, results))), form))


@experiment.command()
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write.  [default: report.html in the folder of experiments]",
)
@as_json
@folders
def report(output: Path | None, folder: Path, results: Path | None, wants_json: bool) -> None:
    """Write one HTML page with all tables and figures."""
    from devnet.core.whole_file import write_whole
    from devnet.experiments.claims import read_claims
    from devnet.experiments.plan import CLAIMS
    from devnet.experiments.reproduction import planned
    from devnet.experiments.verification import read_verification
    from devnet.report.experiments_page import make_page
    from devnet.report.page import check_report

    found = _all_results(folder, results)
    if not any(records for _, records in found):
        raise ValueError(
            f"no results in {results or folder / 'results'} yet; do some runs: devnet experiment "
            "run NAME"
        )
    output = output or folder / "report.html"
    check_report(output)
    said = read_claims(folder) if (folder / CLAIMS).exists() else []
    verification = None if results else read_verification(folder / VERIFICATION)
    outdated: list[str] = []
    if verification:
        committed = {one.name: planned(one, records) for one, records in found}
        verification, outdated = verification.current(committed)
    made = make_page(found, said, verification=verification, outdated=outdated)
    write_whole(output, made.encode())
    if wants_json:
        echo_json({"report": str(output)})
        return
    echo(f"The report is in {output}.")


@experiment.command()
@click.option(
    "--against",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    required=True,
    help="Folder of the earlier results.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="JSON file to write the verdicts to.",
)
@as_json
@folders
def verify(
    against: Path, output: Path | None, folder: Path, results: Path | None, wants_json: bool
) -> None:
    """Check whether repeated runs give the same results."""
    from devnet.experiments.plan import experiment_names
    from devnet.experiments.results import read_results
    from devnet.experiments.verification import Verification, digest_of, repeated
    from devnet.experiments.verification import verify as compare

    if against.resolve() == (results or folder / "results").resolve():
        raise ValueError(f"{against} cannot be compared with itself; name other --results.")
    found = {}
    for name in experiment_names(folder):
        old = read_results(against / f"{name}.jsonl")
        new = read_results(_results_path(name, folder, results))
        found[name] = [repeated(compare(old, new), new, digest=digest_of(old))]
    verification = Verification(found)
    if output:
        verification.write(output)
    if wants_json:
        echo_json({name: one.verdict._asdict() for name, (one,) in found.items()})
    else:
        _echo_verdicts(verification)
    if not verification.is_reproduced:
        raise click.ClickException("not all experiments were reproduced.")


@experiment.command()
@click.argument("names", nargs=-1)
@click.option("--datasets", multiple=True, help="Only these sets: --datasets thyroid,fraud.")
@click.option("--quick", is_flag=True, help="One run on the small sets, in about ten minutes.")
@click.option(
    "--workers", type=click.IntRange(min=1), help="Number of processes.  [default: one per core]"
)
@as_json
@folders
def reproduce(
    names: tuple[str, ...],
    datasets: tuple[str, ...],
    quick: bool,
    workers: int | None,
    folder: Path,
    results: Path | None,
    wants_json: bool,
) -> None:
    """Run experiments NAMES again, or all, and compare them with the results that are there.

    You can stop it at any time; the same command resumes, on another day too, as long as the code
    that results depend on is the same. New results and their page have a folder of their own,
    reproduced in the folder of experiments. Each experiment that is done gets its entry in
    verification.json, which `devnet experiment report` shows; with --quick or --results it is only
    printed. With --datasets the entry is of these sets alone, so that an experiment that takes long
    can be repeated in parts, on different days and machines.

    \b
    devnet experiment reproduce
    devnet experiment reproduce effectiveness ablation
    devnet experiment reproduce feedback --datasets census,URL
    """
    from devnet.core.names import known
    from devnet.core.whole_file import write_whole
    from devnet.experiments.plan import experiment_names
    from devnet.experiments.reproduction import place_of
    from devnet.experiments.reproduction import reproduce as run_again
    from devnet.experiments.verification import Repeated, Verification, read_verification
    from devnet.report.experiments_page import make_page

    displays: list[_Display] = []
    chosen = [known(name, experiment_names(folder), "experiment") for name in names]

    def keep(name: str, found: Repeated) -> None:
        if not quick and results is None:  # entries are of the committed results
            path = folder / VERIFICATION
            earlier = read_verification(path) or Verification({})
            earlier.updated(name, found).write(path)

    def show(name: str) -> _Display:
        _close(displays)
        displays.append(_Display(name))
        return displays[-1]

    committed = results or folder / "results"
    try:
        done = run_again(
            folder,
            committed,
            chosen,
            _split(datasets),
            is_quick=quick,
            n_workers=workers,
            on_progress=show,
            on_repeated=keep,
        )
    except KeyboardInterrupt:
        place = place_of(folder, is_quick=quick)
        raise click.ClickException(
            f"stopped. Finished runs are in {place}; the same command resumes from there."
        ) from None
    finally:
        _close(displays)
    verification = done.verification
    page = done.place / "report.html"
    made = make_page(done.found, verification=verification, left_out=done.left_out)
    write_whole(page, made.encode())
    if wants_json:
        echo_json({"results": str(done.place), "report": str(page), **verification.to_json()})
    else:
        _echo_verdicts(verification)
        echo(*verification.sentences, f"The page is {page}.")
    for record in done.failed:
        echo(f"failed: {record.method} on {record.dataset}, seed {record.seed}", err=True)
        echo(f"  {record.error}", err=True)
    if done.failed or not verification.is_reproduced:
        _echo_missing_data([record.dataset for record in done.failed])
        raise click.ClickException("not all experiments were reproduced.")


def _close(displays: "list[_Display]") -> None:
    """End the live bars; only one can be shown at a time."""
    while displays:
        displays.pop().close()


def _echo_verdicts(verification: "Verification") -> None:
    for name, one in verification.entries:
        verdict = one.verdict
        echo(
            f"{name:<18} {verdict.n_equal} of {verdict.n_runs} runs are equal bit for bit, "
            f"{verdict.n_missing} are missing, {verdict.n_new} are new; the largest difference is "
            f"{verdict.largest_difference:.2g}, {len(verdict.outside)} means lie outside their "
            "intervals"
        )
        for cell in verdict.outside:
            echo(f"  {cell}")


def _show(made: "list[ResultTable]", form: str) -> None:
    from devnet.cli import table_text

    echo_laid_out(getattr(table_text, form)(made))


def _echo_missing_data(names: list[str]) -> None:
    """Say how to get the data sets that this machine has no copy of."""
    from devnet.datasets import DATASETS, find

    absent = [name for name in dict.fromkeys(names) if name in DATASETS and find(name) is None]
    if absent:
        echo(f"get the data first: devnet data get {' '.join(absent)}", err=True)


def _results_path(name: str, folder: Path, results: Path | None) -> Path:
    results = results or folder / "results"
    if results.exists() and not results.is_dir():
        raise ValueError(f"{results} is a file; name the folder of results.")
    return results / f"{name}.jsonl"


def _all_results(folder: Path, results: Path | None) -> "list[tuple[Experiment, list[RunRecord]]]":
    """All experiments in order, each with its runs."""
    from devnet.experiments.plan import read_experiments
    from devnet.experiments.results import read_results

    return [
        (one, read_results(_results_path(one.name, folder, results)))
        for one in read_experiments(folder)
    ]


def _where(folder: Path, results: Path | None) -> str:
    """The options to repeat in the next command."""
    options = f" --folder {quote(str(folder))}" if folder != FOLDER else ""
    return options + (f" --results {quote(str(results))}" if results else "")


def _split(names: tuple[str, ...]) -> list[str]:
    """`--datasets a,b` means the same as `--datasets a --datasets b`."""
    parts = [part.strip() for name in names for part in name.split(",")]
    if "" in parts:
        raise ValueError(f"{','.join(names)!r} names nothing; leave the option out to run all.")
    return parts


class _Display:
    """A live bar with the time left on a terminal, one line per run elsewhere."""

    def __init__(self, name: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        self._console = Console(stderr=True)
        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=self._console,
        )
        self._task = self._bar.add_task(visible(name), total=None, left="")
        if self._console.is_terminal:
            self._bar.start()

    def __call__(self, progress: "Progress") -> None:
        bound = "at least" if progress.is_at_least else "about"
        left = f"{bound} {duration_text(progress.seconds_left)} left" if progress.n_done else ""
        self._bar.update(self._task, completed=progress.n_done, total=progress.n_runs, left=left)
        if progress.record and not self._console.is_terminal:
            record = progress.record
            outcome = record.error or ", ".join(
                f"{name} {value:.3f}" for name, value in list(record.metrics.items())[:2]
            )
            echo(
                f"{progress.n_done}/{progress.n_runs}  {record.dataset}, {record.method}, "
                f"seed {record.seed}: {outcome}  ({left})",
                err=True,
            )

    def close(self) -> None:
        self._bar.stop()
