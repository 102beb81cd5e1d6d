"""Names of database engines: ours in the envelope, and those that other formats know."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

_THEIRS = {"postgres": "postgresql"}
_OURS = {theirs: ours for ours, theirs in _THEIRS.items()}


def engines(source_names: pa.Array) -> pa.Array:
    """The engine of each source, by the name that the world uses."""
    encoded = source_names.dictionary_encode()
    names = [_THEIRS.get(name, name) for name in encoded.dictionary.to_pylist()]
    return pc.take(pa.array(names, pa.string()), encoded.indices)


def source_name(engine: str) -> str:
    """Our name of an engine."""
    return _OURS.get(engine, engine)


def ambiguous(source_names: pa.Array) -> pa.Array:
    """Where `source_name` of the engine would be another name."""
    return pc.is_in(source_names, pa.array(list(_OURS), pa.string()))
