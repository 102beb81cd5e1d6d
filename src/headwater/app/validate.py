"""Checking a configuration without touching what it names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headwater.app.cdc import CdcPlan
from headwater.app.config import Config, load_config
from headwater.app.format_schemas import as_configured
from headwater.app.registry import default_registry
from headwater.errors import ConfigError


def validate_config(file: Path) -> dict[str, Any]:
    """The settings in a sentence, and warnings; errors are raised."""
    config = load_config(file)
    _known_parts(config)
    return {
        "file": str(file),
        "summary": _sentence(config),
        "config": config.model_dump(mode="json"),
        "findings": [*_warnings(config, file), *_idle(config, file)],
    }


def _known_parts(config: Config) -> None:
    registry = default_registry()
    known = registry.names()
    if config.source.url.scheme not in known["sources"]:
        raise ConfigError(
            "source-unknown",
            f"source.url: there is no source for {config.source.url.scheme}:",
            hint="available: " + ", ".join(f"{scheme}:///…" for scheme in known["sources"]),
        )
    for sink in config.sinks:
        as_configured(registry.format(sink.format), sink.registry, None)


def _warnings(config: Config, file: Path) -> list[dict[str, Any]]:
    path = config.source.url.path
    if path is None or path.exists():
        return []
    return [
        {
            "severity": "warning",
            "code": "source-missing",
            "message": f"there is no database at {path} yet",
            "file": str(file),
            "configPath": "source.url",
            "suggestion": "relative paths are relative to the configuration file",
        }
    ]


def _idle(config: Config, file: Path) -> list[dict[str, Any]]:
    """What the compiled schema says and nothing here does."""
    return [
        {
            "severity": "warning",
            "code": "cdc-without-effect",
            "message": f"cdc.{field} of {config.cdc.schema_file} has no effect",
            "file": str(file),
            "configPath": "cdc.schema_file",
            "suggestion": why,
        }
        for field, why in CdcPlan.of(config.cdc).without_effect().items()
    ]


def _sentence(config: Config) -> str:
    consumers = [sink.name for sink in config.sinks]
    if config.spark is not None:
        consumers.insert(0, f"spark ({config.spark.table_format})")
    target = ", ".join(consumers) or "no consumers"
    return f"{config.name}: {config.source.url} to {config.log.path.name} to {target}"
