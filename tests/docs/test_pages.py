"""The pages hold together: links lead somewhere, codes exist once, the reference is complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headwater.errors import CATALOG
from tests.docs.markdown import ROOT, anchors, blocks, links
from tools.reference import code, commands, configuration

PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(path for path in (ROOT / "docs").rglob("*.md") if "reference" not in path.parts),
    ]
)


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_links_of_page_lead_to_a_file_and_a_heading(path: Path) -> None:
    broken = []
    for line, target in links(path):
        file, _, anchor = target.partition("#")
        goal = (path.parent / file).resolve() if file else path
        if (ROOT / "docs" / "reference") in goal.parents:
            continue  # generated; `mkdocs build --strict` follows these
        if not goal.exists() or (anchor and anchor not in anchors(goal)):
            broken.append(f"{_name(path)}:{line}: {target}")
    assert broken == []


def test_error_codes_named_on_pages_exist() -> None:
    """A code is written as `[code]`, the way that errors print it."""
    unknown = [
        f"{_name(path)}: {code}"
        for path in PAGES
        for code in re.findall(r"`\[([a-z0-9-]+)\]`", path.read_text())
        if code not in CATALOG
    ]
    assert unknown == []


def test_every_code_metric_setting_and_command_is_in_the_reference() -> None:
    from headwater.observe import CATALOGUE

    errors = "\n".join(code.errors())
    assert [code for code in CATALOG if f"### `{code}`" not in errors] == []
    metrics = "\n".join(code.metrics())
    assert [name for name in CATALOGUE if name not in metrics] == []
    assert "`source.url`" in "\n".join(configuration.configuration())
    assert "## headwater log repair" in "\n".join(commands.cli())
    assert "`log.append.before_commit`" in "\n".join(code.failpoints())


def test_pages_use_no_network_when_they_are_read() -> None:
    """Fonts, scripts and images come with the site."""
    config = (ROOT / "mkdocs.yml").read_text()
    assert "font: false" in config
    assert not re.search(r"analytics|https?://", config)
    loaded = [
        _name(path)
        for path in PAGES
        if re.search(r"!\[[^\]]*\]\(https?:|src=[\"']https?:", path.read_text())
    ]
    assert loaded == []


def test_fences_of_the_guide_have_a_language() -> None:
    bare = [block.where for path in PAGES for block in blocks(path) if not block.language]
    allowed = ("ARCHITECTURE.md", "README.md", "docs/adr")
    assert [where for where in bare if not where.startswith(allowed)] == []
