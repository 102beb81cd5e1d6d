"""Schemas of wire formats: typed rows, and schema registries."""

from __future__ import annotations

from headwater.errors.catalog.entry import section

ENTRIES = section(
    (
        "format-needs-schemas",
        "The format writes typed rows, and nobody gave it the schemas of the tables.",
        "Name the log that captured them: formats.get(NAME, schemas=SqliteLog(PATH).reader()).",
    ),
    (
        "format-no-table-schema",
        "An event's table is not in the schema history, so its row has no types.",
        "Write with the log that captured the event; headwater-avro needs no table schemas.",
    ),
    (
        "format-not-described",
        "The format has no schema that a registry could keep.",
        "Choose headwater-avro-typed, headwater-avro, headwater-protobuf or headwater-json.",
    ),
    (
        "registry-unreachable",
        "The schema registry does not answer, or says that it cannot now.",
        "curl URL/subjects from this machine; check the URL, the network and the registry's log.",
    ),
    (
        "registry-denied",
        "The schema registry refuses the user or the password.",
        "Check registry.user and registry.password, and the user's rights on the subject.",
    ),
    (
        "registry-incompatible",
        "The schema registry refuses a schema: it breaks the compatibility of its subject.",
        "Make the column nullable, write to a new topic, or relax the subject's compatibility.",
    ),
    (
        "registry-refused",
        "The schema registry refuses a request; its own reason is shown.",
        "Read the registry's reason; compare its version and its rules with the request.",
    ),
    (
        "registry-not-registered",
        "The schema is not registered under its subject, and registering is switched off.",
        "Register it first, or set registry.register: true.",
    ),
    (
        "registry-reply",
        "What answers at the registry's URL is no schema registry.",
        "Check the URL: many registries serve this interface below a path of their own.",
    ),
    (
        "registry-unknown-id",
        "A record names a schema that the registry does not have.",
        "Read with the registry that the records were written with.",
    ),
)
