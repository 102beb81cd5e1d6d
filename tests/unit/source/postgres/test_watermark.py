"""Which transactions a snapshot sees, by the half number that the stream gives."""

import numpy as np
import pytest

from headwater.event import EventBatch
from headwater.source.postgres.lsn import record_end
from headwater.source.postgres.tables.handed import Handed
from headwater.source.postgres.tables.watermark import Visibility

BEYOND = 1 << 32
PAGE, SEGMENT = 8192, 16 * 1024 * 1024


@pytest.mark.parametrize("epoch", [0, BEYOND, 3 * BEYOND])
def test_transactions_are_unseen_when_later_or_in_progress(epoch: int) -> None:
    seen = Visibility.parse(f"{epoch + 90}:{epoch + 100}:{epoch + 90},{epoch + 95}")
    xids = np.array([89, 90, 91, 95, 99, 100, 101])
    assert seen.unseen(xids).tolist() == [False, True, False, True, False, True, True]


def test_numbers_that_wrapped_around_are_later() -> None:
    seen = Visibility.parse(f"{BEYOND - 10}:{BEYOND - 5}:")
    assert seen.unseen(np.array([BEYOND - 6, BEYOND - 5, 0, 3])).tolist() == [
        False,
        True,
        True,
        True,
    ]


def test_a_handed_transaction_is_noticed_until_a_snapshot_sees_it() -> None:
    handed = Handed()
    handed.note(_events(90, 90, 91))
    handed.note(_events(95))
    assert handed.unseen_by(Visibility.parse("90:100:95"))
    assert handed.unseen_by(Visibility.parse("90:95:"))
    assert not handed.unseen_by(Visibility.parse("96:96:"))
    assert not handed.unseen_by(Visibility.parse("90:95:")), "what was seen once is forgotten"


@pytest.mark.parametrize(
    ("insert", "end"),
    [
        (3 * PAGE + 24, 3 * PAGE),
        (3 * PAGE + 32, 3 * PAGE + 32),
        (3 * PAGE + 40, 3 * PAGE + 40),
        (SEGMENT + 40, SEGMENT),
        (SEGMENT + 48, SEGMENT + 48),
        (2 * PAGE - 8, 2 * PAGE - 8),
    ],
)
def test_the_log_ends_where_its_last_record_ends(insert: int, end: int) -> None:
    assert record_end(insert, PAGE, SEGMENT) == end


def _events(*xids: int) -> EventBatch:
    blocks = [{"tx_id": xid, "total_events": None, "event_index": 0} for xid in xids]
    return EventBatch.from_columns({"transaction": blocks})
