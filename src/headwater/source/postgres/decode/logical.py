"""The logical type of a PostgreSQL type: what the schema history keeps for typed readers."""

from __future__ import annotations

from headwater.event import Kind, LogicalType
from headwater.source.postgres.decode.types import Oid, PgType, TypeClass

_KINDS: dict[int, Kind] = {
    Oid.BOOL: Kind.BOOLEAN,
    Oid.BYTEA: Kind.BINARY,
    Oid.INT2: Kind.INT16,
    Oid.INT4: Kind.INT32,
    Oid.INT8: Kind.INT64,
    Oid.OID: Kind.INT64,  # unsigned, 32 bits: it does not fit int32
    Oid.FLOAT4: Kind.FLOAT32,
    Oid.FLOAT8: Kind.FLOAT64,
    Oid.DATE: Kind.DATE,
    Oid.TIME: Kind.TIME,
    Oid.TIMESTAMP: Kind.TIMESTAMP,
    Oid.TIMESTAMPTZ: Kind.TIMESTAMPTZ,
    Oid.INTERVAL: Kind.INTERVAL,
    Oid.UUID: Kind.UUID,
    Oid.JSON: Kind.JSON,
    Oid.JSONB: Kind.JSON,
}
_TYPMOD_HEADER = 4  # the server adds this to a type modifier so that 0 never means "none"


def logical_type(kind: PgType, typmod: int) -> LogicalType:
    """The logical type of a column of this type with this modifier (-1 is none)."""
    if kind.base is not None:
        return logical_type(kind.base, kind.base_typmod)
    if kind.type_class is TypeClass.ARRAY and kind.element is not None:
        # The modifier of numeric(10,2)[] is that of its elements.
        return LogicalType(Kind.ARRAY, element=logical_type(kind.element, typmod))
    if kind.oid == Oid.NUMERIC:
        return _decimal(typmod)
    return LogicalType(_KINDS.get(kind.oid, Kind.STRING))


def _decimal(typmod: int) -> LogicalType:
    if typmod < _TYPMOD_HEADER:
        return LogicalType(Kind.DECIMAL)
    packed = typmod - _TYPMOD_HEADER
    # The scale is a signed number of 11 bits: since version 15 it may be negative.
    scale = ((packed & 0x7FF) ^ 0x400) - 0x400
    return LogicalType(Kind.DECIMAL, precision=(packed >> 16) & 0xFFFF, scale=scale)
