"""What the recorded messages of each source mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headwater.event import Operation

Payload = Mapping[str, Any]

PROTOCOLS = {
    "postgres": "pgoutput_v2",
    "mysql": "binlog_v4",
    "sqlserver": "cdc_change_table_v1",
}
DEFAULT_SCHEMAS = {"postgres": "public", "mysql": "default", "sqlserver": "dbo"}


@dataclass(frozen=True, slots=True)
class Begin:
    """A transaction begins."""


@dataclass(frozen=True, slots=True)
class End:
    """A transaction is committed. `alone` tells that it may stand without a beginning."""

    alone: bool = False


@dataclass(frozen=True, slots=True)
class Abort:
    """A transaction is rolled back."""

    alone: bool = False


@dataclass(frozen=True, slots=True)
class RowChange:
    """A row changed."""

    op: Operation


@dataclass(frozen=True, slots=True)
class Statement:
    """The shape of a table changed."""

    text: str


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that changes no row and no shape; `kind` names the marker that it becomes."""

    kind: str


Step = Begin | End | Abort | RowChange | Statement | Remark
Reader = Callable[[Payload], Step]


def step_of(source_type: str, message_type: str, payload: Payload) -> Step:
    """What the message means. ValueError if its payload does not say."""
    return _READERS[source_type][message_type](payload)


def message_types(source_type: str) -> tuple[str, ...]:
    """The messages that a recording of this source may have."""
    return tuple(_READERS[source_type])


def _always(step: Step) -> Reader:
    return lambda _payload: step


def _ddl(payload: Payload) -> Step:
    return Statement(_text(payload, "statement"))


_TABLE_DDL = re.compile(r"\s*(create|alter|drop)\s+table\b", re.IGNORECASE)
_TRANSACTION: dict[str, Step] = {
    "BEGIN": Begin(),
    "START TRANSACTION": Begin(),
    "COMMIT": End(alone=True),
    "ROLLBACK": Abort(alone=True),
}


def _query(payload: Payload) -> Step:
    sql = _text(payload, "sql" if "sql" in payload else "query")
    word = " ".join(sql.upper().rstrip("; \t\r\n").split())
    if word in _TRANSACTION:
        return _TRANSACTION[word]
    return Statement(sql) if _TABLE_DDL.match(sql) else Remark("binlog_event")


_CONTROLS: dict[str, Step] = {
    "begin_transaction": Begin(),
    "commit_transaction": End(),
    "rollback_transaction": Abort(),
}


def _control(payload: Payload) -> Step:
    return _CONTROLS.get(str(payload.get("kind")), Remark("control_event"))


def _text(payload: Payload, name: str) -> str:
    value = payload.get(name)
    if type(value) is not str or not value.strip():
        raise ValueError(f"has no {name}")
    return value


_INSERT, _UPDATE, _DELETE = (
    _always(RowChange(op)) for op in (Operation.INSERT, Operation.UPDATE, Operation.DELETE)
)
_READERS: dict[str, dict[str, Reader]] = {
    "postgres": {
        "Begin": _always(Begin()),
        "Insert": _INSERT,
        "Update": _UPDATE,
        "Delete": _DELETE,
        "Ddl": _ddl,
        "Commit": _always(End()),
    },
    "mysql": {
        "QueryEvent": _query,
        "WriteRowsEvent": _INSERT,
        "UpdateRowsEvent": _UPDATE,
        "DeleteRowsEvent": _DELETE,
        "XidEvent": _always(End(alone=True)),
    },
    "sqlserver": {
        "Control": _control,
        "Capture": _INSERT,
        "Update": _UPDATE,
        "Delete": _DELETE,
        "Ddl": _ddl,
    },
}
