"""The oracle of histories: times that run back never make two versions of one row hold at once."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from headwater.event import Event, Operation, Origin
from headwater.testing.history.oracle import Oracle, Version

# At each commit time the only row is there, or it is not.
Story = list[tuple[int, bool]]


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from((True, True, False))), max_size=12))
def test_versions_of_a_life_never_overlap_however_clocks_run(story: Story) -> None:
    lives = told(story)
    for versions in lives:
        ends = [version.end for version in versions]
        for time in range(10):
            holding = [each for each in versions if _holds(each, time)]
            assert len(holding) <= 1, (story, time)
        for version, following in pairwise(versions):
            assert version.end == following.begin
        for version, end in zip(versions, ends, strict=True):
            assert end is None or version.begin[1] <= end[1], story


@given(st.lists(st.integers(0, 9), min_size=1))
def test_version_begins_when_its_change_was_committed_as_long_as_clocks_run_on(
    times: list[int],
) -> None:
    times = sorted(times)
    (versions,) = told([(time, True) for time in times])
    assert [version.begin[1] for version in versions] == times


def told(story: Story) -> list[list[Version]]:
    """The versions by life, which ends with each delete."""
    oracle, lives, stands = Oracle(("id",)), list[list[Version]](), False
    for number, (at, there) in enumerate(story, start=1):
        if not (stands or there):
            continue
        oracle.hear(_event(number, at, stands=stands, there=there))
        if there:
            lives += [] if stands else [[]]
            lives[-1].append(oracle.versions[-1])
        stands = there
    return lives


def _event(number: int, at: int, *, stands: bool, there: bool) -> Event:
    op = Operation.DELETE if not there else Operation.UPDATE if stands else Operation.INSERT
    return Event(
        op=op,
        source=Origin("scripted", f"change:{number}", at),
        ts_ms=1,
        table="items",
        primary_key=("id",),
        before=None if there else {"id": 1},
        after={"id": 1} if there else None,
        sequence_number=number,
    )


def _holds(version: Version, time: int) -> bool:
    return version.begin[1] <= time and (version.end is None or time < version.end[1])
