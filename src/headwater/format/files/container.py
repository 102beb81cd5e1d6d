"""Avro object container files of the envelope: each brings the schema that its datums have.

The datums have one more field than the bare envelope, `headwater_extra`, for what other formats
said of an event. It has a default, so readers that know only the envelope leave it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO

import pyarrow as pa

from headwater.errors import DataError
from headwater.event import EVENT_SCHEMA, EventBatch
from headwater.format.files.blocks import Block, Header, read_blocks, read_header
from headwater.format.files.carrier import (
    KEPT_BYTES,
    Broken,
    Framed,
    Piece,
    Reading,
    Writing,
    too_long,
)
from headwater.format.files.varint import long
from headwater.format.files.window import Window
from headwater.format.headwater.avro import AvroFormat
from headwater.format.headwater.avro_schema import EVENT_WITH_MESSAGES
from headwater.format.library import missing_extra

try:
    import fastavro
except ModuleNotFoundError as exc:
    raise missing_extra("avro", exc) from exc

EXTRA_FIELD = {"name": "headwater_extra", "type": ["null", "string"], "default": None}
CONTAINED = {**EVENT_WITH_MESSAGES, "fields": [*EVENT_WITH_MESSAGES["fields"], EXTRA_FIELD]}

_NULL, _STRING = b"\x00", b"\x02"  # the branches of the extra field's union
_BLOCK_BYTES = 64 << 10
_EXTRA = EVENT_SCHEMA.get_field_index("extra")

# What fastavro raises for bytes that are no datum of the schema.
_FAILURES = (
    ValueError,
    TypeError,
    LookupError,
    EOFError,
    ArithmeticError,
    MemoryError,
    AttributeError,
    RecursionError,
)


@dataclass(frozen=True, slots=True)
class Container:
    """An Avro object container file."""

    @property
    def unit(self) -> str:
        """Records are counted, across blocks."""
        return "record"

    def read(self, stream: BinaryIO, max_bytes: int) -> Reading:
        """The datums of the stream, in the schema that its header names."""
        window = Window(stream)
        header = read_header(window)
        has_extra = _has_extra(header.schema)
        schema = _without_extra(header.schema) if has_extra else header.schema
        record_format = AvroFormat(writer_schema=schema)
        blocks = read_blocks(window, header)
        split = _Splitter(fastavro.parse_schema(schema), has_extra=has_extra)
        return Reading(record_format, _pieces(blocks, split, max_bytes))

    def write(self, stream: BinaryIO) -> Writing:
        """Blocks of about 64 KiB; the header stands there at once, so no file is empty."""
        header = Header(CONTAINED)
        stream.write(header.encode())

        def put(records: Sequence[bytes]) -> None:
            stream.writelines(
                header.block(len(group), b"".join(group)) for group in _groups(records)
            )

        return Writing(ContainedAvro(), put)


@dataclass(frozen=True, slots=True)
class ContainedAvro:
    """Datums of CONTAINED. Implements contract.Format, for writing."""

    @property
    def name(self) -> str:
        """`headwater-avro`."""
        return "headwater-avro"

    @property
    def content_type(self) -> str:
        """The media type of one record."""
        return "avro/binary"

    def encode(self, batch: EventBatch) -> list[bytes]:
        """One datum per event, with its extra as the last field."""
        nothing = pa.nulls(len(batch), pa.string())
        plain = batch.records.set_column(_EXTRA, EVENT_SCHEMA.field(_EXTRA), nothing)
        bare = AvroFormat().encode(EventBatch(plain))
        extras = batch.column("extra").to_pylist()
        return [datum + _extra(text) for datum, text in zip(bare, extras, strict=True)]

    def decode(self, records: Iterable[bytes]) -> EventBatch:
        """The events of such datums."""
        split = _Splitter(fastavro.parse_schema(EVENT_WITH_MESSAGES), has_extra=True)
        return AvroFormat().decode(bare for record in records for bare in split(record, 1))


class _Splitter:
    """Cuts a block into datums as `headwater-avro` has them: the extra follows as a bare string."""

    def __init__(self, schema: Any, *, has_extra: bool) -> None:
        self._schema = schema
        self._has_extra = has_extra

    def __call__(self, data: bytes, count: int) -> Iterator[bytes]:
        if count > len(data):  # a datum of the envelope has a byte at least
            raise DataError("avro-block", f"{count:,} datums cannot stand in {len(data):,} bytes")
        stream = BytesIO(data)
        for _ in range(count):
            start = stream.tell()
            try:
                fastavro.schemaless_reader(stream, self._schema)
                end = stream.tell()
                text = self._extra_start(stream) if self._has_extra else end
            except _FAILURES as exc:
                raise DataError("avro-block", f"a datum cannot be read: {exc}") from exc
            yield data[start:end] + data[text : stream.tell()]
        if stream.tell() != len(data):
            raise DataError("avro-block", f"{len(data) - stream.tell()} bytes follow the datums")

    def _extra_start(self, stream: BytesIO) -> int:
        """Where the extra's string begins; the stream stands behind it afterwards."""
        branch, start = stream.read(1), stream.tell()
        if branch == _STRING:
            fastavro.schemaless_reader(stream, "string")
        elif branch != _NULL:
            raise ValueError("headwater_extra is neither null nor a string")
        return start


def _pieces(blocks: Iterator[Block], split: _Splitter, max_bytes: int) -> Iterator[Piece]:
    number = 0
    for block in blocks:
        error = block.error
        try:
            for datum in split(block.data, block.count) if error is None else ():
                number += 1
                if len(datum) > max_bytes:
                    fault = too_long(f"{len(datum):,} bytes", max_bytes)
                    yield Broken(number, block.offset, datum[:KEPT_BYTES], fault)
                else:
                    yield Framed(number, block.offset, datum)
        except DataError as exc:
            error = exc
        if error is not None:
            number += 1
            told = DataError(error.code, f"block {block.number}: {error.message}")
            yield Broken(number, block.offset, block.data[:KEPT_BYTES], told)


def _has_extra(schema: Any) -> bool:
    fields = schema.get("fields") if type(schema) is dict else None
    return type(fields) is list and fields[-1:] == [EXTRA_FIELD]


def _without_extra(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "fields": schema["fields"][:-1]}


def _extra(text: str | None) -> bytes:
    if text is None:
        return _NULL
    data = text.encode()
    return _STRING + long(len(data)) + data


def _groups(records: Sequence[bytes]) -> Iterator[list[bytes]]:
    group: list[bytes] = []
    size = 0
    for record in records:
        group.append(record)
        size += len(record)
        if size >= _BLOCK_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group
