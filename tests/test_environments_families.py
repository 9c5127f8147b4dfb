"""Which worker makes an environment, by the id alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from environment_fixtures import write_shim

from mosaic_lab import environments
from mosaic_lab.environments.families import families, family_of
from mosaic_lab.errors import ConfigurationError, WorkerEnvironmentError

pytestmark = pytest.mark.usefixtures("own_home")


def test_ids_find_their_workers_before_these_are_installed() -> None:
    assert family_of("CartPole-v1") == "gymnasium"
    assert family_of("classic/connect_four_v3") == "gymnasium"
    assert family_of("MosaicMultiGrid-S-2v2-IndAgObs-v1") == "multigrid"
    assert families()["multigrid"] == ("MosaicMultiGrid-*",)
    assert "random" not in families()


def test_the_user_may_choose_another() -> None:
    assert family_of("LunarLander-v2", "cleanrl") == "cleanrl"
    with pytest.raises(WorkerEnvironmentError, match="Did you mean 'gymnasium'"):
        family_of("CartPole-v1", "gymnasiun")
    with pytest.raises(ConfigurationError, match="CartPole-v1"):
        family_of("")


def test_a_third_partys_family_counts_where_it_says_more(tmp_path: Path) -> None:
    settings = '[tool.mosaic-lab]\nenvironments = ["Cart*", "Maze-[0-9]*"]'
    environments.install(str(write_shim(tmp_path / "shim", settings=settings)))
    assert family_of("CartPole-v1") == "toy"
    assert family_of("Maze-7x7-v0") == "toy"
    assert family_of("MosaicMultiGrid-C-1v1-IndAgObs-v1") == "multigrid"
    environments.remove("toy")
    assert family_of("CartPole-v1") == "gymnasium"
