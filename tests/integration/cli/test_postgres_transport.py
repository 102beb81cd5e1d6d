"""A pipeline behind a pooler: it runs by SQL, doctor says why, and past the pooler it goes on."""

from __future__ import annotations

from dataclasses import replace

from tests.integration.cli.conftest import Shop


def _captured(shop: Shop) -> int:
    return len((shop.cli.directory / "changes.jsonl").read_text().splitlines())


def test_pipeline_runs_by_sql_and_doctor_says_why_when_a_pooler_refuses_replication(
    prepared: Shop, pooled_port: int
) -> None:
    pooled = Shop(prepared.cli, replace(prepared.database, pooled_port=pooled_port))
    found = pooled.findings()["transport"]
    assert (found["severity"], found["code"]) == ("warning", "postgres-no-replication")
    assert "by SQL, because there is no replication connection" in found["evidence"]
    assert pooled("run", "shop.yaml", "--once").code == 0
    assert _captured(pooled) == 4
    pooled.database.sql("INSERT INTO customers VALUES (3, 'Alan', '')")
    assert prepared("run", "shop.yaml", "--once").code == 0
    assert _captured(prepared) == 5
    assert prepared.findings()["transport"]["severity"] == "ok"
