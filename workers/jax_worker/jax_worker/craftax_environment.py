"""Craftax's four environments, without the automatic reset."""

from __future__ import annotations

import importlib
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any, Mapping

import jax
import numpy
from craftax.craftax_env import make_craftax_env_from_name
from gymnasium import spaces
from mosaic_contract import ConfigError

from .jax_environment import JaxEnvironment, cache_folder

_FACING = {1: "left", 2: "right", 3: "up", 4: "down"}
_CREATURES = {"zombies": "zombie", "cows": "cow", "skeletons": "skeleton", "arrows": "arrow"}
_BODY = ("health", "food", "drink", "energy")


class CraftaxEnvironment(JaxEnvironment):
    """A Craftax environment. `settings` are upstream's parameters: "max_timesteps", "day_length", …."""

    def __init__(self, env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> None:
        self.classic = env_id.startswith("Craftax-Classic-")
        package = f"craftax.{'craftax_classic' if self.classic else 'craftax'}"
        self.constants = importlib.import_module(f"{package}.constants")
        self._renderer = importlib.import_module(f"{package}.renderer")
        _cache_textures(self.constants, package)
        upstream_env = make_craftax_env_from_name(env_id, auto_reset=False)
        params = upstream_env.default_params
        if unknown := [name for name in settings if not hasattr(params, name)]:
            raise ConfigError(f"{env_id} has no setting {unknown[0]!r}: it has {', '.join(vars(params))}")
        params = params.replace(**settings)
        super().__init__(env_id, upstream_env, params, render_mode)
        shape = upstream_env.observation_space(params).shape
        self.observation_space = spaces.Box(0.0, 1.0, shape, numpy.float32)
        self.action_space = spaces.Discrete(int(upstream_env.action_space(params).n))
        self._draw: Any = None

    def late(self, state: Any, done: Any) -> Any:
        return (state.timestep >= self.params.max_timesteps) & (state.player_health > 0)

    def observed(self, observation: Any) -> Any:
        return super().observed(observation).clip(0.0, 1.0)

    def render(self) -> Any:
        if self._draw is None:
            size = self.constants.BLOCK_PIXEL_SIZE_IMG
            self._draw = jax.jit(self._renderer.make_craftax_pixel_renderer(size))
        return numpy.asarray(self._draw(self.state)).clip(0, 255).astype(numpy.uint8)

    def described(self) -> str:
        """Return the player's view and inventory: upstream's own text, if it has one."""
        if self.classic:
            return described_classic(self.state, self.constants)
        return str(self._renderer.render_craftax_text(self.state))


def _cache_textures(constants: Any, package: str) -> None:
    """Make upstream cache its textures, which take a minute to create, in the user's cache. By default it
    writes them next to its own code and fails to start after an interrupted write."""
    name = f"{package}-{version('craftax')}.pbz2"
    constants.TEXTURE_CACHE_FILE = str(cache_folder("craftax") / name)
    constants.save_compressed_pickle = _save_atomically


def _save_atomically(title: str, data: Any) -> None:
    from craftax.environment_base.util import save_compressed_pickle

    folder = Path(title).parent
    with tempfile.TemporaryDirectory(dir=folder, prefix="writing-") as temporary:
        part = Path(temporary) / "textures"
        save_compressed_pickle(str(part), data)
        part.replace(title)


def described_classic(state: Any, constants: Any) -> str:
    """Return a state of Craftax-Classic as text; `constants` is its module of constants."""
    row, column = (int(coordinate) for coordinate in state.player_position)
    height, width = constants.OBS_DIM
    blocks = numpy.asarray(state.map)
    creatures = _creatures(state)
    lines = ["What you see, row by row from the top, with you in the middle:"]
    for y in range(row - height // 2, row + height // 2 + 1):
        cells = [(y, x) for x in range(column - width // 2, column + width // 2 + 1)]
        lines.append(", ".join(creatures.get(cell) or _block(blocks, cell, constants) for cell in cells))
    body = ", ".join(f"{name} {int(getattr(state, f'player_{name}'))}" for name in _BODY)
    things = ", ".join(f"{n.replace('_', ' ')} {int(c)}" for n, c in vars(state.inventory).items() if int(c))
    facing = _FACING.get(int(state.player_direction), "nowhere")
    mood = "You are asleep." if bool(state.is_sleeping) else f"You face {facing}."
    return "\n".join([*lines, "", f"{mood} You have: {body}{', ' if things else ''}{things}."])


def _creatures(state: Any) -> dict[tuple[int, int], str]:
    names = {}
    for attribute, name in _CREATURES.items():
        mobs = getattr(state, attribute)
        for position, is_present in zip(numpy.asarray(mobs.position), numpy.asarray(mobs.mask)):
            if is_present:
                names[(int(position[0]), int(position[1]))] = name
    return names


def _block(blocks: Any, cell: tuple[int, int], constants: Any) -> str:
    inside = all(0 <= coordinate < size for coordinate, size in zip(cell, blocks.shape))
    number = int(blocks[cell]) if inside else constants.BlockType.OUT_OF_BOUNDS.value
    name: str = constants.BlockType(number).name
    return name.lower().replace("_", " ")
