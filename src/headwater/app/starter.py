"""The first configuration file: every setting that matters, with a comment and real tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headwater.app.config import parse_config
from headwater.app.database import DatabaseFacts, look, sqlite_path
from headwater.app.registry import parse_url
from headwater.errors import ConfigError

_TEMPLATE = """\
# A Headwater pipeline. Check it with: headwater validate {file}
# Values may be ${{NAME}}, ${{NAME:-default}} or ${{file:/path}}; paths are relative to this file.
version: 1
name: {name}

source:
  url: {url}
  # Names or globs. Capture is installed in these tables by the first start, or beforehand by
  # headwater setup sqlite.
  tables:
{tables}
  # exclude: ["tmp_*"]
  snapshot: initial        # initial: existing rows first; never: only changes from now on
  on_gap: halt             # halt, resnapshot or accept, if the source ever lost changes
  poll_interval: 50ms

log:
  path: {name}.hwlog
  retention:               # consumers that still need events hold retention back
    max_age: 7d
    max_bytes: 10GB

# Spark keeps a mirror of every table below `target`.
spark:
  target: {name}-tables
  table_format: delta      # parquet appends every change instead and needs no jar
  trigger: 5s              # or available_now
  master: local[2]

# More places that receive every change.
# sinks:
#   - name: audit
#     type: file
#     path: changes.jsonl
#     format: headwater-json

# Status and metrics on this machine: /livez /readyz /metrics /api/status
server:
  port: 8321               # 0 takes any free port

observability:
  log_level: info
"""


def write_starter(file: Path, url: str | None, *, force: bool) -> dict[str, Any]:
    """Write the file; with a URL, its tables are looked up and listed."""
    if file.exists() and not force:
        raise ConfigError("file-exists", "the file is there already", where=str(file))
    facts = None if url is None else look(sqlite_path(parse_url(url)))
    text = starter_text(file, url, facts)
    parse_config(text, file)  # what we write is valid, or we do not write it
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as exc:
        raise ConfigError(
            "file-unwritable", f"cannot write: {exc.strerror}", where=str(file)
        ) from exc
    return {
        "file": str(file),
        "tables": [] if facts is None else _table_notes(facts),
        "next": _next_steps(file, url, facts),
    }


def starter_text(file: Path, url: str | None, facts: DatabaseFacts | None) -> str:
    """The YAML."""
    path = None if url is None else parse_url(url).path
    name = "shop" if path is None else _plain_name(path.stem)
    shown = "sqlite:///shop.db" if path is None else _relative_url(path, file)
    names = ("*",) if facts is None or not facts.capturable else facts.capturable
    listed = "\n".join(f"    - {_quoted(each)}" for each in names)
    return _TEMPLATE.format(file=file, name=name, url=_quoted(shown), tables=listed)


def _relative_url(path: Path, file: Path) -> str:
    """Relative where the database lies beside or below the file, absolute elsewhere."""
    try:
        return f"sqlite:///{path.resolve().relative_to(file.absolute().parent.resolve())}"
    except ValueError:
        return f"sqlite:///{path.resolve()}"


def _plain_name(stem: str) -> str:
    text = "".join(char if char.isascii() and char.isalnum() else "-" for char in stem).strip("-")
    return text[:64] or "pipeline"


def _quoted(text: str) -> str:
    """A YAML scalar that is certainly this text, and is not read for references."""
    if text.isascii() and text.replace("_", "").isalnum() and not text[0].isdigit():
        return text if text.lower() not in {"null", "true", "false"} else f'"{text}"'
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'


def _table_notes(facts: DatabaseFacts) -> list[dict[str, str]]:
    notes = []
    for table in facts.tables:
        key = ", ".join(table.key) or "no primary key"
        note = f"{table.columns} columns, key: {key}"
        notes.append({"name": table.name, "note": table.refusal or note})
    return notes


def _next_steps(file: Path, url: str | None, facts: DatabaseFacts | None) -> list[str]:
    steps = [f"headwater validate {file}", f"headwater run {file}"]
    if url is not None and facts is not None and facts.captured is None:
        steps.insert(0, f"headwater setup sqlite {url}")
    return steps
