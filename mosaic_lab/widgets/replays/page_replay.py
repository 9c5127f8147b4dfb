"""A replay as plain data for a page: the texts of each step, and a film of its pictures."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from mosaic_lab.arenas.action_text import action_text
from mosaic_lab.arenas.replays import Replay, ReplayStep
from mosaic_lab.arenas.replays.replay import texts_in
from mosaic_lab.chart_style import color
from mosaic_lab.fastlane.pictures import evenly_timed, film_speed, mp4
from mosaic_lab.number_format import number
from mosaic_lab.overview.exchange_view import NO_PICTURE, fault_texts, shown_exchanges, thumbnail

MAX_STEPS = 3_000
"""Maximum number of steps in a player."""
MAX_AGENTS = 12
"""Maximum number of agents whose actions are shown."""
_FEW_AGENTS = 4  # whose returns are shown
_SHORT = 32  # numbers of an observation that is shown as text
_LONGEST_TEXT = 4_000
_MAX_TEXT = 2 << 20  # characters of prompts, answers and observations in a player
_QUALITY = {"crf": "20", "preset": "veryfast", "threads": "2", "g": "12"}  # a jump decodes few frames


def replay_film(replay: Replay) -> bytes:
    """Return the pictures as an MP4 film with `film_speed` frames per second; empty without pictures."""
    packets = replay.packets
    if not packets:
        return b""
    return mp4(evenly_timed(packets, film_speed(len(packets))), quality=_QUALITY)


def page_replay(replay: Replay) -> dict[str, Any]:
    """Return the replay for a player; see `Replay` in ``js/src/widgets/messages.ts``."""
    steps, remaining_characters = [], _MAX_TEXT
    for step in replay[:MAX_STEPS]:
        step_content = _step(replay, step, remaining_characters > 0)
        remaining_characters -= len(step_content["text"]) + sum(map(_length, step_content["calls"]))
        steps.append(step_content)
    end = replay[-1]
    pictured = replay.pictured
    return {
        "label": replay.operator,
        "color": color(replay.lane),
        "verdict": replay.verdict,
        "differs": None if replay.difference is None else replay.difference.step,
        "note": replay.note,
        "several": len(replay.agents) > 1,
        "speaks": any(step.exchanges for step in replay),
        "pictured": pictured,
        "fps": film_speed(len(pictured)),
        "blank": "" if pictured else f"no pictures: {replay.no_picture}",
        "steps": steps,
        "end": {
            "facts": _facts(replay, len(replay), {}, end.returns),
            "text": _text(replay.last_observations) if remaining_characters > 0 else "",
            "flags": [name for name in ("terminated", "truncated") if any(getattr(end, name).values())],
        },
        "omitted": len(replay) - len(steps),
        "continues": replay.can_continue,
    }


def _step(replay: Replay, step: ReplayStep, with_texts: bool) -> dict[str, Any]:
    returns_before = {agent: total - step.rewards.get(agent, 0.0) for agent, total in step.returns.items()}
    calls = [call for agent in step.names for call in _calls(replay, step, agent)] if with_texts else []
    return {
        "moves": [_move(step, agent) for agent in [*step.names][:MAX_AGENTS]],
        "more": max(0, len(step.names) - MAX_AGENTS),
        "facts": _facts(replay, step.index, step.rewards, returns_before),
        "text": _text(step.observations) if with_texts else "",
        "calls": calls,
    }


def _facts(
    replay: Replay, step: int, rewards: Mapping[str, float], returns: Mapping[str, float]
) -> list[tuple[str, str, str]]:
    """Return numbers with their names and hints; with few agents, the return of each."""
    facts = [(f"{step:,} / {len(replay):,}", "step", "steps played so far, of the whole episode")]
    if rewards:
        facts.append((number(sum(rewards.values())), "reward", "reward of this step's actions"))
    facts.append((number(sum(returns.values())), "return", "sum of the rewards so far"))
    if 1 < len(returns) <= _FEW_AGENTS:
        facts += [(number(value), f"return {agent}", "") for agent, value in returns.items()]
    return facts


def _move(step: ReplayStep, agent: str) -> dict[str, Any]:
    fault, _, text = step.faults.get(agent, "").partition(": ")
    exchanges = [exchange.recorded for exchange in step.exchanges if exchange.agent == agent]
    return {
        "agent": agent,
        "text": step.names[agent][:200],
        "reasoning": "",
        "fault": fault,
        "fault_text": text,
        "model_faults": fault_texts({"exchanges": exchanges}),
        "reward": number(step.rewards.get(agent)),
        "latency": "",
        "tokens": ["0", "0"],
    }


def _calls(replay: Replay, step: ReplayStep, agent: str) -> list[dict[str, Any]]:
    exchanges = [exchange.recorded for exchange in step.exchanges if exchange.agent == agent]
    images = None if replay.recording is None else replay.recording / "images"
    picture = (lambda _: NO_PICTURE) if images is None else partial(thumbnail, images)
    lane = {"moves": [{"agent": agent, "exchanges": exchanges}], "step": step.index}
    calls: list[dict[str, Any]] = shown_exchanges(lane, agent, picture)["calls"]
    return [{**call, "agent": agent} for call in calls]


def _text(observations: Mapping[str, Any]) -> str:
    """Return observations as text: texts, and short arrays."""
    if text := texts_in(observations):
        return text[:_LONGEST_TEXT]
    texts = []
    for agent, observation in observations.items():
        size = getattr(observation, "size", 1)
        if size <= _SHORT and not isinstance(observation, Mapping | str):
            values = observation.tolist() if hasattr(observation, "tolist") else observation
            texts.append((f"{agent}: " if len(observations) > 1 else "") + action_text(values))
    return "\n".join(texts)[:_LONGEST_TEXT]


def _length(call: Mapping[str, Any]) -> int:
    return sum(len(turn["text"]) for turn in call["turns"]) + sum(map(len, call["answer"]))
