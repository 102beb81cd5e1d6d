"""The Python API on scripted parts: what surfaces where, and that everything is closed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import headwater
from headwater.errors import ConfigError, GapError, MachineError, StateError
from headwater.testing.builders import IDENTITY, inserts, source_batch
from headwater.testing.script import Script, gap, rows
from headwater.testing.scripted import MemoryLog, ScriptedSource


def _keys(batches: list[headwater.Delivery]) -> list[int]:
    return [(event.after or {})["id"] for batch in batches for event in batch]


def test_capture_delivers_and_ends_when_asked_for_everything_until_the_head() -> None:
    log = MemoryLog()
    source = ScriptedSource([rows(1, 2), rows(3)])
    with headwater.capture(source, log=log, until="head") as changes:
        batches = []
        for batch in changes:
            batches.append(batch)
            batch.ack()
    assert _keys(batches) == [1, 2, 3]
    assert log.cursors["default"] == 3
    assert not log.writing


def test_capture_delivers_again_when_nothing_was_acked() -> None:
    """INV-1, INV-3."""
    log, script = MemoryLog(), Script([rows(1), rows(2)])
    for _ in range(2):
        with headwater.capture(ScriptedSource(script), log=log, until="head") as changes:
            assert _keys(list(changes)) == [1, 2]
    assert log.head == 2


def test_capture_raises_in_the_iterating_thread_when_the_loop_failed() -> None:
    log = MemoryLog()
    with (
        pytest.raises(GapError) as caught,
        headwater.capture(ScriptedSource([rows(1), gap()]), log=log) as changes,
    ):
        for _ in changes:
            pass
    assert caught.value.code == "source-gap"
    assert not log.writing


def _leave(changes: headwater.Capture, error: BaseException | None = None) -> None:
    """Leave the block after capture ended, with an error of the caller's own if given."""
    with changes:
        changes.loop._done.wait(5)
        if error is not None:
            raise error


def test_capture_raises_at_the_end_when_nobody_iterated_after_the_failure() -> None:
    with pytest.raises(GapError):
        _leave(headwater.capture(ScriptedSource([gap()]), log=MemoryLog()))


def test_capture_keeps_the_callers_error_when_both_fail() -> None:
    with pytest.raises(ZeroDivisionError):
        _leave(
            headwater.capture(ScriptedSource([gap()]), log=MemoryLog()), error=ZeroDivisionError()
        )


def test_capture_delivers_what_it_captured_when_drained() -> None:
    log, script = MemoryLog(), Script([rows(1)])
    got: list[int] = []
    with headwater.capture(ScriptedSource(script), log=log) as changes:
        for batch in changes:
            got += _keys([batch])
            batch.ack()
            if got == [1]:
                script.add(rows(2, 3))
            if got == [1, 2, 3]:
                changes.drain()
    assert got == [1, 2, 3]
    assert log.cursors["default"] == 3


def test_capture_ends_when_drained_from_another_thread() -> None:
    with headwater.capture(ScriptedSource([rows(1)]), log=MemoryLog()) as changes:
        threading.Timer(0.1, changes.drain).start()
        assert _keys(list(changes)) == [1]


def test_capture_reports_state_lag_and_health_when_asked() -> None:
    with headwater.capture(ScriptedSource([rows(1, 2)]), log=MemoryLog()) as changes:
        batch = next(iter(changes))
        status = changes.status()
        assert status["log"] == {"tail": 1, "head": 2}
        assert status["cursors"]["default"]["lag_events"] == 2
        assert status["capture"]["state"] == "streaming"
        assert status["health"]["status"] in {"healthy", "idle"}
        batch.ack()
        assert changes.status()["cursors"]["default"]["lag_events"] == 0
    assert "headwater_capture_events_total" in changes.metrics.render()


def test_capture_refuses_use_when_it_is_not_open() -> None:
    changes = headwater.capture(ScriptedSource([rows(1)]), log=MemoryLog())
    with pytest.raises(StateError) as caught:
        next(iter(changes))
    assert caught.value.code == "not-open"


def test_capture_names_the_fix_when_no_log_is_given() -> None:
    with pytest.raises(ConfigError, match="no log was named"):
        headwater.capture(ScriptedSource([]))


