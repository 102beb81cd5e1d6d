"""Codes are stable, unique, documented, and every code that is raised exists."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from headwater.errors import CATALOG, HeadwaterError, kinds

SOURCE = Path(__file__).resolve().parents[2] / "src" / "headwater"
KINDS = {name for name, value in vars(kinds).items() if isinstance(value, type)}


def _raised_codes() -> Iterator[tuple[str, str]]:
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            first = node.args[0]
            if name in KINDS and isinstance(first, ast.Constant):
                yield str(first.value), f"{path.name}:{node.lineno}"


def test_every_raised_code_is_in_the_catalog() -> None:
    unknown = [(code, place) for code, place in _raised_codes() if code not in CATALOG]
    assert unknown == []


def test_every_code_says_what_it_means_and_how_to_fix_it() -> None:
    for entry in CATALOG.values():
        assert re.fullmatch(r"[a-z0-9-]+", entry.code)
        assert entry.meaning.endswith(".")
        assert len(entry.fix) > 10


def test_codes_are_unique_across_sections() -> None:
    files = (SOURCE / "errors" / "catalog").glob("*.py")
    text = "".join(path.read_text() for path in files)
    codes = re.findall(r'^        "([a-z0-9-]+)",$', text, flags=re.MULTILINE)
    assert len(codes) == len(set(codes))


def test_error_survives_pickling_as_spark_workers_need() -> None:
    import pickle

    for kind in KINDS:
        error_class = getattr(kinds, kind)
        if not issubclass(error_class, HeadwaterError):
            continue
        error = error_class("log-corrupt", "what", where="here", hint="do this")
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is error_class
        assert again.as_dict() == error.as_dict()
