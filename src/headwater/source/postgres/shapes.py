"""From a relation of the stream to the schema of the history, and to how its values are read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import astuple, dataclass

from headwater.event import Column, TableId, TableSchema
from headwater.source.postgres.config import PostgresSourceConfig
from headwater.source.postgres.decode.logical import logical_type
from headwater.source.postgres.decode.pgoutput import Relation, RelationColumn, Shape
from headwater.source.postgres.decode.render import renderer
from headwater.source.postgres.numbers import column_numbers
from headwater.source.postgres.server.catalog import TableFacts
from headwater.source.postgres.server.typecatalog import Types

FactsOf = Callable[[int], TableFacts | None]
"""What the catalog knows now about the table with this oid; None if it is gone."""


@dataclass(frozen=True, slots=True)
class Captured:
    """A relation as it is captured: its schema and the id of it, worked out once."""

    schema: TableSchema
    schema_id: int


class Shapes:
    """Shapes by relation. A relation message is the authority on columns, the catalog on the rest.

    The catalog may already be ahead of the stream: where it no longer has a column, the column's
    type from the message is all there is, and that is enough to read it.
    """

    def __init__(self, config: PostgresSourceConfig, types: Types, facts_of: FactsOf) -> None:
        self._config = config
        self._types = types
        self._facts_of = facts_of
        self._captured: dict[Relation, Captured] = {}

    def shape(self, relation: Relation) -> Shape:
        """How the decoder reads the relation's values; None leaves a column out."""
        captured = self.captured(relation)
        kept = {column.name for column in captured.schema.columns}
        return Shape(
            tuple(
                renderer(self._types.type(column.type_oid)) if column.name in kept else None
                for column in relation.columns
            )
        )

    def of_table(self, facts: TableFacts) -> Captured:
        """The schema of a table as the catalog describes it: that of its rows in the stream."""
        return self.captured(relation_of(facts), facts)

    def captured(self, relation: Relation, facts: TableFacts | None = None) -> Captured:
        """The schema of a relation as the stream describes it.

        Whoever has the table's facts at hand gives them: else the whole catalog is asked.
        """
        known = self._captured.get(relation)
        if known is None:
            schema = self._schema(relation, facts or self._facts_of(relation.oid))
            known = self._captured[relation] = Captured(schema, schema.schema_id)
        return known

    def _schema(self, relation: Relation, facts: TableFacts | None) -> TableSchema:
        table = TableId(relation.schema, relation.name)
        names = {column.name for column in relation.columns}
        key = () if facts is None else facts.key
        if not key or not names.issuperset(key):
            key = _identity_key(relation)
        known = {} if facts is None else {column.name: column for column in facts.columns}
        numbers = column_numbers(relation, facts)
        columns = []
        for column, number in zip(relation.columns, numbers, strict=True):
            if column.name not in key and not self._config.wants_column(table, column.name):
                continue
            fact = known.get(column.name)
            same = fact is not None and fact.type_oid == column.type_oid
            kind = self._types.type(column.type_oid)
            columns.append(
                Column(
                    name=column.name,
                    type=logical_type(kind, column.typmod),
                    nullable=fact.nullable if fact is not None and same else True,
                    declared=fact.declared if fact is not None and same else kind.name,
                    number=number,
                )
            )
        return TableSchema(
            table=table,
            columns=tuple(columns),
            primary_key=key,
            foreign_keys=() if facts is None else facts.foreign_keys,
        )


def relation_of(facts: TableFacts) -> Relation:
    """A table as the stream would describe it: so rows read and streamed have one schema."""
    identity = set(facts.identity_columns)
    columns = tuple(
        RelationColumn(column.name, column.type_oid, column.typmod, column.name in identity)
        for column in facts.columns
        if not column.generated
    )
    return Relation(facts.oid, facts.table.schema or "", facts.table.name, facts.identity, columns)


def mark_of(relation: Relation) -> str:
    """A mark of how the stream describes a table: another one means that its shape changed.

    The catalog has no part in it, which may be ahead of the stream: so every replay of the stream
    finds the same changes.
    """
    shape = (relation.schema, relation.name, [astuple(column) for column in relation.columns])
    return hashlib.blake2b(json.dumps(shape).encode(), digest_size=4).hexdigest()


def name_mark(table: TableId) -> str:
    """A mark of a table's name."""
    return hashlib.blake2b(f"{table.schema}.{table.name}".encode(), digest_size=3).hexdigest()


def _identity_key(relation: Relation) -> tuple[str, ...]:
    """The columns of a replica identity index; under FULL every column is marked, so none is."""
    if relation.identity == "f":
        return ()
    return tuple(column.name for column in relation.columns if column.is_key)
