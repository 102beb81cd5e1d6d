"""A sink's schema registry."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from headwater.app.config.quantity import Duration
from headwater.app.config.scalar import Bool, SecretText, Text
from headwater.app.config.section import Section


def _web_address(value: str) -> str:
    try:
        parts = urlsplit(value)
    except ValueError:
        raise ValueError("expected a URL such as https://registry.example.com") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("expected a URL such as https://registry.example.com")
    if parts.username is not None:
        raise ValueError("a user and a password are settings of their own, not part of the URL")
    return value


class RegistrySettings(Section):
    """A schema registry that keeps the schemas of the records; each record names its own by id."""

    url: Annotated[
        Text, AfterValidator(_web_address), Field(description="The registry's Confluent interface")
    ]
    user: Annotated[Text, Field(description="For basic authentication")] = ""
    password: Annotated[
        SecretText | None, Field(description="A reference: ${NAME} or ${file:/path}")
    ] = None
    topic: Annotated[
        Text, Field(min_length=1, description="Topic of an event: {source}, {schema}, {table}")
    ] = "{schema}.{table}"
    subjects: Annotated[
        Literal["topic-name", "record-name", "topic-record-name"],
        Field(description="How the subjects of schemas get their names"),
    ] = "topic-name"
    register_schemas: Annotated[
        Bool, Field(description="Register what is missing; false only looks up")
    ] = True
    timeout: Annotated[Duration, Field(description="Longest wait for an answer")] = Duration(10_000)

    @model_validator(mode="after")
    def _user_and_password(self) -> RegistrySettings:
        if bool(self.user) != (self.password is not None):
            raise ValueError("a user and a password go together")
        return self
