"""fastavro and protobuf are extras: loaded by their owner only, and named when missing."""

from __future__ import annotations

import subprocess
import sys

import pytest


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


def test_package_loads_no_extra_when_imported() -> None:
    code = (
        "import sys, headwater.format.headwater.json, headwater.format.headwater.avro_schema;"
        "print(sorted({n.split('.')[0] for n in sys.modules} & {'fastavro', 'google'}))"
    )
    assert run(code) == "[]"


@pytest.mark.parametrize(
    ("library", "extra"), [("fastavro", "avro"), ("google.protobuf.message", "protobuf")]
)
def test_module_names_the_package_to_install_when_its_extra_is_missing(
    library: str, extra: str
) -> None:
    # A None in sys.modules is how Python itself marks a module that cannot be imported.
    code = f"""
import sys
sys.modules[{library!r}] = None
from headwater.errors import MachineError
try:
    import headwater.format.headwater.{extra}
except MachineError as error:
    print(error.code, "|", error.hint)
"""
    assert run(code) == f"{extra}-missing | pip install 'headwater[{extra}]'"


def test_module_says_how_to_build_when_the_generated_module_is_missing() -> None:
    code = """
import sys
sys.modules["headwater.format._generated.event_pb2"] = None
from headwater.errors import MachineError
try:
    import headwater.format.headwater.protobuf
except MachineError as error:
    print(error.code)
"""
    assert run(code) == "protobuf-not-built"
