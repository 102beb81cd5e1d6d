"""Which tables are kept in which way. A table may be kept in several at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from headwater.contract import SchemaHistory
from headwater.errors import ConfigError
from headwater.event import TableId, TableSchema
from headwater.spark.policy import OnNoKey

Mode = Literal["mirror", "soft_delete", "scd2", "append_log"]
MODES: tuple[Mode, ...] = get_args(Mode)
_AS = "@"


def name_of(table: TableId, mode: str) -> str:
    """A table in a mode, as reports and places of parked tables call it."""
    return f"{table}{_AS}{mode}"


def named(name: str) -> tuple[tuple[TableId, ...], str]:
    """The tables that a name may be of, for schema and table may have dots, and the mode."""
    known, _, mode = name.rpartition(_AS)
    parts = known.split(".")
    cuts = range(len(parts))
    tables = (TableId(".".join(parts[:cut]) or None, ".".join(parts[cut:])) for cut in cuts)
    return tuple(tables), mode


@dataclass(frozen=True, slots=True)
class Modes:
    """Globs of tables by mode; a table that none of them names is kept in the default one.

    `keyless` are tables without a primary key, of which `on_no_key` says what becomes. `tables` are
    globs of those that are kept at all; none means every table.
    """

    default: Mode = "mirror"
    chosen: Mapping[Mode, Sequence[str]] = field(default_factory=dict)
    on_no_key: OnNoKey = "refuse"
    keyless: frozenset[TableId] = frozenset()
    tables: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Types alone would let a misspelt mode pass for a table that nobody keeps."""
        for mode in (self.default, *self.chosen):
            if mode not in MODES:
                raise ConfigError("spark-mode", f"there is no mode {mode!r}")
            if isinstance(self.chosen.get(mode), str):
                raise ConfigError(
                    "spark-mode",
                    f"the tables of mode {mode} are one string, not a list of globs",
                    hint=f"modes={{{mode!r}: [{self.chosen[mode]!r}]}}",
                )

    def keeps(self, table: TableId) -> bool:
        """Whether the table is kept at all."""
        return not self.tables or table.matches(self.tables)

    def of(self, table: TableId) -> tuple[Mode, ...]:
        """The modes of a table; none if it is not kept."""
        if not self.keeps(table):
            return ()
        named = tuple(mode for mode in MODES if table.matches(self.chosen.get(mode, ())))
        modes = named or (self.default,)
        if table not in self.keyless:
            return modes
        if self.on_no_key == "append_log" or "append_log" in modes:
            return ("append_log",)
        return ()

    def standing(self, table: TableId) -> Mode | None:
        """The first of its modes that shows the rows that are; an append log has only events."""
        return next((mode for mode in self.of(table) if mode != "append_log"), None)

    def known(self, history: SchemaHistory) -> dict[tuple[TableId, Mode], int]:
        """What is kept of all tables that a history knows, with the first number of each."""
        first: dict[tuple[TableId, Mode], int] = {}
        modes = self.knowing(history)
        for begin, schema in history.schemas():
            for mode in modes.of(schema.table):
                first.setdefault((schema.table, mode), begin)
        return first

    def called(self, name: str, history: SchemaHistory) -> tuple[TableId, Mode] | None:
        """The kept table and mode of that name."""
        return {name_of(*key): key for key in self.known(history)}.get(name)

    def knowing(self, history: SchemaHistory) -> Modes:
        """The same, with the keyless tables that a history knows by now.

        The first shape of a table decides: a mirror that began with a key which came later would
        lack rows, and one that ended with its key would be old; neither would say so.
        """
        if self.on_no_key == "refuse":
            return self
        first: dict[TableId, TableSchema] = {}
        for _, schema in history.schemas():
            first.setdefault(schema.table, schema)
        keyless = (table for table, schema in first.items() if not schema.primary_key)
        return replace(self, keyless=frozenset(keyless))
