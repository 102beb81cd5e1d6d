"""One table in Avro: its schemas, and its events as datums."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import Any

from headwater.event import EventBatch, Operation, TableSchema
from headwater.format.columns import bad_record, check_ranges, unwritable
from headwater.format.jsontext import dumps, loads_object
from headwater.format.library import missing_extra
from headwater.format.rows import event_keys, parsed
from headwater.format.stash import checked_text, put_extra
from headwater.format.typed.envelope import RANGES, Member, to_columns, to_members
from headwater.format.typed.rows import Row, RowForm, Written
from headwater.format.typed.schema import bare, namespace, typed_schemas

try:
    import fastavro
except ModuleNotFoundError as exc:
    raise missing_extra("avro", exc) from exc

# What fastavro raises for values or bytes that are no datum of the schema.
_FAILURES = (
    *(ValueError, TypeError, LookupError, EOFError, ArithmeticError, MemoryError),
    *(AttributeError, RecursionError, fastavro.read.SchemaResolutionError),
)
_SIDES = ("before", "after")


class TableForm:
    """Events of one version of a table. `writer` is the schema that datums to read were made by."""

    def __init__(self, table: TableSchema, writer: Any = None) -> None:
        self.table = table
        self.schemas = typed_schemas(table)
        self._rows = RowForm(table)
        space = namespace(table.table)
        self._branches = {"": f"{space}.Row", "_part": f"{space}.Part"}
        self._event = fastavro.parse_schema(bare(self.schemas.event))
        self._key = fastavro.parse_schema(bare(self.schemas.key))
        # Resolution costs time, so it is only asked for where the schemas differ.
        same = writer is None or writer == self.schemas.event
        self._writer = self._event if same else fastavro.parse_schema(bare(writer))
        self._reader = None if same else self._event

    def encode(self, batch: EventBatch, indexes: Sequence[int]) -> list[bytes]:
        """One datum per event; `indexes` are their places among the records, for errors."""
        check_ranges(batch, RANGES)
        members = to_members(batch)
        ddl = [op == Operation.SCHEMA_CHANGE for op in batch.column("op").to_pylist()]
        for side in _SIDES:
            rows = parsed(batch.column(side))
            typed = [None if apart else row for row, apart in zip(rows, ddl, strict=True)]
            written = self._rows.write(typed, indexes)
            for place, member in enumerate(members):
                image = rows[place]
                member[f"{side}_json"] = dumps(image) if ddl[place] and image is not None else None
                member[f"{side}_columns"] = written.columns[place]
                for suffix, found in (("", written.whole), ("_part", written.part)):
                    row = found[place]
                    member[side + suffix] = row if row is None else (self._branches[suffix], row)
        return [_write(self._event, *pair) for pair in zip(members, indexes, strict=True)]

    def keys(self, batch: EventBatch, indexes: Sequence[int]) -> list[bytes | None]:
        """The key of each event as a datum; None where it is not known whole (INV-10)."""
        whole = set(self.table.primary_key)
        found = [
            key if key is not None and key.keys() == whole else None for key in event_keys(batch)
        ]
        return [
            None if key is None else _write(self._key, key, index)
            for key, index in zip(self._rows.keys(found, indexes), indexes, strict=True)
        ]

    def decode(self, records: Iterable[bytes], indexes: Sequence[int]) -> EventBatch:
        """The events of datums; a damaged, cut or overlong one is a DataError with its index."""
        members = [self._read(*pair) for pair in zip(records, indexes, strict=True)]
        befores, afters = (self._images(members, side, indexes) for side in _SIDES)
        batch = to_columns(members, befores, afters).to_batch()
        check_ranges(batch, RANGES, bad_record)
        return put_extra(batch, [member["extra"] for member in members])

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
        written = Written(
            [member[side] for member in members],
            [member[f"{side}_part"] for member in members],
            [member[f"{side}_columns"] for member in members],
        )
        rows = self._rows.read(written, indexes)
        texts = [None if row is None else dumps(row) for row in rows]
        for place, member in enumerate(members):
            text = member[f"{side}_json"]
            if text is not None:
                texts[place] = _object(text, indexes[place])
        return texts


def _write(schema: Any, datum: Row, index: int) -> bytes:
    out = BytesIO()
    try:
        fastavro.schemaless_writer(out, schema, datum)
    except _FAILURES as exc:
        raise unwritable(index, f"does not fit the table's schema: {exc}") from exc
    return out.getvalue()


def _object(text: str, index: int) -> str:
    try:
        return dumps(loads_object(text.encode()))
    except ValueError as exc:
        raise bad_record(index, f"an image is not a JSON object: {exc}") from exc
