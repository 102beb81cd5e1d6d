"""Images of any shape of a table, read as rows of the table: under its names, in its types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headwater.event import Column, Kind, LogicalType
from headwater.event.verbatim import is_verbatim
from headwater.spark.change.columns import image_ddl
from headwater.spark.change.kinds import TEXT, JsonAs, casts, stored_type, widens
from headwater.spark.change.tagged import bytes_of, has_tag
from headwater.spark.change.verbatim import kept_texts
from headwater.spark.sql import quoted

# By schema id: the shape's own form of each column of the table that it tells of.
Readings = Mapping[int, Mapping[str, Column]]


# An era in a text. Spark takes what follows a date for the time of day, and throws it away.
_ERA = r"(?i)b\.?c"
_OPTIONS = {
    # Any number of digits for the year, and nothing behind the day: not every text is a date.
    "dateFormat": "y-MM-dd",
    # A column of Spark's own name for it would be taken for the place of what cannot be parsed.
    "columnNameOfCorruptRecord": "_headwater_unparsed",
}


@dataclass(frozen=True, slots=True)
class How:
    """How values are read: a wrong one fails the query or is NULL; JSON is a text or a VARIANT.

    If it is `tagged`, images may have text among their bytes.
    """

    forgiving: bool = False
    json_as: JsonAs = "string"
    tagged: bool = False

    @property
    def options(self) -> dict[str, str]:
        """The same for from_json."""
        return {"mode": "PERMISSIVE" if self.forgiving else "FAILFAST", **_OPTIONS}

    def cuts(self, told: Column, column: Column) -> bool:
        """Whether the value's own text is what is wanted of it."""
        as_variant = self.json_as == "variant" and is_verbatim(column.type)
        return is_verbatim(told.type) and not as_variant

    def ways(self, columns: Sequence[Column]) -> tuple[How, ...]:
        """This one, and that of the images which may have text among their bytes."""
        has_bytes = any(each.type.kind is Kind.BINARY for each in columns)
        return (self, replace(self, tagged=True)) if has_bytes else (self,)


_STRICTLY = How()


def with_image(
    rows: DataFrame,
    name: str,
    image: str,
    columns: Sequence[Column],
    readings: Readings,
    how: How = _STRICTLY,
) -> DataFrame:
    """The rows with a JSON image parsed: a structure of the table's columns."""
    others = {
        schema_id: reading
        for schema_id, reading in readings.items()
        if not is_plain(columns, reading)
    }
    ways = how.ways(columns)
    if not others and len(ways) == 1 and not any(how.cuts(each, each) for each in columns):
        whole = f.from_json(image, image_ddl(columns, how.json_as), how.options)
        return rows.withColumn(name, whole)
    tagged = f"{name}_tagged"
    if len(ways) > 1:
        rows = rows.withColumn(tagged, has_tag(f.col(image)))
    shapes: dict[int | None, Mapping[str, Column]] = {None: {each.name: each for each in columns}}
    staged: dict[str, SparkColumn] = {}
    told: list[SparkColumn] = []
    for place, ((schema_id, reading), way) in enumerate(product((shapes | others).items(), ways)):
        ours = f.col(image).isNotNull() & _of_shape(schema_id, others)
        if len(ways) > 1:
            ours &= f.col(tagged) == f.lit(way.tagged)
        parsed = f"{name}_{place}"
        # Parsed in a step of its own: an expression over many fields would parse once for each.
        staged |= _parsed(f.when(ours, f.col(image)), parsed, columns, reading, way)
        told.append(f.when(ours, _told(columns, reading, parsed, way)))
    return rows.withColumns(staged).withColumn(name, f.coalesce(*told)).drop(*staged, tagged)


def _told(
    columns: Sequence[Column], reading: Mapping[str, Column], parsed: str, how: How
) -> SparkColumn:
    """What was parsed of an image as the table's columns."""
    if not how.tagged and is_plain(columns, reading) and not any(how.cuts(c, c) for c in columns):
        return f.col(parsed)
    values = (_converted(each, reading, parsed, how).alias(each.name) for each in columns)
    return f.struct(*values)


def _of_shape(schema_id: int | None, others: Iterable[int]) -> SparkColumn:
    """Whether an event has that shape; None is for every one that is told as the table is."""
    if schema_id is not None:
        return f.col("schema_id") == schema_id
    known = [*others]
    return ~f.col("schema_id").isin(*known) if known else f.lit(True)  # noqa: FBT003 - Spark's own


