"""Jumanji's environments in arenas: seeds, settings, action names, masks, frames."""

from __future__ import annotations

from arenas.arena_lane import ArenaLane
from support import wait_until


def test_a_world(lane: ArenaLane) -> None:
    for wrong, expected in (
        ("Snaek-v1", "Jumanji has no environment 'Snaek-v1'; did you mean 'Snake-v1'?"),
        ("Snake-v1", "Snake-v1 has no setting 'num_row': did you mean 'num_rows'?"),
    ):
        error = lane.open(wrong, "error", num_row=5)
        assert error["error_type"] == "ConfigError" and expected in error["message"]
    opened = lane.open("Snake-v1", num_rows=5, num_cols=5)
    assert opened["paradigm"] == "single_agent" and opened["renders"], opened["render_reason"]
    assert opened["spaces"]["agent_0"]["observation"]["spaces"]["grid"]["shape"] == [5, 5, 5]
    assert opened["action_meanings"]["agent_0"] == ["up", "right", "down", "left"]
    assert opened["keys"]["agent_0"]["ArrowUp"] == 0
    first = lane.play(3, 12)
    assert len(first) > 2
    assert lane.play(4, 12) != first
    reader = lane.watched()
    assert lane.play(3, 12) == first, "watching changes nothing"
    frame = wait_until(lambda: reader.watch(60) or reader.read())
    assert frame.shape == (400, 400, 3)
    assert lane.do("closed", "close") == {"type": "closed"}


def test_combinations_of_which_a_mask_allows_some_are_numbered(lane: ArenaLane) -> None:
    """In Minesweeper (rows and columns), an opened field is no longer legal."""
    opened = lane.open("jumanji/Minesweeper-v0")
    assert opened["spaces"]["agent_0"]["action"]["n"] == 100
    lane.do("ready", "reset", seed=1, episode_index=0)
    lane.send("step")
    ask = lane.next()
    assert len(ask["action_mask"]) == 100 and all(ask["action_mask"])
    lane.send("answer", id=ask["id"], action=42)
    if not lane.next()["done"]:
        lane.send("step")
        assert [number for number, legal in enumerate(lane.next()["action_mask"]) if not legal] == [42]
