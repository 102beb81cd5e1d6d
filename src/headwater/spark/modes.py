"""Which tables are kept in which way. A table may be kept in several at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from headwater.errors import ConfigError
from headwater.event import TableId

Mode = Literal["mirror", "soft_delete", "scd2", "append_log"]
MODES: tuple[Mode, ...] = get_args(Mode)


@dataclass(frozen=True, slots=True)
class Modes:
    """Globs of tables by mode; a table that none of them names is kept in the default one."""

    default: Mode = "mirror"
    chosen: Mapping[Mode, Sequence[str]] = field(default_factory=dict)

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

    def of(self, table: TableId) -> tuple[Mode, ...]:
        """The modes of a table."""
        named = tuple(mode for mode in MODES if table.matches(self.chosen.get(mode, ())))
        return named or (self.default,)
