"""From a file to a `Config`, or to every problem in it at once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from headwater.app.config.document import UNRESOLVED, Document, read_document
from headwater.app.config.interpolate import interpolate
from headwater.app.config.model import Config
from headwater.app.config.problem import ConfigPath, InvalidConfigError, Problem
from headwater.app.config.reason import config_path, explain_error
from headwater.errors import ConfigError

_INIT = "write one with: headwater init FILE"


def load_config(file: Path | str, environment: Mapping[str, str] | None = None) -> Config:
    """Read and check a configuration file; InvalidConfigError lists all that is wrong."""
    file = Path(file)
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError as exc:
        raise ConfigError("config-missing", "there is no such file", where=str(file)) from exc
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8 text"
        raise ConfigError(
            "config-missing", f"the file cannot be read: {reason}", where=str(file)
        ) from exc
    return parse_config(text, file, environment)


def parse_config(
    text: str, file: Path = Path("config.yaml"), environment: Mapping[str, str] | None = None
) -> Config:
    """Check configuration text as if it stood in `file`."""
    known = os.environ if environment is None else environment
    directory = file.absolute().parent
    document = read_document(text, file, lambda scalar: interpolate(scalar, known, directory))
    if not isinstance(document.values, dict):
        reason = "the file is empty" if document.values is None else "expected settings, not a list"
        problem = Problem("config-invalid", file, 1, (), reason, _INIT)
        raise InvalidConfigError.of([*document.problems, problem])
    config, problems = _validate(document, file, directory)
    if problems or config is None:
        raise InvalidConfigError.of(problems)
    return config


def config_schema() -> dict[str, Any]:
    """The JSON Schema of the file, for editors."""
    schema = Config.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _validate(
    document: Document, file: Path, directory: Path
) -> tuple[Config | None, list[Problem]]:
    problems = list(document.problems)
    try:
        config = Config.model_validate(document.values, context={"directory": directory})
    except ValidationError as exc:
        for error in exc.errors(include_url=False):
            path = config_path(error["loc"], document.values)
            if _unresolved(document.values, path):
                continue
            reason, suggestion = explain_error(error, Config, path)
            found = Problem(
                "config-invalid", file, document.line_of(path), path, reason, suggestion
            )
            if found not in problems:
                problems.append(found)
        return None, problems
    return config, problems


def _unresolved(values: Any, path: ConfigPath) -> bool:
    """Whether the value is missing only because its reference failed, which is reported."""
    for part in path:
        try:
            values = values[part]
        except (KeyError, IndexError, TypeError):
            return False
    return values is UNRESOLVED
