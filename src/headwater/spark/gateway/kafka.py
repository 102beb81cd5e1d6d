"""Kafka's own client for Java, as Spark's connector has it: what the connector does not say."""

from __future__ import annotations

from collections.abc import Mapping

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.spark.gateway.classes import java_class

_TIMEOUT_MS = 15_000
_PREFIX = "kafka."
# What a broker of before Kafka 2.8 says, which gives topics no ids.
_NO_ID = "A" * 22


def topic_id(session: SparkSession, settings: Mapping[str, str], name: str) -> str | None:
    """The broker's own id of a topic, another for each of a name; None if it cannot be told now.

    `settings` are the connector's options. As it does for itself, a token of the session is added.
    """
    given = {
        key[len(_PREFIX) :]: value for key, value in settings.items() if key.startswith(_PREFIX)
    }
    try:
        utils = java_class(session, "org.apache.spark.api.python.PythonUtils")
        updater = java_class(session, "org.apache.spark.kafka010.KafkaConfigUpdater")
        full = updater("headwater", utils.toScalaMap(given)).setAuthenticationConfigIfNeeded()
        admin = java_class(session, "org.apache.kafka.clients.admin.Admin").create(full.build())
        try:
            options = java_class(session, "org.apache.kafka.clients.admin.DescribeTopicsOptions")()
            asked = admin.describeTopics([name], options.timeoutMs(_TIMEOUT_MS))
            found = str(asked.allTopicNames().get().get(name).topicId().toString())
        finally:
            admin.close()
    except (Py4JError, PySparkException):
        return None
    return None if found == _NO_ID else found
