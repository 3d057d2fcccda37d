"""Run campaigns: `PYTHONPATH=tests python -m campaigns`."""

import os
from pathlib import Path

import click

from campaigns.all_campaigns import CAMPAIGNS
from campaigns.campaign import WRONG, Campaign, Outcome, judged, made
from campaigns.running import Log, Tally, Worker, failure_text, run, summary

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, type=click.Choice(list(CAMPAIGNS)))
@click.option("--cases", type=int, help="Cases of each campaign.  [default: its own number]")
@click.option("--first", type=int, default=0, show_default=True, help="The first seed.")
@click.option("--seed", type=int, help="Repeat this one case here, and show its traceback.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=CACHE / "devnet" / "campaigns",
    show_default=True,
    help="Folder of outcomes; a run that was stopped resumes from there.",
)
def main(
    names: tuple[str, ...], cases: int | None, first: int, seed: int | None, folder: Path
) -> None:
    """Run campaigns, all or those named, and print what went wrong and a summary."""
    chosen = [CAMPAIGNS[name] for name in names or CAMPAIGNS]
    if seed is not None:
        for campaign in chosen:
            _repeat(campaign, seed)
        return
    tallies, n_wrong = [], 0
    with Worker() as worker:
        for campaign in chosen:
            seeds = range(first, first + (campaign.n_cases if cases is None else cases))
            outcomes = list(_run(campaign, seeds, worker, folder))
            tallies.append(Tally.of(campaign.name, outcomes))
            n_wrong += tallies[-1].counts[WRONG]
    click.echo(summary(tallies))
    raise SystemExit(1 if n_wrong else 0)


def _repeat(campaign: Campaign, seed: int) -> None:
    case = made(campaign, seed)
    click.echo(str(case))
    outcome = judged(campaign, seed, case, on_error=click.echo)
    click.echo(f"{outcome.verdict}: {outcome.said}")
    click.echo(f"{outcome.seconds:.1f} s, {outcome.megabytes:.0f} MB")


def _run(campaign: Campaign, seeds: range, worker: Worker, folder: Path) -> list[Outcome]:
    outcomes = []
    with click.progressbar(length=len(seeds), label=campaign.name) as bar:
        for outcome in run(campaign, seeds, worker, Log(folder / f"{campaign.name}.jsonl")):
            outcomes.append(outcome)
            bar.update(1)
            if outcome.verdict == WRONG:
                click.echo(f"\n{failure_text(campaign.name, outcome)}")
    return outcomes


if __name__ == "__main__":
    main()
