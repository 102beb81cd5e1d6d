"""Importing does nothing: no driver, no Spark, no web framework comes with `import headwater`."""

import subprocess
import sys

import pytest

HEAVY = ("pyspark", "fastavro", "google.protobuf", "starlette", "uvicorn", "typer")


def _loaded_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement", ["import headwater", "import headwater; headwater.capture; headwater.subscribe"]
)
def test_import_loads_no_heavy_library(statement: str) -> None:
    loaded = _loaded_after(statement)
    assert not [name for name in HEAVY if name in loaded]


def test_import_headwater_loads_no_arrow_until_it_is_used() -> None:
    assert "pyarrow" not in _loaded_after("import headwater")
