"""Files of records, and what is made of them."""

from __future__ import annotations

from headwater.errors.catalog.entry import section

ENTRIES = section(
    (
        "record-too-long",
        "A record of a file is longer than the limit.",
        "Allow more with --max-record, for example --max-record 256MB.",
    ),
    (
        "record-truncated",
        "The file ends inside a record: its writer or a copy of it was cut off.",
        "Get the whole file again; everything before the place shown was read.",
    ),
    (
        "record-length",
        "What should be the length of a record is none, so no record behind it can be found.",
        "Check the file's framing: --in-framing delimited, or length for files of a file sink.",
    ),
    (
        "avro-file",
        "The file is no Avro object container file.",
        "For records of a file sink say --in-framing length.",
    ),
    (
        "avro-codec",
        "The blocks of the Avro file are packed in a way that is not read here.",
        "Write the file with the codec deflate or null.",
    ),
    (
        "avro-block",
        "A block of the Avro file is damaged; the blocks behind it were read.",
        "Get the file again, or take the records of the block from their source.",
    ),
    (
        "framing-unfit",
        "Records of this format cannot stand in a file in this way.",
        "Leave the framing out: each format has its own.",
    ),
    (
        "schema-not-published",
        "The format has no definition in this language.",
        "Ask for one of the formats shown.",
    ),
    (
        "schema-version-unknown",
        "The log's schema history has no such version of the table.",
        "List the versions with: headwater schema show LOG",
    ),
    (
        "table-ambiguous",
        "The name or pattern means several tables.",
        "Write the one that is meant with its schema, as in public.orders.",
    ),
    (
        "file-unreadable",
        "The file is not there or cannot be read.",
        "Correct the path; - reads standard input.",
    ),
)
