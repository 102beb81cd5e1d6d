"""The parts of registered formats that need no registry: frames, messages of a file, subjects."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from headwater.app.config import parse_config
from headwater.errors import ConfigError, HeadwaterError
from headwater.event import Operation, Snapshot, Transaction
from headwater.format.headwater.json import JsonFormat
from headwater.format.registry.described import envelope_schema
from headwater.format.registry.frame import head, path_bytes, split, split_path
from headwater.format.registry.http import Connection
from headwater.format.registry.protofile import messages, path_of
from headwater.format.registry.subject import Strategy, Subjects
from headwater.secret import Secret
from headwater.testing.builders import inserts
from tests.unit.format.typed_tables import batch, change

PROTO = """
syntax = "proto3";
package shop.v1;  // message Hidden {
enum Colour { RED = 0; }
/* message Hidden { */
message First {
  string text = 1 [default = "message Hidden {"];
  oneof choice { int32 number = 2; Inner inner = 3; }
  message Inner { message Innermost {} }
  message Other {}
}
message Second { map<string, string> members = 1; }
"""


def test_frame_is_a_zero_and_the_id_big_endian() -> None:
    assert head(258) == b"\x00\x00\x00\x01\x02"
    assert split(b"\x00\x00\x00\x01\x02rest") == (258, b"rest")


@pytest.mark.parametrize(
    "record", [b"", b"\x00\x00\x00\x01", b"\x01\x00\x00\x00\x01x", b"\x00\xff\xff\xff\xffx"]
)
def test_frame_is_refused_when_it_is_cut_or_another_one(record: bytes) -> None:
    with pytest.raises(ValueError, match="no frame"):
        split(record)


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ((0,), b"\x00"),
        ((1,), b"\x02\x02"),
        ((3,), b"\x02\x06"),
        ((0, 0), b"\x04\x00\x00"),
        ((1, 0, 300), b"\x06\x02\x00\xd8\x04"),
    ],
)
def test_path_is_zigzag_varints_and_a_single_zero_for_the_first(
    path: tuple[int, ...], data: bytes
) -> None:
    assert path_bytes(path) == data
    assert split_path(data + b"rest") == (path, b"rest")


def test_path_of_the_first_message_is_read_when_it_is_written_out() -> None:
    assert split_path(b"\x02\x00rest") == ((0,), b"rest")


@pytest.mark.parametrize("data", [b"", b"\x02", b"\x80", b"\x01", b"\xff" * 9, b"\xfe\x7f\x00"])
def test_path_is_refused_when_it_is_cut_or_endless(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"message index"):
        split_path(data)


def test_messages_of_a_file_are_found_when_comments_and_texts_look_like_some() -> None:
    assert messages(PROTO) == {
        (0,): "shop.v1.First",
        (0, 0): "shop.v1.First.Inner",
        (0, 0, 0): "shop.v1.First.Inner.Innermost",
        (0, 1): "shop.v1.First.Other",
        (1,): "shop.v1.Second",
    }
    assert path_of(PROTO, "shop.v1.First.Other") == (0, 1)
    assert messages("message Bare {}") == {(0,): "Bare"}
    with pytest.raises(LookupError):
        path_of(PROTO, "shop.v1.Third")


def test_subjects_are_named_by_their_strategy_for_keys_and_values() -> None:
    for strategy, names in {
        Strategy.TOPIC_NAME: ("t-key", "t-value"),
        Strategy.RECORD_NAME: ("a.B", "a.B"),
        Strategy.TOPIC_RECORD_NAME: ("t-a.B", "t-a.B"),
    }.items():
        subjects = Subjects("t", strategy)
        assert (subjects.subject("t", "a.B", "key"), subjects.subject("t", "a.B", "value")) == names


def test_topic_follows_the_event_when_it_is_a_pattern() -> None:
    events = batch(change({"id": 1}), change({"id": 1}, schema=None, table="people"))
    assert Subjects().topics(events) == ["public.orders", "people"]
    assert Subjects("x.{source}-{table}").topics(events) == [
        *("x.postgres-orders", "x.postgres-people")
    ]
    assert Subjects("plain").topics(events) == ["plain", "plain"]


@pytest.mark.parametrize("topic", ["", "{nothing}", "a.{}"])
def test_topic_is_refused_when_no_event_can_tell_it(topic: str) -> None:
    with pytest.raises(ConfigError, match="topic"):
        Subjects(topic)


def test_json_schema_takes_every_record_of_the_envelope_and_refuses_others() -> None:
    validator = jsonschema.Draft7Validator(envelope_schema())
    validator.check_schema(envelope_schema())
    events = batch(
        change({"id": 1}, op=Operation.READ, snapshot=Snapshot("s", 0, True)),
        change({"id": 1}, unavailable_columns=("a",), transaction=Transaction(1, None, 0)),
        change(op=Operation.TRUNCATE, primary_key=None),
    )
    records = [
        json.loads(r) for r in (*JsonFormat().encode(events), *JsonFormat().encode(inserts(1, 1)))
    ]
    for record in records:
        validator.validate(record)
        for name in ("op", "source", "table"):
            assert not validator.is_valid({k: v for k, v in record.items() if k != name})
        assert not validator.is_valid({**record, "op": "upsert"})


@pytest.mark.parametrize(
    "url", ["", "registry", "ftp://registry", "http://", "http://me:open-pw@registry", "http://[x"]
)
def test_url_is_refused_without_showing_it_when_it_is_none_or_has_a_password(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Connection(url, "user", Secret("pw-8hG"))
    assert caught.value.code == "config-invalid"
    assert "open-pw" not in str(caught.value)


def _config(registry: str) -> str:
    return f"""
version: 1
source: {{url: "sqlite:///shop.db"}}
log: {{path: shop.hwlog}}
sinks:
  - name: out
    type: file
    path: out.bin
    format: headwater-avro
    registry: {registry}
"""


def test_configuration_names_a_registry_with_a_secret_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGISTRY_PASSWORD", "pw-8hG")
    text = _config("{url: 'https://r', user: me, password: '${REGISTRY_PASSWORD}', timeout: 3s}")
    registry = parse_config(text, tmp_path / "headwater.yaml").sinks[0].registry
    assert registry is not None
    assert registry.password is not None
    assert registry.password.reveal() == "pw-8hG"
    assert "pw-8hG" not in str(registry) + registry.model_dump_json()
    assert registry.timeout.seconds == 3


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ("{url: 'https://r', user: me}", "go together"),
        ("{url: 'https://r', user: me, password: open}", "secret is not written"),
        ("{url: 'https://me:open@r'}", "settings of their own"),
        ("{url: 'r'}", "https://registry.example.com"),
        ("{url: 'https://r', subjects: odd}", "topic-name"),
    ],
)
def test_configuration_is_refused_when_a_registry_is_named_wrongly(
    settings: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(HeadwaterError, match=reason):
        parse_config(_config(settings), tmp_path / "headwater.yaml")
