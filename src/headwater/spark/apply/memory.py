"""What a job knows from its own commits, from one run to the next: each bound to a version."""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.spark.state.publish import Publication
from headwater.spark.table.delta_files import KnownFiles


@dataclass(slots=True)
class Memory:
    """The files of tables, and the last set of versions that was published."""

    files: KnownFiles = field(default_factory=KnownFiles)
    _publication: Publication | None = None

    def publication(self, asked: Publication) -> Publication:
        """The one that is asked for, or the same from an earlier run, which knows more."""
        if self._publication != asked:
            self._publication = asked
        return self._publication
