"""Which transactions a moment of a PostgreSQL server has seen, by the low half of their ids."""

from __future__ import annotations

import pytest

from headwater.source.postgres.tables.rows import Moment

WRAP = 1 << 32


@pytest.mark.parametrize(
    ("snapshot", "seen", "unseen"),
    [
        ("100:100:", [99, 3], [100, 101]),
        ("95:100:95,97", [94, 96, 98, 99], [95, 97, 100]),
        (f"{WRAP - 2}:{WRAP + 3}:{WRAP - 2},{WRAP + 1}", [WRAP - 3, WRAP - 1, 0, 2], [1, 3]),
        (f"{WRAP + 3}:{WRAP + 3}:", [WRAP - 1, 2], [3, 4]),
        (f"{WRAP - 2}:{WRAP + 3}:{WRAP - 2}", [WRAP - 1], [WRAP - 2]),
    ],
)
def test_moment_sees_what_ended_before_it(
    snapshot: str, seen: list[int], unseen: list[int]
) -> None:
    moment = Moment.parse(snapshot, "0/1000")
    assert moment.lsn == 0x1000
    assert [xid for xid in seen if not moment.sees(xid)] == []
    assert [xid for xid in unseen if moment.sees(xid)] == []
