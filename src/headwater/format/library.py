"""An optional library that is not there: say which package brings it."""

from __future__ import annotations

from headwater.errors import MachineError


def missing_extra(extra: str, cause: ModuleNotFoundError) -> MachineError:
    """The error to raise where the import of an optional library failed."""
    return MachineError(
        f"{extra}-missing",
        f"the headwater-{extra} format needs a library that is not installed",
        where=cause.name or "",
        hint=f"pip install 'headwater[{extra}]'",
    )
