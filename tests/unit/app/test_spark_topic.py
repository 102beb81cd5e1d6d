"""Topics by URL: what names one, and what never stands in an option."""

from __future__ import annotations

import pytest

from headwater.app.spark.topic import KafkaTopic, topic_of
from headwater.errors import ConfigError
from headwater.spark.source.options import Options


def _topic(**given: str) -> KafkaTopic | None:
    return topic_of(Options.parse({name.replace("__", "."): text for name, text in given.items()}))


def test_url_names_brokers_and_topic_and_options_the_settings_of_the_client() -> None:
    found = _topic(
        path="kafka://a:9092,b:9092/crm.events",
        kafka__security__protocol="SASL_SSL",
        kafka__sasl__password="${PASSWORD}",
        recordformat="headwater-avro",
    )
    settings = (("sasl.password", "${PASSWORD}"), ("security.protocol", "SASL_SSL"))
    assert found == KafkaTopic("a:9092,b:9092", "crm.events", "headwater-avro", settings)
    assert _topic(path="shop.hwlog") is None
    assert _topic(path="kafka.hwlog") is None
    assert _topic(path="sqlite:///kafka.db") is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"path": "kafka://broker:9092"}, "names no topic"),
        ({"path": "kafka://broker:9092/a/b"}, "names no topic"),
        ({"path": "kafka://me:s3cret@broker:9092/t"}, "no user and no password"),
        ({"path": "x.hwlog", "kafka__acks": "1"}, "acks goes with the URL of a topic"),
        ({"path": "x.hwlog", "recordformat": "debezium"}, "recordFormat goes with the URL"),
        ({"path": "kafka://b/t", "kafka__sasl__password": "s3cret"}, "sasl.password is not"),
        ({"path": "kafka://b/t", "kafka__ssl__key__pem": "s3cret"}, "ssl.key.pem is not"),
    ],
)
def test_wrong_topic_is_refused_without_its_password(given: dict[str, str], said: str) -> None:
    """INV-12."""
    with pytest.raises(ConfigError, match=said) as caught:
        _topic(**given)
    assert caught.value.code == "spark-option"
    assert "s3cret" not in str(caught.value)


def test_reading_needs_an_address_that_answers() -> None:
    found = _topic(path="kafka://127.0.0.1:1/t", kafka__no__such__setting="1")
    assert found is not None
    with pytest.raises(ConfigError, match=r"no\.such\.setting") as caught:
        found.bounds()
    assert caught.value.code == "kafka-setting"
