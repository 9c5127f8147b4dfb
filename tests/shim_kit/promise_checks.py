"""Checks of environments in trainings, for the tests of every shim that trains."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mosaic_contract.codec import with_tagged_tuples
from operators.conversation import Conversation

from .policies import actions_of, begin

CONVERTED, FROM_ONE = "promises:Converted-v0", "promises:FromOne-v0"


@pytest.fixture
def promises(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the worker import the environments in the folder `environments`."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent / "environments"))


def assert_environments_are_checked(worker: Any, operators: Conversation, **config: Any) -> None:
    """Train on environments that break a promise, and on some that keep it in an unusual form.

    ``config`` configures an algorithm that samples discrete actions.
    """
    refused = worker.error(env_id="promises:NoInfo-v0", **config)
    assert "reset() of promises:NoInfo-v0 returns only an observation; Gymnasium's returns" in refused
    ended = worker.train(env_id="promises:NanReward-v0", **config)
    (failed,) = ended.events("run_failed")
    assert re.match(r"the environment's reward was nan at step 5 \(episode 0, seed [12]\)", failed["error"])
    assert worker.train(env_id=CONVERTED, **config).code == 0
    from_one = worker.train(env_id=FROM_ONE, **config)
    assert from_one.code == 0, from_one.log
    begin(operators, from_one.checkpoints[-1], "from_one", deterministic=False)
    assert set(actions_of(operators, 50 * [np.float32([0.1, 0.5])], "from_one")) == {1, 2, 3}


def assert_keyword_arguments_are_passed(worker: Any, **config: Any) -> None:
    """Train with keyword arguments for the environment; checkpoints record them, so that films pass them too.

    ``config`` configures an algorithm that samples discrete actions.
    """
    paid = {"env_id": "promises:Paid-v0", **config}
    given = with_tagged_tuples({"wages": (3.0, 3.0)})
    run = worker.train(**paid, env_kwargs=given)
    assert run.code == 0, run.log
    assert {episode["total_reward"] for episode in run.episodes} == {60.0}
    assert json.loads(run.checkpoints[-1].with_suffix(".json").read_text())["env_settings"] == given
    assert "unexpected keyword argument 'wage'" in worker.error(**paid, env_kwargs={"wage": 3})
    assert "'env_kwargs': expected dict, got list" in worker.error(**paid, env_kwargs=["wages"])


def assert_a_changing_team_is_trained(worker: Any, operators: Conversation, **config: Any) -> str:
    """Train on a user's PettingZoo environment whose agents leave and join; all of them then act.
    Return the training's log.

    ``config`` has the environment's id: its module's, or that of a class in the module.
    """
    run = worker.train(total_timesteps=128, **config)
    assert run.code == 0, run.log
    assert {episode["steps"] for episode in run.episodes} == {8}
    for agent, size in (("red team/1", 2), ("blau ä", 3), ("late.0", 2)):
        begin(operators, run.checkpoints[-1], agent)
        (action,) = actions_of(operators, [np.zeros(size, np.float32)], agent)
        assert action in range(size)
    return run.log
