"""A checkpoint belongs to one topic, which its name does not tell.

Spark's connector keeps offsets, and notices a topic that ends before them. One that was deleted and
made anew, and has outgrown them, has other records there: those before would be passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from headwater.errors import GapError
from headwater.spark.apply.tables import Apply
from headwater.spark.gateway.files import Files
from headwater.spark.table.claim import claimed

# With an underscore: Spark has no file of such a name there.
_MARK = "_topic-"


@dataclass(frozen=True, slots=True)
class SameTopic:
    """Applies micro-batches of the topic that the first of a checkpoint came from, and no other.

    `identity` says which the topic is; what it cannot say now is asked again with the next batch.
    The checkpoint keeps it, and begins with it where it did not know one.
    """

    apply: Apply
    identity: Callable[[SparkSession], str | None]
    checkpoint: str

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """INV-9: raise before anything of another topic is applied."""
        session = frame.sparkSession
        found = self.identity(session)
        if found is not None:
            files = Files(session, self.checkpoint)
            if not claimed(files, self.checkpoint, _MARK, found):
                raise GapError(
                    "kafka-gap",
                    "the topic was made anew: the checkpoint's place is in one of another id"
                    f" than {found}",
                    where=self.checkpoint,
                    hint="write the log to it with a new checkpoint of write_kafka, and remove the"
                    " folder named here: tables take what they have not",
                )
        self.apply(frame, batch_id)
