"""From a frame to an action: the images sent to a vision model, through the real SDKs of both APIs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from language.language_fixtures import FakeServer
from operators.conversation import Conversation

DISCRETE = {"type": "Discrete", "shape": [], "dtype": "int64", "n": 3, "start": 0}
WIDE = np.zeros((50, 200, 3), np.uint8)


def settings(server: FakeServer, model: str, provider: str = "openai", **others: Any) -> dict[str, Any]:
    url = server.openai_url if provider == "openai" else server.url
    meanings = ["left", "right", "stay"]
    endpoint = {"model": model, "provider": provider, "base_url": url, "api_key_env": "FAKE_KEY"}
    return {**endpoint, "env_id": "Test-v0", "action_meanings": meanings, **others}


@pytest.mark.parametrize("provider", ["openai", pytest.param("anthropic", marks=pytest.mark.extended)])
def test_the_latest_frames_are_images_of_the_prompt(
    talk: Conversation, language_server: FakeServer, provider: str
) -> None:
    model = language_server.script(f"seeing {provider}", "say=It is dark.\nACTION: right")
    given = settings(language_server, model, provider, images=2, max_side=100, detail="low")
    talk.agent(DISCRETE, settings=given)
    first = talk.act(0, frame=WIDE, step_index=0)
    assert (first["action"], first["action_str"], first["reasoning"]) == (1, "right", "It is dark.")
    second = talk.act(0, frame=WIDE + 9, step_index=1)
    third = talk.act(0, frame=np.zeros((40, 40, 3), np.uint8), step_index=2)
    shown = [request["images"] for request in language_server.requests(model)]
    assert shown[0] == [["PNG", 100, 25]], "downscaled with its aspect ratio"
    assert shown[1] == [["PNG", 100, 25]] * 2 and shown[2] == [["PNG", 100, 25], ["PNG", 40, 40]]
    system, step = (turn["text"] for turn in third["exchanges"][0]["prompt"])
    assert "environment's picture" in system
    assert "Your last action: right." in step and "The 2 pictures" in step
    assert step.endswith("Legal actions: left, right, stay")
    names = [exchange["prompt"][1]["images"] for exchange in second["exchanges"] + third["exchanges"]]
    assert names[0][1] == names[1][0] and len(set(names[0] + names[1])) == 3
    detail = "low" in str(language_server.requests(model)[0]["body"])
    assert detail == (provider == "openai")
    talk.ask("episode_begin", player_id="agent_0", seed=1, episode_index=1)
    talk.act(0, frame=WIDE, step_index=0)
    assert len(language_server.requests(model)[-1]["images"]) == 1, "a new episode has no history"


def test_the_observation_in_words_is_beside_the_image_where_it_is_wanted(
    talk: Conversation, language_server: FakeServer
) -> None:
    model = language_server.script("reading", "say=ACTION: jump", "say=ACTION: stay")
    talk.agent(DISCRETE, settings=settings(language_server, model, text=True))
    answer = talk.act({"position": np.array([0.5, 2.0])}, frame=WIDE)
    assert "position: [0.5, 2]" in answer["exchanges"][0]["prompt"][1]["text"]
    assert [one["faults"] for one in answer["exchanges"]] == [["illegal"], ["repair"]]
    assert len(language_server.requests(model)[1]["images"]) == 1, "the repair turn has it too"
    assert answer["input_tokens"] == sum(one["input_tokens"] for one in answer["exchanges"]) > 0


def test_a_team_of_vision_models_is_steered_as_one_of_language_models(
    talk: Conversation, language_server: FakeServer
) -> None:
    said = "PREDICTION agent_1: waits\nMESSAGE agent_1: I go\n<|ACTION|>left<|END|>"
    model = language_server.script("captain", f"say={said}")
    steered: dict[str, Any] = {
        "env_id": "MosaicMultiGrid-S-2v2-IndAgObs-v1",
        "agents": [f"agent_{number}" for number in range(4)],
        "teammates": ["agent_1"],
        "action_meanings": ["noop", "left", "right", "forward", "pickup", "drop", "toggle", "done"],
        "coordination": "roles",
        "theory_of_mind": True,
        "messages": True,
        "history": 1,
        "strategy": "robust_cot",
        "system": "Captain {agent} of {teammates}: {role}",
    }
    space = {**DISCRETE, "n": 8}
    given = {**settings(language_server, model), **steered}
    talk.agent(space, settings=given)
    heard = [{"from": "agent_1", "text": "hello"}]
    for step in range(3):
        answer = talk.act(0, frame=WIDE, step_index=step, teammates={"agent_1": 7}, messages=heard)
    system, *past, turn = answer["exchanges"][0]["prompt"]
    assert system["text"].startswith("Captain agent_0 of agent_1: You lead")
    assert "PREDICTION agent" in system["text"] and "<|ACTION|>action<|END|>" in system["text"]
    assert [(one["role"], len(one["images"])) for one in past] == [("user", 0), ("assistant", 0)]
    assert len(turn["images"]) == 1 and "What agent_1 sees:" in turn["text"]
    assert "- from agent_1: hello" in turn["text"]
    assert answer["messages"] == [{"to": "agent_1", "text": "I go"}]
    assert (answer["action_str"], answer["reasoning"]) == ("left", "PREDICTION agent_1: waits")


def test_what_cannot_be_is_refused(talk: Conversation, language_server: FakeServer) -> None:
    wrong = settings(language_server, "local", "local", images=0, max_side=3, text="yes")
    refused = talk.ask("init_agent", player_id="x", action_space=DISCRETE, settings=wrong)
    assert refused["error_type"] == "ConfigError"
    for said in (
        "sees no images",
        "images=0: must be an integer",
        "max_side=3: must be",
        "text='yes': must be True or False",
    ):
        assert said in refused["message"]
    talk.agent(DISCRETE, settings=settings(language_server, "fake:legal"))
    blind = talk.ask("select_action", player_id="agent_0", observation=0)
    assert "Test-v0 gives no picture here" in blind["message"] and blind["error_type"] == "ConfigError"
