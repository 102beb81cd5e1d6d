"""Records set aside: a JSONL file with the place of each, the reason, and the record itself."""

from __future__ import annotations

import base64
import json
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from headwater.errors import DataError, MachineError
from headwater.files import replacing

if TYPE_CHECKING:
    from headwater.format.files.carrier import Piece


class Aside:
    """The file; it is made with the first record, and takes its name when the work is done."""

    def __init__(self, path: Path, unit: str) -> None:
        self._path = path
        self._unit = unit
        self._stack = ExitStack()
        self._file: BinaryIO | None = None
        self.count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def add(self, piece: Piece, error: DataError) -> None:
        """Set a record aside."""
        if self._file is None:
            self._file = self._made()
        said = {self._unit: piece.number, "byte": piece.offset, "code": error.code}
        line = said | {"reason": error.message} | _shown(piece.data)
        self._file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        self.count += 1

    def _made(self) -> BinaryIO:
        try:
            return self._stack.enter_context(replacing(self._path))
        except OSError as exc:
            raise MachineError("file-unwritable", str(exc), where=str(self._path)) from exc


def _shown(data: bytes) -> dict[str, Any]:
    """The record as text where it is text, else in base64."""
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
