"""What a running pipeline shows to the doors: status, readiness and metrics, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether the pipeline does its work, and if not, why."""

    ready: bool
    reason: str = ""


class StatusView(Protocol):
    """Read-only and safe from any thread."""

    def status(self) -> dict[str, Any]:
        """The admin snapshot: plain JSON values, no secret in them (INV-12)."""
        ...

    def readiness(self) -> Readiness:
        """Whether capture and every consumer run."""
        ...

    def metrics_text(self) -> str:
        """Prometheus text."""
        ...
