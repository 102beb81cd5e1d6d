"""One form for every benchmark: alternating rounds, an A/A control, bars, a table, JSON and a plot.

A machine's speed drifts while it is measured. So the variants run in turn, round after round, and a
result is the median of the ratios *within* rounds. The control runs the reference a second time in
every round; how far its ratio strays from 1 is what this machine cannot tell apart today.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeVar

RESULTS = Path(__file__).parent / "results"

_T = TypeVar("_T")

Work = Callable[[], float]
"""Does the work once and returns its rate per second."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure that must be reached."""

    name: str
    value: float
    bar: float
    ok: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """One variant against a reference, and the reference against itself."""

    name: str
    reference: str
    unit: str
    rates: list[float]
    reference_rates: list[float]
    control_rates: list[float]

    @property
    def ratio(self) -> float:
        return statistics.median(
            mine / peer for mine, peer in zip(self.rates, self.reference_rates, strict=True)
        )

    @property
    def control(self) -> tuple[float, float]:
        ratios = [
            again / first
            for again, first in zip(self.control_rates, self.reference_rates, strict=True)
        ]
        return min(ratios), max(ratios)


def in_turn(runs: Sequence[_T], turn: int) -> list[_T]:
    """The order of a round: each begins once, and comes once after each other."""
    first = turn % len(runs)
    return [*runs[first:], *runs[:first]]


@dataclass(slots=True)
class Bench:
    """Collects comparisons, plain rates and bars, and reports them in one form."""

    name: str
    unit: str = "events/s"
    comparisons: list[Comparison] = field(default_factory=list)
    rates: dict[str, list[float]] = field(default_factory=dict)
    bars: list[Bar] = field(default_factory=list)

    def compare(self, name: str, work: Work, peer: tuple[str, Work], *, rounds: int = 5) -> float:
        """Run `work` and its peer in turn; returns the median ratio."""
        label, reference = peer
        reference()  # warm both paths: the first run pays for imports and caches
        work()
        mine: list[float] = []
        theirs: list[float] = []
        control: list[float] = []
        for turn in range(rounds):
            # Each takes every place in turn, so that none always inherits another's dirty cache.
            order = in_turn([(work, mine), (reference, theirs), (reference, control)], turn)
            for run, samples in order:
                samples.append(run())
        return self.add(name, mine, (label, theirs, control))

    def add(
        self, name: str, mine: list[float], peer: tuple[str, list[float], list[float]]
    ) -> float:
        """A comparison whose rounds were run elsewhere: the peer's rates and its control's."""
        label, theirs, control = peer
        result = Comparison(name, label, self.unit, mine, theirs, control)
        self.comparisons.append(result)
        print(
            f"  {name}: {statistics.median(mine):,.0f} {self.unit}, {result.ratio:.2f} of {label}"
        )
        return result.ratio

    def rate(self, name: str, work: Work, *, rounds: int = 5) -> float:
        """Run `work` alone; returns the median rate."""
        work()
        samples = [work() for _ in range(rounds)]
        self.note(name, samples)
        return statistics.median(samples)

    def note(self, name: str, samples: list[float]) -> None:
        """Figures that have no peer and were taken elsewhere."""
        self.rates[name] = samples
        print(f"  {name}: {statistics.median(samples):,.0f} {self.unit}")

    def bar(self, name: str, value: float, bar: float) -> None:
        """Require at least `bar`."""
        self.bars.append(Bar(name, round(value, 4), bar, value >= bar))

    def finish(self) -> int:
        """Write JSON and plot, print the table, and return the exit code."""
        RESULTS.mkdir(exist_ok=True)
        report = {
            "benchmark": self.name,
            "unit": self.unit,
            "machine": machine_facts(),
            "comparisons": [
                asdict(each) | {"ratio": each.ratio, "aa_control": list(each.control)}
                for each in self.comparisons
            ],
            "rates": self.rates,
            "bars": [asdict(bar) for bar in self.bars],
        }
        (RESULTS / f"{self.name}.json").write_text(json.dumps(report, indent=2) + "\n")
        plot(self)
        print(self._table())
        return 0 if all(bar.ok for bar in self.bars) else 1

    def _table(self) -> str:
        lines = ["", f"{'what':44} {self.unit:>12} {'ratio':>6}  A/A control"]
        for each in self.comparisons:
            low, high = each.control
            rate = statistics.median(each.rates)
            lines.append(f"{each.name:44} {rate:12,.0f} {each.ratio:6.2f}  {low:.2f} to {high:.2f}")
        for name, samples in self.rates.items():
            lines.append(f"{name:44} {statistics.median(samples):12,.0f}")
        lines.append("")
        for bar in self.bars:
            verdict = "ok    " if bar.ok else "MISSED"
            lines.append(f"{verdict} {bar.name}: {bar.value:,.2f} (bar {bar.bar:,.2f})")
        return "\n".join(lines)


def timed(events: int, work: Callable[[], object]) -> float:
    """The rate at which `work` handled its events."""
    begin = time.perf_counter()
    work()
    return events / (time.perf_counter() - begin)


def machine_facts() -> dict[str, object]:
    """What a reader needs to judge the figures."""
    facts: dict[str, object] = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
    }
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            facts["cpu"] = line.partition(":")[2].strip()
            break
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal"):
            facts["memory_gib"] = round(int(line.split()[1]) / 1024**2, 1)
    return facts


def plot(bench: Bench) -> None:
    """A bar per variant beside its reference, with every sample as a dot."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    rows: list[tuple[str, Sequence[float], str]] = []
    for each in bench.comparisons:
        rows.append((each.name, each.rates, "#2a6f97"))
        rows.append((f"  {each.reference}", each.reference_rates, "#b0b7bd"))
    rows += [(name, samples, "#2a6f97") for name, samples in bench.rates.items()]
    figure, axes = plt.subplots(figsize=(9, 0.45 * len(rows) + 1.2))
    for place, (_, samples, colour) in enumerate(rows):
        axes.barh(place, statistics.median(samples), color=colour)
        axes.plot(samples, [place] * len(samples), "k.", markersize=3)
    axes.set_yticks(range(len(rows)), [name for name, _, _ in rows])
    axes.invert_yaxis()
    axes.set_xlabel(f"{bench.unit} (median; dots are samples)")
    axes.set_title(f"benchmarks/{bench.name}")
    figure.tight_layout()
    figure.savefig(RESULTS / f"{bench.name}.png", dpi=110)
    plt.close(figure)
