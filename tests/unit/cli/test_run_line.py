from __future__ import annotations

from typing import Any

import pytest

from headwater.cli.run import status_text


def _facts(load: dict[str, Any] | None) -> dict[str, Any]:
    capture = {"state": "snapshotting", "events_per_s": 1234.5, "load": load}
    health = {"status": "healthy", "reason": ""}
    cursors = {"audit": {"lag_events": 7}}
    return {
        "name": "crm",
        "capture": capture,
        "health": health,
        "log": {"head": 5000},
        "cursors": cursors,
    }


_LOAD = {"table": "public.orders", "rows_done": 2000, "rows_total": 9000, "rows_left": 7000}


@pytest.mark.parametrize(
    ("load", "shown"),
    [
        (None, "1,234/s · audit lag 7"),
        (_LOAD | {"eta_s": 75}, "public.orders 2,000 of about 9,000 rows, 0:01:15 to go"),
        (_LOAD | {"eta_s": None}, "public.orders 2,000 of about 9,000 rows · audit"),
        (_LOAD | {"rows_total": None, "eta_s": None}, "public.orders 2,000 · audit"),
        (_LOAD | {"rows_total": 1500, "eta_s": 0}, "2,000 of about 2,000 rows, 0:00:00 to go"),
    ],
)
def test_line_shows_how_far_the_first_load_is_when_one_goes_on(
    load: dict[str, Any] | None, shown: str
) -> None:
    assert shown in status_text(_facts(load))
