"""Which transactions a snapshot sees, by the half number that the stream gives."""

import numpy as np
import pytest

from headwater.source.postgres.tables.watermark import Visibility

BEYOND = 1 << 32


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
