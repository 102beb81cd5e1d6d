"""What the code names: errors, metrics, failpoints, the Python API."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tools.reference.markdown import table
from tools.reference.places import SOURCE


def errors() -> Iterator[str]:
    from headwater.errors import CATALOG, kinds

    yield "# Errors"
    yield ""
    yield "Every error has a stable code, and a hint that says what to do next."
    yield "`headwater explain CODE` prints the same text."
    yield ""
    yield "## Classes"
    yield ""
    yield "The class says what the caller can do. Each is importable from `headwater`."
    yield ""
    classes = [
        value
        for value in vars(kinds).values()
        if isinstance(value, type) and issubclass(value, kinds.HeadwaterError)
    ]
    yield from table(
        ("class", "exit code", "retried", "meaning"),
        (
            (f"`{kind.__name__}`", kind.exit_code, "yes" if kind.retryable else "no", _first(kind))
            for kind in classes
        ),
    )
    yield ""
    yield "## Codes"
    for code, entry in sorted(CATALOG.items()):
        yield from ("", f"### `{code}`", "", entry.meaning, "", f"Fix: {entry.fix}")


def metrics() -> Iterator[str]:
    from headwater.observe import CATALOGUE

    yield "# Metrics"
    yield ""
    yield "Prometheus text at `/metrics` of the [status server](../guide/operations.md)."
    yield "No other label than those listed exists, so no value of a row can become one."
    yield ""
    yield from table(
        ("metric", "kind", "labels", "meaning"),
        (
            (f"`{each.name}`", each.kind, ", ".join(f"`{x}`" for x in each.labels), each.help)
            for each in CATALOGUE.values()
        ),
    )


def failpoints() -> Iterator[str]:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for call in re.finditer(r"failpoint\(\s*([^)]*)\)", path.read_text()):
            for name in re.findall(r'"([a-z0-9_.]+)"', call[1]):
                places[name].append(path.relative_to(SOURCE).as_posix())
    yield "# Failpoints"
    yield ""
    yield "Named points where a test ends or disturbs the process. They do nothing unless"
    yield "`HEADWATER_FAILPOINT` is set, for example"
    yield '`HEADWATER_FAILPOINT="log.append.before_commit=kill@3"`: SIGKILL at the third passage.'
    yield "Actions are `kill`, `raise` and `sleep:SECONDS`."
    yield "`HEADWATER_FAILPOINT_TRACE=PATH` appends the name of every point that is passed."
    yield ""
    yield f"This version has {len(places)}."
    yield ""
    rows = (
        (f"`{name}`", ", ".join(f"`{place}`" for place in where))
        for name, where in sorted(places.items())
    )
    yield from table(("failpoint", "in"), rows)


def python_api() -> Iterator[str]:
    import headwater

    groups = {
        "Capture and subscribe": ("capture", "subscribe", "CaptureOptions", "SubscriptionPolicy"),
        "What they give": ("Capture", "Consumer", "Delivery"),
        "Events": ("Event", "EventBatch", "Operation"),
        "Log": ("SqliteLog",),
        "Configuration": ("load_config", "Config", "Secret"),
    }
    grouped = {name for names in groups.values() for name in names}
    left = [name for name in headwater.__all__ if name not in grouped and name[0] != "_"]
    groups["Errors"] = tuple(name for name in left if name.endswith("Error"))
    rest = tuple(name for name in left if name not in groups["Errors"] and name != "aio")
    if rest:
        groups["More"] = rest
    yield "# Python API"
    yield ""
    yield "Everything here is importable from `headwater`. Importing it loads no driver and no"
    yield "Spark; each name is loaded when it is first used."
    for title, names in groups.items():
        yield from ("", f"## {title}")
        for name in names:
            yield from ("", f"::: headwater.{name}")
    yield from ("", "## asyncio", "", "::: headwater.aio")
    yield from ("    options:", "      heading_level: 3", "      show_root_full_path: true")
    yield from ("", "## Test kit", "")
    yield "`headwater.testing` is public: doubles without mocks, and suites that a source, log,"
    yield "sink or format of your own inherits to prove that it keeps its promises."
    for path in sorted((SOURCE / "testing" / "conformance").glob("[a-z]*.py")):
        for name in re.findall(r"^class (\w+Conformance)", path.read_text(), re.MULTILINE):
            yield from ("", f"::: headwater.testing.conformance.{path.stem}.{name}")
            yield from ("    options:", "      show_root_full_path: true", "      members: false")
    for name in (*_modules(SOURCE / "testing"), "replay"):
        yield from ("", f"::: headwater.testing.{name}")
        yield from ("    options:", "      show_root_full_path: true")


def _modules(room: Path) -> list[str]:
    return sorted(path.stem for path in room.glob("[a-z]*.py"))


def _first(kind: type) -> str:
    return (kind.__doc__ or "").split("\n\n")[0]
