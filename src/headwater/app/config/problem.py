"""What is wrong with a configuration: every problem at once, with line, path and suggestion."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from headwater.errors import ConfigError

ConfigPath = tuple[str | int, ...]


def dotted(path: ConfigPath) -> str:
    """`sinks[0].format`: the way that people point at a setting."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to correct."""

    code: str
    file: Path
    line: int
    path: ConfigPath
    reason: str
    suggestion: str = ""
    severity: str = "error"

    def as_dict(self) -> dict[str, str | int]:
        """The shape of a finding in `--json`."""
        return {
            "severity": self.severity,
            "code": self.code,
            "message": self.reason,
            "file": str(self.file),
            "line": self.line,
            "configPath": dotted(self.path),
            "suggestion": self.suggestion,
        }


class InvalidConfigError(ConfigError):
    """The configuration has the problems listed in `problems`, in the order of their lines."""

    problems: tuple[Problem, ...] = ()

    @classmethod
    def of(cls, problems: Iterable[Problem]) -> InvalidConfigError:
        """One error for all problems; it carries the code and hint of the first."""
        ordered = tuple(sorted(problems, key=lambda problem: problem.line))
        first = ordered[0]
        more = f" (and {len(ordered) - 1} more)" if len(ordered) > 1 else ""
        name = dotted(first.path)
        error = cls(
            first.code,
            (f"{name}: " if name else "") + first.reason + more,
            where=f"{first.file}:{first.line}",
            hint=first.suggestion,
        )
        error.problems = ordered
        return error
