"""`headwater-json`: the envelope as one JSON object per event.

Members stand in the envelope's order, nulls are written, and the two lists of unavailable columns
are left out when empty: byte for byte what the envelope's first producer writes, row images aside.
Those keep their column order unless `sort_row_keys` asks for that producer's sorted maps. Members
that the envelope does not know are kept in the event's `extra`; what other formats said stands in a
member of its own, `headwater_extra`, which the envelope's other readers skip.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from headwater.contract import Message
from headwater.event import ENVELOPE_VERSION, EventBatch
from headwater.format.columns import bad_record, check_ranges
from headwater.format.headwater.image import images_of
from headwater.format.headwater.json_reader import AFTER, BEFORE, split, to_columns
from headwater.format.headwater.key import json_keys
from headwater.format.jsontext import check_size, loads_object
from headwater.format.stash import Site, dress, with_extra
from headwater.format.text import (
    boolean,
    join,
    operation,
    optional,
    quoted,
    snapshot,
    string_list,
    transaction,
)

FAMILY = "headwater"
SITE = Site(("headwater_extra",))


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonFormat:
    """Reads and writes the JSON envelope; each record is one line."""

    sort_row_keys: bool = False

    @property
    def name(self) -> str:
        """`headwater-json`."""
        return "headwater-json"

    @property
    def content_type(self) -> str:
        """The media type of one record."""
        return "application/json"

    def encode(self, batch: EventBatch) -> Sequence[bytes]:
        """One line of UTF-8 per event, composed column by column."""
        return dress(FAMILY, SITE, self.natural(batch), batch)

    def natural(self, batch: EventBatch) -> pa.Array:
        """The records as text, without what other formats said."""
        check_ranges(batch, {})
        before, after = images_of(batch, sort_row_keys=self.sort_row_keys)
        column = batch.column
        return join(
            BEFORE, before,
            AFTER, after,
            ',"op":', operation(column("op")),
            ',"source":{"source_name":', quoted(column("source_name")),
            ',"offset":', quoted(column("offset")),
            ',"timestamp":', column("source_ts_ms"),
            '},"ts":', column("ts_ms"),
            ',"schema":', quoted(column("table_schema")),
            ',"table":', quoted(column("table_name")),
            ',"primary_key":', string_list(column("primary_key")),
            ',"snapshot":', snapshot(column("snapshot")),
            ',"transaction":', transaction(column("transaction")),
            f',"envelope_version":{ENVELOPE_VERSION},"before_is_key_only":',
            boolean(column("before_is_key_only")),
            optional("unavailable_columns", column("unavailable_columns")),
            optional("before_unavailable_columns", column("before_unavailable_columns")),
            "}",
        )  # fmt: skip

    def decode(self, records: Iterable[bytes]) -> EventBatch:
        """The events; a record that is no envelope of version 1 is a DataError with its index."""
        befores, afters, rows, said = [], [], [], []
        records = list(records)
        for index, record in enumerate(records):
            try:
                check_size(record)
                before, after, row = split(str(record, "utf-8"))
                said.append(SITE.take(row))
            except ValueError as exc:
                raise bad_record(index, f"not an envelope in JSON: {exc}") from exc
            befores.append(before)
            afters.append(after)
            rows.append(row)
        batch = to_columns(befores, afters, rows).to_batch()
        natural = self.natural(batch).cast(pa.large_binary()).to_pylist()
        return with_extra(FAMILY, batch, natural, records, said, partial(_members, records))

    def messages(self, batch: EventBatch) -> list[Message]:
        """Each event beside its key."""
        return list(map(Message, json_keys(batch), self.encode(batch)))

    def read_messages(self, messages: Iterable[Message]) -> EventBatch:
        """The events of messages; one without a value says nothing new."""
        return self.decode(m.value for m in messages if m.value is not None)


def _members(records: Sequence[bytes], index: int) -> dict[str, Any]:
    try:
        members = loads_object(records[index])
        SITE.take(members)
    except ValueError as exc:
        raise bad_record(index, f"not an envelope in JSON: {exc}") from exc
    return members
