"""The source block: what every connector says of a change, and what only one does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater._version import __version__
from headwater.event import EventBatch, Operation, are_messages
from headwater.format.engine import engines
from headwater.format.jsontext import dumps
from headwater.format.text import TEXT, as_string, boolean, join, quoted

_LSN = re.compile(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})(?::[0-9]+)?")
_BINLOG = re.compile(r"([^:#]+):([0-9]{1,18})(?::([0-9]{1,9}))?(?:#gtid=(.+))?")
_SQLSERVER = re.compile(r"(0x[0-9a-fA-F]+)(?::(0x[0-9a-fA-F]+)(?::[0-9]+)?)?")


def source_block(batch: EventBatch, server_name: str | None, database: str) -> pa.Array:
    """The `source` object of each event."""
    column = batch.column
    engine = engines(column("source_name"))
    times = column("source_ts_ms")
    read = pc.equal(column("op"), int(Operation.READ))
    sequence = as_string(join("[", quoted(column("offset")), "]"))
    return join(
        f'{{"version":"{__version__}","connector":', quoted(engine),
        ',"name":', quoted(engine) if server_name is None else dumps(server_name),
        ',"ts_ms":', times,
        ',"snapshot":"', boolean(read),
        f'","db":{dumps(database)},"sequence":', sequence,
        ',"ts_us":', scaled(times, "000"),
        ',"ts_ns":', scaled(times, "000000"),
        ',"schema":', quoted(_schemas(batch)),
        ',"table":', quoted(column("table_name")),
        _specific(batch, engine),
        "}",
    )  # fmt: skip


def _schemas(batch: EventBatch) -> pa.Array:
    """The schemas' names; Debezium gives messages one without a name, and a table likewise."""
    names = batch.column("table_schema")
    messages = are_messages(batch)
    if not pc.any(messages, min_count=0).as_py():
        return names
    return pc.if_else(messages, pa.scalar(""), names)


def scaled(times_ms: pa.Array, zeros: str) -> pa.Array:
    """A finer unit as text: what 64 bits could not hold stays exact."""
    return pc.if_else(pc.equal(times_ms, 0), pa.scalar("0", TEXT), join(times_ms, zeros))


def _specific(batch: EventBatch, engine: pa.Array) -> pa.Array | str:
    names = engine.to_pylist()
    if not _CONNECTORS.keys() & set(names):
        return ""
    offsets = batch.column("offset").to_pylist()
    transactions = pc.struct_field(batch.column("transaction"), "tx_id").to_pylist()
    rows = zip(names, offsets, transactions, strict=True)
    return pa.array(
        [
            _members(_CONNECTORS[n](offset, tx)) if n in _CONNECTORS else ""
            for n, offset, tx in rows
        ],
        TEXT,
    )


def _members(values: Iterable[tuple[str, Any]]) -> str:
    return "".join(f',"{name}":{_text(value)}' for name, value in values)


def _text(value: int | str | None) -> str:
    if value is None:
        return "null"
    return repr(value) if type(value) is int else dumps(value)


def _postgresql(offset: str, tx_id: int | None) -> Iterable[tuple[str, Any]]:
    found = _LSN.fullmatch(offset)
    lsn = (int(found[1], 16) << 32) + int(found[2], 16) if found else None
    return ("txId", tx_id), ("lsn", lsn), ("xmin", None)


def _mysql(offset: str, _tx_id: int | None) -> Iterable[tuple[str, Any]]:
    found = _BINLOG.fullmatch(offset)
    file, pos, row, gtid = found.groups() if found else (None, None, None, None)
    return (
        ("server_id", None),
        ("gtid", gtid),
        ("file", file),
        ("pos", None if pos is None else int(pos)),
        ("row", None if row is None else int(row)),
        ("thread", None),
        ("query", None),
    )


def _sqlserver(offset: str, _tx_id: int | None) -> Iterable[tuple[str, Any]]:
    found = _SQLSERVER.fullmatch(offset)
    commit, change = found.groups() if found else (None, None)
    return ("change_lsn", change), ("commit_lsn", commit), ("event_serial_no", None)


_CONNECTORS: dict[str, Callable[[str, int | None], Iterable[tuple[str, Any]]]] = {
    "postgresql": _postgresql,
    "mysql": _mysql,
    "mariadb": _mysql,
    "sqlserver": _sqlserver,
}
