"""The course of the demo: writer, capture, Spark, and the proof, told to whoever watches.

The writer is a process of its own, as an application would be. Spark starts while the first changes
are captured already, and takes over what has piled up.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from headwater.app.changes import Change, describe
from headwater.app.demo.shop import TABLES
from headwater.app.demo.stage import DemoOptions, Stage, prepare
from headwater.app.pipeline import Pipeline
from headwater.app.proof.prove import prove_with
from headwater.app.proof.result import as_result
from headwater.app.proof.verifier import Bounds
from headwater.app.spark.loop import CONSUMER, session_factory
from headwater.app.sqlite_rows import sqlite_rows
from headwater.errors import MachineError
from headwater.event import TableId

if TYPE_CHECKING:
    from headwater.spark.proof.applied import Session

_SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_SHOWN_CHANGES = 8
_PROOF_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Scene:
    """One moment of the demo, for drawing."""

    elapsed_s: float
    writing_s: float
    writing: bool
    captured: int
    per_second: float
    applied: int
    spark: str
    changes: tuple[Change, ...]


class Watcher(Protocol):
    """Whoever is told how the demo goes."""

    def step(self, text: str) -> None:
        """Something is done, or begins."""
        ...

    def scene(self, scene: Scene) -> None:
        """How it stands now; several times a second."""
        ...

    def proving(self, what: str) -> None:
        """Which side of which table is read for the proof."""
        ...


@dataclass(slots=True)
class _Course:
    """What the demo remembers while the pipeline runs."""

    began_s: float
    seconds: float
    writer: subprocess.Popen[str]
    seen: int = 0
    recent: deque[Change] = field(default_factory=lambda: deque(maxlen=_SHOWN_CHANGES))


def run_demo(options: DemoOptions, watcher: Watcher) -> dict[str, Any]:
    """Run everything; the result holds the proof and what to try next."""
    began_s = time.monotonic()
    stage = prepare(options)
    watcher.step(f"a shop with {len(TABLES)} tables and {stage.rows:,} rows: {stage.database}")
    with ExitStack() as parts:
        session = _session_meanwhile(stage, parts)
        writer = parts.enter_context(_writer(stage, options))
        watcher.step(f"another process writes to it for {options.seconds:g} s")
        course = _Course(time.monotonic(), options.seconds, writer)
        pipeline = Pipeline(stage.config, session=lambda: _borrowed(session))
        pipeline.run(on_tick=lambda running: _tick(running, stage, course, watcher))
        events = pipeline.log.info().bounds.head
        watcher.step(f"captured {events:,} events, all of them applied to tables by Spark")
        proof = prove_with(
            session.result(),
            stage.config,
            pipeline.log,
            tuple(TableId(None, name) for name in TABLES),
            Bounds(timeout_s=_PROOF_TIMEOUT_S),
            progress=lambda step: watcher.proving(str(step)),
        )
        transactions = int(writer.communicate()[0] or 0)
    return {
        "directory": str(options.directory),
        "table_format": options.table_format,
        "transactions": transactions,
        "events": events,
        "seconds": round(time.monotonic() - began_s, 1),
        "proof": as_result(proof),
        "next": _next_steps(stage),
    }


def _session_meanwhile(stage: Stage, parts: ExitStack) -> Future[Session]:
    """Start the JVM in the background: it needs seconds, and capture does not need it."""
    settings = stage.config.spark
    if settings is None:
        raise ValueError("the demo's configuration has a spark section")
    open_session = session_factory(settings)
    # A JVM that lives for a minute spends half of it on optimising itself for the next hour.
    os.environ["JAVA_TOOL_OPTIONS"] = f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} {_SHORT_LIVED}"
    pool = parts.enter_context(ThreadPoolExecutor(1, thread_name_prefix="headwater-session"))
    return pool.submit(lambda: parts.enter_context(open_session()))


@contextmanager
def _borrowed(session: Future[Session]) -> Iterator[Session]:
    """The session for the pipeline, which does not end it: the proof needs it too."""
    yield session.result()


@contextmanager
def _writer(stage: Stage, options: DemoOptions) -> Iterator[subprocess.Popen[str]]:
    module = "headwater.app.demo.writer"
    words = [str(stage.database), str(options.seconds), str(options.seed)]
    process = subprocess.Popen(  # noqa: S603 - our own module
        [sys.executable, "-m", module, *words],
        # A copy: Spark starts in another thread and changes the process's own, which exec reads.
        env=os.environ.copy(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _tick(pipeline: Pipeline, stage: Stage, course: _Course, watcher: Watcher) -> None:
    facts = pipeline.status()
    _note_changes(pipeline, course, facts["log"]["head"])
    cursor = facts["cursors"].get(CONSUMER, {"acked": 0})
    elapsed_s = time.monotonic() - course.began_s
    watcher.scene(
        Scene(
            elapsed_s=elapsed_s,
            writing_s=course.seconds,
            writing=course.writer.poll() is None,
            captured=facts["log"]["head"],
            per_second=facts["capture"]["events_per_s"],
            applied=cursor["acked"],
            spark=facts["consumers"].get(CONSUMER, "starting"),
            changes=tuple(course.recent),
        )
    )
    if course.writer.poll() is None or pipeline.draining:
        return
    if course.writer.returncode != 0:
        _, problem = course.writer.communicate()
        reason = problem.strip().splitlines()[-1] if problem.strip() else "no reason given"
        raise MachineError("demo-writer", f"the sample writer failed: {reason}")
    if _all_captured(pipeline, stage):
        pipeline.drain()


def _note_changes(pipeline: Pipeline, course: _Course, head: int) -> None:
    """Keep the newest changes for the tail; the first snapshot rows are shown, too."""
    start = max(course.seen, head - _SHOWN_CHANGES)
    course.seen = head
    if start >= head:
        return
    reader = pipeline.log.reader()
    try:
        for batch in reader.read(start, head):
            course.recent.extend(describe(event, only_changed=True) for event in batch)
    finally:
        reader.close()


def _all_captured(pipeline: Pipeline, stage: Stage) -> bool:
    reader = pipeline.log.reader()
    try:
        with sqlite_rows(stage.database, lambda: pipeline.log.info().position) as source:
            return source.sequence(reader, reader.bounds().head) is not None
    finally:
        reader.close()


def _next_steps(stage: Stage) -> list[dict[str, str]]:
    file = stage.file
    steps = (
        (f"headwater tail {file} --diff", "the changes, as diffs"),
        (f"headwater run {file}", "go on capturing"),
        (f"headwater verify {file}", "prove it again"),
        (f"headwater doctor {file}", "check everything"),
        ("headwater init --from sqlite:///YOUR.db", "your own database"),
    )
    return [{"command": command, "why": why} for command, why in steps]
