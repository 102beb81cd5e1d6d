"""Recorded messages of a source in, canonical events out: the same every time, without a server.

- `load_fixture`, `Fixture` (fixture.py): a recording, checked; a fault has a place and a fix.
- `replay`, `Replayed` (machine.py): the events, by the rules of a transaction.
- `differences` (golden.py): what is not as in the golden file; `envelopes` is what one holds.
- `prove` (proof.py): a fixture file against its golden file.
- dialects.py says what a message of each source means, statements.py what a DDL statement does.

A recording starts after the wire: its messages are decoded already. What it proves is the order of
events, the borders of transactions and the envelope.
"""

from headwater.testing.replay.fixture import Fixture, Message, load_fixture, parse_fixture
from headwater.testing.replay.golden import Difference, differences, envelopes
from headwater.testing.replay.machine import Replayed, replay
from headwater.testing.replay.proof import prove

__all__ = [
    "Difference",
    "Fixture",
    "Message",
    "Replayed",
    "differences",
    "envelopes",
    "load_fixture",
    "parse_fixture",
    "prove",
    "replay",
]
