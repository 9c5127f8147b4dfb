"""Environment check before a start: each violation of Gymnasium's interface is reported in one sentence."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import shim_kit
from arenas.arena_lane import ArenaLane

from mosaic_lab.workers import WorkerEnvironment

PROBE_ALL = """
import json, promises, gymnasium
from mosaic_contract import ConfigError, registry
from mosaic_contract.environment_check import probe

found = {}
broken = [one for one, spec in gymnasium.registry.items() if "promises" in str(spec.entry_point)]
for env_id in [*broken, "CartPole"]:
    try:
        probe(env_id, lambda: registry.make(env_id))
    except ConfigError as error:
        found[env_id.removesuffix("-v0")] = str(error)
print(json.dumps(found))
"""
PROBE_MISSING = """
import gymnasium
from mosaic_contract import ConfigError, registry
from mosaic_contract.environment_check import probe

def broken(**keywords):
    raise ValueError("no map")

gymnasium.register("Broken-v0", broken)
unknown = "NoSuch-v0", "no_space/Such-v0", "two/spaces/Such-v0", "no_module:Such-v0"
for env_id in (*unknown, "CartPol-v1", "MountainCar-v7", "HalfCheetah-v3", "Broken-v0"):
    try:
        probe(env_id, lambda: registry.make(env_id))
    except ConfigError as error:
        print(type(error).__name__, error)
"""
PLAY_OUTSIDE = """
import promises
from mosaic_contract.checked_environment import checked

promises.OutsideLater.first = -1
env = checked(promises.OutsideLater(), "OutsideLater-v0")
print(env.reset(seed=3)[0])
try:
    while True:
        env.step(0)
except Exception as error:
    print(error)
"""
GYMNASIUMS = {
    "reset": "Gymnasium's returns (observation, info)",
    "step": "Gymnasium's returns (observation, reward, terminated, truncated, info)",
}
RETURNED, _PLACE = "the observation{} that reset() of {}-v0 returns", "['place']"
REFUSED = {
    "NoInfo": f"reset() of NoInfo-v0 returns only an observation; {GYMNASIUMS['reset']}",
    "NoSeed": "reset() of NoSeed-v0 takes no seed; Gymnasium's is reset(*, seed=None, options=None)",
    "FourValues": f"step() of FourValues-v0 returns 4 values; {GYMNASIUMS['step']}",
    "SixValues": f"step() of SixValues-v0 returns 6 values; {GYMNASIUMS['step']}",
    "InfoOfNothing": f"step() of InfoOfNothing-v0 returns a NoneType as its info; {GYMNASIUMS['step']}",
    "NoReward": "step() of NoReward-v0 returns None as the reward; a number is needed",
    "HugeReward": "the environment's reward was inf at step 1 (episode 0, seed 0)",
    "VastReward": "the environment's reward was -1e+308 at step 1 (episode 0, seed 0), beyond the 3.4e+38 of "
    "32-bit numbers",
    "DeepReward": "step() of DeepReward-v0 returns <list> as the reward; a number is needed",
    "TextAsEnd": "step() of TextAsEnd-v0 returns 'no' as truncated; True or False is needed",
    "TwoEnds": "step() of TwoEnds-v0 returns array([False, False]) as terminated; True or False is needed",
    "ShortMask": "the action_mask in the info of ShortMask-v0 has the shape (1,); its 2 actions need (2,)",
    "NoMask": "the action_mask in the info of NoMask-v0 has the shape (); its 2 actions need (2,)",
    "OtherShape": f"{RETURNED.format('', 'OtherShape')} has the shape (3,); its space has (2,)",
    "Missing": f"{RETURNED.format('', 'Missing')} lacks 'door'",
    "Within": f"{RETURNED.format(_PLACE, 'Within')} is [0.0, 'left']; its space is Box(2)",
    "Beyond": f"{RETURNED.format('', 'Beyond')} has the value -5; its space allows 0 to 10",
    "NoSpace": "observation_space of NoSpace-v0 is (2,), not a space of Gymnasium",
    "NoSeedOfActions": "action_space of NoSeedOfActions-v0 is Two(), not a space of Gymnasium",
    "CartPole": "environment 'CartPole' lacks its version: write 'CartPole-v1'",
}


def test_each_broken_promise_is_one_sentence(
    worker: WorkerEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values that convert without loss, and faults that occur only later, are not reported."""
    monkeypatch.setenv("PYTHONPATH", str(Path(shim_kit.__path__[0]) / "environments"))
    command = [str(worker.python), "-c", PROBE_ALL]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert json.loads(done.stdout.splitlines()[-1]) == REFUSED, done.stderr
    assert "close() of CloseFails-v0 has failed: AttributeError: it has no screen" in done.stderr
    assert "close() of CloseExits-v0 has failed: SystemExit" in done.stderr


def test_a_number_outside_of_its_space_is_refused_at_a_later_step(
    worker: WorkerEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first observation of -1 is accepted: some environments return it before the first move."""
    monkeypatch.setenv("PYTHONPATH", str(Path(shim_kit.__path__[0]) / "environments"))
    done = subprocess.run(
        [str(worker.python), "-c", PLAY_OUTSIDE], capture_output=True, text=True, timeout=120
    )
    late = "at step 5 (episode 0, seed 3) is 7, which is not in its space Discrete(3)"
    assert done.stdout.splitlines() == [
        "-1",
        f"the observation that step() of OutsideLater-v0 returns {late}",
    ], done.stderr


def test_an_own_class_needs_no_keyword_for_rendering(worker: WorkerEnvironment, tmp_path: Path) -> None:
    command = ["env", f"PYTHONPATH={Path(shim_kit.__path__[0]) / 'environments'}", *worker.command()]
    with ArenaLane(command, tmp_path / "lane") as lane:
        lane.open("promises:Kept")
        assert len(lane.play(3, 8)[1:]) == 8


@pytest.mark.parametrize("env_id", ["leaving_v0", "leaving_v0:Leaving"])
def test_an_own_team_is_named_by_its_module_or_by_its_class(
    worker: WorkerEnvironment, tmp_path: Path, env_id: str
) -> None:
    """The team's agents leave and join during an episode."""
    command = ["env", f"PYTHONPATH={Path(shim_kit.__path__[0]) / 'environments'}", *worker.command()]
    with ArenaLane(command, tmp_path / "lane") as lane:
        assert lane.open(env_id)["agents"] == ["red team/1", "blau ä", "late.0"]
        steps = lane.play(3, 8)[1:]
        assert len(steps) == 8
        assert not any(fault for step in steps for _, _, fault in step[1])


def test_an_environment_that_is_not_installed_is_missing(worker: WorkerEnvironment) -> None:
    """`EnvironmentMissing` lets another worker serve it; a failing constructor is a `ConfigError`."""
    command = [str(worker.python), "-c", PROBE_MISSING]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    *missing, broken = done.stdout.splitlines()
    assert [line.split()[0] for line in missing] == ["EnvironmentMissing"] * 7, done.stderr
    assert missing[4].endswith("Environment `CartPol` doesn't exist; did you mean 'CartPole-v1'?")
    assert missing[5].endswith("; did you mean 'MountainCar-v0'?")
    assert missing[6].endswith("; did you mean 'HalfCheetah-v5'?")
    assert broken == "ConfigError environment 'Broken-v0' cannot be made here: ValueError: no map"
