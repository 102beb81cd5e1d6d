"""Formats that know schemas: of the tables, from a log's history; of the records, in a registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.contract import TypedFormat

if TYPE_CHECKING:
    from headwater.app.config import RegistrySettings
    from headwater.contract import Format, SchemaHistory
    from headwater.format.registry.client import SchemaRegistry
    from headwater.format.registry.subject import Subjects


def with_schemas(
    form: Format,
    history: SchemaHistory | None = None,
    registry: SchemaRegistry | None = None,
    subjects: Subjects | None = None,
) -> Format:
    """The format with the tables of the history, and with its records' schemas in the registry."""
    if history is not None and isinstance(form, TypedFormat):
        form = form.with_schemas(history)
    if registry is None:
        return form
    from headwater.format.registry.described import described
    from headwater.format.registry.registered import RegisteredFormat
    from headwater.format.registry.subject import Subjects

    return RegisteredFormat(described(form), registry, subjects or Subjects())


def as_configured(
    form: Format, settings: RegistrySettings | None, history: SchemaHistory | None
) -> Format:
    """The format as a sink's configuration asks for it."""
    if settings is None:
        return with_schemas(form, history)
    from headwater.format.registry.client import SchemaRegistry
    from headwater.format.registry.subject import Strategy, Subjects

    registry = SchemaRegistry(
        settings.url,
        user=settings.user,
        password=settings.password,
        timeout_s=settings.timeout.seconds,
        register=settings.register_schemas,
    )
    subjects = Subjects(settings.topic, Strategy(settings.subjects))
    return with_schemas(form, history, registry, subjects)
