from __future__ import annotations

import pytest

from headwater.source.postgres.decode.logical import logical_type
from headwater.source.postgres.decode.types import Oid, PgType, TypeClass

NUMERIC = PgType(Oid.NUMERIC, "numeric")


def typmod(precision: int, scale: int) -> int:
    return ((precision << 16) | (scale & 0x7FF)) + 4


@pytest.mark.parametrize(
    ("oid", "expected"),
    [
        (Oid.BOOL, "boolean"),
        (Oid.INT2, "int16"),
        (Oid.INT4, "int32"),
        (Oid.INT8, "int64"),
        (Oid.OID, "int64"),
        (Oid.FLOAT4, "float32"),
        (Oid.FLOAT8, "float64"),
        (Oid.NUMERIC, "decimal"),
        (Oid.BYTEA, "binary"),
        (Oid.DATE, "date"),
        (Oid.TIME, "time"),
        (Oid.TIMETZ, "string"),
        (Oid.TIMESTAMP, "timestamp"),
        (Oid.TIMESTAMPTZ, "timestamptz"),
        (Oid.INTERVAL, "interval"),
        (Oid.UUID, "uuid"),
        (Oid.JSON, "json"),
        (Oid.JSONB, "json"),
        (25, "string"),
        (790, "string"),
        (3904, "string"),
    ],
)
def test_logical_type_follows_the_types_number(oid: int, expected: str) -> None:
    assert str(logical_type(PgType(oid, "any"), -1)) == expected


@pytest.mark.parametrize(("precision", "scale"), [(10, 2), (1000, 1000), (5, -3), (38, 0)])
def test_logical_type_reads_precision_and_scale_when_numeric_has_a_modifier(
    precision: int, scale: int
) -> None:
    found = logical_type(NUMERIC, typmod(precision, scale))
    assert (found.precision, found.scale) == (precision, scale)


def test_logical_type_gives_elements_the_modifier_when_type_is_an_array() -> None:
    array = PgType(1231, "_numeric", TypeClass.ARRAY, element=NUMERIC)
    assert str(logical_type(array, typmod(10, 2))) == "array<decimal(10,2)>"


def test_logical_type_takes_the_domains_own_modifier_when_type_is_a_domain() -> None:
    inner = PgType(90_000, "m", TypeClass.DOMAIN, base=NUMERIC, base_typmod=typmod(8, 4))
    outer = PgType(90_001, "n", TypeClass.DOMAIN, base=inner)
    assert str(logical_type(outer, -1)) == "decimal(8,4)"
