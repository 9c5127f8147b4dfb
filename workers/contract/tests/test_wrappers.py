"""Observation transforms: their spaces and observations, and the spaces that they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mosaic_contract import ConfigError
from mosaic_contract.trained_policy import transform_of
from mosaic_contract.wrappers import observation_transform

GRID: dict[str, Any] = {
    "type": "Dict",
    "spaces": {
        "direction": {"type": "Discrete", "shape": [], "dtype": "int64", "n": 4, "start": 0},
        "image": {"type": "Box", "shape": [2, 1, 3], "dtype": "uint8", "low": 0, "high": 255},
        "mission": {"type": "MissionSpace"},
    },
}
SEEN = {
    "direction": np.int64(2),
    "image": np.array([[[2, 5, 0]], [[6, 0, 1]]], np.uint8),
    "mission": "go to the red ball, then go to the Zebra",
}


def test_a_vector_of_minigrids_observation() -> None:
    """Direction, image and word counts of the mission; words unknown to MiniGrid share one count."""
    flat = observation_transform(GRID, ["flat"], "Grid-v0")
    vector = flat.observe(SEEN)
    assert (list(vector.shape), str(vector.dtype)) == (flat.space["shape"], flat.space["dtype"])
    assert vector[:10].tolist() == [0, 0, 1, 0, 2, 5, 0, 6, 0, 1]
    words = vector[10:]
    assert sorted(words[words > 0].tolist()) == [1, 1, 1, 1, 2, 2, 2]  # zebra, then, red, ball; go, to, the
    other = flat.observe({**SEEN, "mission": "go to the blue ball"})
    assert (vector[:10] == other[:10]).all()
    assert not (vector == other).all()
    assert (flat.observe(SEEN) == vector).all()


def test_cells_as_zeros_and_ones() -> None:
    encoded = observation_transform(GRID, ["one_hot"], "Grid-v0")
    assert (
        encoded.space["spaces"]["image"]["shape"] == [2, 1, 20] == list(encoded.observe(SEEN)["image"].shape)
    )
    vector = observation_transform(GRID, ["one_hot", "flat"], "Grid-v0").observe(SEEN)
    assert vector[:4].tolist() == [0, 0, 1, 0]
    cells = vector[4:44].reshape(2, 20)
    assert [np.flatnonzero(cell).tolist() for cell in cells] == [[2, 11 + 5, 17], [6, 11, 17 + 1]]


def test_cells_of_team_games_have_further_objects_and_players_with_a_ball() -> None:
    space = {**GRID, "spaces": {**GRID["spaces"], "image": {**GRID["spaces"]["image"], "dtype": "int64"}}}
    encoded = observation_transform(space, ["one_hot"], "Soccer-v0")
    seen = encoded.observe({**SEEN, "image": np.array([[[11, 2, 0]], [[10, 1, 103]]])})["image"]
    assert encoded.space["spaces"]["image"]["shape"] == [2, 1, 28] == list(seen.shape)
    cells = seen.reshape(2, 28)
    assert [np.flatnonzero(cell).tolist() for cell in cells] == [[11, 14 + 2, 20], [10, 14 + 1, 20 + 7]]


def test_the_image_of_a_dict_by_its_name_or_its_dimensions() -> None:
    screen, ammunition = np.ones((2, 1, 3), np.uint8), np.zeros(1)
    parts = {"ammunition": {"type": "Box", "shape": [1]}, "screen": GRID["spaces"]["image"]}
    image = observation_transform({"type": "Dict", "spaces": parts}, ["image"], "Doom-v0")
    assert image.space == parts["screen"]
    assert image.observe({"ammunition": ammunition, "screen": screen}) is screen
    several = {"type": "Dict", "spaces": {**parts, "depth": parts["screen"]}}
    with pytest.raises(ConfigError, match="needs a Dict with an 'image', or one other part, of three dim"):
        observation_transform(several, ["image"], "Doom-v0")


def test_any_space_of_numbers_becomes_a_vector() -> None:
    choices = {"type": "Discrete", "n": 3, "start": -1}, {"type": "MultiDiscrete", "nvec": [2, 3], "start": 0}
    parts = {
        "a": {"type": "Tuple", "spaces": list(choices)},
        "b": {"type": "Box", "shape": [2, 2], "dtype": "float64", "low": -1.0, "high": 1.0},
        "c": {"type": "MultiBinary", "shape": [2], "dtype": "int8", "n": 2},
    }
    seen = {"a": (-1, np.array([1, 2])), "b": np.full((2, 2), 0.5), "c": np.array([1, 0], np.int8)}
    flat = observation_transform({"type": "Dict", "spaces": parts}, ["flat"], "Any-v0")
    assert flat.observe(seen).tolist() == [1, 0, 0, 0, 1, 0, 0, 1, *[0.5] * 4, 1, 0]
    with pytest.raises(ValueError, match="takes 4 numbers here, this observation has 3"):
        flat.observe({**seen, "b": np.zeros(3)})


def test_what_does_not_fit_is_refused() -> None:
    def refusal(space: Any, *names: str) -> str:
        with pytest.raises(ConfigError) as caught:
            observation_transform(space, names, "Grid-v0")
        return str(caught.value)

    assert refusal(GRID, "flut") == "unknown wrapper 'flut'; did you mean 'flat'?"
    assert refusal(GRID, "xyz").startswith("unknown wrapper 'xyz'; known: atari, channels_last, flat, ")
    assert refusal(GRID, "frame_stak").endswith("did you mean 'frame_stack'?")
    after = "the observations of Grid-v0 after flat are Box(64)"
    assert refusal(GRID, "flat", "one_hot").endswith(after)
    assert "'one_hot' needs MiniGrid's encoded 'image'" in refusal({**GRID, "spaces": {}}, "one_hot")
    text = {"type": "Dict", "spaces": {"said": {"type": "Text"}}}
    assert refusal(text, "flat") == (
        "the observation wrapper 'flat' cannot make numbers of a Text; the observations of Grid-v0 are "
        "Dict(said: Text)"
    )


def test_integers_are_scaled_within_a_range_that_float32_tells_apart() -> None:
    grid = {"type": "Box", "shape": [1, 1, 3], "dtype": "int64", "low": 0, "high": 10}
    scaled = observation_transform(grid, ["scaled"], "Grid-v0").observe(np.array([[[0, 5, 10]]]))
    assert scaled.dtype == np.float32 and scaled.tolist() == [[[-1, 0, 1]]]
    for low, high in ((-(2**63), 2**63 - 1), (3, 3)):
        with pytest.raises(ConfigError, match="'scaled' needs integers within a range of at most 65,536"):
            observation_transform({**grid, "low": low, "high": high}, ["scaled"], "Grid-v0")


FRAME = {"type": "Box", "shape": [210, 160, 3], "dtype": "uint8", "low": 0, "high": 255}


def test_games_are_seen_as_stacked_pictures() -> None:
    """'atari' gives four stacked 84×84 images, must come first and applies to Atari games only."""
    assert observation_transform(FRAME, ["atari"], "ALE/Pong-v5").space["shape"] == [4, 84, 84]
    last = observation_transform(FRAME, ["atari", "channels_last"], "PongNoFrameskip-v4")
    assert last.space["shape"] == [84, 84, 4]
    stacked = np.arange(4 * 84 * 84, dtype=np.uint8).reshape(4, 84, 84)
    assert (last.observe(stacked)[:, :, 1] == stacked[1]).all()
    for names, env_id in ((["atari"], "CarRacing-v3"), (["flat", "atari"], "ALE/Pong-v5")):
        with pytest.raises(ConfigError, match="comes first, and is for games"):
            observation_transform(FRAME, names, env_id)


def test_a_policy_sees_what_its_training_saw() -> None:
    """The wrappers in a checkpoint's description transform the environment's own spaces."""
    described = {"env_id": "Grid-v0", "observation_space": GRID, "action_space": {"type": "Discrete", "n": 7}}
    assert transform_of(described).observe(SEEN) is SEEN
    assert transform_of({**described, "wrappers": ["flat"]}).observe(SEEN).shape == (64,)
    with pytest.raises(ConfigError, match="unknown wrapper 'theirs'"):
        transform_of({**described, "wrappers": ["theirs"]})
