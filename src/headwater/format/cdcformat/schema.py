"""The published JSON Schema (draft 2020-12) of CDC Format 1.0."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

FILE = "cdc-format-1.0.schema.json"


def json_schema() -> dict[str, Any]:
    """The schema that every record of the format passes, ours and the specification's examples."""
    schema: dict[str, Any] = json.loads(files(__package__).joinpath(FILE).read_text("utf-8"))
    return schema
