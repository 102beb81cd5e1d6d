"""Writes docs/reference/ from the code: what is listed there exists, and nothing else does.

`make docs` calls it. The folder is generated and never committed.
"""

from __future__ import annotations

from tools.reference import code, commands, configuration, project
from tools.reference.places import TARGET


def main() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    pages = {
        "index.md": index(),
        "cli.md": commands.cli(),
        "configuration.md": configuration.configuration(),
        "errors.md": code.errors(),
        "failpoints.md": code.failpoints(),
        "metrics.md": code.metrics(),
        "python.md": code.python_api(),
        "benchmarks.md": project.benchmarks(),
        "decisions.md": project.decisions(),
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


if __name__ == "__main__":
    main()
