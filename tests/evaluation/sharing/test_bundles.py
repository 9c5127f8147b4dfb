"""Bundles: an evaluation in one file, its contents, and its use on another machine."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from evaluation.evaluation_fixtures import Evaluate, odd
from evaluation.sharing.forged_bundles import members_of
from support import limited, store, wait_until

from mosaic_lab import operators
from mosaic_lab.cli import main
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.evaluation import Evaluation
from mosaic_lab.evaluation.launch import evaluate
from mosaic_lab.evaluation.request import EvaluateRequest
from mosaic_lab.evaluation.sharing import archive
from mosaic_lab.runs import Supervisor

NOTEBOOK = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evaluation]:
    both = {"random": operators.random(deadline=5.0), "=still": operators.passive(fallback="default")}
    with store(tmp_path_factory.mktemp("played") / "runs") as supervisor:
        given = {"seeds": range(3), "episodes": 2, "max_steps": 50, "parallel": 1}
        yield evaluate(supervisor, EvaluateRequest(env="CartPole-v1", operators=both, **given)).wait(120)


def test_what_is_in_it(tmp_path: Path, evaluation: Evaluation) -> None:
    notebook = tmp_path / "mine.ipynb"
    notebook.write_text(json.dumps(NOTEBOOK))
    inside = members_of(evaluation.bundle(tmp_path / "share.zip", notebook))
    manifest = json.loads(inside["manifest.json"])
    assert manifest["fingerprint"] == evaluation.fingerprint()
    assert set(manifest["files"]) == set(inside) - {"manifest.json"}
    assert json.loads(inside["notebook.ipynb"]) == NOTEBOOK
    rows = list(csv.DictReader(io.StringIO(inside["results.csv"].decode())))
    assert [float(row["return"]) for row in rows] == list(evaluation.results()["return"])
    assert {row["operator"] for row in rows} == {"random", "'=still"}, "a spreadsheet must not read a formula"
    assert inside["episodes.jsonl"].count(b"\n") == 12
    assert b"\ngymnasium==" in inside["locks/gymnasium.txt"]
    text = b"".join(inside.values()).decode()
    assert str(tmp_path) not in text and str(Path.home()) + "/" not in text, "no path of this machine"
    evaluation.bundle(tmp_path / "again.zip", notebook)
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "share.zip").read_bytes()


def test_the_script_in_it_plays_by_itself(
    tmp_path: Path, evaluation: Evaluation, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle, runs = evaluation.bundle(tmp_path / "share.zip"), tmp_path / "elsewhere"
    assert main(["evaluate", str(bundle), "--into", str(tmp_path / "a"), "--store", str(runs)]) == 0
    assert main(["evaluate", str(tmp_path / "a" / "script.json"), "--store", str(runs)]) == 0
    assert "completed, 12 of 12 episodes" in capsys.readouterr().out
    played = [Evaluation(run.folder) for run in Supervisor(runs).runs()]
    assert {one.fingerprint() for one in played} == {evaluation.fingerprint()}


@pytest.mark.extended
def test_a_tuple_in_settings_reaches_the_environment_as_one(
    tmp_path: Path, start_evaluation: Evaluate
) -> None:
    settings = {"agent_start_pos": (3, 3)}  # MiniGrid compares it with a tuple: a list would fail
    still = {"still": operators.passive()}
    played = start_evaluation("MiniGrid-Empty-8x8-v0", still, seeds=[1], env_kwargs=settings, max_steps=2)
    bundle = played.wait(120).bundle(tmp_path / "share.zip")
    there = ["--into", str(tmp_path / "there"), "--store", str(tmp_path / "elsewhere")]
    assert main(["evaluate", str(bundle), "--verify", *there]) == 0


def test_agents_that_share_an_operator_share_it_elsewhere(
    tmp_path: Path, start_evaluation: Evaluate, capsys: pytest.CaptureFixture[str]
) -> None:
    shared, dice = operators.random(), operators.random().with_(name="dice")
    lanes = {
        "together": {"adversary_*": shared, "agent_0": shared},
        "apart": {"adversary_*": shared, "agent_0": dice},
    }
    evaluation = start_evaluation("simple_tag_v3", lanes, seeds=[1]).wait(120)
    bundle = evaluation.bundle(tmp_path / "share.zip")
    script = json.loads(members_of(bundle)["script.json"])
    assert script["operators"]["together"]["agent_0"] == {"kind": "same", "as": "adversary_*"}
    where = ["--into", str(tmp_path / "into"), "--store", str(tmp_path / "elsewhere")]
    assert main(["evaluate", str(bundle), "--verify", *where]) == 0
    assert "identical: 2 episodes" in capsys.readouterr().out


def test_verified_elsewhere(
    tmp_path: Path,
    evaluation: Evaluation,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bundle = evaluation.bundle(tmp_path / "share.zip")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert main(["evaluate", str(bundle), "--verify"]) == 0
    assert "identical: 12 episodes gave the same results here as in share.zip" in capsys.readouterr().out
    assert not Supervisor().runs(), "a verification without differences keeps no run"
    assert main(["evaluate", str(bundle), "--verify"]) == 1
    assert "share exists already" in capsys.readouterr().err
    assert main(["evaluate", str(bundle), "--verify", "--sample", "2", "--into", "other"]) == 0
    assert "identical: 2 episodes" in capsys.readouterr().out


def test_results_that_differ_elsewhere_are_reported(
    tmp_path: Path, evaluation: Evaluation, capsys: pytest.CaptureFixture[str]
) -> None:
    inside = members_of(evaluation.bundle(tmp_path / "share.zip"))
    manifest = json.loads(inside.pop("manifest.json"))
    step = b'"step_index":4,"episode_index":1,'  # in whichever arena played that episode
    played = next(
        name for name in sorted(inside) if name.startswith("steps/0-random") and step in inside[name]
    )
    steps = inside[played].splitlines(keepends=True)
    at = next(n for n, line in enumerate(steps) if step in line)
    forged = json.loads(steps[at])
    steps[at] = json.dumps({**forged, "action": 1 - forged["action"]}, separators=(",", ":")).encode() + b"\n"
    inside[played] = b"".join(steps)
    lock = inside["locks/gymnasium.txt"].replace(b"\ngymnasium==", b"\ngymnasium==0.").split(b"\n")
    inside["locks/gymnasium.txt"] = b"\n".join(lock)
    archive.pack_bundle(tmp_path / "forged.zip", inside, {n: v for n, v in manifest.items() if n != "files"})
    runs = str(tmp_path / "elsewhere")
    into = str(tmp_path / "into")
    assert main(["evaluate", str(tmp_path / "forged.zip"), "--verify", "--into", into, "--store", runs]) == 1
    said = capsys.readouterr().out
    assert "worker 'gymnasium' differs here: gymnasium 0." in said
    assert (
        f"the versions of the bundle: {into}/locks/gymnasium.txt. That list came with it and is not vet"
        in said
    )
    assert "pip install" not in said, "no command that installs what an unknown bundle lists"
    assert re.search(r"differs: random, seed \d+, episode \d: steps, from step 4", said)
    (kept,) = Supervisor(runs).runs()
    assert f"mosaic-lab runs show {kept.id}" in said


@pytest.mark.usefixtures("odd_home")
def test_what_cannot_be_shared(tmp_path: Path, start_evaluation: Evaluate) -> None:
    slow = start_evaluation(**odd(operators={"one": operators.worker("odd")}, step_delay=0.01))
    wait_until(lambda: slow.done)
    slow.stop()
    with pytest.raises(MosaicError, match="of 100 episodes are done"):
        slow.bundle(tmp_path / "share.zip")
    custom = operators.worker("odd", url="https://somewhere.example")
    own = start_evaluation(**odd(operators={"one": custom}, seeds=[1])).wait(60)
    with pytest.raises(MosaicError, match="one: a bundle cannot contain odd, which has settings"):
        own.bundle(tmp_path / "share.zip")
    with pytest.raises(ConfigurationError, match=r"must end with \.zip"):
        own.bundle(tmp_path / "share.tar")
    with pytest.raises(
        ConfigurationError, match=r"is a folder: give the bundle's file, such as .*share\.zip"
    ):
        own.bundle(tmp_path)
    assert not list(tmp_path.glob("share*"))


def test_the_command_line_writes_one(
    tmp_path: Path, evaluation: Evaluation, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--store", str(evaluation.path.parent)]
    target = tmp_path / "share.zip"
    assert main(["export", "--evaluation", evaluation.id, "-o", str(target), *where]) == 0
    assert "mosaic-lab evaluate share.zip --verify" in capsys.readouterr().out
    assert members_of(target)
    full = limited(tmp_path, "export", "--evaluation", evaluation.id, "-o", str(tmp_path / "no.zip"), *where)
    assert re.fullmatch(r"mosaic-lab: the bundle .*/no.zip cannot be written: .*File too large.*\n", full)
    assert not list(tmp_path.glob("*no.zip*"))
    with pytest.raises(SystemExit):
        main(["export"])
    with pytest.raises(SystemExit):
        main(["evaluate", "script.toml", "--verify"])


@pytest.mark.extended
@pytest.mark.usefixtures("odd_home")
def test_no_resuming_with_other_versions(start_evaluation: Evaluate) -> None:
    evaluation = start_evaluation(**odd(operators={"one": operators.worker("odd")}, step_delay=0.01))
    wait_until(lambda: evaluation.done)
    evaluation.stop()
    provenance = evaluation.path / "provenance.json"
    then = provenance.read_text()
    recorded = json.loads(then)
    lock = recorded["environment"]["locks"]["odd"]
    now, lock["python"] = lock["python"], "3.0"
    provenance.write_text(json.dumps(recorded))
    with pytest.raises(
        MosaicError, match=rf"'odd' has changed since .*: Python 3\.0 \(here {now}\)\. The remaining"
    ):
        evaluation.resume()
    assert evaluation.state == "cancelled"
    provenance.write_text(then)
    evaluation.resume().wait(120)
    provenance.write_text(json.dumps(recorded))
    resumed = Evaluation(evaluation.folder).resume().wait(60)
    assert resumed.state == "completed", "no episode remains for another version to play"
