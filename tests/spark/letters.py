"""Letters: a changing table of the test kit with long values, composite keys and awkward names."""

from __future__ import annotations

import random
from typing import Any

from headwater.event import Column, Kind, LogicalType, TableId, TableSchema
from headwater.testing.history.table import CITY, ChangingTable

LONG = ("body", "a.side")
OTHERS = (*LONG, "views")

LETTERS = TableSchema(
    table=TableId("public", "letters"),
    columns=(
        Column("shelf", LogicalType(Kind.STRING), nullable=False),
        Column("id", LogicalType(Kind.INT64), nullable=False),
        *(Column(name, LogicalType(Kind.STRING)) for name in LONG),
        Column("views", LogicalType(Kind.INT64)),
    ),
    primary_key=("shelf", "id"),
)

__all__ = ["CITY", "LETTERS", "LONG", "OTHERS", "Letters"]


class Letters(ChangingTable):
    """Its key is a shelf, of three, and a number."""

    def __init__(self, chooser: random.Random, schema: TableSchema = LETTERS) -> None:
        super().__init__(chooser, schema, long=LONG)

    def value(self, name: str) -> Any:
        """Values that are told apart at a glance."""
        if name == "views":
            return self.chooser.randint(0, 10**6)
        text = f"{name} {self.chooser.random()}"
        return self.chooser.choice((text, text, text, None))
