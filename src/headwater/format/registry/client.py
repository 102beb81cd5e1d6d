"""A schema registry: schemas by id, ids by subject and schema. Each is asked for once."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from headwater.errors import ConfigError, DataError, HeadwaterError
from headwater.format.registry.http import Connection, Refused
from headwater.format.registry.schema import Language, Schema
from headwater.secret import Secret

_VERSION_NOT_KNOWN = (404,)
_INCOMPATIBLE = 409


class SchemaRegistry:
    """A client of a registry with Confluent's HTTP interface.

    What a registry said of an id or a subject never changes, so it is kept for good. With
    `register=False` schemas are only looked up, for producers that may not register any.
    """

    def __init__(
        self,
        url: str,
        *,
        user: str = "",
        password: Secret | str | None = None,
        timeout_s: float = 10.0,
        register: bool = True,
    ) -> None:
        secret = Secret(password) if isinstance(password, str) else password
        self._connection = Connection(url, user, secret, timeout_s)
        self._registers = register
        self._ids: dict[tuple[str, Schema], int] = {}
        self._schemas: dict[int, Schema] = {}

    def __repr__(self) -> str:
        return f"SchemaRegistry({self._connection.url!r})"

    def id_of(self, subject: str, schema: Schema, *, shared: bool = False) -> int:
        """The schema's id, registered under the subject if it is not yet.

        In a subject that is shared, after the schema that it extends: the other way round a
        registry would refuse that one.
        """
        known = self._ids.get((subject, schema))
        if known is None:
            if shared and self._registers and schema.extends is not None:
                self.id_of(subject, schema.extends)
            known = self._ids[subject, schema] = self._ask_id(subject, schema)
            self._schemas.setdefault(known, schema)
        return known

    def schema(self, schema_id: int) -> Schema:
        """The schema with this id; a DataError if the registry has none."""
        known = self._schemas.get(schema_id)
        if known is None:
            known = self._schemas[schema_id] = self._ask_schema(schema_id)
        return known

    def check(self, subject: str, schema: Schema) -> None:
        """Raise `registry-incompatible` if the subject's rule forbids the schema."""
        path = f"compatibility/subjects/{quote(subject, safe='')}/versions/latest?verbose=true"
        try:
            answer = self._connection.post(path, _body(schema))
        except Refused as exc:
            if exc.status in _VERSION_NOT_KNOWN:  # a subject that has no version forbids nothing
                return
            raise _refusal(exc, subject) from None
        if not self._member(answer, "is_compatible", bool):
            reasons = "; ".join(map(str, answer.get("messages") or ["no reason was given"]))
            raise _incompatible(subject, reasons)

    def _ask_id(self, subject: str, schema: Schema) -> int:
        path = f"subjects/{quote(subject, safe='')}"
        try:
            answer = self._connection.post(
                f"{path}/versions" if self._registers else path, _body(schema)
            )
        except Refused as exc:
            if exc.status in _VERSION_NOT_KNOWN and not self._registers:
                raise ConfigError("registry-not-registered", exc.reason, where=subject) from None
            raise _refusal(exc, subject) from None
        found: int = self._member(answer, "id", int)
        return found

    def _ask_schema(self, schema_id: int) -> Schema:
        try:
            answer = self._connection.get(f"schemas/ids/{schema_id}")
        except Refused as exc:
            if exc.status in _VERSION_NOT_KNOWN:
                raise DataError(
                    "registry-unknown-id", f"no schema has the id {schema_id}: {exc.reason}"
                ) from None
            raise _refusal(exc, f"schema {schema_id}") from None
        # Registries leave the language out where it is the oldest.
        language = answer.get("schemaType") or Language.AVRO if isinstance(answer, dict) else ""
        if language not in set(Language):
            raise DataError("registry-unknown-id", f"schema {schema_id} is in {language!r}")
        return Schema(Language(language), self._member(answer, "schema", str))

    def _member(self, answer: Any, name: str, kind: type) -> Any:
        if not isinstance(answer, dict) or not isinstance(answer.get(name), kind):
            raise ConfigError(
                "registry-reply", f"the answer has no {name}", where=self._connection.url
            )
        return answer[name]


def _body(schema: Schema) -> dict[str, str]:
    return {"schemaType": schema.language.value, "schema": schema.text}


def _refusal(answer: Refused, subject: str) -> HeadwaterError:
    if answer.status == _INCOMPATIBLE:
        return _incompatible(subject, answer.reason)
    return ConfigError("registry-refused", f"{answer.status}: {answer.reason}", where=subject)


def _incompatible(subject: str, reason: str) -> HeadwaterError:
    return ConfigError("registry-incompatible", reason, where=f"subject {subject}")
