"""What a record said in one format, carried through the others: nothing is lost on the way back.

Every conversion goes through the canonical event. What a record says beyond it is kept in the
event's column `extra`: a JSON object of deltas by format, each the difference between the format's
natural record for the event and the record that was read. Writing that format again patches its
natural record with the delta, which gives the record that was read. Writing another format carries
the deltas at a `Site`, a place that the format leaves free.

Captured events have no extra, so their records are the natural ones and this costs them nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headwater.event import EVENT_SCHEMA, EventBatch
from headwater.format.columns import EnvelopeColumns, bad_record, unwritable
from headwater.format.delta import Delta, diff, is_delta, patch
from headwater.format.jsontext import dumps, loads, loads_object

Said = dict[str, Delta]  # by format
Tree = dict[str, Any]

_EXTRA = EVENT_SCHEMA.get_field_index("extra")
_REPLACED = ""  # no format has this name: the value that stood where the path to the site leads


@dataclass(frozen=True, slots=True)
class Site:
    """Where records of one format carry the deltas of others: a path of member names.

    `as_text` writes them as a JSON string, for carriers whose values are strings.
    """

    path: tuple[str, ...]
    as_text: bool = False

    def put(self, record: Tree, said: Said) -> None:
        """Write the deltas into the record; `take` undoes it, whatever stood on the path."""
        node, marked = record, dict(said)
        for depth, name in enumerate(self.path[:-1]):
            if type(node.get(name)) is not dict:
                was = [node[name]] if name in node else []
                marked.setdefault(_REPLACED, {"=": [depth, was]})
                node[name] = {}
            node = node[name]
        node[self.path[-1]] = dumps(marked) if self.as_text else marked

    def take(self, record: Tree) -> Said:
        """Remove the deltas from the record. ValueError if they are not such."""
        nodes = [record]
        for name in self.path[:-1]:
            child = nodes[-1].get(name)
            if type(child) is not dict:
                return {}
            nodes.append(child)
        if self.path[-1] not in nodes[-1]:
            return {}
        said = nodes[-1].pop(self.path[-1])
        said = checked(loads(said) if self.as_text and type(said) is str else said)
        if _REPLACED in said:
            self._restore(nodes, said.pop(_REPLACED))
        return said

    def _restore(self, nodes: list[Tree], delta: Delta) -> None:
        match delta:
            case {"=": [int() as depth, [value]]} if 0 <= depth < len(nodes) - 1:
                nodes[depth][self.path[depth]] = value
            case {"=": [int() as depth, []]} if 0 <= depth < len(nodes) - 1:
                del nodes[depth][self.path[depth]]
            case _:
                raise ValueError("the carried record of another format is damaged")


def checked(said: Any) -> Said:
    """Deltas from outside, if they have that shape. ValueError if not."""
    if type(said) is not dict or not all(map(is_delta, said.values())):
        raise ValueError("the carried record of another format is damaged")
    # A record is an object; only what stood in the site's way may be any value.
    if any(("=" in delta) != (name == _REPLACED) for name, delta in said.items()):
        raise ValueError("the carried record of another format is no record")
    return said


def checked_text(text: str) -> str | None:
    """The text of an `extra` column that a binary carrier brought. ValueError if it is none."""
    return text if checked(loads(text)) else None


def dress(
    family: str, site: Site, natural: pa.Array, batch: EventBatch, own: Sequence[str] = ()
) -> list[bytes]:
    """Natural records as they are written: patched, and with what other formats said.

    `own` are further deltas that the format writes itself.
    """
    records: list[bytes] = natural.cast(pa.large_binary()).to_pylist()
    extras = batch.column("extra")
    if extras.null_count == len(extras):
        return records
    for row, text in enumerate(extras.to_pylist()):
        if text is None:
            continue
        try:
            said: Said = checked(loads(text))
            tree = loads_object(records[row])
        except ValueError as exc:
            raise unwritable(row, str(exc)) from exc
        delta = said.pop(family, None)
        if delta is not None:
            tree = patch(tree, delta)
        others = {name: other for name, other in said.items() if name not in own}
        if others:
            site.put(tree, others)
        records[row] = dumps(tree).encode()
    return records


def read_records(
    family: str,
    site: Site,
    records: Iterable[bytes],
    columns: Callable[[Sequence[Tree]], EnvelopeColumns],
    natural: Callable[[EventBatch], pa.Array],
) -> EventBatch:
    """The events of JSON records, with what the records said beyond their natural form."""
    records = list(records)
    trees, said = undress(site, records)
    batch = columns(trees).to_batch()
    plain = natural(batch).cast(pa.large_binary()).to_pylist()
    return with_extra(family, batch, plain, records, said, trees.__getitem__)


def undress(site: Site, records: Sequence[bytes]) -> tuple[list[Tree], list[Said]]:
    """The members of JSON records, and what they carried for other formats."""
    trees, saids = [], []
    for index, record in enumerate(records):
        try:
            tree = loads_object(record)
            saids.append(site.take(tree))
        except ValueError as exc:
            raise bad_record(index, f"not a record of this format: {exc}") from exc
        trees.append(tree)
    return trees, saids


def with_extra(
    family: str,
    batch: EventBatch,
    natural: Sequence[bytes],
    records: Sequence[bytes],
    said: Sequence[Said],
    tree: Callable[[int], Tree],
) -> EventBatch:
    """The batch, and in its column `extra` what the records said beyond it.

    `tree` gives a record's members without the site; it is asked only where bytes differ.
    """
    extras: list[str | None] = []
    for row, record in enumerate(records):
        deltas = {name: delta for name, delta in said[row].items() if name != family}
        if natural[row] != record:
            try:
                delta = _difference(str(natural[row], "utf-8"), tree(row))
            except ValueError as exc:
                raise bad_record(row, str(exc)) from exc
            if delta is not None:
                deltas[family] = delta
        extras.append(dumps(deltas) if deltas else None)
    return put_extra(batch, extras)


def _difference(natural: str, tree: Tree) -> Delta | None:
    # Writing a tree is much cheaper than comparing two, and finds most of those that are the same.
    return None if dumps(tree) == natural else diff(loads(natural), tree)


def put_extra(batch: EventBatch, extras: Sequence[str | None]) -> EventBatch:
    """The batch with this column."""
    if not any(extras):
        return batch
    column = pa.array(extras, pa.string())
    records = batch.records.set_column(_EXTRA, EVENT_SCHEMA.field(_EXTRA), column)
    return EventBatch(records, batch.closes_transaction)