def test_capture_names_what_exists_when_the_scheme_is_unknown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        headwater.capture("oracle://db/shop", log=tmp_path / "x.hwlog")
    assert caught.value.code == "source-unknown"


def _file_log(path: Path) -> headwater.SqliteLog:
    log = headwater.SqliteLog.create(path)
    writer = log.writer(IDENTITY)
    writer.append(source_batch(inserts(1, 4), 4))
    writer.append(source_batch(inserts(5, 2), 6))
    writer.close()
    return log


def test_subscribe_resumes_after_what_was_acked_when_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "shop.hwlog"
    _file_log(path)
    with headwater.subscribe(path, name="billing", until="head") as changes:
        (batch,) = changes
        batch.ack(upto=3)
    with headwater.subscribe(path, name="billing", until="head") as changes:
        assert _keys(list(changes)) == [4, 5, 6]
        assert changes.status()["cursors"]["billing"]["acked"] == 3


@pytest.mark.parametrize(
    ("start", "expected"), [("earliest", [1, 2, 3, 4, 5, 6]), ("latest", []), (5, [5, 6])]
)
def test_subscribe_begins_where_asked_when_the_name_is_new(
    tmp_path: Path, start: object, expected: list[int]
) -> None:
    path = tmp_path / "shop.hwlog"
    _file_log(path)
    with headwater.subscribe(path, name="new", start=start, until="head") as changes:  # type: ignore[arg-type]
        assert _keys(list(changes)) == expected


def test_subscribe_passes_over_other_tables_when_filtered(tmp_path: Path) -> None:
    path = tmp_path / "shop.hwlog"
    _file_log(path)
    with headwater.subscribe(path, tables=["orders*"], until="head") as changes:
        assert list(changes) == []
        assert changes.acked == 6


def test_subscribe_is_a_coded_error_when_there_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(MachineError) as caught, headwater.subscribe(tmp_path / "none.hwlog"):
        pass
    assert caught.value.code == "log-missing"


def test_async_capture_delivers_and_acks_when_iterated() -> None:
    log = MemoryLog()

    async def run() -> list[int]:
        keys: list[int] = []
        source = ScriptedSource([rows(1, 2), rows(3)])
        async with headwater.aio.capture(source, log=log, until="head") as changes:
            async for batch in changes:
                keys += [(event.after or {})["id"] for event in batch]
                await batch.ack()
            assert (await changes.status())["log"]["head"] == 3
        return keys

    assert asyncio.run(run()) == [1, 2, 3]
    assert log.cursors["default"] == 3


def test_async_iteration_loses_nothing_when_it_is_cancelled() -> None:
    script = Script()

    async def run() -> list[int]:
        async with headwater.aio.capture(ScriptedSource(script), log=MemoryLog()) as changes:
            waiting = asyncio.ensure_future(changes.poll())
            await asyncio.sleep(0.01)
            script.add(rows(1, 2))
            waiting.cancel()
            await asyncio.sleep(0.3)  # the fetch goes on in its thread and finds the rows
            keys: list[int] = []
            async for batch in changes:
                keys += [(event.after or {})["id"] for event in batch]
                if keys == [1, 2]:
                    script.add(rows(3))
                if 3 in keys:
                    break
            return keys

    assert asyncio.run(asyncio.wait_for(run(), 30)) == [1, 2, 3]


def test_async_iteration_raises_when_the_loop_failed() -> None:
    async def run() -> None:
        async with headwater.aio.capture(ScriptedSource([gap()]), log=MemoryLog()) as changes:
            async for _ in changes:
                pass

    with pytest.raises(GapError):
        asyncio.run(run())


def test_import_loads_no_heavy_library_when_nothing_is_used() -> None:
    code = (
        "import sys, headwater; heavy = {'pyarrow', 'numpy', 'pyspark', 'pydantic', 'structlog'};"
        "print(sorted(heavy & {name.partition('.')[0] for name in sys.modules}))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_public_names_are_sorted_and_load_when_asked_for() -> None:
    assert headwater.__all__ == sorted(
        headwater.__all__, key=lambda name: (name.lower() == name, name)
    )
    for name in headwater.__all__:
        assert getattr(headwater, name) is not None
    with pytest.raises(AttributeError):
        headwater.nothing  # noqa: B018
