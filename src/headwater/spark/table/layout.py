"""The columns that each mode adds to those of the source. Their names are a promise."""

from __future__ import annotations

from collections.abc import Mapping

PREFIX = "_headwater_"
SEQUENCE = "_headwater_sequence"
DELETED_FLAG = "_headwater_deleted"
DELETED_AT = "_headwater_deleted_at"
VALID_FROM = "_headwater_valid_from"
VALID_TO = "_headwater_valid_to"
TO_SEQUENCE = "_headwater_to_sequence"
CURRENT = "_headwater_current"
OP = "_headwater_op"
COMMITTED_AT = "_headwater_committed_at"
UNAVAILABLE = "_headwater_unavailable"
BEFORE = "_headwater_before"
MOVED_FLAG = "_headwater_moved"

Layout = Mapping[str, str]

MIRROR: Layout = {SEQUENCE: "bigint"}
SOFT_DELETE: Layout = {SEQUENCE: "bigint", DELETED_FLAG: "boolean", DELETED_AT: "timestamp"}
SCD2: Layout = {
    SEQUENCE: "bigint",
    TO_SEQUENCE: "bigint",
    VALID_FROM: "timestamp",
    VALID_TO: "timestamp",
    CURRENT: "boolean",
}
APPEND_LOG: Layout = {
    SEQUENCE: "bigint",
    OP: "string",
    COMMITTED_AT: "timestamp",
    UNAVAILABLE: "array<string>",
    BEFORE: "string",
}
