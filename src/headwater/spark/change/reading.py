"""Images of any shape of a table, read as rows of the table: under its names, in its types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headwater.event import Column, Kind
from headwater.spark.change.columns import image_ddl, parsed_type
from headwater.spark.change.kinds import TEXT, stored_type, widens
from headwater.spark.sql import quoted

# By schema id: the shape's own form of each column of the table that it tells of.
Readings = Mapping[int, Mapping[str, Column]]

_FAIL = {"mode": "FAILFAST"}
_FORGIVE = {"mode": "PERMISSIVE"}


def with_image(
    rows: DataFrame,
    name: str,
    image: str,
    columns: Sequence[Column],
    readings: Readings,
    how: dict[str, str] = _FAIL,
) -> DataFrame:
    """The rows with a JSON image parsed: a structure of the table's columns."""
    others = {
        schema_id: reading
        for schema_id, reading in readings.items()
        if not is_plain(columns, reading)
    }
    plain = f.from_json(image, image_ddl(columns), how)
    if not others:
        return rows.withColumn(name, plain)
    # Parsed in a step of its own: an expression over many fields would parse once for each.
    raw = {
        f"{name}_{place}": f.when(
            f.col("schema_id") == schema_id, f.from_json(image, _raw_ddl(columns, reading), how)
        )
        for place, (schema_id, reading) in enumerate(others.items())
    }
    chosen = f.when(~f.col("schema_id").isin(*others), f.col(f"{name}_plain"))
    for parsed, (schema_id, reading) in zip(raw, others.items(), strict=True):
        own = f.struct(*(_converted(each, reading, parsed).alias(each.name) for each in columns))
        chosen = chosen.when(f.col("schema_id") == schema_id, own)
    plain = f.when(~f.col("schema_id").isin(*others), plain)
    staged = rows.withColumns({**raw, f"{name}_plain": plain}).withColumn(name, chosen)
    return staged.drop(*raw, f"{name}_plain")


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
    parsed = with_image(rows, name, image, columns, readings, _FORGIVE)
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
        and parsed_type(told.type) == parsed_type(each.type)
        for each in columns
    )


def _raw_ddl(columns: Sequence[Column], reading: Mapping[str, Column]) -> str:
    fields = [
        f"{quoted(told.name)} {_raw_type(told, each)}"
        for each in columns
        if (told := reading.get(each.name)) is not None
    ]
    return ", ".join(fields) or "`_` string"


def _raw_type(told: Column, column: Column) -> str:
    """The type to parse an image's value as: text where the table takes everything as text."""
    return TEXT if parsed_type(column.type) == TEXT else parsed_type(told.type)


def _converted(column: Column, reading: Mapping[str, Column], parsed: str) -> SparkColumn:
    """A value in the table's type; NULL where the table's type cannot hold it."""
    told, kind = reading.get(column.name), parsed_type(column.type)
    if told is None:
        return f.lit(None).cast(kind)
    value = f.col(f"{quoted(parsed)}.{quoted(told.name)}")
    raw, wanted = _raw_type(told, column), stored_type(column.type)
    binary = (told.type.kind is Kind.BINARY, column.type.kind is Kind.BINARY)
    if all(binary) or (raw == kind and not any(binary)) or wanted == TEXT:
        return value
    if any(binary):
        return f.lit(None).cast(kind)
    fitting = value.try_cast(kind)
    if raw == TEXT or widens(raw, kind):
        return fitting
    return f.when(fitting.try_cast(raw).eqNullSafe(value), fitting)