def _parsed(
    image: SparkColumn,
    name: str,
    columns: Sequence[Column],
    reading: Mapping[str, Column],
    how: How,
) -> dict[str, SparkColumn]:
    """What is read of an image, by the name that `_converted` looks for it under."""
    pairs = [(reading[each.name], each) for each in columns if each.name in reading]
    fields = [
        f"{quoted(told.name)} {_raw_type(told, each, how)}"
        for told, each in pairs
        if not how.cuts(told, each)
    ]
    parsed = {name: f.from_json(image, ", ".join(fields) or "`_` string", how.options)}
    kept = {told.name: _cut_as(told, each) for told, each in pairs if how.cuts(told, each)}
    if kept:
        parsed[_kept_name(name)] = kept_texts(image, kept, forgiving=how.forgiving)
    return parsed


def _cut_as(told: Column, column: Column) -> LogicalType:
    """A list that becomes a text is one text."""
    whole = told.type.kind is Kind.ARRAY and stored_type(column.type) == TEXT
    return LogicalType(Kind.JSON) if whole else told.type


def _kept_name(parsed: str) -> str:
    return f"{parsed}_kept"


def with_forgiven_image(
    rows: DataFrame,
    name: str,
    image: str,
    columns: Sequence[Column],
    key: Sequence[str],
    readings: Readings,
) -> DataFrame:
    """The same, with NULL for a value that is not of its type; a key must be (INV-10)."""
    keys, strict = [each for each in columns if each.name in key], f"{name}_key"
    # Without it a wrong value would take the others of its row with it.
    rows.sparkSession.conf.set("spark.sql.json.enablePartialResults", "true")
    parsed = with_image(rows, name, image, columns, readings, How(forgiving=True))
    if not keys:
        return parsed
    both = with_image(parsed, strict, image, keys, readings)
    row = f.struct(
        *(
            f.col(f"{strict if each in keys else name}.{quoted(each.name)}").alias(each.name)
            for each in columns
        )
    )
    return both.withColumn(name, f.when(f.col(image).isNotNull(), row)).drop(strict)


def in_table_names(names: SparkColumn, reading: Mapping[str, Column]) -> SparkColumn:
    """Names of the shape's columns as the names that the table has for them."""
    other = {column.name: name for name, column in reading.items() if column.name != name}
    if not other:
        return names
    known = f.create_map(*(f.lit(each) for pair in other.items() for each in pair))
    return f.transform(names, lambda name: f.coalesce(known[name], name))


def is_plain(columns: Sequence[Column], reading: Mapping[str, Column]) -> bool:
    """Whether the shape's images can be read as the table's columns just as they are.

    Not where it lacks one: a column of that name in the image would be another one.
    """
    return all(
        (told := reading.get(each.name)) is not None
        and told.name == each.name
        and _read_as(told.type) == _read_as(each.type)
        for each in columns
    )


def _read_as(logical: LogicalType) -> str:
    return str(logical) if is_verbatim(logical) else stored_type(logical)


def _raw_type(told: Column, column: Column, how: How) -> str:
    """The type to parse an image's value as: the table's, if that takes everything."""
    if how.tagged and told.type.kind is column.type.kind is Kind.BINARY:
        return "variant"
    wanted = stored_type(column.type, how.json_as)
    return wanted if wanted in (TEXT, "variant") else stored_type(told.type, how.json_as)


def _converted(column: Column, reading: Mapping[str, Column], parsed: str, how: How) -> SparkColumn:
    """A value in the table's type; NULL where the table's type cannot hold it."""
    told, kind = reading.get(column.name), stored_type(column.type, how.json_as)
    if told is None:
        return f.lit(None).cast(kind)
    cut = how.cuts(told, column)
    within = _kept_name(parsed) if cut else parsed
    value = f.col(f"{quoted(within)}.{quoted(told.name)}")
    raw = stored_type(_cut_as(told, column)) if cut else _raw_type(told, column, how)
    if raw == "variant" != kind:
        return bytes_of(value, how.options)
    if kind in (raw, TEXT):
        return value
    if not casts(raw, kind):
        return f.lit(None).cast(kind)
    if (raw, kind) == (TEXT, "date"):
        value = f.when(~value.rlike(_ERA), value)
    fitting = value.try_cast(kind)
    if raw == TEXT or widens(raw, kind):
        return fitting
    return f.when(fitting.try_cast(raw).eqNullSafe(value), fitting)
