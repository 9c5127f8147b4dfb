"""Played episodes become datasets that Minari reads and policies learn from."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support import store, wait_until

import mosaic_lab as mosaic
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.evaluation import Evaluation
from mosaic_lab.evaluation.sharing import open_bundle
from mosaic_lab.workers import WorkerEnvironment

READER = Path(__file__).with_name("minari_reader.py")
PUBLISHER = READER.with_name("public_dataset.py")
POLICY = """
class Balancing:
    def episode_begin(self, seed, episode_index):
        self.index = episode_index

    def select_action(self, observation):
        if self.index == 3:
            raise ValueError("no balance in this episode")
        return int(observation[2] + observation[3] / 2 > 0)
"""
CARTPOLE = "CartPole-v1"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, mosaic_home: Path) -> Iterator[mosaic.Lab]:
    folder = tmp_path_factory.mktemp("datasets")
    (folder / "policy.py").write_text(POLICY)
    with store(folder / "mosaic_runs"):
        yield mosaic.Lab(folder / "mosaic_runs")


@pytest.fixture(scope="module")
def folder(lab: mosaic.Lab) -> Path:
    return lab.root.parent


@pytest.fixture(scope="module")
def played(lab: mosaic.Lab, folder: Path) -> Evaluation:
    """Evaluation of a policy, one of whose episodes fails, and of random actions."""
    policy = mosaic.operators.python(f"{folder / 'policy.py'}:Balancing")
    return lab.evaluate(
        env=CARTPOLE,
        operators={"balancing": policy, "random": mosaic.operators.random()},
        seeds=range(4),
        max_steps=60,
        on_failure="skip",
        record="observations",
    ).wait(120)


def read(worker: WorkerEnvironment, folder: Path, *names: str) -> dict[str, Any]:
    command = [str(worker.python), str(READER), str(folder), *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def test_minari_reads_the_episodes_of_an_evaluation(
    played: Evaluation, folder: Path, worker: WorkerEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):  # the second call replaces the dataset
        with pytest.warns(UserWarning, match="1 of 8 episodes failed and is not in the dataset"):
            made = played.dataset(folder / "played.hdf5")
    assert f"replacing the dataset {made}\n" in capsys.readouterr().out
    assert made == folder / "played-v0"
    found = read(worker, folder, made.name)[made.name]
    table = played.results().query("status == 'ok'").sort_values(["operator", "seed"])
    rows = sorted(
        zip(found["metadata"], found["rewards"], found["lengths"], strict=True),
        key=lambda row: (row[0]["operator"], row[0]["seed"]),
    )
    assert [row[0]["operator"] for row in rows] == table["operator"].tolist()
    assert [row[0]["seed"] for row in rows] == table["seed"].tolist()
    assert [row[1] for row in rows] == table["return"].tolist() == [row[0]["return"] for row in rows]
    assert [row[2] for row in rows] == table["length"].tolist()
    assert (found["terminated"][0], found["truncated"][0]) == (False, True)  # by max_steps
    assert found["actions"] == played.steps("balancing", 0)["action"].tolist()
    assert found["first"] == found["again"] and found["spec"] == CARTPOLE
    own = found["own"]
    assert (own["env_id"], own["run"], own["failed_episodes"]) == (CARTPOLE, played.id, 1)
    assert f"gymnasium=={own['versions']['gymnasium']}" in found["requirements"]
    assert own["operators"]["random"]["random"]


def test_a_bundle_has_the_recorded_episodes(
    lab: mosaic.Lab, played: Evaluation, folder: Path, worker: WorkerEnvironment
) -> None:
    opened = open_bundle(played.bundle(folder / "share.zip"), folder / "opened")
    with pytest.warns(UserWarning, match="1 of 8 episodes failed and is not in the dataset"):
        original, made = (one.dataset(folder / name) for one, name in ((played, "here"), (opened, "there")))
    found = read(worker, folder, original.name, made.name)
    assert found["there-v0"] == found["here-v0"]
    without = open_bundle(played.bundle(folder / "less.zip", recordings=False), folder / "less")
    with pytest.raises(ConfigurationError, match=r"less\.zip has no recorded observations: its episodes"):
        without.dataset(folder / "none")


def test_the_episodes_of_a_training_become_a_dataset(
    lab: mosaic.Lab, folder: Path, worker: WorkerEnvironment
) -> None:
    training = {"algorithm": "ppo", "env": CARTPOLE, "record": "observations"}
    run = lab.train("sb3", **training, total_timesteps=256, n_steps=128, n_epochs=1, batch_size=128).wait()
    made = run.dataset(folder / "training")
    found = read(worker, folder, made.name)[made.name]
    ended = run.episodes()
    assert found["rewards"] == found["lengths"] == ended["total_reward"].tolist()
    assert found["own"]["run"] == run.id and found["spec"] == CARTPOLE
    with pytest.raises(ConfigurationError, match=r'trainings of \w+ .* cannot be recorded.*record="?'):
        lab.train("tianshou", **training, total_timesteps=1_000)


@pytest.mark.extended
@pytest.mark.parametrize(("name", "env"), [("cleanrl", CARTPOLE), ("sb3", "CrafterReward-v1")])
def test_other_trainings_are_recorded_too(lab: mosaic.Lab, folder: Path, name: str, env: str) -> None:
    """CleanRL's trainings, and trainings on an environment that another worker serves."""
    few = {"cleanrl": {"num_envs": 2, "num_steps": 128}, "sb3": {"n_steps": 256, "batch_size": 64}}[name]
    run = lab.train(name, algorithm="ppo", env=env, record="observations", total_timesteps=512, **few).wait()
    assert run.dataset(folder / f"training-{name}").is_dir()


