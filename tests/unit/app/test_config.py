"""Configuration files: what is accepted, and how what is not accepted is reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headwater.app.config import (
    Config,
    Duration,
    InvalidConfigError,
    Problem,
    Size,
    config_schema,
    dotted,
    load_config,
    parse_config,
)
from headwater.errors import ConfigError

SMALL = """\
version: 1
source:
  url: sqlite:///shop.db
log:
  path: shop.hwlog
"""


def problems_of(text: str, environment: dict[str, str] | None = None) -> dict[str, Problem]:
    with pytest.raises(InvalidConfigError) as caught:
        parse_config(text, Path("/etc/shop.yaml"), environment or {})
    return {dotted(problem.path): problem for problem in caught.value.problems}


def test_config_has_safe_defaults_when_only_the_source_and_log_are_named() -> None:
    config = parse_config(SMALL, Path("/etc/shop.yaml"), {})
    assert config.source.url.path == Path("/etc/shop.db")
    assert config.log.path == Path("/etc/shop.hwlog")
    assert config.source.tables == ("*",)
    assert config.source.on_gap == "halt"
    assert not config.server.enabled
    assert config.server.host == "127.0.0.1"


def test_config_is_frozen_when_read() -> None:
    config = parse_config(SMALL, environment={})
    with pytest.raises(ValueError, match="frozen"):
        config.name = "other"  # type: ignore[misc]


def test_config_reports_every_problem_with_its_line_when_several_are_wrong() -> None:
    found = problems_of(
        """\
version: 1
nme: shop
source:
  url: sqlite:///shop.db
  snapshot: initail
  tables: orders
  poll_interval: 5
log:
  path: ${LOG_PATH}
  retention:
    max_age: 7x
spark:
  trigger: sometimes
server:
  port: "80"
