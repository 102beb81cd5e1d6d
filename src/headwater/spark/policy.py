"""What a table does when its source changes its columns, is emptied, or goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from headwater.errors import ConfigError
from headwater.event import TableId

Policy = Literal["evolve", "lenient", "freeze", "halt"]
OnAdd = Literal["ignore", "backfill"]
OnDrop = Literal["keep", "drop"]
OnTruncate = Literal["apply", "ignore", "halt"]
OnDropTable = Literal["keep", "empty", "halt"]
OnNoKey = Literal["refuse", "append_log", "skip"]


@dataclass(frozen=True, slots=True)
class SchemaPolicy:
    """The policy, and what it leaves open.

    - `on_add`: whether the values that existing rows have in a new column are read again.
    - `on_drop`: whether a mirror drops a column with its source; tables with a history keep it.
    - `mistyped_as_null`: globs of the tables that take a value which is not of its column's type as
      NULL; others stop at it.
    """

    policy: Policy = "evolve"
    on_add: OnAdd = "ignore"
    on_drop: OnDrop = "keep"
    mistyped_as_null: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Types alone would let a misspelt word pass for a policy."""
        _require("spark-schema", self.policy, Policy)
        _require("spark-schema", self.on_add, OnAdd)
        _require("spark-schema", self.on_drop, OnDrop)
        if isinstance(self.mistyped_as_null, str):
            raise ConfigError(
                "spark-schema",
                "mistyped_as_null is one string, not globs of tables",
                hint=f"mistyped_as_null=({self.mistyped_as_null!r},)",
            )
        if self.on_drop == "drop" and self.policy != "evolve":
            raise ConfigError(
                "spark-schema", f"policy {self.policy} drops no column; only evolve does"
            )

    def forgives(self, table: TableId) -> bool:
        """Whether the table takes a mistyped value as NULL."""
        return table.matches(self.mistyped_as_null)


@dataclass(frozen=True, slots=True)
class TablePolicy:
    """What becomes of a table as a whole.

    - `on_truncate`: whether a truncate takes the rows, leaves them, or stops the table.
    - `on_drop`: whether the rows of a table that its source has dropped stay, go as by a truncate,
      or stop it.
    - `on_no_key`: whether a table that began without a primary key is refused, kept as an append
      log, or left out.

    An append log takes events as they are, whatever the policy.
    """

    on_truncate: OnTruncate = "apply"
    on_drop: OnDropTable = "keep"
    on_no_key: OnNoKey = "refuse"

    def __post_init__(self) -> None:
        """As for columns."""
        _require("spark-policy", self.on_truncate, OnTruncate)
        _require("spark-policy", self.on_drop, OnDropTable)
        _require("spark-policy", self.on_no_key, OnNoKey)


def _require(code: str, given: str, known: Any) -> None:
    if given not in get_args(known):
        raise ConfigError(code, f"{given!r} is none of {', '.join(get_args(known))}")
