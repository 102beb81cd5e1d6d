"""Formats behind a real registry keep the promises of contract.Format."""

from __future__ import annotations

import pytest

from headwater import formats
from headwater.contract import Format
from headwater.testing.conformance.format import FormatConformance


class _Registered(FormatConformance):
    name: str
    made: Format

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _behind(cls, schema_registry: str) -> None:
        registry = formats.SchemaRegistry(schema_registry)
        subjects = formats.Subjects(f"conformance-{cls.name}")
        cls.made = formats.get(cls.name, registry=registry, subjects=subjects)

    def format(self) -> Format:
        return self.made


class TestRegisteredAvro(_Registered):
    name = "headwater-avro"


class TestRegisteredProtobuf(_Registered):
    name = "headwater-protobuf"
