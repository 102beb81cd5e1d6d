"""What happened. Numbers are those of the envelope's Protobuf form and never change."""

from __future__ import annotations

from enum import IntEnum


class Operation(IntEnum):
    """The operations of the envelope: six about tables, and a message, which concerns none."""

    INSERT = 1
    UPDATE = 2
    DELETE = 3
    READ = 4
    SCHEMA_CHANGE = 5
    TRUNCATE = 6
    MESSAGE = 7

    @property
    def label(self) -> str:
        """The word that the JSON envelope uses."""
        return self.name.lower()

    @classmethod
    def from_label(cls, label: str) -> Operation:
        """The operation of a JSON word; ValueError if there is none."""
        try:
            return cls[label.upper()]
        except KeyError:
            raise ValueError(f"unknown operation {label!r}") from None
