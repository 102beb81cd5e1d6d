"""Types of single settings: text from outside is converted, text in the file is taken at its word.

`port: "8080"` is text and refused, because a quoted number is a slip; `port: ${PORT}` can only be
text and is read as the number that it spells.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Strict,
    ValidationInfo,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from headwater.app.config.interpolate import Interpolated
from headwater.app.config.quantity import Duration
from headwater.app.url import SourceUrl
from headwater.secret import Secret


def _from_outside(convert: Callable[[str], Any]) -> BeforeValidator:
    def converted(value: Any) -> Any:
        if not isinstance(value, Interpolated):
            return value
        try:
            return convert(value)
        except (ValueError, KeyError):
            return str(value)

    return BeforeValidator(converted)


def _resolved(value: Path, info: ValidationInfo) -> Path:
    """Relative paths are relative to the file that names them, wherever the command is run."""
    directory = (info.context or {}).get("directory", Path.cwd())
    expanded = value.expanduser()
    return expanded if expanded.is_absolute() else Path(directory) / expanded


def _text_path(value: Any) -> Any:
    if isinstance(value, str) and value:
        return Path(value)
    if isinstance(value, Path):
        return value
    raise ValueError("expected a path")


def _target(value: str, info: ValidationInfo) -> str:
    if value.startswith("catalog:"):
        raise ValueError("a catalog belongs to a Spark session of your own: use TableJob there")
    return value if "://" in value else str(_resolved(Path(value), info))


def _trigger(value: Any) -> Any:
    if value == "available_now":
        return value
    try:
        return Duration.validated(value)
    except ValueError as exc:
        raise ValueError("expected a duration such as 5s, or available_now") from exc


Int = Annotated[int, Strict(), _from_outside(int)]
Bool = Annotated[bool, Strict(), _from_outside({"true": True, "false": False}.__getitem__)]
Text = Annotated[str, Strict()]
FilePath = Annotated[Path, BeforeValidator(_text_path), AfterValidator(_resolved)]
Target = Annotated[str, Strict(), AfterValidator(_target)]
Trigger = Annotated[Duration | Literal["available_now"], BeforeValidator(_trigger)]


class _SecretType:
    """How pydantic reads a Secret and never writes it (INV-12)."""

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._validated, serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"type": "string", "format": "password", "writeOnly": True}

    @staticmethod
    def _validated(value: Any) -> Secret:
        if isinstance(value, Secret):
            return value
        if isinstance(value, Interpolated):
            return Secret(str(value))
        if isinstance(value, str):
            reason = "a secret is not written into the file; use ${NAME} or ${file:/path}"
        else:
            reason = "expected a reference to a secret: ${NAME} or ${file:/path}"
        raise ValueError(reason)


SecretText = Annotated[Secret, _SecretType]


class _UrlType:
    """How pydantic reads a source URL; it is written without its password (INV-12)."""

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.with_info_plain_validator_function(
            cls._validated, serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"type": "string", "examples": ["sqlite:///shop.db", "${DATABASE_URL}"]}

    @staticmethod
    def _validated(value: Any, info: ValidationInfo) -> SourceUrl:
        if isinstance(value, SourceUrl):
            return value
        text = value if isinstance(value, str) else ""
        url = SourceUrl.parse(text, directory=(info.context or {}).get("directory"))
        if url.server is not None and url.server.secrets and not isinstance(text, Interpolated):
            raise ValueError(
                "a password is not written into the file; use ${DATABASE_URL}, or ${NAME} for it"
            )
        return url


Url = Annotated[SourceUrl, _UrlType]
