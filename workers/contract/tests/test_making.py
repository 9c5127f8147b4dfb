"""Environment settings: an unknown one is refused with the nearest known name, else with all of them."""

import functools

import pytest
from mosaic_contract import ConfigError
from mosaic_contract.arena import check_settings
from mosaic_contract.arena.environment_factory import make_with_frames
from mosaic_contract.arena.errors import ArenaError


class Grid:
    def __init__(self, size=8, render_mode=None):
        if size != 8:
            raise ValueError("a grid has eight\nrows")
        self.closed = False

    def close(self):
        self.closed = True


class Maze(Grid):
    def __init__(self, seed=0, **kwargs):
        super().__init__(**kwargs)


def anything(**kwargs):
    return Grid(**kwargs)


def refusal(settings, maker, also=()):
    with pytest.raises(ConfigError) as caught:
        check_settings("Maze-v0", settings, maker, also)
    return str(caught.value)


def test_the_nearest_is_named_and_all_where_none_is_near():
    assert refusal({"sise": 3}, Maze) == "Maze-v0 has no setting 'sise': did you mean 'size'?"
    assert refusal({"SIZE": 3}, Grid) == "Maze-v0 has no setting 'SIZE': did you mean 'size'?"
    assert refusal({"quux": 3}, Maze, ["depth"]) == "Maze-v0 has no setting 'quux': it has depth, seed, size"
    assert refusal({"render_mode": "human"}, Grid) == "Maze-v0 has no setting 'render_mode': it has size"


def test_what_is_known_or_cannot_be_known_passes():
    check_settings("Maze-v0", {"size": 3, "seed": 1, "depth": 2}, Maze, ["depth"])
    check_settings("Maze-v0", {"quux": 3}, anything)


def make(env_id, settings, render_mode, maker=Grid):
    return maker(**settings, render_mode=render_mode)


def test_settings_are_to_blame_where_it_can_be_made_without():
    assert make_with_frames(make, "Grid-v0", {"size": 8})[1] == ""
    for settings, why in (({"size": 3}, "ValueError: a grid has eight"), ({"quux": 3}, "TypeError: ")):
        with pytest.raises(ArenaError) as caught:
            make_with_frames(make, "Grid-v0", settings)
        assert str(caught.value).startswith(f"Grid-v0 cannot be made with env_kwargs={settings}: {why}")
        assert (caught.value.error_type, caught.value.log) == ("ConfigError", "")
    with pytest.raises(ArenaError) as caught:
        make_with_frames(functools.partial(make, maker=Grid.close), "Grid-v0", {"size": 3})
    assert caught.value.error_type == "TypeError"
    assert "Traceback" in caught.value.log
