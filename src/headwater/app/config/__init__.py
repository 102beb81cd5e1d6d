"""The configuration file: YAML in, frozen settings out, or every problem with its line.

`load_config` is the door. document.py keeps the lines, interpolate.py resolves `${…}`, model.py
names the settings, quantity.py and scalar.py their types, reason.py and problem.py the errors.

Holds: INV-12 (values that came from outside the file are never shown).
"""

from headwater.app.config.compiled import load_compiled
from headwater.app.config.interpolate import interpolate
from headwater.app.config.load import config_schema, load_config, parse_config
from headwater.app.config.model import (
    LOOPBACK,
    CdcSettings,
    CompiledCdc,
    Config,
    EntitySettings,
    LogSettings,
    ObservabilitySettings,
    RegistrySettings,
    RetentionSettings,
    ServerSettings,
    SinkSettings,
    SourceSettings,
    SparkSettings,
)
from headwater.app.config.problem import InvalidConfigError, Problem, dotted
from headwater.app.config.quantity import Duration, Size

__all__ = [
    "LOOPBACK",
    "CdcSettings",
    "CompiledCdc",
    "Config",
    "Duration",
    "EntitySettings",
    "InvalidConfigError",
    "LogSettings",
    "ObservabilitySettings",
    "Problem",
    "RegistrySettings",
    "RetentionSettings",
    "ServerSettings",
    "SinkSettings",
    "Size",
    "SourceSettings",
    "SparkSettings",
    "config_schema",
    "dotted",
    "interpolate",
    "load_compiled",
    "load_config",
    "parse_config",
]
