"""Which renderer a type has. Prepared once per column, called once per column and buffer."""

from __future__ import annotations

from headwater.source.postgres.decode.render.arrays import arrays, number_arrays
from headwater.source.postgres.decode.render.plain import (
    binaries,
    booleans,
    floats,
    integers,
    json_values,
)
from headwater.source.postgres.decode.render.text import Renderer, text
from headwater.source.postgres.decode.render.times import (
    dates,
    times,
    times_with_zone,
    timestamps,
    timestamps_utc,
)
from headwater.source.postgres.decode.types import Oid, PgType, TypeClass

_RENDERERS: dict[int, Renderer] = {
    Oid.BOOL: booleans,
    Oid.BYTEA: binaries,
    Oid.INT2: integers,
    Oid.INT4: integers,
    Oid.INT8: integers,
    Oid.OID: integers,
    Oid.FLOAT4: floats,
    Oid.FLOAT8: floats,
    Oid.DATE: dates,
    Oid.TIME: times,
    Oid.TIMETZ: times_with_zone,
    Oid.TIMESTAMP: timestamps,
    Oid.TIMESTAMPTZ: timestamps_utc,
    Oid.JSON: json_values,
    Oid.JSONB: json_values,
}
# Old types of the system catalog: arrays to the catalog, but printed without braces.
_VECTORS = (Oid.INT2VECTOR, Oid.OIDVECTOR)


def renderer(kind: PgType) -> Renderer:
    """The renderer of columns of this type: the text itself where no rule says otherwise."""
    if kind.base is not None:
        return renderer(kind.base)
    if kind.type_class is not TypeClass.ARRAY or kind.element is None or kind.oid in _VECTORS:
        return _RENDERERS.get(kind.oid, text)
    element = renderer(kind.element)
    if element in (integers, floats):
        return number_arrays(element, kind.element.delimiter)
    return arrays(element, kind.element.delimiter)
