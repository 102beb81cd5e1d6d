"""`${VAR}`, `${VAR:-default}` and `${file:path}` in scalar values.

An unset variable is an error, and so is an empty one: an empty password or path is never what was
meant, and fails far from its cause. `${VAR:-}` says that empty is meant. `$$` is a plain dollar.
What a reference gives is not read for references again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from headwater.errors import ConfigError

_TOKEN = re.compile(r"\$\$|\$\{([^{}]*)(\}?)")
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:(:-)(.*))?", re.DOTALL)
_FILE_PREFIX = "file:"
_MAX_FILE_BYTES = 64 * 1024


class Interpolated(str):
    """Text that came from outside the file: converted where a number is asked for, never shown."""

    __slots__ = ()


def interpolate(text: str, environment: Mapping[str, str], directory: Path) -> str:
    """The text with every reference replaced; relative files are read below `directory`."""
    if "$" not in text:
        return text
    outside = False

    def replacement(found: re.Match[str]) -> str:
        nonlocal outside
        if found[0] == "$$":
            return "$"
        if not found[2]:
            raise ConfigError("config-variable", "a ${ is not closed by }")
        outside = True
        return _resolve(found[1], environment, directory)

    result = _TOKEN.sub(replacement, text)
    return Interpolated(result) if outside else result


def _resolve(reference: str, environment: Mapping[str, str], directory: Path) -> str:
    if reference.startswith(_FILE_PREFIX):
        return _read(directory / reference.removeprefix(_FILE_PREFIX))
    found = _VARIABLE.fullmatch(reference)
    if found is None:
        raise ConfigError(
            "config-variable",
            f"${{{reference}}} is not a reference",
            hint="write ${NAME}, ${NAME:-default} or ${file:/path}; $$ is a plain dollar",
        )
    name, has_default, default = found[1], found[2], found[3]
    value = environment.get(name, "")
    if value:
        return value
    if has_default:
        return default
    state = "empty" if name in environment else "not set"
    raise ConfigError(
        "config-variable",
        f"the environment variable {name} is {state}",
        hint=f"export {name}=…, or give a default: ${{{name}:-value}}",
    )


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_MAX_FILE_BYTES + 1)
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8 text"
        raise ConfigError(
            "secret-unresolved", f"the file {path} cannot be read: {reason}", where=str(path)
        ) from exc
    if len(text) > _MAX_FILE_BYTES:
        raise ConfigError("secret-unresolved", f"the file {path} is larger than 64 KiB")
    value = text.removesuffix("\n").removesuffix("\r")
    if not value:
        raise ConfigError("secret-unresolved", f"the file {path} is empty")
    return value
