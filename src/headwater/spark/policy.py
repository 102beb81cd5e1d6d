"""What a table does when its source changes its columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from headwater.errors import ConfigError

Policy = Literal["evolve", "lenient", "freeze", "halt"]
OnAdd = Literal["ignore", "backfill"]
OnDrop = Literal["keep", "drop"]


@dataclass(frozen=True, slots=True)
class SchemaPolicy:
    """The policy, and what it leaves open.

    - `on_add`: whether the values that existing rows have in a new column are read again.
    - `on_drop`: whether a mirror drops a column with its source; tables with a history keep it.
    """

    policy: Policy = "evolve"
    on_add: OnAdd = "ignore"
    on_drop: OnDrop = "keep"

    def __post_init__(self) -> None:
        """Types alone would let a misspelt word pass for a policy."""
        for given, known in ((self.policy, Policy), (self.on_add, OnAdd), (self.on_drop, OnDrop)):
            if given not in get_args(known):
                raise ConfigError(
                    "spark-schema",
                    f"{given!r} is none of {', '.join(get_args(known))}",
                )
        if self.on_drop == "drop" and self.policy != "evolve":
            raise ConfigError(
                "spark-schema", f"policy {self.policy} drops no column; only evolve does"
            )
