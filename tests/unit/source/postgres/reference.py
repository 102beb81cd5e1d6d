"""A decoder one can check by eye: message after message, a dict per row. The tests' oracle."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from headwater.source.postgres.decode.pgoutput import Relation, RelationColumn

IN_BLOCKS = b"RYIUDTM"


class MalformedError(Exception):
    """The message breaks the protocol."""


class TwoPhaseError(Exception):
    """The message is about a prepared transaction."""


class NotTextError(Exception):
    """A value is not what its type prints."""


@dataclass
class Change:
    message: int
    op: str
    relation: Relation
    before: str | None
    after: str | None
    key_only: bool
    unavailable: list[str] | None
    before_unavailable: list[str] | None
    xid: int


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data

    def take(self, size: int) -> bytes:
        if size < 0 or size > len(self.data):
            raise MalformedError
        taken, self.data = self.data[:size], self.data[size:]
        return taken

    def unpack(self, form: str) -> tuple[Any, ...]:
        return struct.unpack(form, self.take(struct.calcsize(form)))

    def text(self) -> str:
        head, zero, self.data = self.data.partition(b"\0")
        if not zero:
            raise MalformedError
        try:
            return head.decode()
        except UnicodeDecodeError:
            raise MalformedError from None


@dataclass
class Reference:
    relations: dict[int, Relation] = field(default_factory=dict)
    inside: bool = False

    def decode(self, messages: Sequence[bytes]) -> tuple[list[Change], list[tuple[Any, ...]]]:
        """The row changes, and everything else as plain tuples."""
        changes: list[Change] = []
        others: list[tuple[Any, ...]] = []
        for number, payload in enumerate(messages):
            reader = Reader(payload)
            tag = reader.take(1)
            xid = reader.unpack("!I")[0] if self.inside and tag in IN_BLOCKS else 0
            if tag in b"IUD":
                changes.append(self._change(number, tag, xid, reader))
            else:
                others.append((number, *self._other(tag, xid, reader)))
            if reader.data:
                raise MalformedError
        return changes, others

    def _change(self, number: int, tag: bytes, xid: int, reader: Reader) -> Change:
        relation = self._relation(reader.unpack("!I")[0])
        kind = reader.take(1)
        if kind not in {b"I": b"N", b"U": b"NKO", b"D": b"KO"}[tag]:
            raise MalformedError
        old = new = None
        key_only = kind == b"K"
        if kind != b"N":
            old = self._tuple(relation, reader)
            kind = reader.take(1) if tag == b"U" else b""
        if tag != b"D":
            if kind != b"N":
                raise MalformedError
            new = self._tuple(relation, reader)
        if old is not None and key_only:
            keys = {c.name for c in relation.columns if c.is_key}
            old = {name: value for name, value in old.items() if name in keys}
            if any(value[0] == "u" for value in old.values()):
                raise MalformedError
        if new is not None and old is not None:
            for name, value in new.items():
                if value[0] == "u" and old.get(name, ("n",))[0] == "t":
                    new[name] = old[name]
        before, before_unavailable = self._image(relation, old)
        after, unavailable = self._image(relation, new)
        return Change(
            number, tag.decode(), relation, before, after, key_only, unavailable,
            before_unavailable, xid,
        )  # fmt: skip

    def _relation(self, oid: int) -> Relation:
        if oid not in self.relations:
            raise MalformedError
        return self.relations[oid]

    def _tuple(self, relation: Relation, reader: Reader) -> dict[str, tuple[str, bytes]]:
        if reader.unpack("!h")[0] != len(relation.columns):
            raise MalformedError
        values = {}
        for column in relation.columns:
            kind = reader.take(1)
            if kind not in (b"n", b"u", b"t"):
                raise MalformedError
            text = reader.take(reader.unpack("!i")[0]) if kind == b"t" else b""
            values[column.name] = (kind.decode(), text)
        return values

    def _image(
        self, relation: Relation, values: dict[str, tuple[str, bytes]] | None
    ) -> tuple[str | None, list[str] | None]:
        if values is None:
            return None, None
        kinds = {column.name: column.type_oid for column in relation.columns}
        parts, away = [], []
        for name, (kind, text) in values.items():
            if name.startswith("-"):
                continue
            if kind == "u":
                away.append(name)
            else:
                literal = "null" if kind == "n" else _literal(kinds[name], text)
                parts.append(f"{json.dumps(name, ensure_ascii=False)}:{literal}")
        return "{" + ",".join(parts) + "}", away or None

    def _other(self, tag: bytes, xid: int, reader: Reader) -> tuple[Any, ...]:
        if tag in b"bPKrp":
            raise TwoPhaseError
        if (tag in b"BCScA" and self.inside) or (tag == b"E" and not self.inside):
            raise MalformedError
        forms = {b"B": "!qqI", b"C": "!Bqqq", b"S": "!IB", b"c": "!IBqqq", b"A": "!II", b"E": "!"}
        if tag in forms:
            found = reader.unpack(forms[tag])
            if tag == b"A" and reader.data:
                reader.unpack("!qq")
            if tag in b"SE":
                self.inside = tag == b"S"
            return (tag, *found)
        return self._described(reader) if tag == b"R" else self._rare(tag, xid, reader)

    def _rare(self, tag: bytes, xid: int, reader: Reader) -> tuple[Any, ...]:
        match tag:
            case b"Y":
                return tag, reader.unpack("!I")[0], reader.text(), reader.text()
            case b"O":
                return tag, reader.unpack("!q")[0], reader.text()
            case b"M":
                flags, lsn = reader.unpack("!Bq")
                prefix = reader.text()
                content = reader.take(reader.unpack("!i")[0])
                return tag, bool(flags & 1), lsn, prefix, content, xid or None
            case b"T":
                count, flags = reader.unpack("!iB")
                oids = [reader.unpack("!I")[0] for _ in range(self._counted(count))]
                tables = tuple(self._relation(oid) for oid in oids)
                return tag, tables, bool(flags & 1), bool(flags & 2), xid or None
            case _:
                raise MalformedError

    def _counted(self, count: int) -> int:
        if count < 0:
            raise MalformedError
        return count

    def _described(self, reader: Reader) -> tuple[Any, ...]:
        oid, schema, name = reader.unpack("!I")[0], reader.text(), reader.text()
        identity, count = reader.unpack("!ch")
        if identity not in b"dfin":
            raise MalformedError
        columns = []
        for _ in range(self._counted(count)):
            flags, column = reader.unpack("!B")[0], reader.text()
            type_oid, typmod = reader.unpack("!Ii")
            columns.append(RelationColumn(column, type_oid, typmod, is_key=bool(flags & 1)))
        relation = Relation(oid, schema, name, identity.decode(), tuple(columns))
        changed = self.relations.get(oid) != relation
        self.relations[oid] = relation
        return b"R", relation, changed


def _literal(type_oid: int, text: bytes) -> str:
    try:
        value = text.decode()
        if type_oid == 20:
            int(value)
            return value
    except ValueError:
        raise NotTextError from None
    return json.dumps(value, ensure_ascii=False)
