"""A finding of a check: severity, code, evidence and fix, the same for doctor and status."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from headwater.errors import HeadwaterError

Severity = Literal["ok", "info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found. `exit_code` is what an error of it means for the command."""

    check: str
    severity: Severity
    evidence: str
    code: str = ""
    fix: str = ""
    exit_code: int = 3

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @classmethod
    def of(cls, check: str, error: HeadwaterError) -> Finding:
        """The finding that an error amounts to."""
        where = f" ({error.where})" if error.where else ""
        return cls(
            check, "error", error.message + where, error.code, error.hint, max(error.exit_code, 1)
        )


def worst(findings: list[Finding]) -> int:
    """The exit code: 0 if nothing is an error."""
    return max((each.exit_code for each in findings if each.severity == "error"), default=0)
