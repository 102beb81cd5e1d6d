"""What `headwater verify` says of a proof."""

from __future__ import annotations

import pytest

from headwater.app.proof.narrow import Comparison, Differences
from headwater.app.proof.ranges import Summary
from headwater.app.proof.result import as_result
from headwater.app.proof.verifier import Proof, TableProof, Undecided
from headwater.cli.output import reporting
from headwater.cli.verify import show_proof
from headwater.errors import TransientError


def test_table_that_could_not_be_compared_is_named_with_its_reason_and_the_way_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = Summary(2, 7)
    orders = TableProof("orders", Comparison(rows, rows, Differences(), 1), 0)
    behind = TransientError("verify-behind", "more than 3 changed rows are in the log")
    proof = as_result(Proof(9, (orders,), (Undecided("docs", behind),)))
    assert not proof["equal"]
    with reporting("verify", as_json=False) as out:
        show_proof(out, proof)
    said = capsys.readouterr().out.splitlines()
    assert said[2].split() == ["undecided", "docs"]
    assert said[3].endswith("docs: [verify-behind] more than 3 changed rows are in the log")
    assert said[4].endswith(behind.hint)
    assert said[5].endswith("equal their source at event 9; 1 could not be compared")
