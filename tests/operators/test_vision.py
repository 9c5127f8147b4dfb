"""Vision models in real arenas: they receive the environment's rendered frames."""

from __future__ import annotations

from pathlib import Path

import pytest
from evaluation.evaluation_fixtures import Evaluate
from language.language_fixtures import FakeServer

from mosaic_lab import operators
from mosaic_lab.errors import ConfigurationError, RunFailed

DARK = """
import gymnasium as gym

class Dark(gym.Env):
    observation_space, action_space = gym.spaces.Discrete(2), gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return 0, {}

    def step(self, action):
        return 0, 0.0, False, False, {}

gym.register("Dark-v0", Dark)
"""


def test_vision_models_act_from_pictures(
    start_evaluation: Evaluate, language_server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_KEY", language_server.key)
    openai = language_server.script("sees", "say=ACTION: turn left")
    claude = language_server.script("reads too", "say=ACTION: go forward")
    keyed = {"api_key_env": "FAKE_KEY"}
    seen = {"text": True, "images": 3, "max_side": 64}
    two = {
        "openai": operators.vlm(openai, base_url=language_server.openai_url, **keyed),
        "claude": operators.vlm(claude, provider="anthropic", base_url=language_server.url, **seen, **keyed),
    }
    evaluation = start_evaluation("MiniGrid-Empty-5x5-v0", two, seeds=[1], max_steps=4).wait(300)
    assert [len(request["images"]) for request in language_server.requests(claude)] == [1, 2, 3, 3]
    assert all(request["images"] == [["PNG", 160, 160]] for request in language_server.requests(openai))
    assert all(["PNG", 64, 64] in request["images"] for request in language_server.requests(claude))
    assert "Legal actions" in str(language_server.requests(claude)[-1]["body"])
    results = evaluation.results().set_index("operator")
    assert (results["exchanges"] == 4).all() and (results["parse_faults"] == 0).all()
    assert (results["input_tokens"] > 0).all()
    pictures = [path.read_bytes() for path in evaluation.path.glob("exchanges/images/*.png")]
    assert len(set(pictures)) == len(pictures) >= 4, "each picture is saved once"


def test_where_nothing_is_drawn_a_vision_model_is_refused(
    start_evaluation: Evaluate, language_server: FakeServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "dark.py").write_text(DARK)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    blind = operators.vlm("any", base_url=language_server.openai_url)
    evaluation = start_evaluation("dark:Dark-v0", {"blind": blind}, seeds=[1], pass_env_vars=["PYTHONPATH"])
    with pytest.raises(RunFailed, match="any needs pictures: "):
        evaluation.wait(300)
    assert language_server.count == 0
    with pytest.raises(ConfigurationError, match="the local model reads text and sees no images"):
        operators.vlm("local")
    with pytest.raises(ConfigurationError, match="vlm: missing a required argument: 'model'"):
        operators.vlm()  # type: ignore[call-arg]
