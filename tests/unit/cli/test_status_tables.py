"""What `headwater status` shows of many tables."""

from typing import Any

import pytest

from headwater.app.inspect import _parked
from headwater.cli.output import Report
from headwater.cli.status import _show_tables


def _tables(count: int, **parked: str) -> dict[str, Any]:
    return {
        f"t{number:03}@mirror": {
            "sequence": 1000,
            "lag_events": 990 if f"t{number:03}" in parked else 0,
            "lag_bytes": 2048 if f"t{number:03}" in parked else 0,
            "lag_s": 61.4 if f"t{number:03}" in parked else 0.0,
            "events": 3,
            "seconds": number / 100,
            "events_per_s": 3.0,
            "parked": parked.get(f"t{number:03}"),
            "at_ms": 1000,
        }
        for number in range(count)
    }


def _shown(capsys: pytest.CaptureFixture[str], tables: dict[str, Any], *, every: bool) -> list[str]:
    _show_tables(Report("status", as_json=False), tables, every=every)
    return capsys.readouterr().out.splitlines()[1:]


def test_parked_and_slow_tables_come_first_when_there_are_many(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tables = _tables(200, t150="value-mistyped", t003="spark-no-key")
    lines = _shown(capsys, tables, every=False)
    assert lines[0].split() == ["TABLE", "APPLIED", "LAG", "BYTES", "AGE", "EVENTS/S", "SECONDS"]
    words = [line.split() for line in lines[1:]]
    lag = ["990", "2.0", "KiB", "0:01:01"]
    assert words[0] == ["t003@mirror", "1,000", *lag, "3", "0.0", "parked", "[spark-no-key]"]
    assert words[1][0] == "t150@mirror"
    assert words[2][0] == "t199@mirror"
    assert len(words) == 21
    assert lines[-1] == "200 tables, 2 parked; the slowest are shown, --all has more"
    assert len(_shown(capsys, tables, every=True)) == 201


def test_few_tables_are_shown_without_more_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(_shown(capsys, _tables(20), every=False)) == 21


def test_summary_names_some_of_many_parked_tables() -> None:
    names = [f"t{number:03}@mirror" for number in range(12)]
    log = {"cursors": [{"name": f"spark:{name}"} for name in names]}
    assert _parked(log) == f"parked: {', '.join(names[:5])} and 7 more; "
