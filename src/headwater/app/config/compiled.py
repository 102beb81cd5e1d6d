"""A CompiledSchema's `cdc` section, read with the same care as the configuration itself."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from headwater.app.config.cdc import CompiledCdc
from headwater.app.config.document import Document, read_document
from headwater.app.config.problem import InvalidConfigError, Problem
from headwater.app.config.reason import config_path, explain_error
from headwater.errors import ConfigError


class _CompiledSchema(BaseModel):
    """Of everything that a CompiledSchema holds, only this section is about capture."""

    model_config = ConfigDict(frozen=True)

    cdc: CompiledCdc = CompiledCdc()


def load_compiled(file: Path) -> CompiledCdc:
    """The section of the file; InvalidConfigError lists all that is wrong with it."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(
            "config-missing",
            f"cdc.schema_file cannot be read: {exc}",
            where=str(file),
            hint="correct the path; it is relative to the configuration file",
        ) from exc
    # JSON is YAML, and the document knows the line of every value.
    document = read_document(text, file, str)
    if not isinstance(document.values, dict):
        problem = Problem("config-invalid", file, 1, (), "expected a JSON object")
        raise InvalidConfigError.of([problem])
    try:
        section = _CompiledSchema.model_validate(document.values).cdc
    except ValidationError as exc:
        raise InvalidConfigError.of(_problems(exc, document, file)) from exc
    refused = [*document.problems, *_refused(section, document, file)]
    if refused:
        raise InvalidConfigError.of(refused)
    return section


def _problems(exc: ValidationError, document: Document, file: Path) -> list[Problem]:
    found = list(document.problems)
    for error in exc.errors(include_url=False):
        path = config_path(error["loc"], document.values)
        reason, suggestion = explain_error(error, _CompiledSchema, path)
        line = document.line_of(path)
        found.append(Problem("config-invalid", file, line, path, reason, suggestion))
    return found


def _refused(section: CompiledCdc, document: Document, file: Path) -> list[Problem]:
    """What the section asks for and nothing here can do."""
    refusals = (
        (
            "enabled", not section.enabled, "capture is switched off here, and a pipeline captures",
            "set enabled to true, or leave cdc.schema_file out",
        ),
        (
            "storage", section.storage == "kafka", "the log of a pipeline is a file, not Kafka",
            "say postgres_wal or event_table: the source decides how changes are captured",
        ),
    )  # fmt: skip
    return [
        Problem("config-invalid", file, document.line_of(("cdc", name)), ("cdc", name), why, hint)
        for name, wrong, why, hint in refusals
        if wrong
    ]
