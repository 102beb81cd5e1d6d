"""`headwater-avro-typed`: the envelope in Avro, with rows of each table's own record.

The tables' schemas come from a log's schema history: by the event's `schema_id`, and for an event
that came from elsewhere, the newest of its table's name. A record begins with eight bytes, the
schema's id in that history, so that it is read by the schema it was written with. In front of a
schema registry the registry's own id stands there instead (`headwater.format.registry`).

Of a schema change and of a logical message the images are no rows of a table: they stay JSON, under
a schema without columns, id 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headwater.contract import Message, SchemaHistory
from headwater.errors import ConfigError, DataError
from headwater.event import EventBatch, Operation, TableId
from headwater.format.columns import bad_record, check_names, check_ranges
from headwater.format.grouped import groups, taken
from headwater.format.rows import event_keys, parsed
from headwater.format.typed.envelope import RANGES
from headwater.format.typed.schema import NO_TABLE
from headwater.format.typed.table import Read, TableForm, to_batch

_ID_BYTES = 8
_NO_TABLE = (Operation.SCHEMA_CHANGE, Operation.MESSAGE)


class TypedAvroFormat:
    """Reads and writes datums of the tables that `history` knows."""

    def __init__(self, history: SchemaHistory | None = None) -> None:
        self._history = history
        self._forms: dict[int, TableForm] = {0: TableForm(NO_TABLE)}
        self._newest: dict[TableId, int] = {}

    @property
    def name(self) -> str:
        """`headwater-avro-typed`."""
        return "headwater-avro-typed"

    @property
    def content_type(self) -> str:
        """The media type of one record."""
        return "avro/binary"

    def with_schemas(self, history: SchemaHistory) -> TypedAvroFormat:
        """The same format with the tables of this history."""
        return TypedAvroFormat(history)

    def encode(self, batch: EventBatch) -> Sequence[bytes]:
        """One record per event; a value that its column's type cannot hold is refused."""
        ids = self.ids(batch)
        heads = {number: number.to_bytes(_ID_BYTES, "big") for number in set(ids)}
        datums = self.datums(batch, ids)
        return [heads[number] + datum for number, datum in zip(ids, datums, strict=True)]

    def decode(self, records: Iterable[bytes]) -> EventBatch:
        """The events; a record of a table that the history does not know is a DataError."""
        records = list(records)
        ids = [self._id_of(index, record) for index, record in enumerate(records)]
        found: dict[int, Read] = {}
        for number, places in groups(ids).items():
            datums = (records[place][_ID_BYTES:] for place in places)
            found |= zip(places, self.form(number).decode(datums, places), strict=True)
        return to_batch([found[place] for place in range(len(records))])

    def messages(self, batch: EventBatch) -> list[Message]:
        """Each event beside its key, a datum of the table's record of its key."""
        return list(map(Message, self.keys(batch, self.ids(batch)), self.encode(batch)))

    def read_messages(self, messages: Iterable[Message]) -> EventBatch:
        """The events of messages; one without a value says nothing new."""
        return self.decode(m.value for m in messages if m.value is not None)

    def datums(self, batch: EventBatch, ids: Sequence[int]) -> list[bytes]:
        """The bare datum of each event, under the schemas of these ids."""
        check_ranges(batch, RANGES)
        check_names(batch)
        befores, afters = (parsed(batch.column(side)) for side in ("before", "after"))
        found: dict[int, bytes] = {}
        for number, places in groups(ids).items():
            images = [befores[place] for place in places], [afters[place] for place in places]
            datums = self.form(number).encode(taken(batch, places), images, places)
            found |= zip(places, datums, strict=True)
        return [found[place] for place in range(len(batch))]

    def keys(self, batch: EventBatch, ids: Sequence[int]) -> list[bytes | None]:
        """The bare datum of each event's key; None where there is none."""
        keys = event_keys(batch)
        found: dict[int, bytes | None] = {}
        for number, places in groups(ids).items():
            written = self.form(number).keys([keys[place] for place in places], places)
            found |= zip(places, written, strict=True)
        return [found[place] for place in range(len(batch))]

    def form(self, number: int) -> TableForm:
        """The form of the table version with this id, which `ids` gave."""
        return self._forms[number]

    def ids(self, batch: EventBatch) -> list[int]:
        """The schema's id for each event: its own, or the newest of its table's name."""
        names = ("op", "schema_id", "table_schema", "table_name")
        rows = list(zip(*(batch.column(name).to_pylist() for name in names), strict=True))
        known = {row: self._find(*row) for row in dict.fromkeys(rows)}
        for index, row in enumerate(rows):
            if known[row] is None:
                raise DataError(
                    "format-no-table-schema",
                    f"the schema history does not know the table {TableId(row[2], row[3])}",
                    where=f"record {index}",
                )
        return [known[row] or 0 for row in rows]

    def _find(self, op: int, schema_id: int, schema: str | None, name: str) -> int | None:
        if op in _NO_TABLE:
            return 0
        table = TableId(schema, name)
        if self._has(schema_id):
            return schema_id
        if table not in self._newest:
            self._load()
        return self._newest.get(table, 0 if op == Operation.TRUNCATE else None)

    def _id_of(self, index: int, record: bytes) -> int:
        if len(record) <= _ID_BYTES:
            raise bad_record(index, "shorter than a schema's id")
        number = int.from_bytes(record[:_ID_BYTES], "big")
        if number and not self._has(number):
            raise bad_record(index, f"the schema history has no schema {number}")
        return number

    def _has(self, number: int) -> bool:
        """Whether the history knows the id; it may have grown since it was last asked."""
        if number and number not in self._forms:
            self._load()
        return number != 0 and number in self._forms

    def _load(self) -> None:
        if self._history is None:
            raise ConfigError(
                "format-needs-schemas", f"{self.name} needs the schemas of the tables"
            )
        for _, table in self._history.schemas():
            number = table.schema_id
            self._newest[table.table] = number
            if number not in self._forms:
                self._forms[number] = TableForm(table)
