"""A model of tables in words, for a terminal."""

import textwrap
from typing import Any

from devnet.cli.spelling import worded
from devnet.core.wording import interval_text, range_text, scores_text, visible

WIDTH = 88
INDENT = 15  # column where facts begin
N_IMPORTANT = 5
WITHHELD = {"hidden_anomaly_share": "Hidden", "expected_quality": "Expect"}


def model_text(facts: dict[str, Any]) -> list[str]:
    """The facts of `describe_model` as lines, one or two each."""
    share, quality = facts.get("hidden_anomaly_share"), facts.get("expected_quality")
    used, left_out = facts["columns"], facts["left_out"]
    parts = [
        fact_lines("Method", facts["method"]),
        fact_lines(
            "Rows",
            f"{facts['rows']:,}; labelled as anomalies ({facts['label']} = {facts['anomaly']}): "
            f"{facts['labelled_anomalies']:,}{_normal_rows(facts)}",
        ),
        fact_lines("Columns", f"{len(used)} used" + (", left out:" if left_out else "")),
        *(fact_lines("", f"{name}: {worded(why)}") for name, why in left_out.items()),
        *_readings(used),
        fact_lines("Matters most", _important(used)),
    ]
    if share:
        parts.append(
            fact_lines(
                "Hidden",
                f"about {share['value']:.1%} of the unlabelled rows look like anomalies that "
                f"nobody labelled ({range_text(share['low'], share['high'], '.1%')})",
            )
        )
    if quality:
        auc_pr = interval_text(quality["auc_pr"], quality["low"], quality["high"], ".2f")
        parts.append(
            fact_lines(
                "Expect",
                f"a ranking of AUC-PR {auc_pr}, judged by rows that scorers did not see",
            )
        )
    parts += [
        fact_lines(WITHHELD[name], f"cannot be estimated: {why}")
        for name, why in facts["withheld"].items()
    ]
    parts.append(fact_lines("Alerts", _alerts(facts)))
    return [line for part in parts for line in part]


def columns_text(facts: dict[str, Any]) -> list[str]:
    """A line for each column in use, the most important first."""
    columns = sorted(facts["columns"], key=lambda column: -column["importance"])
    names = [visible(column["name"])[:30] for column in columns]
    width = max(map(len, names))
    lines = []
    for name, column in zip(names, columns, strict=True):
        missing = f", {column['missing']:.1%} missing" if column["missing"] else ""
        kind = column["kind"]
        reading = f"; {column['reading']}" if column["reading"] else ""
        detail = f"{column['detail']}{missing}{reading}"
        lines.append(f"{name:<{width}}  {column['importance']:>5.1%}  {kind:<10} {detail}")
    return lines


def _normal_rows(facts: dict[str, Any]) -> str:
    if facts["normal"] is None:
        return ""
    return f"; known normal ({facts['label']} = {facts['normal']}): {facts['known_normal']:,}"


def _readings(columns: list[dict[str, Any]]) -> list[list[str]]:
    """How values were read, where not as they are."""
    read = [f"{column['name']}: {column['reading']}" for column in columns if column["reading"]]
    return [fact_lines("" if i else "Read", text) for i, text in enumerate(read)]


def _important(columns: list[dict[str, Any]]) -> str:
    order = sorted(columns, key=lambda column: -column["importance"])[:N_IMPORTANT]
    return ", ".join(f"{c['name']} {c['importance']:.0%}" for c in order if c["importance"] > 0)


def _alerts(facts: dict[str, Any]) -> str:
    words: str = facts["policy"]["in_words"]
    typical = scores_text(facts["typical_row"], f"{facts['typical_row_score']:.2f}")
    if facts["threshold"] is None:
        return f"{words}; {typical}"
    return f"{words}: scores above {facts['threshold']:.2f}; {typical}"


def fact_lines(name: str, text: str) -> list[str]:
    """A fact behind its name, on as many lines as it needs."""
    return textwrap.wrap(
        visible(text),  # before lines are broken, as it may grow
        WIDTH,
        initial_indent=f"{name:<{INDENT}}",
        subsequent_indent=" " * INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
