from __future__ import annotations

import pytest

from headwater.errors import StateError
from headwater.runtime.lifecycle import Lifecycle, State

_PATHS = {
    "a snapshot, then the stream, then a drain": [
        State.STARTING,
        State.SNAPSHOTTING,
        State.STREAMING,
        State.DRAINING,
        State.STOPPED,
    ],
    "a connection opened again": [State.STARTING, State.STREAMING, State.STARTING, State.STREAMING],
    "a failure at the start": [State.STARTING, State.FAILED],
    "a forced stop": [State.STARTING, State.STREAMING, State.STOPPED],
}


@pytest.mark.parametrize("path", _PATHS.values(), ids=_PATHS)
def test_lifecycle_moves_when_the_path_is_allowed(path: list[State]) -> None:
    seen: list[tuple[State, State]] = []
    lifecycle = Lifecycle(lambda before, after: seen.append((before, after)))
    for state in path:
        lifecycle.to(state)
    assert seen == list(zip([State.IDLE, *path], path, strict=False))


@pytest.mark.parametrize(
    ("path", "refused"),
    [
        ([], State.STREAMING),
        ([], State.DRAINING),
        ([State.STARTING], State.STARTING),
        ([State.STARTING, State.STREAMING, State.DRAINING], State.STREAMING),
        ([State.STARTING, State.STOPPED], State.STARTING),
        ([State.STARTING, State.FAILED], State.STARTING),
    ],
)
def test_lifecycle_refuses_and_stays_when_the_move_is_not_listed(
    path: list[State], refused: State
) -> None:
    """INV-4."""
    lifecycle = Lifecycle()
    for state in path:
        lifecycle.to(state)
    before = lifecycle.state
    with pytest.raises(StateError) as caught:
        lifecycle.to(refused)
    assert caught.value.code == "lifecycle-transition"
    assert lifecycle.state is before


def test_lifecycle_says_ended_when_nothing_can_follow() -> None:
    lifecycle = Lifecycle()
    assert not lifecycle.ended
    lifecycle.to(State.STARTING)
    lifecycle.to(State.FAILED)
    assert lifecycle.ended
