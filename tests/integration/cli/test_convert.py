"""`headwater convert`: files from any format to any other, and what becomes of bad records."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from headwater import formats
from headwater.app.convert import Conversion, convert
from headwater.errors import ConfigError
from headwater.event import TableSchema
from headwater.format.jsontext import canonical, loads
from headwater.log import SqliteLog
from headwater.testing.builders import IDENTITY, ITEMS, inserts, source_batch
from tests.integration.cli.conftest import Cli, eventually

RECORDS = [bytes(record) for record in formats.encode(inserts(1, 30, tx_id=1), "headwater-json")]


@pytest.fixture
def feed(cli: Cli) -> Path:
    path = cli.directory / "feed.jsonl"
    path.write_bytes(b"".join(record + b"\n" for record in RECORDS))
    return path


def run(source: Path, target: Path, names: tuple[str, str], **more: Any) -> dict[str, Any]:
    """The command without a process of its own."""
    aside = target.with_name(f"{target.name}.bad.jsonl")
    read, write = names
    asked = Conversion(
        read_format=read, write_format=write, source=source, target=target, aside=aside, **more
    )
    return convert(asked, lambda _done: None)


def tables(path: Path, schemas: tuple[TableSchema, ...] = (ITEMS,)) -> Path:
    """A log that knows the table of the records, version by version."""
    writer = SqliteLog.create(path).writer(IDENTITY)
    for number, schema in enumerate(schemas, start=1):
        writer.append(replace(source_batch(inserts(number, 1), number), schemas=(schema,)))
    writer.close()
    return path


def aside(facts: dict[str, Any], directory: Path = Path()) -> list[dict[str, Any]]:
    """What was set aside."""
    text = (directory / facts["bad_file"]).read_text()
    return [json.loads(line) for line in text.splitlines()]


def names_in(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


@pytest.mark.parametrize(("one", "other"), list(permutations(formats.names(), 2)))
def test_convert_gives_the_file_back_when_it_goes_there_and_back(
    tmp_path: Path, one: str, other: str
) -> None:
    start, there, again = (tmp_path / name for name in ("start", "there", "again"))
    plain = tmp_path / "plain.jsonl"
    plain.write_bytes(b"\n".join(RECORDS))
    schemas = tables(tmp_path / "items.hwlog")
    run(plain, start, ("headwater-json", one), schemas=schemas)
    run(start, there, (one, other), schemas=schemas)
    facts = run(there, again, (other, one), schemas=schemas)
    assert (facts["records"], facts["bad"]) == (30, 0)
    if formats.get(one).content_type.endswith("json"):
        assert _canonical(again) == _canonical(start)
    else:
        run(again, plain, (one, "headwater-json"), schemas=schemas)
        assert plain.read_bytes().splitlines() == RECORDS


def _canonical(path: Path) -> list[str]:
    return [canonical(loads(line)) for line in path.read_text().splitlines()]


def test_convert_reads_stdin_and_writes_stdout_when_both_are_a_dash(cli: Cli, feed: Path) -> None:
    command = [sys.executable, "-m", "headwater", "convert", "-", "-"]
    done = subprocess.run(
        [*command, "--from", "headwater-json", "--to", "headwater-json"],
        cwd=cli.directory,
        input=feed.read_bytes(),
        capture_output=True,
        check=True,
    )
    assert done.stdout == feed.read_bytes()
    assert b"30 records from headwater-json to headwater-json" in done.stderr


def test_convert_refuses_json_when_records_go_to_stdout(cli: Cli, feed: Path) -> None:
    words = ("--from", "headwater-json", "--to", "opencdc", feed.name, "-")
    done = cli("convert", *words, "--json")
    assert done.code == 2
    assert "give OUT a file name" in done.out


def test_convert_sets_bad_records_aside_when_some_are(cli: Cli, feed: Path) -> None:
    lines = feed.read_bytes().splitlines()
    lines[3], lines[7], lines[8] = b"not json", b"\xff\xfe{", b""
    feed.write_bytes(b"\n".join(lines))
    words = ("--from", "headwater-json", "--to", "headwater-protobuf", feed.name, "out.bin")
    done = cli("convert", *words, "--json")
    assert done.code == 1
    result = done.json()["result"]
    assert (result["records"], result["bad"]) == (27, 2)
    bad = aside(result, cli.directory)
    assert [(each["line"], each["code"]) for each in bad] == [
        (4, "format-bad-record"), (8, "format-bad-record"),
    ]  # fmt: skip
    assert bad[0]["text"] == "not json"
    assert base64.b64decode(bad[1]["base64"]) == b"\xff\xfe{"
    assert bad[0]["byte"] == sum(len(line) + 1 for line in lines[:3])
    back = run(cli.directory / "out.bin", feed, ("headwater-protobuf", "headwater-json"))
    assert (back["records"], back["bad"], back["bad_file"]) == (27, 0, None)


def test_convert_sets_a_record_aside_when_the_other_format_cannot_say_it(
    cli: Cli, feed: Path
) -> None:
    truncate = json.loads(RECORDS[0]) | {"op": "truncate", "after": None}
    feed.write_bytes(RECORDS[0] + b"\n" + json.dumps(truncate).encode() + b"\n" + RECORDS[1])
    facts = run(feed, cli.directory / "out.jsonl", ("headwater-json", "cdc-format"))
    assert (facts["records"], facts["bad"]) == (2, 1)
    (bad,) = aside(facts)
    assert (bad["line"], bad["code"]) == (2, "format-unwritable")


def test_convert_stops_at_the_first_bad_record_when_strict(cli: Cli, feed: Path) -> None:
    feed.write_bytes(feed.read_bytes() + b"{}\n[]\n")
    words = ("--from", "headwater-json", "--to", "opencdc", feed.name, "out.jsonl", "--strict")
    done = cli("convert", *words)
    assert done.code == 1
    assert "format-bad-record" in done.err
    assert "feed.jsonl: line 31, byte" in done.err
    assert names_in(cli.directory) == {feed.name}


def test_convert_leaves_the_old_file_when_it_fails_half_way(cli: Cli, feed: Path) -> None:
    target = cli.directory / "out.jsonl"
    target.write_text("old")
    feed.write_bytes(b"".join(record + b"\n" for record in RECORDS * 100) + b"{}\n")
    words = ("--from", "headwater-json", "--to", "opencdc", feed.name, target.name, "--strict")
    assert cli("convert", *words).code == 1
    assert target.read_text() == "old"
    assert names_in(cli.directory) == {feed.name, target.name}


def test_convert_leaves_the_old_file_when_it_is_killed(cli: Cli) -> None:
    target = cli.directory / "out.jsonl"
    target.write_text("old")
    words = ("convert", "-", target.name, "--from", "headwater-json", "--to", "opencdc")
    process = subprocess.Popen(
        [sys.executable, "-m", "headwater", *words], cwd=cli.directory, stdin=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.writelines(record + b"\n" for record in RECORDS * 200)
    process.stdin.flush()
    eventually(lambda: any(path.stat().st_size > 1000 for path in _drafts(cli.directory)))
    process.kill()
    process.communicate()
    assert target.read_text() == "old"


def _drafts(directory: Path) -> list[Path]:
    return [path for path in directory.iterdir() if path.name.startswith(".out.jsonl.")]


def test_convert_counts_a_cut_tail_as_bad_when_protobuf_ends_in_a_record(
    cli: Cli, feed: Path
) -> None:
    middle = cli.directory / "middle.bin"
    run(feed, middle, ("headwater-json", "headwater-protobuf"))
    middle.write_bytes(middle.read_bytes()[:-3])
    facts = run(middle, feed, ("headwater-protobuf", "headwater-json"))
    assert (facts["records"], facts["bad"]) == (29, 1)
    (bad,) = aside(facts)
    assert (bad["record"], bad["code"]) == (30, "record-truncated")
    assert b"items" in base64.b64decode(bad["base64"])
    assert feed.read_bytes().splitlines() == RECORDS[:29]


def test_convert_reads_files_of_a_file_sink_when_told_their_framing(cli: Cli, feed: Path) -> None:
    from headwater.sink import FileSink, Framing

    path = cli.directory / "sink.bin"
    sink = FileSink(path, formats.get("headwater-avro"), framing=Framing.LENGTH)
    sink.open()
    sink.write(inserts(1, 30, tx_id=1).with_sequence(1))
    sink.flush()
    sink.close()
    names = ("headwater-avro", "headwater-json")
    assert run(path, feed, names, read_framing="length")["records"] == 30
    assert feed.read_bytes().splitlines() == RECORDS
    refused = cli("convert", "--from", names[0], "--to", names[1], path.name, "x")
    assert refused.code == 2
    assert "--in-framing length" in refused.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--from", "nothing", "--to", "opencdc", "feed.jsonl", "x"), "format-unknown"),
        (("--from", "opencdc", "--to", "opencdc", "gone.jsonl", "x"), "file-unreadable"),
        (("--from", "opencdc", "--to", "opencdc", "feed.jsonl", "no/x"), "file-unwritable"),
        (("--from", "opencdc", "--to", "opencdc", "feed.jsonl", "."), "file-unwritable"),
        (
            (
                "--from",
                "opencdc",
                "--to",
                "opencdc",
                "feed.jsonl",
                "x",
                "--in-framing",
                "container",
            ),
            "framing-unfit",
        ),
        (
            ("--from", "opencdc", "--to", "opencdc", "feed.jsonl", "x", "--out-framing", "pages"),
            "framing-unfit",
        ),
    ],
)
def test_convert_says_what_to_correct_when_it_cannot_begin(
    cli: Cli, feed: Path, words: tuple[str, ...], code: str
) -> None:
    done = cli("convert", *words)
    assert done.code in {2, 3}
    assert code in done.err
    assert names_in(cli.directory) == {feed.name}


def test_convert_writes_typed_rows_by_the_chosen_version_when_one_is(tmp_path: Path) -> None:
    older = replace(ITEMS, columns=ITEMS.columns[:1])
    log, plain = tables(tmp_path / "items.hwlog", (older, ITEMS)), tmp_path / "plain.jsonl"
    row = json.loads(RECORDS[0]) | {"after": {"id": 1}}
    other = row | {"schema": "other"}
    plain.write_text(json.dumps(row) + "\n" + json.dumps(other) + "\n")
    names = ("headwater-json", "headwater-avro-typed")
    target, framed = tmp_path / "typed.bin", {"write_framing": "length"}
    for chosen, expected in (((), ITEMS), ((older.schema_id,), older)):
        facts = run(plain, target, names, schemas=log, schema_ids=chosen, **framed)
        assert (facts["records"], facts["bad"]) == (1, 1)  # nobody knows the other table
        assert target.read_bytes()[4:12] == expected.schema_id.to_bytes(8, "big")
    with pytest.raises(ConfigError) as caught:
        run(plain, target, names, schemas=log, schema_ids=(1,))
    assert caught.value.code == "schema-version-unknown"


def test_convert_needs_no_more_memory_when_the_file_is_larger(cli: Cli) -> None:
    assert _peak_kib(cli, copies=2_000) < _peak_kib(cli, copies=100) + 20 * 1024


def _peak_kib(cli: Cli, copies: int) -> int:
    """The most memory that the command ever had, fed through a pipe."""
    code = (
        "import resource, sys; from headwater.__main__ import main; code = main();"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr);"
        "sys.exit(code)"
    )
    words = ("convert", "-", "-", "--from", "headwater-json", "--to", "headwater-avro")
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        cwd=cli.directory,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    for _ in range(copies):
        process.stdin.writelines(record + b"\n" for record in RECORDS)
    process.stdin.close()
    said = process.stderr.read().decode()
    assert process.wait() == 0, said
    assert f"{copies * len(RECORDS):,} records" in said
    return int(said.splitlines()[-1])
