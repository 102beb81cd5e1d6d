"""The error classes. The class decides what happens next; nobody decides by message text."""

from __future__ import annotations

from typing import ClassVar

from headwater.errors.catalog import CATALOG


class HeadwaterError(Exception):
    """Base of everything Headwater raises on purpose.

    `code` is stable and listed in the catalog; `where` is a path, table or sequence range; `hint`
    is the next thing to do, as a command where one exists.
    """

    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, code: str, message: str, *, where: str = "", hint: str = "") -> None:
        entry = CATALOG.get(code)
        if entry is None:
            raise LookupError(f"error code {code!r} is not in headwater/errors/catalog/")
        super().__init__(message)
        self.code = code
        self.message = message
        self.where = where
        self.hint = hint or entry.fix

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        return f"[{self.code}] {self.message}{place}\n  fix: {self.hint}"

    def __reduce__(self) -> tuple[object, ...]:
        # Spark workers send exceptions through pickle; keyword arguments would be lost.
        return (_rebuild, (type(self), self.code, self.message, self.where, self.hint))

    def as_dict(self) -> dict[str, str]:
        """The shape that `--json` and the HTTP status show."""
        return {
            "code": self.code,
            "message": self.message,
            "where": self.where,
            "hint": self.hint,
            "kind": type(self).__name__,
        }


def _rebuild(
    kind: type[HeadwaterError], code: str, message: str, where: str, hint: str
) -> HeadwaterError:
    return kind(code, message, where=where, hint=hint)


class ConfigError(HeadwaterError):
    """The configuration or a command's arguments are wrong: fix them and start again."""

    exit_code: ClassVar[int] = 2


class MachineError(HeadwaterError):
    """The surroundings are not ready (disk, permission, missing library): prepare them."""

    exit_code: ClassVar[int] = 3


class TransientError(HeadwaterError):
    """It may work a moment later: the loops retry with back-off and jitter."""

    retryable: ClassVar[bool] = True


class DataError(HeadwaterError):
    """One record or value cannot be carried: it is set aside or stops its table, never dropped."""


class CorruptionError(HeadwaterError):
    """Stored bytes are not what was written: stop the line, repair from the source."""


class GapError(HeadwaterError):
    """Changes are missing at the source (INV-9): stop unless the user chose another policy."""


class FencedError(HeadwaterError):
    """Another writer owns the log: this one must stop and must not write again."""


class StateError(HeadwaterError):
    """The call is not allowed now (a spent ack, an invalid transition): correct the caller."""
