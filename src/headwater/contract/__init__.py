"""Promises: the Protocols that parts keep and engines rely on. No logic, no state.

`Source`, `Log` (with `LogWriter`, `LogReader`, `Cursor`, `SchemaHistory`, `Commands`), `Sink`,
`Transform` (with `WholeTransform`, `Studied`, `Parting`), `Format`, `Clock`, `Metrics`;
capabilities are data. Each promise that a part can break has a conformance suite in
`headwater.testing`.

States: INV-1, INV-2, INV-5, INV-6, INV-7, INV-9 where the method that owes them is declared.
May import: event, errors.
"""

from headwater.contract.capability import SinkCapabilities, SourceCapabilities
from headwater.contract.command import (
    Answer,
    Asking,
    Command,
    Commanded,
    Commands,
    Owed,
    OwedState,
    Verb,
    Wish,
)
from headwater.contract.format import Format, Message, MessageFormat, TypedFormat
from headwater.contract.log import (
    Cursor,
    Lag,
    LoadHistory,
    Log,
    LogBounds,
    LogReader,
    LogWriter,
    SchemaHistory,
    SegmentInfo,
    TableHistory,
)
from headwater.contract.observe import Clock, Metrics
from headwater.contract.sink import Sink, WriteStatus
from headwater.contract.source import (
    Backfills,
    Measured,
    OnGap,
    Phase,
    SnapshotProgress,
    Source,
    SourceBatch,
    SourceIdentity,
)
from headwater.contract.transform import Parting, Studied, Transform, WholeTransform

__all__ = [
    "Answer",
    "Asking",
    "Backfills",
    "Clock",
    "Command",
    "Commanded",
    "Commands",
    "Cursor",
    "Format",
    "Lag",
    "LoadHistory",
    "Log",
    "LogBounds",
    "LogReader",
    "LogWriter",
    "Measured",
    "Message",
    "MessageFormat",
    "Metrics",
    "OnGap",
    "Owed",
    "OwedState",
    "Parting",
    "Phase",
    "SchemaHistory",
    "SegmentInfo",
    "Sink",
    "SinkCapabilities",
    "SnapshotProgress",
    "Source",
    "SourceBatch",
    "SourceCapabilities",
    "SourceIdentity",
    "Studied",
    "TableHistory",
    "Transform",
    "TypedFormat",
    "Verb",
    "WholeTransform",
    "Wish",
    "WriteStatus",
]
