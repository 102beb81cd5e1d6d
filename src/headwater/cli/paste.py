"""Hints to paste: the configuration that the command was given stands where they say FILE."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

# Of our own commands only: the FILE of `sqlite3 FILE` or of a checkpoint is another one.
_PLACE = re.compile(r"(headwater(?: [a-z-]+)+ |--config )FILE\b")


def with_config(hint: str, config: Path | None) -> str:
    """The hint with the path of the configuration, quoted for a shell."""
    if config is None:
        return hint
    path = shlex.quote(str(config))
    return _PLACE.sub(lambda found: found[1] + path, hint)


def config_in(given: str | Path) -> Path | None:
    """The configuration, if it is one: commands take the URL of a database or a log as well."""
    return path if (path := Path(given)).suffix in {".yaml", ".yml"} else None
