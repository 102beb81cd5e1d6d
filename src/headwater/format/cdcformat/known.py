"""A schema history that travels: what a log knew when it was asked, to be pickled for executors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headwater.contract import SchemaHistory
from headwater.errors import DataError
from headwater.event import TableSchema


@dataclass(frozen=True, slots=True)
class KnownSchemas:
    """Implements contract.SchemaHistory without a log."""

    by_id: Mapping[int, tuple[int, TableSchema]]

    @classmethod
    def of(cls, history: SchemaHistory) -> KnownSchemas:
        """Everything that the history holds now."""
        return cls({schema.schema_id: (first, schema) for first, schema in history.schemas()})

    def schema(self, schema_id: int) -> TableSchema:
        """The version with this id."""
        if schema_id not in self.by_id:
            raise DataError("event-schema", f"schema {schema_id} is newer than this history")
        return self.by_id[schema_id][1]

    def schemas(self) -> tuple[tuple[int, TableSchema], ...]:
        """All versions with the sequence number from which each is used, in that order."""
        return tuple(sorted(self.by_id.values(), key=_first))


def _first(entry: tuple[int, TableSchema]) -> int:
    return entry[0]
