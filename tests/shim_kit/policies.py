"""Operators that act from checkpoints: creation, sampling and refusals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from operators.conversation import Conversation

SEED = 5
PICKLE = b"cos\nsystem\n(S'true'\ntR."  # runs a program when unpickled


def begin(operators: Conversation, checkpoint: Path, agent: str = "agent_0", **settings: Any) -> None:
    """Create an agent's operator from a checkpoint, with `SEED`."""
    settings = {"checkpoint": str(checkpoint), **settings}
    answer = operators.ask("init_agent", player_id=agent, seed=SEED, settings=settings)
    assert answer["type"] == "agent_ready", answer


def actions_of(operators: Conversation, observations: Sequence[Any], agent: str = "agent_0") -> list[Any]:
    """Return an agent's actions for successive observations, as lists and numbers."""
    acted = [operators.act(one, player_id=agent)["action"] for one in observations]
    return [np.asarray(action).tolist() for action in acted]


def actions(operators: Conversation, checkpoint: Path, seen: Sequence[Any], **settings: Any) -> list[Any]:
    """Create an operator from a checkpoint and return its actions for these observations."""
    begin(operators, checkpoint, **settings)
    return actions_of(operators, seen)


def sampled_twice(
    operators: Conversation, checkpoint: Path, observations: Sequence[Any], agent: str = "agent_0"
) -> list[Any]:
    """Return an agent's sampled actions; check that they repeat with the same seed and are not all equal."""
    sampled = []
    for _ in range(2):
        begin(operators, checkpoint, agent, deterministic=False)
        sampled.append(actions_of(operators, observations, agent))
    assert sampled[0] == sampled[1]
    assert len({str(action) for action in sampled[0]}) > 1
    return sampled[0]


class Refusals:
    """Errors of operators that cannot act from a checkpoint; altered copies of it go into ``folder``."""

    def __init__(self, operators: Conversation, checkpoint: Path, folder: Path) -> None:
        self._operators = operators
        self._checkpoint = checkpoint
        self._folder = folder
        self.settings = {"checkpoint": str(checkpoint)}
        self.whole = checkpoint.read_bytes()

    def message(self, player_id: str = "agent_0", **setup: Any) -> str:
        """Return the error of an operator with this setup."""
        answer = self._operators.ask("init_agent", player_id=player_id, **setup)
        assert answer["error_type"] == "ConfigError", answer
        return str(answer["message"])

    def of_copy(self, name: str, data: bytes, **changes: Any) -> str:
        """Return the error of an operator from a copy with these bytes and a changed description."""
        path = self._folder / f"{name}{self._checkpoint.suffix}"
        path.write_bytes(data)
        described = json.loads(self._checkpoint.with_suffix(".json").read_text())
        path.with_suffix(".json").write_text(json.dumps({**described, **changes}))
        return self.message(settings={"checkpoint": str(path)})

    def check_all(self, trained_for: str) -> None:
        """Check every worker's refusals: another action space; a missing, damaged or foreign checkpoint."""
        three = {"type": "Discrete", "n": 3}
        misfit = f"actions are Discrete(3), the policy was trained for {trained_for}"
        assert misfit in self.message(settings=self.settings, action_space=three)
        assert 'give "checkpoint"' in self.message(settings={})
        missing = str(self._folder / f"none{self._checkpoint.suffix}")
        assert "there is no checkpoint" in self.message(settings={"checkpoint": missing})
        assert "it is damaged or incomplete" in self.of_copy("torn", self.whole[:900])
        assert 'it begins with b"cos' in self.of_copy("pickle", PICKLE)
        assert "cannot be loaded: " in self.of_copy("empty", b"PK\x05\x06" + bytes(18))
        assert "is of the format 'theirs/1'" in self.of_copy("foreign", self.whole, format="theirs/1")


def play_to_end(comparison: Any, seconds: float = 300) -> tuple[Any, list[Any]]:
    """Play a comparison to its end; return its results by lane, and its last view of the lanes."""
    comparison.play()
    comparison.wait(seconds)
    results = comparison.results().set_index("lane")
    lanes = list(comparison.view()["lanes"])
    comparison.stop()
    return results, lanes
