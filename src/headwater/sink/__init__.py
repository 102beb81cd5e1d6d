"""Destinations that need no client library: files and standard output.

- `FileSink` (file.py): exactly once into one file; `Framing` (framing.py) puts records into bytes.
- `StreamSink` (stdout.py): lines to a stream, for people and pipes.

A sink is handed its Format. May import: contract, event, errors, failpoint.
"""

from headwater.sink.file import FileSink
from headwater.sink.framing import Framing
from headwater.sink.stdout import StreamSink

__all__ = ["FileSink", "Framing", "StreamSink"]
