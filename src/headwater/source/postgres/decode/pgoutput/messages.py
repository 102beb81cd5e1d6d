"""What the messages say, as values. Transactions in columns, the rare kinds one by one.

`message` is always the message's number in the buffer that was decoded. Times are milliseconds
since 1970; transaction numbers are unsigned, log positions plain numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headwater.source.postgres.decode.render import Renderer
from headwater.source.postgres.decode.spans import Places


@dataclass(frozen=True, slots=True)
class RelationColumn:
    """A column as the stream describes it. `is_key`: it is part of the replica identity."""

    name: str
    type_oid: int
    typmod: int
    is_key: bool


@dataclass(frozen=True, slots=True)
class Relation:
    """A table as the stream describes it. `identity` is `d`, `f`, `i` or `n`, as in pg_class."""

    oid: int
    schema: str
    name: str
    identity: str
    columns: tuple[RelationColumn, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """How a relation's columns become JSON: a renderer each, None for a column not captured."""

    renderers: tuple[Renderer | None, ...]


ShapeOf = Callable[[Relation], Shape]


@dataclass(frozen=True, slots=True)
class Begins:
    """The transactions that begin, in order."""

    message: Places
    xid: Places
    final_lsn: Places
    commit_ms: Places


@dataclass(frozen=True, slots=True)
class Commits:
    """The transactions that commit, in order."""

    message: Places
    commit_lsn: Places
    end_lsn: Places
    commit_ms: Places


@dataclass(frozen=True, slots=True)
class RelationSeen:
    """A relation was described. `changed` is false if it was known just so."""

    message: int
    relation: Relation
    changed: bool


@dataclass(frozen=True, slots=True)
class TypeSeen:
    """A type that is not built in was named."""

    message: int
    oid: int
    schema: str
    name: str


@dataclass(frozen=True, slots=True)
class Origin:
    """The transaction came from another server."""

    message: int
    lsn: int
    name: str


@dataclass(frozen=True, slots=True)
class LogicalMessage:
    """An application's own message. `xid` is that of its streamed block, if it lies in one."""

    message: int
    transactional: bool
    lsn: int
    prefix: str
    content: bytes
    xid: int | None


@dataclass(frozen=True, slots=True)
class Truncate:
    """Tables were emptied."""

    message: int
    relations: tuple[Relation, ...]
    cascade: bool
    restart: bool
    xid: int | None


@dataclass(frozen=True, slots=True)
class StreamStart:
    """A block of a transaction in progress begins. `first`: it is that transaction's first."""

    message: int
    xid: int
    first: bool


@dataclass(frozen=True, slots=True)
class StreamStop:
    """The block ends."""

    message: int


@dataclass(frozen=True, slots=True)
class StreamCommit:
    """A transaction that was sent in blocks commits."""

    message: int
    xid: int
    commit_lsn: int
    end_lsn: int
    commit_ms: int


@dataclass(frozen=True, slots=True)
class StreamAbort:
    """A transaction sent in blocks is undone, or only the part of it that is `subxid`."""

    message: int
    xid: int
    subxid: int


Control = (
    RelationSeen
    | TypeSeen
    | Origin
    | LogicalMessage
    | Truncate
    | StreamStart
    | StreamStop
    | StreamCommit
    | StreamAbort
)