"""
    )
    assert {name: problem.line for name, problem in found.items()} == {
        "nme": 2,
        "source.snapshot": 5,
        "source.tables": 6,
        "source.poll_interval": 7,
        "log.path": 9,
        "log.retention.max_age": 11,
        "spark.target": 12,
        "spark.trigger": 13,
        "server.port": 15,
    }
    assert found["nme"].suggestion == "did you mean name?"
    assert found["source.snapshot"].suggestion == "did you mean initial?"
    assert found["log.path"].code == "config-variable"
    assert "got text" in found["server.port"].reason


def test_config_lists_the_settings_when_nothing_is_close() -> None:
    found = problems_of(SMALL + "  zzzzz: 1\n")
    assert found["log.zzzzz"].suggestion == "settings here: path, retention"


def test_config_refuses_a_key_when_it_appears_twice() -> None:
    found = problems_of(SMALL + "log:\n  path: other\n")
    assert "twice; it is first on line 4" in found["log"].reason


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("version: 1\nsource: [\n", 3),
        (SMALL + "name: !!python/object:os.system x\n", 6),
        ("a: 1\n---\nb: 2\n", 2),
        ("\tversion: 1\n", 1),
    ],
)
def test_config_names_the_line_when_the_yaml_is_wrong(text: str, line: int) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(text, Path("shop.yaml"), {})
    assert caught.value.where == f"shop.yaml:{line}"


def test_config_refuses_aliases_when_they_explode() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(ConfigError) as caught:
        parse_config("\n".join(levels), environment={})
    assert caught.value.code == "config-syntax"


def test_config_hints_at_quotes_when_a_reference_stands_in_braces() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config("log: {path: ${X}}\n", environment={})
    assert "quotes" in caught.value.hint


@pytest.mark.parametrize("text", ["", "# nothing\n", "- a\n", "word\n"])
def test_config_refuses_a_file_when_it_holds_no_settings(text: str) -> None:
    assert "" in problems_of(text)


@pytest.mark.parametrize("word", ["no", "on", "off", "yes", "12:30", "1_000", "0x10"])
def test_config_keeps_words_as_text_when_yaml_of_old_would_convert_them(word: str) -> None:
    config = parse_config(
        SMALL.replace("shop.db", "shop.db\n  tables: [" + word + "]"), environment={}
    )
    assert config.source.tables == (word,)


def test_config_reads_numbers_and_booleans_when_they_come_from_variables() -> None:
    text = SMALL + "server:\n  port: ${PORT}\n  enabled: ${ON:-false}\n"
    config = parse_config(text, environment={"PORT": "8080"})
    assert config.server.port == 8080
    assert not config.server.enabled


def test_config_never_shows_a_value_when_it_came_from_outside() -> None:
    canary = "CANARY-5f0c"
    text = SMALL + "spark:\n  target: t\n  table_format: ${F}\nserver:\n  port: ${F}\nname: ${F}é\n"
    with pytest.raises(InvalidConfigError) as caught:
        parse_config(text, environment={"F": canary})
    everything = str(caught.value) + json.dumps([p.as_dict() for p in caught.value.problems])
    assert len(caught.value.problems) == 3
    assert canary not in everything


def test_config_never_dumps_a_secret_when_it_is_printed() -> None:
    text = SMALL + "server:\n  host: 0.0.0.0\n  token: ${TOKEN}\n"
    config = parse_config(text, environment={"TOKEN": "CANARY-77"})
    assert config.server.token is not None
    assert config.server.token.reveal() == "CANARY-77"
    shown = f"{config} {config!r} {config.model_dump_json()} {config.model_dump()}"
    assert "CANARY" not in shown


def test_config_refuses_a_secret_when_it_is_written_into_the_file() -> None:
    found = problems_of(SMALL + "server:\n  token: hunter2\n")
    assert "${NAME}" in found["server.token"].reason
    assert "hunter2" not in found["server.token"].reason


def test_config_refuses_a_wide_listener_when_there_is_no_token() -> None:
    found = problems_of(SMALL + "server:\n  host: 0.0.0.0\n")
    assert "token" in found["server"].reason


def test_config_refuses_sinks_when_two_have_one_name() -> None:
    sink = "  - {name: a, type: stdout}\n"
    assert "two sinks" in problems_of(SMALL + "sinks:\n" + sink + sink)[""].reason


def test_config_says_what_a_sink_needs_when_its_path_is_missing() -> None:
    found = problems_of(SMALL + "sinks:\n  - name: a\n    type: file\n")
    assert found["sinks[0]"].line == 7
    assert "needs a path" in found["sinks[0]"].reason


def test_config_is_missing_when_the_file_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path / "no.yaml")
    assert caught.value.code == "config-missing"
    assert "headwater init" in caught.value.hint


def test_config_reads_secrets_from_files_when_told_so(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s3cret\n")
    file = tmp_path / "shop.yaml"
    file.write_text(SMALL + "server:\n  token: ${file:token}\n")
    token = load_config(file).server.token
    assert token is not None
    assert token.reveal() == "s3cret"


def test_config_says_which_file_when_a_secret_file_is_missing() -> None:
    found = problems_of(SMALL + "server:\n  token: ${file:/no/such}\n")
    assert found["server.token"].code == "secret-unresolved"
    assert "/no/such" in found["server.token"].reason


def test_config_schema_describes_every_setting_when_exported() -> None:
    schema = config_schema()
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == set(Config.model_fields)
    assert json.loads(json.dumps(schema)) == schema
    for section in schema["$defs"].values():
        assert all("description" in field for field in section["properties"].values())


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("5s", 5000),
        ("200ms", 200),
        ("1.5h", 5_400_000),
        ("7d", 604_800_000),
        ("2 w", 1_209_600_000),
    ],
)
def test_duration_reads_text_when_it_has_a_unit(text: str, milliseconds: int) -> None:
    assert Duration.parse(text).ms == milliseconds


@pytest.mark.parametrize(
    ("text", "count"), [("10GB", 10**10), ("1KiB", 1024), ("0.5MB", 500_000), ("7 B", 7)]
)
def test_size_reads_text_when_it_has_a_unit(text: str, count: int) -> None:
    assert Size.parse(text).bytes == count


@pytest.mark.parametrize("text", ["5", "s", "-5s", "5 parsecs", "1e3s", "٣s", ""])
def test_duration_is_refused_when_its_unit_is_missing_or_unknown(text: str) -> None:
    with pytest.raises(ValueError, match="a duration"):
        Duration.parse(text)
