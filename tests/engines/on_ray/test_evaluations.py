"""An evaluation on a cluster gives the same episodes as on this machine, whatever is killed meanwhile."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pandas as pd
import psutil
import pytest
from engines.on_ray.conftest import HEAD, Nodes, kill_node, until
from engines.on_ray.test_survival import mirroring_actor, processes
from evaluation.evaluation_fixtures import outcomes
from mosaic_contract import decode_line

import mosaic_lab as mosaic
from mosaic_lab import operators
from mosaic_lab.cli import main
from mosaic_lab.engines import clusters
from mosaic_lab.engines.clusters import Cluster
from mosaic_lab.errors import MosaicError
from mosaic_lab.evaluation import Evaluation

pytestmark = pytest.mark.extended

ENV = "CartPole-v1"


@pytest.fixture
def players(cluster: Cluster, mosaic_home: Path, tmp_path: Path) -> str:
    """A cluster whose nodes have the large environment worker installed and build the operator's worker."""
    folder = tmp_path / "node"
    (folder / "workers").mkdir(parents=True)
    (folder / "workers" / "gymnasium").symlink_to(mosaic_home / "workers" / "gymnasium")
    clusters.add(replace(cluster, name="players", folder=str(folder)))
    return "players"


def test_every_episode_is_that_of_this_machine(players: str, tmp_path: Path) -> None:
    lab = mosaic.Lab(tmp_path / "runs")
    both = {"random": operators.random(), "dice": operators.random().with_(name="dice")}
    there = lab.evaluate(env=ENV, operators=both, seeds=range(16), parallel=2, on=players)
    here = lab.evaluate(env=ENV, operators=both, seeds=range(16), parallel=2)
    texts = set()
    until(lambda: texts.add(repr(there)) or there.finished, 400, lambda: f"{there!r}\n{there.log(50)}")
    there.wait()
    assert any("2 parts play" in text for text in texts), texts
    pd.testing.assert_frame_equal(outcomes(there), outcomes(here.wait(120)))
    assert there.fingerprint() == here.fingerprint()
    keys = [(record["operator"], record["seed"]) for record in there.records()]
    for key in keys[::9]:
        pd.testing.assert_frame_equal(there.steps(*key), here.steps(*key))
    assert recorded(there) == Counter(dict.fromkeys(keys, 1))
    assert [run.id for run in lab.runs] == [there.id, here.id]  # its parts are not runs of the store
    assert "part " in there.log(50)
    assert "building" in "".join(part.log(200) for part in there.parts)
    assert there.verify(sample=2).same
    there.bundle(tmp_path / "bundle.zip")
    with pytest.raises(MosaicError, match="no frames to show: it is played on players"):
        there.frames()


def test_what_is_killed_on_the_way_loses_no_episode(players: str, tmp_path: Path) -> None:
    lab = mosaic.Lab(tmp_path / "runs")
    given = {"env": ENV, "operators": {"random": operators.random()}, "seeds": range(30)}
    there = lab.evaluate(**given, parallel=2, on=players, step_delay=0.02)
    until(lambda: there.done > 2, 240, lambda: f"{there!r}\n{there.log(50)}")
    psutil.Process(there.status.worker_pid).kill()
    until(lambda: there.finished)
    assert there.state == "failed"
    done, parts = there.done, [part for part in there.parts if not part.finished]
    assert parts  # the parts continue without the evaluation's process
    until(lambda: any(line_count(part.path) > done for part in parts))
    there.resume()
    until(lambda: there.done > done)
    actor = mirroring_actor()
    actor.kill()
    there.wait(400)
    assert recorded(there) == Counter({("random", seed): 1 for seed in range(30)})
    here = lab.evaluate(**given).wait(120)
    pd.testing.assert_frame_equal(outcomes(there), outcomes(here))


def test_a_lost_node_and_another_session_lose_no_episode(
    players: str, nodes: Nodes, cluster: Cluster, tmp_path: Path
) -> None:
    """The evaluation is started from the command line and followed from a notebook to its end."""
    lost = nodes.start(f"--address={HEAD}", "--num-cpus=1", "--labels", "zone=lost")
    profile = clusters.find(players)
    clusters.add(replace(profile, name="first", labels={"zone": "lost"}))
    file, store = tmp_path / "dice.toml", tmp_path / "runs"
    seeds, dice = "seeds = { first = 0, count = 20 }", '[operators.random]\nkind = "random"'
    file.write_text(f'env = "{ENV}"\n{seeds}\nparallel = 1\nstep_delay = 0.02\n{dice}\n')
    assert main(["evaluate", str(file), "--on", "first", "--detach", "--store", str(store)]) == 0
    lab = mosaic.Lab(store)
    there = lab.run(lab.runs[0].id)
    until(lambda: there.done > 2, 240, lambda: f"{there!r}\n{there.log(50)}")
    kill_node(lost)
    until(lambda: "was lost" in there.log(50), 120, lambda: f"{there!r}\n{there.log(50)}")
    nodes.start(f"--address={HEAD}", "--num-cpus=1", "--labels", "zone=lost")
    there.wait(400)
    assert recorded(there) == Counter({("random", seed): 1 for seed in range(20)})
    here = lab.evaluate(env=ENV, operators={"random": operators.random()}, seeds=range(20)).wait(120)
    pd.testing.assert_frame_equal(outcomes(there), outcomes(here))


def test_a_stop_ends_its_parts(players: str, tmp_path: Path) -> None:
    lab = mosaic.Lab(tmp_path / "runs")
    there = lab.evaluate(
        env=ENV, operators={"random": operators.random()}, seeds=range(30), on=players, step_delay=0.1
    )
    until(lambda: there.done > 0, 240, lambda: f"{there!r}\n{there.log(50)}")
    there.stop()
    assert there.state == "cancelled"
    assert all(part.state == "cancelled" for part in there.parts), there.parts
    assert not processes("-m", "mosaic_lab.evaluation", "--config", "config.json")
    assert 0 < there.done < 30


def recorded(evaluation: Evaluation) -> Counter[tuple[str, int]]:
    """Count the telemetry lines of each episode."""
    lines = (evaluation.path / "telemetry.jsonl").read_bytes().splitlines()
    episodes = [message for message in map(decode_line, lines) if message.get("type") == "episode"]
    return Counter((one["metadata"]["operator"], one["metadata"]["seed"]) for one in episodes)


def line_count(folder: Path) -> int:
    path = folder / "telemetry.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0
