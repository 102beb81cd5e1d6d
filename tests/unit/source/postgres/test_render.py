from __future__ import annotations

import json

import pyarrow as pa
import pytest

from headwater.errors import DataError
from headwater.source.postgres.decode.render import (
    join_available,
    join_rows,
    renderer,
    unavailable_lists,
)
from headwater.source.postgres.decode.types import Oid, PgType, TypeClass

TEXT = PgType(25, "text")


def array_of(element: PgType) -> PgType:
    return PgType(element.oid + 100_000, f"_{element.name}", TypeClass.ARRAY, element=element)


def render(kind: PgType, *texts: str | None) -> list[str | None]:
    raw = [None if text is None else text.encode() for text in texts]
    literals = renderer(kind)(pa.array(raw, pa.binary()))
    assert literals.type == pa.string()
    from_strings = renderer(kind)(pa.array(texts, pa.string()))
    assert from_strings.equals(literals)
    found: list[str | None] = literals.to_pylist()
    return found


@pytest.mark.parametrize(
    ("oid", "text", "literal"),
    [
        (Oid.INT2, "-32768", "-32768"),
        (Oid.INT4, "2147483647", "2147483647"),
        (Oid.INT8, "-9223372036854775808", "-9223372036854775808"),
        (Oid.OID, "4294967295", "4294967295"),
        (Oid.BOOL, "t", "true"),
        (Oid.BOOL, "f", "false"),
        (Oid.FLOAT8, "1.7976931348623157e+308", "1.7976931348623157e+308"),
        (Oid.FLOAT8, "-0", "-0.0"),
        (Oid.FLOAT4, "NaN", '"NaN"'),
        (Oid.FLOAT8, "Infinity", '"Infinity"'),
        (Oid.FLOAT8, "-Infinity", '"-Infinity"'),
        (Oid.NUMERIC, "12345678901234567890.10", '"12345678901234567890.10"'),
        (Oid.NUMERIC, "NaN", '"NaN"'),
        (790, "$1,000.00", '"$1,000.00"'),
        (Oid.BYTEA, "\\x", '""'),
        (Oid.BYTEA, "\\xde", '"3g=="'),
        (Oid.BYTEA, "\\xdead", '"3q0="'),
        (Oid.BYTEA, "\\xdeadbe", '"3q2+"'),
        (Oid.BYTEA, "\\xdeadbeef", '"3q2+7w=="'),
        (Oid.DATE, "2026-01-02", '"2026-01-02"'),
        (Oid.DATE, "10000-01-01", '"10000-01-01"'),
        (Oid.DATE, "0044-03-15 BC", '"0044-03-15 BC"'),
        (Oid.DATE, "-infinity", '"-infinity"'),
        (Oid.TIME, "03:04:05", '"03:04:05.000000"'),
        (Oid.TIME, "03:04:05.6", '"03:04:05.600000"'),
        (Oid.TIME, "24:00:00", '"24:00:00.000000"'),
        (Oid.TIMETZ, "03:04:05.6+00", '"03:04:05.600000+00"'),
        (Oid.TIMETZ, "03:04:05-05:30", '"03:04:05.000000-05:30"'),
        (Oid.TIMESTAMP, "2026-01-02 03:04:05", '"2026-01-02T03:04:05.000000"'),
        (Oid.TIMESTAMP, "2026-01-02 03:04:05.123456", '"2026-01-02T03:04:05.123456"'),
        (Oid.TIMESTAMP, "12026-01-02 03:04:05.1", '"12026-01-02 03:04:05.1"'),
        (Oid.TIMESTAMPTZ, "2026-01-02 03:04:05+00", '"2026-01-02T03:04:05.000000Z"'),
        (Oid.TIMESTAMPTZ, "2026-01-02 03:04:05.06+00", '"2026-01-02T03:04:05.060000Z"'),
        (Oid.TIMESTAMPTZ, "infinity", '"infinity"'),
        (Oid.TIMESTAMPTZ, "0044-03-15 00:00:00+00 BC", '"0044-03-15 00:00:00+00 BC"'),
        (Oid.TIMESTAMPTZ, "2026-01-02 03:04:05+05", '"2026-01-02 03:04:05+05"'),
        (Oid.INTERVAL, "P1DT2H", '"P1DT2H"'),
        (Oid.UUID, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", None),
        (Oid.JSON, '{"a": [1, "x\\n"]}', '{"a": [1, "x\\n"]}'),
        (Oid.JSON, '{\r\n\t"a":1\n}', '{   "a":1 }'),
        (Oid.JSONB, '"é"', '"é"'),
        (Oid.INT2VECTOR, "1 2", '"1 2"'),
        (3904, "[1,10)", '"[1,10)"'),
        (25, "", '""'),
        (25, 'a"b\\c/\b\f\n\r\t\x01\x1f\x7fé\u2028', None),
    ],
)
def test_renderer_gives_the_canonical_literal_when_text_is_of_its_type(
    oid: int, text: str, literal: str | None
) -> None:
    expected = json.dumps(text, ensure_ascii=False) if literal is None else literal
    # Between nulls and among others, or a fast path for a single value would be all that is seen.
    kind = PgType(oid, "any")
    assert render(kind, text) == [expected]
    assert render(kind, None, text, None, text) == [None, expected, None, expected]


def test_renderer_keeps_apart_values_when_layouts_are_mixed() -> None:
    texts = ["2026-01-02 03:04:05+00", "infinity", None, "2026-01-02 03:04:05.5+00"]
    assert render(PgType(Oid.TIMESTAMPTZ, "timestamptz"), *texts) == [
        '"2026-01-02T03:04:05.000000Z"',
        '"infinity"',
        None,
        '"2026-01-02T03:04:05.500000Z"',
    ]


@pytest.mark.parametrize(
    ("element", "text", "literal"),
    [
        (PgType(Oid.INT4, "int4"), "{1,-2,NULL}", "[1,-2,null]"),
        (PgType(Oid.INT4, "int4"), "{}", "[]"),
        (PgType(Oid.INT4, "int4"), "{{1,2},{3,NULL}}", "[[1,2],[3,null]]"),
        (PgType(Oid.INT4, "int4"), "[2:3]={1,2}", '"[2:3]={1,2}"'),
        (PgType(Oid.FLOAT8, "float8"), "{1e+20,NaN,NULL,-Infinity}", None),
        (PgType(Oid.BOOL, "bool"), "{t,f,NULL}", "[true,false,null]"),
        (PgType(Oid.NUMERIC, "numeric"), "{1.50,NULL}", '["1.50",null]'),
        (PgType(Oid.DATE, "date"), "{2026-01-02,infinity}", '["2026-01-02","infinity"]'),
        (
            PgType(Oid.TIMESTAMP, "timestamp"),
            '{"2026-01-02 03:04:05.5",NULL}',
            '["2026-01-02T03:04:05.500000",null]',
        ),
        (PgType(Oid.BYTEA, "bytea"), '{"\\\\xdead",NULL}', '["3q0=",null]'),
        (PgType(Oid.JSONB, "jsonb"), '{"{\\"a\\": 1}",null}', '[{"a": 1},null]'),
        (TEXT, "{a,b c,NULL}", '["a","b c",null]'),
        (TEXT, '{"NULL","","a,b","c\\"d\\\\e","{"}', '["NULL","","a,b","c\\"d\\\\e","{"]'),
        (TEXT, '{{"a b",é},{x,NULL}}', '[["a b","é"],["x",null]]'),
        (TEXT, '{"line\nbreak"}', '["line\\nbreak"]'),
        (PgType(603, "box", delimiter=";"), "{(1,1),(0,0);(3,3),(2,2)}", None),
    ],
)
def test_renderer_gives_json_arrays_when_type_is_an_array(
    element: PgType, text: str, literal: str | None
) -> None:
    special = {"float8": '[1e+20,"NaN",null,"-Infinity"]', "box": '["(1,1),(0,0)","(3,3),(2,2)"]'}
    expected = special[element.name] if literal is None else literal
    kind = array_of(element)
    assert render(kind, text) == [expected]
    assert render(kind, "{}", None, text) == ["[]", None, expected]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{1",
        "{1}}",
        "{a}{b}",
        '{"a"},{"b"}',
        "{{a}",
        "{{a}b}",
        "{,}",
        "{a,}",
        '{"a}',
        "{a\\",
        '{""x}',
    ],
)
def test_renderer_refuses_an_array_when_its_braces_do_not_match(text: str) -> None:
    with pytest.raises(DataError) as caught:
        render(array_of(TEXT), text)
    assert caught.value.code == "event-invalid"


