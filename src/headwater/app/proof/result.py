"""The proof as plain values, with its sentence."""

from __future__ import annotations

import json
from typing import Any

from headwater.app.proof.verifier import Proof, TableProof, Undecided

SHOWN_KEYS = 20


def as_result(proof: Proof) -> dict[str, Any]:
    """Every table, and what it comes to."""
    tables = [table_result(table) for table in proof.tables]
    rows = sum(table.compared.source.rows for table in proof.tables)
    wrong = [table.table for table in proof.tables if not table.equal]
    moment = f"at event {proof.sequence:,}"
    summary = (
        f"{len(tables)} tables with {rows:,} rows equal their source {moment}"
        if not wrong
        else f"{len(wrong)} of {len(tables)} tables differ from their source {moment}"
    )
    if proof.undecided and not tables:
        summary = f"none of {len(proof.undecided)} tables could be compared"
    elif proof.undecided:
        summary += f"; {len(proof.undecided)} could not be compared"
    return {
        "equal": proof.equal,
        "sequence": proof.sequence,
        "summary": summary,
        "tables": tables,
        "undecided": [undecided_result(each) for each in proof.undecided],
    }


def table_result(proof: TableProof) -> dict[str, Any]:
    """One table; of the differing keys, the first few."""
    found, compared = proof.differences, proof.compared
    return {
        "table": proof.table,
        "equal": proof.equal,
        "source": {"rows": compared.source.rows, "hash": compared.source.hash},
        "target": {"rows": compared.target.rows, "hash": compared.target.hash},
        "rolled_forward": proof.rolled_forward,
        "ranges": compared.ranges,
        "differing": len(found),
        "complete": found.complete,
        "missing": [key_values(text) for text in found.missing[:SHOWN_KEYS]],
        "extra": [key_values(text) for text in found.extra[:SHOWN_KEYS]],
        "different": [key_values(text) for text in found.different[:SHOWN_KEYS]],
    }


def undecided_result(found: Undecided) -> dict[str, Any]:
    """A table that could not be compared."""
    return {"table": found.table, **found.reason.as_dict()}


def key_values(text: str) -> Any:
    """A key as a JSON object; a row that has none is named by its hash."""
    return json.loads(text) if text.startswith("{") else text
