"""One table in Avro: its schemas, and its events as datums."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.event import EventBatch, Operation, TableSchema
from headwater.format.columns import bad_record, check_ranges
from headwater.format.headwater.avro_schema import with_messages
from headwater.format.jsontext import dumps, loads_object
from headwater.format.library import missing_extra
from headwater.format.octets import join
from headwater.format.stash import checked_text, put_extra
from headwater.format.typed.envelope import RANGES, Member, packed_members, to_columns
from headwater.format.typed.rows import RowForm, Rows, Taken
from headwater.format.typed.schema import bare, typed_schemas

try:
    import fastavro
except ModuleNotFoundError as exc:
    raise missing_extra("avro", exc) from exc

# Their images are no rows of a table, and stay JSON.
_NO_ROW = pa.array([int(Operation.SCHEMA_CHANGE), int(Operation.MESSAGE)], pa.int8())

# What fastavro raises for bytes that are no datum of the schema.
_FAILURES = (
    *(ValueError, TypeError, LookupError, EOFError, ArithmeticError, MemoryError),
    *(AttributeError, RecursionError, fastavro.read.SchemaResolutionError),
)


@dataclass(frozen=True, slots=True)
class Read:
    """One event as it was read: its members, and its images as text."""

    member: Member
    before: str | None
    after: str | None


class TableForm:
    """Events of one version of a table. `writer` is the schema that datums to read were made by.

    `indexes` are the places of the events among the records, for errors.
    """

    def __init__(self, table: TableSchema, writer: Any = None) -> None:
        self.table = table
        self.schemas = typed_schemas(table)
        self._rows = RowForm(table)
        every = with_messages(self.schemas.event)
        event = fastavro.parse_schema(bare(every))
        # Resolution costs time, so it is only asked for where datums differ.
        same = writer is None or writer in (self.schemas.event, every)
        self._writer = event if same else fastavro.parse_schema(bare(writer))
        self._reader = None if same else event

    def encode(
        self, batch: EventBatch, images: tuple[Rows, Rows], indexes: Sequence[int]
    ) -> list[bytes]:
        """One datum per event; `images` are the rows before and after, parsed."""
        no_row = pc.is_in(batch.column("op"), _NO_ROW)
        apart = no_row.to_pylist()
        before, after = (
            self._rows.write(
                [None if other else row for row, other in zip(rows, apart, strict=True)], indexes
            )
            for rows in images
        )
        texts = (pc.if_else(no_row, batch.column(side), None) for side in ("before", "after"))
        datums: list[bytes] = join(
            before.whole,
            after.whole,
            before.part,
            after.part,
            before.columns,
            after.columns,
            packed_members(batch, *texts),
        ).to_pylist()
        return datums

    def keys(self, keys: Rows, indexes: Sequence[int]) -> list[bytes | None]:
        """Keys as datums; None where one is not known whole (INV-10)."""
        names = set(self.table.primary_key)
        whole = [key if key and key.keys() == names else None for key in keys]
        return self._rows.keys(whole, indexes)

    def decode(self, records: Iterable[bytes], indexes: Sequence[int]) -> list[Read]:
        """The events of datums; a damaged, cut or overlong one is a DataError with its index."""
        members = [self._read(*pair) for pair in zip(records, indexes, strict=True)]
        images = (self._images(members, side, indexes) for side in ("before", "after"))
        return [Read(*each) for each in zip(members, *images, strict=True)]

    def _read(self, record: bytes, index: int) -> Member:
        stream = BytesIO(record)
        try:
            member: Member = fastavro.schemaless_reader(stream, self._writer, self._reader)
            extra = member["extra"]
            member["extra"] = None if extra is None else checked_text(extra)
        except _FAILURES as exc:
            raise bad_record(index, f"not a datum of {self.table.table}: {exc}") from exc
        if stream.tell() != len(record):
            raise bad_record(index, f"{len(record) - stream.tell()} bytes follow the datum")
        return member

    def _images(
        self, members: Sequence[Member], side: str, indexes: Sequence[int]
    ) -> list[str | None]:
        taken = Taken(
            [member[side] for member in members],
            [member[f"{side}_part"] for member in members],
            [member[f"{side}_columns"] for member in members],
        )
        rows = self._rows.read(taken, indexes)
        texts = [None if row is None else dumps(row) for row in rows]
        for place, member in enumerate(members):
            text = member[f"{side}_json"]
            if text is not None:
                texts[place] = _object(text, indexes[place])
        return texts


def to_batch(events: Sequence[Read]) -> EventBatch:
    """The events as a batch; what cannot stand in its column is a DataError with its index."""
    members = [event.member for event in events]
    befores = [event.before for event in events]
    batch = to_columns(members, befores, [event.after for event in events]).to_batch()
    check_ranges(batch, RANGES, bad_record)
    return put_extra(batch, [member["extra"] for member in members])


def _object(text: str, index: int) -> str:
    try:
        return dumps(loads_object(text.encode()))
    except ValueError as exc:
        raise bad_record(index, f"an image is not a JSON object: {exc}") from exc
