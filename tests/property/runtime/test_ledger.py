"""INV-1: the ledger against a model that looks at every event, over random interleavings."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headwater.errors import StateError
from headwater.runtime.ledger import Ledger, Token

START = 100


@dataclass
class _Model:
    """Every delivered event with its border flag and whether it was acknowledged."""

    borders: list[bool] = field(default_factory=list)
    acked: list[bool] = field(default_factory=list)

    def settled(self) -> int:
        best = 0
        for index, (border, acked) in enumerate(zip(self.borders, self.acked, strict=True)):
            if not acked:
                break
            if border:
                best = index + 1
        return START + best


class LedgerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger(START)
        self.model = _Model()
        self.tokens: list[Token] = []
        self.durable = START

    @rule(borders=st.lists(st.booleans(), min_size=1, max_size=8))
    def deliver(self, borders: list[bool]) -> None:
        first = self.ledger.delivered + 1
        numbers = [first + index for index, border in enumerate(borders) if border]
        last = first + len(borders) - 1
        self.tokens.append(self.ledger.deliver(last, np.array(numbers, dtype=np.int64)))
        self.model.borders += borders
        self.model.acked += [False] * len(borders)

    @precondition(lambda self: self.tokens)
    @rule(data=st.data())
    def ack(self, data: st.DataObject) -> None:
        token = data.draw(st.sampled_from(self.tokens))
        upto = data.draw(st.none() | st.integers(token.after - 1, token.last + 1))
        target = token.last if upto is None else upto
        inside = token.after < target <= token.last
        fresh = inside and not self.model.acked[target - START - 1]
        legal = fresh and (target == token.last or self.model.borders[target - START - 1])
        try:
            self.ledger.ack(token, upto)
        except StateError:
            assert not legal
        else:
            assert legal
            for index in range(token.after - START, target - START):
                self.model.acked[index] = True

    @rule()
    def make_durable(self) -> None:
        self.durable = self.ledger.settled()
        self.ledger.release(self.durable)

    @invariant()
    def settled_is_the_last_border_of_the_acknowledged_prefix(self) -> None:
        assert self.ledger.settled() == self.model.settled()
        assert self.ledger.settled() >= self.durable


TestLedger = LedgerMachine.TestCase
