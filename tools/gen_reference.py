"""Writes docs/reference/ from the code: what is listed there exists, and nothing else does.

`make docs` calls it. The folder is generated and never committed.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "headwater"
TARGET = ROOT / "docs" / "reference"


def main() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    pages = {
        "index.md": index(),
        "cli.md": cli(),
        "configuration.md": configuration(),
        "errors.md": errors(),
        "failpoints.md": failpoints(),
        "metrics.md": metrics(),
        "python.md": python_api(),
        "benchmarks.md": benchmarks(),
        "decisions.md": decisions(),
    }
    for stale in set(TARGET.glob("*.md")) - {TARGET / name for name in pages}:
        stale.unlink()
    for name, lines in pages.items():
        (TARGET / name).write_text("\n".join(lines).rstrip() + "\n")


def index() -> list[str]:
    return [
        "# Reference",
        "",
        "Generated from the code of this version.",
        "",
        "- [Command line](cli.md): every command and option",
        "- [Configuration](configuration.md): every setting of the YAML file",
        "- [Python API](python.md): every public name",
        "- [Errors](errors.md): every code, what it means, what to do",
        "- [Metrics](metrics.md): every Prometheus metric",
        "- [Failpoints](failpoints.md): where a test can end the process",
        "- [Benchmarks](benchmarks.md): the last figures, those that miss their bar too",
        "- [Decisions](decisions.md): why it is built as it is",
    ]


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


def configuration() -> Iterator[str]:
    from headwater.app.config import config_schema

    schema = config_schema()
    yield "# Configuration"
    yield ""
    yield "Every setting of the YAML file. Unknown settings are errors."
    yield "`headwater validate --schema` prints the JSON Schema, for editors;"
    yield "the [guide](../guide/configuration.md) has an example."
    yield from _settings("", schema, schema["$defs"])


def _settings(path: str, section: Mapping[str, Any], known: Mapping[str, Any]) -> Iterator[str]:
    required = set(section.get("required", ()))
    plain, nested = [], []
    for name, setting in section["properties"].items():
        inner, suffix = _section_of(setting, known)
        if inner is None:
            plain.append((name, setting))
        else:
            nested.append((f"{path}{name}{suffix}", inner))
    yield from ("", f"## `{path.rstrip('.')}`" if path else "## Top level", "")
    yield _unwrapped(section.get("description", ""))
    if plain:
        yield ""
        yield from table(
            ("setting", "value", "default", "meaning"),
            (
                (
                    f"`{path}{name}`",
                    _values(setting, known),
                    "required" if name in required else _default(section["title"], name),
                    setting.get("description", ""),
                )
                for name, setting in plain
            ),
        )
    for name, inner in nested:
        yield from _settings(f"{name}.", inner, known)


def _section_of(
    setting: Mapping[str, Any], known: Mapping[str, Any]
) -> tuple[Mapping[str, Any] | None, str]:
    """The settings below this one, if it is a section, and `[]` if there may be several."""
    for option in (setting, *setting.get("anyOf", ())):
        resolved = _resolved(option, known)
        if "properties" in resolved:
            return resolved, ""
        items = _resolved(option.get("items", {}), known)
        if "properties" in items:
            return items, "[]"
    return None, ""


def _resolved(setting: Mapping[str, Any], known: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = setting.get("$ref", "")
    found: Mapping[str, Any] = known[reference.rpartition("/")[2]] if reference else setting
    return found


def _values(setting: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    setting = _resolved(setting, known)
    if "anyOf" in setting:
        options = [_values(option, known) for option in setting["anyOf"]]
        return " or ".join(text for text in options if text != "null")
    if "const" in setting:
        return f"`{setting['const']}`"
    if "enum" in setting:
        return ", ".join(f"`{value}`" for value in setting["enum"])
    if setting.get("type") == "array":
        return f"list of {_values(setting.get('items', {}), known)}"
    if examples := setting.get("examples"):
        return "such as " + ", ".join(f"`{value}`" for value in examples)
    return str(setting.get("type", "text"))


def _default(section: str, name: str) -> str:
    """The default as it would be written in the file; the model has it, typed."""
    from headwater.app.config import model

    value = getattr(model, section).model_fields[name].default
    if value is None or value == ():
        return "none"
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return f"`{text.lower() if isinstance(value, bool) else text}`"


def cli() -> Iterator[str]:
    import typer

    from headwater.cli.main import app

    yield "# Command line"
    yield ""
    yield "Every command takes `--json` and then prints one envelope:"
    yield "`{command, ok, summary, result, error}`."
    yield ""
    yield from table(
        ("exit code", "meaning"),
        (
            ("0", "done"),
            ("1", "it failed while running, or found what it looks for (`verify`, `log check`)"),
            ("2", "the configuration or the arguments are wrong"),
            ("3", "the machine is not ready"),
        ),
    )
    yield ""
    yield "Colour and live lines appear on a terminal only; `NO_COLOR=1` switches colour off."
    yield "`HEADWATER_DEBUG=1` shows the traceback of an unexpected error."
    yield from _command(typer.main.get_command(app), "headwater", None)


def _command(command: Any, path: str, parent: Any) -> Iterator[str]:
    context = command.context_class(command, info_name=path, parent=parent)
    children: Mapping[str, Any] = getattr(command, "commands", {})
    if children:
        for name, child in children.items():
            yield from _command(child, f"{path} {name}", context)
        return
    yield from ("", f"## {path}", "")
    yield _unwrapped((command.help or "").replace("\b", ""))
    yield from ("", "```text", " ".join([path, *_pieces(command)]), "```", "")
    records = [each.get_help_record(context) for each in command.params]
    shown = [record for record in records if record is not None]
    yield from table(("argument or option", "meaning"), ((f"`{a}`", b) for a, b in shown))
    if command.epilog:
        example = command.epilog.replace("\b", "").strip().removeprefix("Example:")
        lines = [line.strip() for line in example.strip().splitlines()]
        yield from ("", "```console", *lines, "```")


def _pieces(command: Any) -> Iterator[str]:
    """Optional arguments stand in brackets, whatever their metavar says."""
    for each in command.params:
        if each.param_type_name != "argument":
            continue
        name = each.metavar or each.name.upper()
        yield name if each.required else f"[{name.strip('[]')}]"
    yield "[OPTIONS]"


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
    for path in sorted((SOURCE / "testing").glob("[a-z]*.py")):
        yield from ("", f"::: headwater.testing.{path.stem}")
        yield from ("    options:", "      show_root_full_path: true")


def benchmarks() -> Iterator[str]:
    yield "# Benchmarks"
    yield ""
    yield "The figures in `benchmarks/results/`; [how they are measured](../guide/speed.md)."
    for path in sorted((ROOT / "benchmarks" / "results").glob("*.json")):
        report = json.loads(path.read_text())
        facts = ", ".join(f"{name} {value}" for name, value in report["machine"].items())
        yield from ("", f"## {report['benchmark']}", "", f"Machine: {facts}.", "")
        yield from table(("what", "per second", "ratio", "against", "A/A control"), _rates(report))
        yield ""
        yield from table(
            ("bar", "reached", "wanted", ""),
            (
                (bar["name"], f"{bar['value']:,.2f}", bar["bar"], "ok" if bar["ok"] else "missed")
                for bar in report["bars"]
            ),
        )


def _rates(report: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for each in report["comparisons"]:
        low, high = each["aa_control"]
        rate, ratio = f"{median(each['rates']):,.0f}", f"{each['ratio']:.2f}"
        yield each["name"], rate, ratio, each["reference"], f"{low:.2f} to {high:.2f}"
    for name, samples in report["rates"].items():
        yield name, f"{median(samples):,.0f}", "", "", ""


def decisions() -> Iterator[str]:
    yield "# Decisions"
    yield ""
    yield "One page for each decision that was hard."
    yield ""
    for path in sorted((ROOT / "docs" / "adr").glob("*.md")):
        title = path.read_text().splitlines()[0].removeprefix("# ")
        number, _, name = title.partition(". ")
        yield f"- {number.rjust(2)}: [{name or title}](../adr/{path.name})"


def table(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """A Markdown table."""
    names = list(header)
    yield f"| {' | '.join(names)} |"
    yield f"|{'---|' * len(names)}"
    for row in rows:
        yield f"| {' | '.join(_cell(value) for value in row)} |"


def _cell(value: Any) -> str:
    return _unwrapped(str(value)).replace("|", "\\|").replace("\n", " ")


def _unwrapped(text: str) -> str:
    """Paragraphs as single lines."""
    parts = re.split(r"\n\s*\n", text.strip())
    return "\n\n".join(" ".join(part.split()) for part in parts)


def _first(kind: type) -> str:
    return (kind.__doc__ or "").split("\n\n")[0]


if __name__ == "__main__":
    main()
