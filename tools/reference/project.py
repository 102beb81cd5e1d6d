"""What the project keeps beside its code: figures and decisions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any

from tools.reference.markdown import table
from tools.reference.places import ROOT


def benchmarks() -> Iterator[str]:
    yield "# Benchmarks"
    yield ""
    yield "The figures in `benchmarks/results/`; [how they are measured](../guide/speed.md)."
    for path in sorted((ROOT / "benchmarks" / "results").glob("*.json")):
        report = json.loads(path.read_text())
        facts = ", ".join(f"{name} {value}" for name, value in report["machine"].items())
        yield from ("", f"## {report['benchmark']}", "", f"Machine: {facts}.", "")
        unit = report.get("unit", "events/s")
        yield from table(("what", unit, "ratio", "against", "A/A control"), _rates(report))
        yield ""
        yield from table(
            ("bar", "reached", "wanted", ""),
            (
                (bar["name"], f"{bar['value']:,.2f}", bar["bar"], "ok" if bar["ok"] else "missed")
                for bar in report["bars"]
            ),
        )


def _rates(report: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for each in report["comparisons"]:
        low, high = each["aa_control"]
        rate, ratio = f"{median(each['rates']):,.0f}", f"{each['ratio']:.2f}"
        yield each["name"], rate, ratio, each["reference"], f"{low:.2f} to {high:.2f}"
    for name, samples in report["rates"].items():
        yield name, f"{median(samples):,.0f}", "", "", ""


def decisions() -> Iterator[str]:
    yield "# Decisions"
    yield ""
    yield "One page for each decision that was hard."
    yield ""
    for path in sorted((ROOT / "docs" / "adr").glob("*.md")):
        title = path.read_text().splitlines()[0].removeprefix("# ")
        number, _, name = title.partition(". ")
        yield f"- {number.rjust(2)}: [{name or title}](../adr/{path.name})"