def test_renderer_follows_the_base_type_when_type_is_a_domain() -> None:
    domain = PgType(90_000, "amount", TypeClass.DOMAIN, base=PgType(Oid.INT4, "int4"))
    over_domain = PgType(90_001, "price", TypeClass.DOMAIN, base=domain)
    assert render(over_domain, "5") == ["5"]
    assert render(array_of(over_domain), "{5,6}") == ["[5,6]"]


def test_renderer_keeps_the_text_when_a_users_type_has_a_built_in_name() -> None:
    assert render(PgType(90_002, "int4", TypeClass.ENUM), "red") == ['"red"']


def test_renderer_keeps_the_text_when_an_array_type_prints_no_braces() -> None:
    vector = PgType(Oid.INT2VECTOR, "int2vector", TypeClass.ARRAY, element=PgType(Oid.INT2, "int2"))
    assert render(vector, "1 2") == ['"1 2"']
    assert render(vector, "5") == ['"5"']


def test_renderer_refuses_bytes_when_two_values_lack_half_a_byte_each() -> None:
    with pytest.raises(DataError):
        render(PgType(Oid.BYTEA, "bytea"), "\\xa", "\\xb")


@pytest.mark.parametrize(
    ("oid", "text"),
    [
        (Oid.INT4, "secret"),
        (Oid.INT4, ""),
        (Oid.FLOAT8, "secret"),
        (Oid.BOOL, "secret"),
        (Oid.BYTEA, "secret"),
        (Oid.BYTEA, "\\xsecret"),
        (Oid.BYTEA, "\\xabc"),
        (25, "secret\xff"),
        (Oid.JSONB, "secret\xff"),
    ],
)
def test_renderer_refuses_without_showing_the_value_when_text_is_not_of_its_type(
    oid: int, text: str
) -> None:
    with pytest.raises(DataError) as caught:
        renderer(PgType(oid, "any"))(pa.array([text.encode("latin-1")], pa.binary()))
    assert caught.value.code == "event-invalid"
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "kind",
    [PgType(oid, oid.name) for oid in Oid] + [TEXT, array_of(TEXT), array_of(PgType(23, "int4"))],
    ids=lambda kind: kind.name,
)
def test_renderer_keeps_nulls_and_emptiness_when_there_are_no_values(kind: PgType) -> None:
    assert render(kind) == []
    assert render(kind, None, None) == [None, None]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (TEXT, 'a"b'),
        (PgType(Oid.BYTEA, "bytea"), "\\xdead"),
        (PgType(Oid.JSON, "json"), "[\n1]"),
        (PgType(Oid.FLOAT8, "float8"), "NaN"),
        (PgType(Oid.TIMESTAMPTZ, "timestamptz"), "2026-01-02 03:04:05.5+00"),
        (PgType(Oid.TIMETZ, "timetz"), "03:04:05+01"),
        (array_of(PgType(Oid.INT4, "int4")), "{1,2}"),
        (array_of(TEXT), '{"a b",c}'),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_renderer_sees_only_the_slice_when_given_one(kind: PgType, text: str) -> None:
    whole = pa.array(["\x02?!", None, text, None, text, "\x02?!"], pa.string())
    alone = renderer(kind)(pa.array([None, text, None, text], pa.string()))
    assert renderer(kind)(whole.slice(1, 4)).equals(alone)


def test_join_rows_writes_compact_objects_in_column_order() -> None:
    columns = [pa.array(["1", None]), pa.array(['"x"', "[2]"])]
    assert join_rows(['b"', "ä"], columns).to_pylist() == [
        '{"b\\"":1,"ä":"x"}',
        '{"b\\"":null,"ä":[2]}',
    ]


def test_join_available_leaves_out_columns_where_they_are_absent() -> None:
    columns = [pa.array(["1", None, "3"]), pa.array([None, None, "5"])]
    absent = [pa.array([False, False, True]), pa.array([True, False, True])]
    flags = [column.to_numpy(zero_copy_only=False) for column in absent]
    assert join_available(["a", "b"], columns, flags).to_pylist() == [
        '{"a":1}',
        '{"a":null,"b":null}',
        "{}",
    ]
    assert unavailable_lists(["a", "b"], flags).to_pylist() == [["b"], None, ["a", "b"]]
