"""Values of any logical type, from a seeded chooser: most are plain, some are awkward."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from typing import Any
from uuid import UUID

from headwater.event import Column, Kind, LogicalType

_WORDS = ("tea", "crème", "O'Brien", 'say "so"', "a\\b", "line\nbreak", "", "NULL", "🫖")
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
_BITS = {Kind.INT16: 15, Kind.INT32: 31, Kind.INT64: 63}
_DIGITS = Context(prec=100)


def any_value(chooser: random.Random, column: Column) -> Any:
    """A value for the column; where it may be NULL, it is now and then."""
    if column.nullable and chooser.random() < 0.15:
        return None
    return _value(chooser, column.type)


def key_values(columns: tuple[Column, ...], number: int) -> dict[str, Any]:
    """The key of row `number`: its last column tells the number, others are shared by rows."""
    *shared, own = columns
    return {
        **{column.name: _key_value(column, number % 3) for column in shared},
        own.name: _key_value(own, number),
    }


def _key_value(column: Column, number: int) -> Any:
    match column.type.kind:
        case Kind.STRING:
            return f"{column.name[0]}{number}"
        case Kind.UUID:
            return str(UUID(int=number))
        case _:
            return number


def _value(chooser: random.Random, logical: LogicalType) -> Any:
    match logical.kind:
        case Kind.BOOLEAN:
            return chooser.random() < 0.5
        case Kind.INT16 | Kind.INT32 | Kind.INT64:
            edge = 2 ** _BITS[logical.kind]
            return chooser.choice((chooser.randint(-edge, edge - 1), chooser.randint(0, 99)))
        case Kind.FLOAT32:
            return chooser.randint(-9999, 9999) / 8
        case Kind.FLOAT64:
            return chooser.choice((chooser.uniform(-1e9, 1e9), 0.1, 1e300, 5e-324))
        case Kind.DECIMAL:
            digits = 10 ** (logical.precision or 50)
            whole = Decimal(chooser.randint(1 - digits, digits - 1))
            return whole.scaleb(-(logical.scale or 0), _DIGITS)
        case Kind.JSON | Kind.DYNAMIC:
            return {"n": chooser.randint(0, 9), "words": [_text(chooser)], "none": None}
        case Kind.ARRAY if logical.element is not None:
            return [_value(chooser, logical.element) for _ in range(chooser.randint(0, 3))]
        case Kind.BINARY:
            return chooser.randbytes(chooser.randint(0, 9))
        case _:
            return _written(chooser, logical.kind)


def _written(chooser: random.Random, kind: Kind) -> Any:
    moment = _FIRST + timedelta(microseconds=chooser.randint(-(10**15), 10**16))
    match kind:
        case Kind.DATE:
            return date.fromordinal(moment.toordinal())
        case Kind.TIME:
            return time(moment.hour, moment.minute, moment.second, moment.microsecond)
        case Kind.TIMESTAMP:
            return moment.replace(tzinfo=None)
        case Kind.TIMESTAMPTZ:
            return moment
        case Kind.UUID:
            return UUID(int=chooser.getrandbits(128))
        case Kind.INTERVAL:
            return f"{chooser.randint(1, 99)} days"
        case _:
            return _text(chooser)


def _text(chooser: random.Random) -> str:
    return f"{chooser.choice(_WORDS)} {chooser.randint(0, 999)}"
