"""Row images as Avro rows of their table and back, column by column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any, NoReturn, TypeVar

import pyarrow as pa

from headwater.errors import DataError
from headwater.event import Column, Kind, TableSchema
from headwater.format.columns import bad_record, unwritable
from headwater.format.typed.names import legal_names
from headwater.format.typed.pack import packed, packed_record, placed
from headwater.format.typed.values import Form, Values, form_of

Row = dict[str, Any]
Rows = Sequence[Row | None]
Refuse = Callable[[int, str], DataError]
_T = TypeVar("_T")

# What conversions of values raise: Arrow's own errors are ValueErrors or of these kinds.
_FAILURES = (ValueError, TypeError, OverflowError, NotImplementedError)
NAMES = {"type": "array", "items": "string"}
_ANY_JSON = (Kind.JSON, Kind.DYNAMIC)


@dataclass(frozen=True, slots=True)
class Packed:
    """Images of many events as Avro's bytes: whole rows, partial rows, and the columns of those."""

    whole: pa.Array | bytes
    part: pa.Array | bytes
    columns: pa.Array


@dataclass(frozen=True, slots=True)
class Taken:
    """The same as values, as a reader of Avro gives them."""

    whole: Rows
    part: Rows
    columns: Sequence[list[str]]


@dataclass(frozen=True, slots=True)
class _Field:
    """One column: its name in Avro, and how its values go there."""

    column: Column
    name: str
    form: Form

    def write_whole(self, values: Sequence[Any]) -> pa.Array:
        written = self.form.write(values)
        if self.column.nullable or not written.null_count:
            return written
        if self.column.type.kind in _ANY_JSON:  # JSON's own null is a value, not a missing one
            return written.fill_null("null")
        raise ValueError("null, though the column is NOT NULL")

    def avro(self, *, whole: bool) -> Any:
        """The type of its field, as `schema` publishes it."""
        return self.form.avro if whole and not self.column.nullable else ["null", self.form.avro]


class RowForm:
    """The rows of one table. `indexes` are the places of the rows among the records, for errors."""

    def __init__(self, table: TableSchema) -> None:
        names = legal_names(column.name for column in table.columns)
        self._fields = {
            column.name: _Field(column, name, form_of(column.type))
            for column, name in zip(table.columns, names, strict=True)
        }

    def write(self, rows: Rows, indexes: Sequence[int]) -> Packed:
        """The rows of images; a value that its column's type cannot hold is a DataError."""
        full, parts = [], []
        columns: list[list[str]] = [[] for _ in rows]
        for place, row in enumerate(rows):
            if row is None:
                continue
            if row.keys() == self._fields.keys():
                full.append(place)
            else:
                parts.append(place)
                columns[place] = self._known(row, indexes[place])
        count, names = len(rows), list(self._fields)
        whole = self._records(names, rows, full, indexes)
        part = self._records(names, rows, parts, indexes, whole=False)
        listed = packed(NAMES, pa.array(columns, pa.list_(pa.string())))
        return Packed(placed(whole, full, count), placed(part, parts, count), listed)

    def keys(self, keys: Rows, indexes: Sequence[int]) -> list[bytes | None]:
        """Keys of rows, all of the same columns, as the record of the key has them."""
        places = [place for place, key in enumerate(keys) if key is not None]
        names = next((list(key) for key in keys if key is not None), [])
        records = self._records(names, keys, places, indexes).to_pylist()
        found: list[bytes | None] = [None] * len(keys)
        for place, record in zip(places, records, strict=True):
            found[place] = record
        return found

    def read(self, taken: Taken, indexes: Sequence[int]) -> list[Row | None]:
        """The images of rows; what no image could have given is a DataError."""
        rows = self._read(taken.whole, indexes)
        for place, row in enumerate(self._read(taken.part, indexes)):
            if row is None:
                continue
            names = taken.columns[place]
            if rows[place] is not None or not self._fields.keys() >= set(names):
                raise bad_record(indexes[place], "a partial row with other columns than its table")
            rows[place] = {name: row[name] for name in names}
        return rows

    def _known(self, row: Row, index: int) -> list[str]:
        strangers = row.keys() - self._fields.keys()
        if strangers:
            raise unwritable(index, f"the table's schema has no column {min(strangers)!r}")
        return list(row)

    def _records(
        self,
        names: Sequence[str],
        rows: Rows,
        places: Sequence[int],
        indexes: Sequence[int],
        *,
        whole: bool = True,
    ) -> pa.Array:
        chosen = [rows[place] or {} for place in places]
        at = [indexes[place] for place in places]
        columns = []
        for name in names:
            field = self._fields[name]
            write = field.write_whole if whole else field.form.write
            values = [row.get(name) for row in chosen]
            written = _converted(write, values, partial(_named, unwritable, name, at))
            columns.append((field.avro(whole=whole), written))
        return packed_record(columns, len(places))

    def _read(self, rows: Rows, indexes: Sequence[int]) -> list[Row | None]:
        places = [place for place, row in enumerate(rows) if row is not None]
        chosen = [rows[place] or {} for place in places]
        at = [indexes[place] for place in places]
        columns = {}
        for name, field in self._fields.items():
            values = [row[field.name] for row in chosen]
            refuse = partial(_named, bad_record, name, at)
            columns[name] = _converted(field.form.read, values, refuse)
        return _placed(columns, places, len(rows))


def _named(error: Refuse, name: str, at: Sequence[int], place: int, reason: str) -> DataError:
    return error(at[place], f"column {name}: {reason}")


def _placed(columns: dict[str, Values], places: Sequence[int], count: int) -> list[Row | None]:
    """Rows of these columns, each at its place among `count`."""
    found: list[Row | None] = [None] * count
    rows = zip(*columns.values(), strict=True) if columns else repeat(())
    for place, row in zip(places, rows, strict=False):
        found[place] = dict(zip(columns, row, strict=True))
    return found


def _converted(convert: Callable[[Sequence[Any]], _T], values: Sequence[Any], refuse: Refuse) -> _T:
    try:
        return convert(values)
    except _FAILURES:
        _blame(convert, values, refuse)


def _blame(
    convert: Callable[[Sequence[Any]], object], values: Sequence[Any], refuse: Refuse
) -> NoReturn:
    """Name the first value that cannot be converted."""
    for place, value in enumerate(values):
        try:
            convert([value])
        except _FAILURES as exc:
            raise refuse(place, str(exc)) from exc
    raise refuse(0, "its values cannot stand in one column")
