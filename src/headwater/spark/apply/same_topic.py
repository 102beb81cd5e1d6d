"""A checkpoint belongs to one topic, which its name does not tell.

Spark's connector keeps offsets, and notices a topic that ends before them. One that was deleted and
made anew, and has outgrown them, has other records there: those before would be passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from headwater.errors import GapError, TransientError
from headwater.spark.apply.tables import Apply
from headwater.spark.gateway.files import Files
from headwater.spark.table.claim import claimed

# With an underscore: Spark has no file of such a name there.
_MARK = "_topic-"


@dataclass(frozen=True, slots=True)
class SameTopic:
    """Applies micro-batches of the topic that the first of a checkpoint came from, and no other.

    `identity` says which the topic is, or nothing, as brokers of before Kafka 2.8. The checkpoint
    keeps it, and begins with it where it did not know one.
    """

    apply: Apply
    identity: Callable[[SparkSession], str | None]
    checkpoint: str

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """INV-9: raise before anything of another topic is applied."""
        session = frame.sparkSession
        found, files = self.identity(session), Files(session, self.checkpoint)
        if found is None and any(name.startswith(_MARK) for name in files.names(self.checkpoint)):
            raise TransientError(
                "kafka-unreachable",
                "the broker does not say which topic this is, as it did before",
                where=self.checkpoint,
            )
        if found is not None and not claimed(files, self.checkpoint, _MARK, found):
            raise GapError(
                "kafka-gap",
                "the topic was made anew: the checkpoint's place is in one of another id"
                f" than {found}",
                where=self.checkpoint,
                hint="write the log to it with a new checkpoint of write_kafka, and remove the"
                " folder named here: tables take what they have not",
            )
        self.apply(frame, batch_id)
