"""The first configuration file: every setting that matters, with a comment and real tables."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.app.config import parse_config
from headwater.app.database import DatabaseFacts, sqlite_path
from headwater.app.registry import parse_url
from headwater.app.source_options import SourceOptions, server_name
from headwater.app.source_tables import look_into
from headwater.app.url import SourceUrl
from headwater.errors import ConfigError

VARIABLE = "DATABASE_URL"

_TEMPLATE = """\
# A Headwater pipeline. Check it with: headwater validate {file}
# Values may be ${{NAME}}, ${{NAME:-default}} or ${{file:/path}}; paths are relative to this file.
version: 1
name: {name}

source:
  url: {url}
{note}
  tables:
{tables}
  # exclude: ["tmp_*"]
  snapshot: initial        # initial: existing rows first; never: only changes from now on
  on_gap: halt             # halt, resnapshot or accept, if the source ever lost changes
{finer}

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


@dataclass(frozen=True, slots=True)
class Template:
    """What differs between databases."""

    note: str
    finer: str


_SQLITE = Template(
    note="""\
  # Names or globs. Capture is installed in these tables by the first start, or beforehand by
  # headwater setup sqlite.""",
    finer="  poll_interval: 50ms",
)
_POSTGRES = Template(
    note="""\
  # Names or globs; without a dot, in any schema. headwater setup postgres prepares them.""",
    finer="""\
  # exclude_columns: ["customers.notes"]
  slot: {server_name}
  publication: {server_name}
  create: true             # make slot and publication at the first start if they are missing""",
)


def write_starter(file: Path, url: str | None, *, force: bool) -> dict[str, Any]:
    """Write the file; with a URL, its tables are looked up and listed."""
    if file.exists() and not force:
        raise ConfigError("file-exists", "the file is there already", where=str(file))
    source = None if url is None else parse_url(url)
    facts = None if source is None else look_into(source, SourceOptions())
    text = starter_text(file, source, facts)
    given = {} if source is None else {VARIABLE: source.full.reveal()}
    parse_config(text, file, given)  # what we write is valid, or we do not write it
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as exc:
        raise ConfigError(
            "file-unwritable", f"cannot write: {exc.strerror}", where=str(file)
        ) from exc
    return {
        "file": str(file),
        "tables": [] if facts is None else _table_notes(facts),
        "next": _next_steps(file, source, facts),
    }


def starter_text(file: Path, url: SourceUrl | None, facts: DatabaseFacts | None) -> str:
    """The YAML."""
    name = "shop" if url is None else _plain_name(url.name)
    tables = () if facts is None else facts.capturable
    listed = "\n".join(f"    - {_quoted(str(each))}" for each in tables) or '    - "*"'
    kind = _POSTGRES if url is not None and url.server is not None else _SQLITE
    return _TEMPLATE.format(
        file=file,
        name=name,
        url=_shown_url(url, file),
        note=kind.note,
        tables=listed,
        finer=kind.finer.format(server_name=server_name(name)),
    )


def _shown_url(url: SourceUrl | None, file: Path) -> str:
    """A URL with a password stays outside the file (INV-12)."""
    if url is None:
        return _quoted("sqlite:///shop.db")
    if url.server is not None:
        return f"${{{VARIABLE}}}" if url.server.secrets else _quoted(url.full.reveal())
    return _quoted(_relative_url(sqlite_path(url), file))


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
        notes.append({"name": str(table.table), "note": table.refusal or note})
    return notes


def _next_steps(file: Path, url: SourceUrl | None, facts: DatabaseFacts | None) -> list[str]:
    written = shlex.quote(str(file))
    steps = [f"headwater validate {written}", f"headwater run {written}"]
    if url is None or facts is None:
        return steps
    if url.server is not None:
        steps.insert(1, f"headwater doctor {written}")
        if url.server.secrets:
            steps.insert(0, f"export {VARIABLE}='{url}'   # with the password")
    elif facts.captured is None:
        steps.insert(0, f"headwater setup sqlite {url}")
    return steps
