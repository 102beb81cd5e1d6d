"""What a job knows from its own commits, from one run to the next: each bound to a version."""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.spark.state.publish import Publication
from headwater.spark.state.table import Writer
from headwater.spark.table.delta_files import KnownFiles


@dataclass(slots=True)
class Memory:
    """The files of tables, and the last set of versions that was published."""

    files: KnownFiles = field(default_factory=KnownFiles)
    _publication: Publication | None = None

    def publication(self, location: str, writer: Writer, *, whole_only: bool) -> Publication:
        """The publication of a writer at a place."""
        held = self._publication
        if held is None or (held.location, held.writer, held.whole_only) != (
            location,
            writer,
            whole_only,
        ):
            held = self._publication = Publication(location, writer, whole_only=whole_only)
        return held
