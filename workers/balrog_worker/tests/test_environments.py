"""BALROG's environments: texts, frames, progression, seeds, and the cache of TextWorld games."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab.workers import WorkerEnvironment

COMMANDS = ("close", "drop", "examine", "go", "inventory", "look", "open", "put", "take", "unlock")
RANDOM_EPISODES = Path(__file__).with_name("random_episodes.py")
IDS = (
    *("balrog/babyai/open", "balrog/babyai/pick_up_seq_go_to", "balrog/crafter"),
    *("balrog/nle/NetHackChallenge-v0", "balrog/minihack/MiniHack-Corridor-R3-v0"),
)


def walked(worker: WorkerEnvironment, seed: int, *ids: str, cache: Path | None = None) -> dict[str, Any]:
    """Play one episode of each environment in a separate process and return the results by id."""
    command = [str(worker.python), str(RANDOM_EPISODES), str(seed), *ids]
    environ = {"HOME": str(cache), "PATH": "/usr/bin:/bin"} if cache else None
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environ)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stderr.strip().splitlines()[-1])
    return found


def test_they_speak_text_and_follow_their_seed_in_every_process(worker: WorkerEnvironment) -> None:
    first, other = (walked(worker, seed, *IDS) for seed in (5, 6))
    again = walked(worker, 5, *reversed(IDS[2:]))
    assert again == {env_id: first[env_id] for env_id in IDS[2:]}
    for env_id in IDS:
        one = first[env_id]
        assert one["first"] != other[env_id]["first"], env_id
        assert one["first"]["long_term_context"], env_id
        assert one["info"]["success"] is (one["info"]["progression"] == 1.0)
        assert len(one["frame"]) == 3 and one["frame"][2] == 3
    babyai = first["balrog/babyai/open"]["first"]
    assert "Your goal is to open" in babyai["text"] and " forward" in babyai["text"]
    assert babyai["default_action"] == "go forward"
    crafter = first["balrog/crafter"]
    assert "You see:" in crafter["first"]["long_term_context"]
    assert "- health: 9/9" in crafter["first"]["short_term_context"]
    assert crafter["first"]["actions"]["Place Stone"] == 7 and "collect diamond" in crafter["instructions"]
    nethack = first["balrog/nle/NetHackChallenge-v0"]["first"]
    assert all(f"{part}:" in nethack["text"] for part in ("message", "in sight", "map", "inventory"))
    assert nethack["actions"]["e"] == nethack["actions"]["eat"], "single letters answer questions"
    assert nethack["default_action"] == "esc"
    minihack = first["balrog/minihack/MiniHack-Corridor-R3-v0"]["first"]
    assert set(minihack["actions"]) >= {"north", "kick", "search"} and "e" not in minihack["actions"]


def test_a_textworld_game_that_takes_too_long_says_so(worker: WorkerEnvironment, tmp_path: Path) -> None:
    code = (
        "from balrog_worker.environments import textworld; textworld._MAKING_SECONDS = 0.01; "
        "textworld.game_file('treasure_hunter', 7)"
    )
    done = subprocess.run(
        [str(worker.python), "-c", code],
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "tw-make made no game of treasure_hunter for seed 7 within" in done.stderr
    assert list(tmp_path.rglob("making-*")) == []


def test_a_textworld_game_goes_on_whatever_is_typed(worker: WorkerEnvironment, tmp_path: Path) -> None:
    script = (
        "import random\n"
        "from balrog_worker.environments import textworld\n"
        "textworld._GAMES['coin_collector'] = 'custom', *'--world-size 1 --nb-objects 1'.split()\n"
        "env, generator = textworld.TextWorld('coin_collector', 200), random.Random(1)\n"
        "typed = ''.join(map(chr, range(128))) + '\\\\' * 30 + 'é日\\ud800'\n"
        "env.reset(seed=1)\n"
        "for _ in range(100):\n"
        "    env.step(''.join(generator.choices(typed, k=300)))\n"
        "print(env.step('look')[0])"
    )
    done = subprocess.run(
        [str(worker.python), "-c", script],
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.startswith("-= "), done.stderr


@pytest.mark.extended  # generates two games
def test_a_textworld_game_is_made_for_each_seed_once(worker: WorkerEnvironment, tmp_path: Path) -> None:
    env_id = "balrog/textworld/coin_collector"
    first = walked(worker, 3, env_id, cache=tmp_path)[env_id]
    games = {path: path.stat().st_ino for path in tmp_path.rglob("*.z8")}
    assert len(games) == 1 and not (tmp_path / "Inform").exists()
    assert walked(worker, 3, env_id, cache=tmp_path)[env_id] == first
    assert {path: path.stat().st_ino for path in tmp_path.rglob("*.z8")} == games
    assert walked(worker, 4, env_id, cache=tmp_path)[env_id]["first"] != first["first"]
    assert first["first"]["actions"] is None and first["first"]["default_action"] == "help"
    assert "venture" not in first["first"]["text"], "the text omits the solution"


@pytest.mark.extended  # generates a game
def test_a_random_player_plays_textworld_beside_a_person(lab: mosaic.Lab) -> None:
    lanes = {"random": mosaic.operators.random(), "me": mosaic.operators.human()}
    env_id = "balrog/textworld/coin_collector"
    comparison = lab.compare(env=env_id, operators=lanes, seeds=[3], step_timeout=300)
    try:
        comparison.step(timeout=0)
        wait_until(lambda: comparison.act("me", "agent_0", "inventory"))
        comparison.wait(120)
        assert comparison.steps("me")["action"].tolist() == ["inventory"]
        (chosen,) = comparison.steps("random")["action"]
        assert chosen.split()[0] in COMMANDS
    finally:
        comparison.close()


def test_games_used_longest_ago_leave_a_cache_that_is_full(worker: WorkerEnvironment, tmp_path: Path) -> None:
    for age, name in enumerate(("newest", "used", "old", "oldest")):
        for suffix in (".z8", ".json"):
            file = tmp_path / f"{name}{suffix}"
            file.write_bytes(bytes(50))
            os.utime(file, (1000 - age, 1000 - age))
    script = (
        "import sys; from pathlib import Path; folder = Path(sys.argv[1])\n"
        "from balrog_worker.environments.textworld import cached, prune\n"
        "assert cached(folder / 'used.z8') and not cached(folder / 'none.z8')\n"
        "prune(folder, 200)"
    )
    subprocess.run([str(worker.python), "-c", script, str(tmp_path)], check=True, timeout=60)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "newest.json",
        "newest.z8",
        "used.json",
        "used.z8",
    ]
