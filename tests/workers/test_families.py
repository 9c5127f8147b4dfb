"""Selecting the worker that provides an environment from the environment's id alone."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from worker_fixtures import write_shim

from mosaic_lab import workers
from mosaic_lab.errors import ConfigurationError, WorkerEnvironmentError
from mosaic_lab.workers import WorkerEnvironment
from mosaic_lab.workers.catalog import worker_name
from mosaic_lab.workers.families import families, family_of, remedy, server_for

pytestmark = pytest.mark.usefixtures("own_home")


def test_ids_find_their_workers_before_these_are_installed() -> None:
    assert family_of("CartPole-v1") == "gymnasium"
    assert family_of("classic/connect_four_v3") == "gymnasium"
    assert family_of("MosaicMultiGrid-S-2v2-IndAgObs-v1") == "multigrid"
    assert family_of("MultiGrid-Empty-5x5-v0") == "multigrid"
    assert family_of("Snake-v1") == family_of("jumanji/TSP-v1") == "jumanji"
    assert family_of("HalfCheetah-v5") == family_of("dm_control/cheetah-run-v0") == "mujoco"
    assert family_of("AntBulletEnv-v0") == family_of("MinitaurBulletDuckEnv-v0") == "pybullet"
    assert family_of("gymnax/CartPole-v1") == family_of("Craftax-Symbolic-v1") == "jax"
    assert family_of("GDY-Sokoban-v0") == family_of("Airstriker-Genesis-v0") == "arcade"
    assert family_of("VizdoomBasic-v1") == family_of("highway-fast-v0") == "visual"
    assert family_of("procgen-coinrun-v0") == family_of("overcooked/cramped_room") == "procgen"
    assert family_of("MiniHack-Room-5x5-v0") == family_of("NetHackChallenge-v0") == "nethack"
    assert family_of("OpenSpiel/kuhn_poker") == family_of("open_spiel/kuhn_poker") == "openspiel"
    assert family_of("TextArena/Nim-v0") == "text"
    assert family_of("pong_v3") == family_of("atari/pong_v3") == "multiagent"
    assert family_of("rware-tiny-2ag-v2") == family_of("Foraging-8x8-2p-3f-v3") == "multiagent"
    assert families()["multigrid"] == ("MosaicMultiGrid-*", "MultiGrid-*")
    assert "random" not in families()


@pytest.mark.parametrize(
    "slip", ["MosaicMultigrid-S-2v2", "mosaic-multigrid-S-2v2", "MosaicMutliGrid-S-2v2", "mosaic_multi_grid"]
)
def test_a_misspelt_id_is_assigned_to_the_nearest_family(slip: str) -> None:
    assert family_of(slip) == "multigrid"
    assert family_of("MiniGrid-Empty-8x8-v0") == "gymnasium"
    assert family_of("HalfCheeta-v5") == "mujoco"
    assert family_of("HalfCheetah-v4") == "gymnasium"  # left to the worker that trained the policy


@pytest.mark.parametrize(
    ("env_id", "reason"),
    [
        ("meltingpot/clean_up", "its build downloads files"),
        ("SMACv2-3m", "StarCraft II"),
        ("MalmoEnv-v0", "the game Minecraft"),
        ("hover-aviary-v0", "gym-pybullet-drones is not published"),
        ("GFootball-academy_3_vs_1-v0", "source only, to be compiled"),
        ("HeMAC-v0", "HeMAC is not published"),
        ("11_vs_11_stochastic", "source only, to be compiled"),
        ("Neural MMO", "pins old versions of gym"),
        ("olympics-wrestling", "not published as a package"),
    ],
)
def test_an_environment_that_no_worker_can_provide_is_refused_with_the_reason(
    env_id: str, reason: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"{env_id}' is not available: .*{reason}"):
        family_of(env_id)
    assert family_of(f"mine:{env_id}") == "gymnasium"
    assert family_of(env_id, "gymnasium") == "gymnasium"


def test_an_id_that_two_workers_claim_requires_family(tmp_path: Path) -> None:
    settings = '[tool.mosaic-lab]\nenvironments = ["*"]'
    workers.install(str(write_shim(tmp_path / "shim", settings=settings)))
    with pytest.raises(ConfigurationError, match=r"the workers gymnasium and toy both declare .* family="):
        family_of("CartPole-v1")
    assert family_of("CartPole-v1", "toy") == "toy"
    assert family_of("MosaicMultiGrid-C-1v1-IndAgObs-v1") == "multigrid"


def test_the_user_may_choose_another() -> None:
    assert family_of("LunarLander-v2", "CleanRL") == "cleanrl"
    with pytest.raises(WorkerEnvironmentError, match="Did you mean 'gymnasium'"):
        family_of("CartPole-v1", "gymnasiun")
    with pytest.raises(ConfigurationError, match="CartPole-v1"):
        family_of("")


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("ray", "rllib"),
        ("ray_worker", "rllib"),
        ("CleanRL", "cleanrl"),
        ("SB3_worker", "sb3"),
        ("stable-baselines3", "sb3"),
        ("r", "r"),
    ],
)
def test_a_worker_has_its_name_in_any_case_and_that_of_its_folder(given: str, name: str) -> None:
    assert worker_name(given) == name


def test_a_third_partys_worker_has_its_own_name_before_another_of_ours(tmp_path: Path) -> None:
    workers.install(str(write_shim(tmp_path / "shim", name="ray")))
    assert (worker_name("ray"), worker_name("Ray"), worker_name("ray_worker")) == ("ray", "ray", "ray")


def test_a_third_partys_family_counts_where_it_says_more(tmp_path: Path) -> None:
    settings = '[tool.mosaic-lab]\nenvironments = ["Cart*", "Maze-[0-9]*"]'
    workers.install(str(write_shim(tmp_path / "shim", settings=settings)))
    assert family_of("CartPole-v1") == "toy"
    assert family_of("Maze-7x7-v0") == "toy"
    assert family_of("MosaicMultiGrid-C-1v1-IndAgObs-v1") == "multigrid"
    workers.remove("toy")
    assert family_of("CartPole-v1") == "gymnasium"


@pytest.mark.parametrize(
    ("env_id", "refusal", "server"),
    [
        ("MiniGrid-Empty-8x8-v0", "Environment `MiniGrid-Empty-8x8` doesn't exist", "gymnasium"),
        ("MiniGrid-Empty-8x8-v0", "Environment `MiniGrid-Empty-8x8` doesn't exist. Did you mean: `X`?", None),
        ("LunarLander-v3", "Environment version `v3` for `LunarLander` doesn't exist", "gymnasium"),
        ("LunarLander-v9", "Environment version `v9` for `LunarLander` doesn't exist", None),
    ],
)
def test_a_library_that_lacks_an_environment_of_gymnasium_is_served_it(
    env_id: str, refusal: str, server: str | None
) -> None:
    capabilities = SimpleNamespace(uses_environment_servers=True, env_families=["gymnasium"])
    worker = cast(WorkerEnvironment, SimpleNamespace(name="xuance", capabilities=capabilities))
    assert server_for(f"environment {env_id!r} cannot be made here: {refusal}", env_id, worker) == server


def test_a_team_that_is_not_available_is_refused_with_the_reason() -> None:
    capabilities = SimpleNamespace(supported_paradigms=["sequential"])
    worker = cast(WorkerEnvironment, SimpleNamespace(name="sb3", capabilities=capabilities))
    refusal = "environment 'hemac_v0' cannot be made here: Environment `hemac` doesn't exist"
    assert "HeMAC is not published as a package" in remedy(refusal, "hemac_v0", worker)
