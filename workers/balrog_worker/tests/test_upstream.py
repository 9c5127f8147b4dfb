"""Upstream's eval.py as a run: start, telemetry, stop. A stand-in writes files in upstream's format."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab.errors import ConfigurationError

KEY = "sk-secret-of-the-test"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    stand_in = Path(__file__).parents[1] / "balrog_worker" / "stand_in_checkout"
    return Path(shutil.copytree(stand_in, tmp_path / "it's a checkout"))


def start(lab: mosaic.Lab, checkout: Path, **options: Any) -> Any:
    given = {"python": sys.executable, "agent": "cot", "model": "org/model:1", "envs": ["babyai", "crafter"]}
    return lab.train("balrog", algorithm="eval", checkout=str(checkout), **{**given, **options})


def test_its_episodes_become_telemetry_and_the_checkout_stays_as_it_is(
    lab: mosaic.Lab, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    before = sorted(checkout.rglob("*"))
    run = start(lab, checkout, episodes=3, max_steps=5, pass_env_vars=["OPENAI_API_KEY"]).wait(60)
    assert run.state == "completed", run.log()
    episodes = run.episodes()
    assert len(episodes) == 9 and set(episodes["steps"]) == {5}
    folder = run.path / "balrog"
    metrics = run.metrics()
    assert {"progression", "failed_candidates", "mean_progression/babyai"} <= set(metrics["name"])
    assert '"average_progress"' in (run.path / "telemetry.jsonl").read_text().splitlines()[-1]
    assert len(list(folder.rglob("*_run_*.json"))) == 9 and (folder / "summary.json").is_file()
    assert "the key is set" in run.log(200) and "Episode done: crafter" in run.log(200)
    written = b"".join(path.read_bytes() for path in run.path.rglob("*") if path.is_file())
    assert KEY.encode() not in written
    assert sorted(checkout.rglob("*")) == before


def test_it_stops_and_fails_with_a_reason(lab: mosaic.Lab, checkout: Path) -> None:
    slow = start(lab, checkout, episodes=1000, overrides=["stand_in.seconds=0.1"])
    wait_until(lambda: len(slow.episodes()) >= 1)
    slow.stop()
    assert slow.state == "cancelled"
    failed = start(lab, checkout, overrides=["stand_in.fails=no such model"])
    wait_until(lambda: failed.finished)
    assert failed.state == "failed" and "exit code 1" in failed.reason
    assert "no such model" in failed.log(200)


def test_what_cannot_be_is_refused_before_anything_starts(lab: mosaic.Lab, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        start(lab, tmp_path, python="no-such-python", envs=["doom"], overrides=["seven"])
    for part in (
        "it has no eval.py",
        "'no-such-python' is not a program",
        "'doom' is not a BALROG environment; these are",
        "['seven']",
    ):
        assert part in str(refused.value)
    assert not lab.runs