def clone(lab: mosaic.Lab, dataset: Path) -> mosaic.Run:
    """Train a policy that imitates a dataset's episodes."""
    hyperparameters = {"epoch_num_steps": 300, "test_step_num_episodes": 2, "hidden_sizes": [32], "lr": 1e-2}
    run = lab.train(
        "tianshou",
        algorithm="il",
        env=CARTPOLE,
        dataset=dataset,
        seed=1,
        total_timesteps=300,
        **hyperparameters,
    )
    assert isinstance(run, mosaic.Run)
    return run.wait()


@pytest.mark.extended
def test_a_policy_is_cloned_from_a_public_dataset(
    lab: mosaic.Lab, folder: Path, worker: WorkerEnvironment
) -> None:
    """The dataset is written by Minari alone; its id includes a folder."""
    command = [str(worker.python), str(PUBLISHER), str(folder / "public"), "cartpole/rule-v3"]
    subprocess.run(command, check=True, timeout=120)
    run = clone(lab, folder / "public" / "cartpole" / "rule-v3")
    assert run.episodes().groupby("step")["total_reward"].mean().loc[300] > 60


def test_a_policy_is_cloned_from_it(lab: mosaic.Lab, played: Evaluation, folder: Path) -> None:
    run = clone(lab, played.dataset(folder / "expert-v2", operators="balancing"))
    returns = run.episodes().groupby("step")["total_reward"].mean()
    assert returns.loc[300] > 60 > returns.loc[0]
    assert {"policy_loss", "episode_return"} <= set(run.metrics()["name"])
    cloned = lab.evaluate(
        env=CARTPOLE, operators={"clone": mosaic.operators.rl(run)}, seeds=[50, 51], max_steps=100
    )
    assert cloned.wait(120).results()["return"].min() > 60


@pytest.mark.extended
@pytest.mark.parametrize("algorithm", ["il", "bcq", "cql", "gail"])
def test_continuous_actions_are_learned_from_it(lab: mosaic.Lab, folder: Path, algorithm: str) -> None:
    played = lab.evaluate(
        env="Pendulum-v1",
        operators={"random": mosaic.operators.random()},
        seeds=range(3),
        record="observations",
    ).wait(120)
    run = lab.train(
        "tianshou",
        algorithm=algorithm,
        env="Pendulum-v1",
        dataset=played.dataset(folder / f"swings-{algorithm}"),
        seed=1,
        **(
            {"total_timesteps": 1_600, "collection_step_num_env_steps": 800, "num_training_envs": 4}
            if algorithm == "gail"
            else {"total_timesteps": 100, "epoch_num_steps": 100, "test_step_num_episodes": 1}
        ),
    ).wait()
    assert run.checkpoints and len(run.episodes())


def test_a_person_and_pictures_and_texts_are_recorded(
    lab: mosaic.Lab, folder: Path, worker: WorkerEnvironment
) -> None:
    cmp = lab.compare(
        env="MiniGrid-Empty-5x5-v0",
        operators={"you": mosaic.operators.human()},
        seeds=[5],
        max_steps=3,
        start=[1, 0],
        record="observations",
    )
    try:
        cmp.play()
        for action in (2, 1, 2):
            wait_until(partial(cmp.act, "you", "agent_0", action))
        cmp.wait(30)
        made = cmp.dataset(folder / "grid")
    finally:
        cmp.stop()
    found = read(worker, folder, made.name)[made.name]
    assert (found["actions"], found["image"]) == ([2, 1, 2], [4, 7, 7, 3])
    assert found["mission"] == "get to the green goal square"
    assert found["metadata"][0]["category"] == "human" and found["own"]["start"] == [1, 0]


def test_what_cannot_be_recorded_or_written_is_refused(
    lab: mosaic.Lab, played: Evaluation, folder: Path
) -> None:
    game = {"env": "tictactoe_v3", "operators": {"random": mosaic.operators.random()}, "seeds": [0]}
    for call in (lab.evaluate, lab.compare):
        with pytest.raises(ConfigurationError, match="tictactoe_v3 has several agents"):
            call(**game, record="observations")
    plain = lab.evaluate(env=CARTPOLE, operators=game["operators"], seeds=[0]).wait(60)
    with pytest.raises(ConfigurationError, match=r'none of the 1 ended .* record="observations"'):
        plain.dataset(folder / "none")
    with pytest.raises(ConfigurationError, match=r"'nobody' has no finished episode; .*'balancing'"):
        played.dataset(folder / "none", operators="nobody")
    with pytest.raises(ConfigurationError, match=r"'a b\.c' is not a valid name of a dataset"):
        played.dataset(folder / "a b.c")
    (folder / "mine-v0").mkdir()
    with pytest.raises(ConfigurationError, match="mine-v0 exists and is not a dataset of MOSAIC Lab"):
        played.dataset(folder / "mine")
    with pytest.warns(UserWarning, match=r"1,000 episodes of 100,000 steps have .* GiB of observations"):
        lab.evaluate(
            env=CARTPOLE,
            operators=game["operators"],
            seeds=range(1000),
            max_steps=100_000,
            record="observations",
        ).stop()


def test_a_damaged_recording_is_noticed(lab: mosaic.Lab, played: Evaluation, folder: Path) -> None:
    file = next(played.path.glob("arenas/*random*/observations/*.npz"))
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + b"x")
    with pytest.raises(MosaicError, match=rf"{file.name} is damaged: its checksum"):
        played.dataset(folder / "damaged", operators="random")
    assert not (folder / "damaged-v0").exists()
    file.write_bytes(whole)
