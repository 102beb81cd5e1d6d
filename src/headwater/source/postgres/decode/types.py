"""PostgreSQL's types as the catalog describes them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class TypeClass(StrEnum):
    """pg_type.typtype, with arrays told apart from other base types."""

    BASE = "b"
    ARRAY = "a"
    COMPOSITE = "c"
    DOMAIN = "d"
    ENUM = "e"
    PSEUDO = "p"
    RANGE = "r"
    MULTIRANGE = "m"


@dataclass(frozen=True, slots=True)
class PgType:
    """One type. `element` is an array's element type, `base` a domain's base type.

    `base_typmod` is the modifier that a domain gives its base type; -1 is none.
    """

    oid: int
    name: str
    type_class: TypeClass = TypeClass.BASE
    element: PgType | None = None
    base: PgType | None = None
    base_typmod: int = -1
    delimiter: str = ","


class Oid(IntEnum):
    """The built-in types that have a form of their own.

    The server never renumbers these, and a user's type of the same name has another number.
    """

    BOOL = 16
    BYTEA = 17
    INT8 = 20
    INT2 = 21
    INT2VECTOR = 22
    INT4 = 23
    OID = 26
    OIDVECTOR = 30
    JSON = 114
    FLOAT4 = 700
    FLOAT8 = 701
    DATE = 1082
    TIME = 1083
    TIMESTAMP = 1114
    TIMESTAMPTZ = 1184
    INTERVAL = 1186
    TIMETZ = 1266
    NUMERIC = 1700
    UUID = 2950
    JSONB = 3802
