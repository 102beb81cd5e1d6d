"""Which way records of a format stand in a file, by the names that the command line uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.app.format_schemas import with_schemas
from headwater.app.registry import is_text, make_format
from headwater.errors import ConfigError

if TYPE_CHECKING:
    from headwater.contract import SchemaHistory
    from headwater.format.files.carrier import Carrier

FRAMINGS = ("lines", "delimited", "container", "length")


def carrier_of(
    format_name: str, framing: str | None = None, schemas: SchemaHistory | None = None
) -> Carrier:
    """The carrier of a format's records; without a framing, the one it is known for.

    `schemas` are those of the tables, for formats that write typed rows.
    """
    from headwater.format.files.lines import Lines
    from headwater.format.files.prefixed import Prefix, Prefixed

    record_format = with_schemas(make_format(format_name), schemas)
    text = is_text(record_format)
    avro = format_name == "headwater-avro"
    match framing or ("lines" if text else "container" if avro else "delimited"):
        case "lines" if text:
            return Lines(record_format)
        case "container" if avro:
            from headwater.format.files.container import Container

            return Container()
        case "delimited":
            return Prefixed(record_format, Prefix.VARINT)
        case "length":
            return Prefixed(record_format, Prefix.UINT32)
        case known if known in FRAMINGS:
            raise ConfigError("framing-unfit", f"{format_name} has no {known} files")
        case unknown:
            raise ConfigError(
                "framing-unfit",
                f"there is no framing {unknown!r}",
                hint=f"choose one of: {', '.join(FRAMINGS)}",
            )
