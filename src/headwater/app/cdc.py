"""CDC Format 1.0 as a pipeline configures it: the format, and what happens to events before it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.app.config import CdcSettings, CompiledCdc, EntitySettings, load_compiled
from headwater.app.database import TableFacts
from headwater.app.suggest import closest
from headwater.contract import LogReader, Transform
from headwater.errors import ConfigError
from headwater.format.cdcformat.cascade import Cascade
from headwater.format.cdcformat.entities import Entity, EntityMap, type_name
from headwater.format.cdcformat.family.scratch import Workspace
from headwater.format.cdcformat.json import CdcFormat
from headwater.format.cdcformat.selection import KeepEntities, KeepOperations
from headwater.runtime import WholeTransactions
from headwater.transform import Chain

FORMAT = "cdc-format"
_COLUMNS = {"id", "identifier", "tenant", "version", "soft_delete"}
_WITHOUT_EFFECT = {
    "storage": "the source decides how changes are captured",
    "retention_days": "log.retention.max_age decides how long events stay",
    "batch_size": "deliveries are as large as they come",
}


@dataclass(frozen=True, slots=True)
class CdcPlan:
    """The section, and what it takes from the compiled schema that it names."""

    settings: CdcSettings
    compiled: CompiledCdc

    @classmethod
    def of(cls, settings: CdcSettings) -> CdcPlan:
        """Read what the section names; a coded error lists all that is wrong there."""
        file = settings.schema_file
        return cls(settings, CompiledCdc() if file is None else load_compiled(file))

    @property
    def entities(self) -> EntityMap:
        """What the tables are."""
        return EntityMap({each.table: _entity(each) for each in self.settings.tables})

    def format(self) -> CdcFormat:
        """The format, with what it says of every event."""
        said = {"instance": self.settings.instance, "region": self.settings.region}
        return CdcFormat(
            entities=self.entities,
            granularity=self.settings.granularity,
            schema_name=self.settings.schema_name,
            source={name: value for name, value in said.items() if value is not None},
        )

    def transform(
        self, reader: LogReader, tables: Transform, scratch: Path
    ) -> Transform | WholeTransactions:
        """What happens to events on their way: chosen, and told of as families.

        Entities are chosen before families are found, so that no cascade names one that is left
        out; operations after, so that an event keeps all of its cascade. `scratch` is the directory
        for files that a large transaction may need for a while.
        """
        chosen = Chain((tables, self.selected_entities()))
        operations = KeepOperations(
            keep=self._said("operations"), drop=self._said("exclude_operations")
        )
        settings = self.settings
        if not settings.cascade:
            return Chain((chosen, operations))
        cascade = Cascade(
            history=reader,
            entities=self.entities,
            granularity=settings.granularity,
            limit=settings.cascade_limit,
            workspace=Workspace(max_bytes=settings.cascade_memory.bytes, directory=scratch),
        )
        return WholeTransactions(reader, cascade, before=chosen, after=operations)

    def selected_entities(self) -> KeepEntities:
        """Which entities are told of."""
        return KeepEntities(
            entities=self.entities, keep=self._said("entities"), drop=self._said("exclude_entities")
        )

    def require_known(self, tables: Iterable[TableFacts]) -> None:
        """Names of tables, columns and entities are exact; one that nothing has is a mistake."""
        known = list(tables)
        for place, each in enumerate(self.settings.tables):
            _require_table(each, known, f"cdc.tables[{place}]")
        types = [self.entities.entity(each.table).type for each in known]
        for field in ("entities", "exclude_entities"):
            for name in self._said(field):
                _require(name, types, "entity-unknown", f"cdc.{field}")

    def without_effect(self) -> dict[str, str]:
        """Fields that the compiled schema sets and that change nothing here, and why."""
        given = self.compiled.model_fields_set
        return {name: why for name, why in _WITHOUT_EFFECT.items() if name in given}

    def _said(self, field: str) -> tuple[str, ...]:
        """The section's own word, or else the compiled schema's."""
        own = field in self.settings.model_fields_set
        said: tuple[str, ...] = getattr(self.settings if own else self.compiled, field)
        return said


def _entity(settings: EntitySettings) -> Entity:
    said: dict[str, Any] = settings.model_dump(exclude={"table", "type"})
    bare = settings.table.rpartition(".")[2]
    return Entity(type=settings.type or type_name(bare), **said)


def _require_table(settings: EntitySettings, known: list[TableFacts], where: str) -> None:
    """The table, and each column that is said of it in the file; a default may be missing."""
    names = {
        name: each.column_names for each in known for name in (each.table.name, str(each.table))
    }
    _require(settings.table, list(names), "table-unknown", f"{where}.table")
    columns = list(names[settings.table])
    for field in settings.model_fields_set & _COLUMNS:
        said = getattr(settings, field)
        for name in (said,) if isinstance(said, str) else said or ():
            _require(name, columns, "column-unknown", f"{where}.{field}")


def _require(name: str, known: list[str], code: str, where: str) -> None:
    if name in known:
        return
    near = closest(name, known)
    listed = ", ".join(dict.fromkeys(known[:8])) + (" …" if len(known) > 8 else "")
    raise ConfigError(
        code,
        f"there is no {name!r}; there are: {listed}",
        where=where,
        hint=f"did you mean {near}?" if near else "",
    )
