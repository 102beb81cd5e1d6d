"""The cdc section and the compiled schema that it names: what is taken, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headwater.app.cdc import CdcPlan
from headwater.app.config import (
    CdcSettings,
    InvalidConfigError,
    Problem,
    dotted,
    load_compiled,
    parse_config,
)
from headwater.app.database import TableFacts
from headwater.app.validate import validate_config
from headwater.errors import ConfigError
from headwater.event import TableId
from headwater.format.cdcformat.entities import Entity

FILE = "version: 1\nsource: {url: sqlite:///shop.db}\nlog: {path: shop.hwlog}\n"
USER, AUDIT = TableId("public", "tb_user"), TableId("public", "audit_log")
TABLES = [
    TableFacts(USER, 3, ("id",), None, ("id", "email", "org_id")),
    TableFacts(AUDIT, 1, (), None, ("line",)),
]


def plan(section: str = "{}") -> CdcPlan:
    return CdcPlan.of(parse_config(f"{FILE}cdc: {section}\n", environment={}).cdc)


def problems(section: str) -> dict[str, Problem]:
    with pytest.raises(InvalidConfigError) as caught:
        plan(section)
    return {dotted(each.path): each for each in caught.value.problems}


def compiled(directory: Path, cdc: dict[str, Any]) -> Path:
    file = directory / "schema.json"
    file.write_text(json.dumps({"types": [{"name": "User"}], "cdc": cdc}, indent=2))
    return file


def refused(directory: Path, cdc: dict[str, Any]) -> dict[str, Problem]:
    with pytest.raises(InvalidConfigError) as caught:
        load_compiled(compiled(directory, cdc))
    return {dotted(each.path): each for each in caught.value.problems}


def test_tables_are_entities_by_their_names_when_nothing_is_configured() -> None:
    assert plan().entities.entity(USER) == Entity(type="User")
    assert plan().format().granularity == "row"


def test_table_is_the_entity_that_is_described() -> None:
    described = plan(
        """
  tables:
    - {table: public.tb_user, type: Person, id: [uid], tenant: org, soft_delete: state,
       deleted_when: [gone, 1, true], soft_delete_as: deleted, invalidates: [people]}
    - {table: audit_log, soft_delete: null}
"""
    )
    assert described.entities.entity(USER) == Entity(
        type="Person", id=("uid",), tenant="org", soft_delete="state",
        deleted_when=("gone", 1, True), soft_delete_as="deleted", invalidates=("people",),
    )  # fmt: skip
    assert described.entities.entity(AUDIT) == Entity(type="AuditLog", soft_delete=None)


@pytest.mark.parametrize(
    ("section", "path", "suggestion"),
    [
        ("{granularty: row}", "cdc.granularty", "did you mean granularity?"),
        ("{operations: [UPDTE]}", "cdc.operations[0]", "did you mean UPDATE?"),
        ("{tables: [{table: a, tennant: x}]}", "cdc.tables[0].tennant", "did you mean tenant?"),
        ("{tables: [{type: A}]}", "cdc.tables[0].table", ""),
        ("{granularity: atomic, cascade: false}", "cdc", ""),
        ("{tables: [{table: a}, {table: a}]}", "cdc", ""),
        ("{cascade_limit: 0}", "cdc.cascade_limit", ""),
    ],
)
def test_mistake_is_reported_with_its_path_when_a_setting_is_wrong(
    section: str, path: str, suggestion: str
) -> None:
    found = problems(section)[path]
    assert (found.code, found.line, found.suggestion) == ("config-invalid", 4, suggestion)


def test_names_are_refused_when_no_table_has_them() -> None:
    plan("{entities: [User], exclude_entities: [AuditLog]}").require_known(TABLES)
    with pytest.raises(ConfigError, match="did you mean User") as caught:
        plan("{entities: [user]}").require_known(TABLES)
    assert (caught.value.code, caught.value.where) == ("entity-unknown", "cdc.entities")
    with pytest.raises(ConfigError, match="did you mean tb_user") as caught:
        plan("{tables: [{table: TB_USER}]}").require_known(TABLES)
    assert (caught.value.code, caught.value.where) == ("table-unknown", "cdc.tables[0].table")


@pytest.mark.parametrize("field", ["id: [emial]", "identifier: emial", "soft_delete: emial"])
def test_column_is_refused_when_its_table_has_none_of_that_name(field: str) -> None:
    described = plan(f"{{tables: [{{table: audit_log}}, {{table: tb_user, {field}}}]}}")
    with pytest.raises(ConfigError, match="did you mean email") as caught:
        described.require_known(TABLES)
    where = f"cdc.tables[1].{field.partition(':')[0]}"
    assert (caught.value.code, caught.value.where) == ("column-unknown", where)
    plan("{tables: [{table: tb_user, soft_delete: null, id: [email]}]}").require_known(TABLES)


def test_compiled_schema_selects_when_the_section_says_nothing(tmp_path: Path) -> None:
    cdc = {"entities": ["User"], "exclude_operations": ["CREATE"], "operations": ["UPDATE"]}
    file = compiled(tmp_path, cdc)
    silent = CdcPlan.of(CdcSettings(schema_file=file))
    assert silent.selected_entities().keep == ("User",)
    own = CdcPlan.of(CdcSettings(schema_file=file, entities=()))
    assert own.selected_entities().keep == ()


@pytest.mark.parametrize(
    ("cdc", "path", "words"),
    [
        ({"enabled": False}, "cdc.enabled", "switched off"),
        ({"storage": "kafka"}, "cdc.storage", "not Kafka"),
        ({"storage": "tape"}, "cdc.storage", "is not one of"),
        ({"entitys": []}, "cdc.entitys", "unknown setting"),
        ({"operations": ["update"]}, "cdc.operations[0]", "is not one of"),
        ({"retention_days": 0}, "cdc.retention_days", "greater than or equal to 1"),
        ({"batch_size": "100"}, "cdc.batch_size", "a whole number"),
    ],
)
def test_compiled_schema_is_refused_with_line_and_path_when_it_asks_for_what_is_not_there(
    tmp_path: Path, cdc: dict[str, Any], path: str, words: str
) -> None:
    found = refused(tmp_path, cdc)[path]
    assert words in found.reason
    assert found.line == 8 if "[" not in path else found.line == 9


@pytest.mark.parametrize("text", ["[]", "{", '"cdc"'])
def test_compiled_schema_is_refused_when_it_is_no_object(tmp_path: Path, text: str) -> None:
    file = tmp_path / "schema.json"
    file.write_text(text)
    with pytest.raises(ConfigError):
        load_compiled(file)


def test_compiled_schema_is_missed_when_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"schema\.json") as caught:
        load_compiled(tmp_path / "schema.json")
    assert caught.value.code == "config-missing"


def test_validate_warns_when_a_field_of_the_compiled_schema_does_nothing(tmp_path: Path) -> None:
    compiled(tmp_path, {"enabled": True, "storage": "postgres_wal", "retention_days": 30})
    file = tmp_path / "shop.yaml"
    file.write_text(f"{FILE}cdc: {{schema_file: schema.json}}\n")
    (tmp_path / "shop.db").touch()
    found = validate_config(file)["findings"]
    assert {each["code"] for each in found} == {"cdc-without-effect"}
    assert len(found) == 2
