"""Compare this worker with upstream: the same model answers must lead to the same actions.

Needs a checkout of BALROG.

    python tests/compare_with_upstream.py CHECKOUT [--dialogs 100] [--answers FILE]

Run it with the Python of the worker's environment (`mosaic-lab workers list balrog` shows it). For each agent
a hundred episodes of BabyAI are played twice with the same answers: by upstream's agent, prompt builder,
wrapper and rules for invalid actions, imported unchanged from the checkout, and by this worker's operator.
Each step's parsed action, its validity, the action played, the observation with its feedback, and the roles
of all messages are compared, and each episode's progression.
NetHack's progression is compared state by state.

Answers are generated at random, in every form that the agents request and some that they do not, or read from
FILE, a JSON list of strings (from a recording, for example). Libraries that upstream imports and that are not
installed here (its clients' SDKs, old gym) are replaced by empty modules.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import random
import sys
import types
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Mapping, Sequence

import gymnasium
from balrog_worker import operator as ours
from balrog_worker.demonstrations import Demonstration
from balrog_worker.environments.babyai import BabyAI
from balrog_worker.environments.nethack import NetHackProgress
from balrog_worker.games import GRID_ACTIONS
from mosaic_contract import AgentSetup
from mosaic_contract.language.balrog import AGENTS, NOT_MARKED, observation_in
from mosaic_contract.language.exchange import Exchange, Parsed, Turn, prompt_of

_TASKS = ("goto", "pickup", "open", "putnext", "pick_up_seq_go_to")
_STEPS = 40
_STATES = 20_000
_LIMITS = {"max_text_history": 16, "max_image_history": 0, "max_cot_history": 1, "max_icl_history": 1000}
_DEMONSTRATION = {
    "observations": ["a wall 1 step forward", "a red ball 1 step forward", "You carry a red ball"],
    "actions": ["turn left", "pick up"],
}


class Spoken:
    """Replaces the model on both sides: returns the dialog's next answer for any prompt."""

    def __init__(self, answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.prompts: list[list[tuple[str, str]]] = []
        self.calls = 0

    def say(self, prompt: list[tuple[str, str]]) -> str:
        self.prompts.append(prompt)
        self.calls += 1
        return self.answers[(self.calls - 1) % len(self.answers)]

    # The interface of upstream's client.
    def generate(self, messages: Sequence[Any]) -> Any:
        text = self.say([(message.role, message.content) for message in messages])
        response = sys.modules["balrog.client"].LLMResponse
        return response("spoken", text.strip(), "stop", 1, 1, None)

    # The interface of the contract's language model.
    def begin_episode(self, seed: int, episode_index: int) -> None: ...
    def begin_step(self, step_index: int) -> None: ...
    def close(self) -> None: ...

    def ask(self, turns: Sequence[Turn], parse: Any, **_: Any) -> Exchange:
        answer = self.say([(turn.role, turn.text) for turn in turns])
        parsed: Parsed = parse(answer)
        faults = (*parsed.faults, *(() if parsed.action is not None else ("default",)))
        return Exchange(prompt_of(turns), answer, parsed.text, faults, "spoken", action=parsed.action)


class Described(gymnasium.Env[Any, Any]):
    """This worker's BabyAI, with its description lines in the info, where upstream's wrapper reads them."""

    def __init__(self, env: BabyAI) -> None:
        self.env, self.unwrapped_env = env, env
        self.max_steps = 0

    def reset(self, **options: Any) -> Any:
        observation, info = self.env.reset(**options)
        return dict(observation), self._with_descriptions(info)

    def step(self, action: int) -> Any:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return dict(observation), reward, terminated, truncated, self._with_descriptions(info)

    def get_pov_render(self, tile_size: int) -> Any:
        return self.env.render()

    def _with_descriptions(self, info: dict[str, Any]) -> dict[str, Any]:
        return {**info, "descriptions": self.env.long_term.split("\n") if self.env.long_term else []}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--dialogs", type=int, default=100, help="of each agent")
    parser.add_argument("--answers", type=Path, help="a JSON list of strings")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    upstream = import_upstream(given.checkout.resolve())
    texts = json.loads(given.answers.read_text(encoding="utf-8")) if given.answers else None
    failed = False
    for agent in AGENTS:
        counts: Counter[str] = Counter()
        problems: list[str] = []
        for number in range(given.dialogs):
            rng = random.Random(f"{given.seed} {agent} {number}")
            answers = (
                rng.choices(texts, k=_STEPS) if texts else [an_answer(agent, rng) for _ in range(_STEPS)]
            )
            theirs = upstreams_dialog(upstream, agent, answers, number)
            found = differences(theirs, our_dialog(agent, answers, number))
            problems += [f"dialog {number}, {text}" for text in found]
            counts += Counter(dialogs=1, steps=len(theirs), defaults=sum(not one["valid"] for one in theirs))
        counts["differences"] = len(problems)
        print(f"{agent:13}", ", ".join(f"{count:,} {name}" for name, count in counts.items()))
        for problem in problems[:3]:
            print("   ", problem)
        failed |= bool(problems)
    states, different = compare_progress(upstream["progress"])
    print(f"NetHack's progression: {states:,} states, {different} differ by more than 0.00001")
    return 1 if failed or different else 0


def import_upstream(checkout: Path) -> Mapping[str, Any]:
    """Import upstream's classes for the comparison from the checkout."""
    sys.path.insert(0, str(checkout))
    stand_in("google.genai", types=None)
    stand_in("gym", spaces=SimpleNamespace(Space=object), Wrapper=object, Env=object)
    for name in ("openai", "anthropic"):
        if importlib.util.find_spec(name) is None:
            stand_in(name, OpenAI=None, Anthropic=None)
    agents = importlib.import_module("balrog.agents")
    builder = importlib.import_module("balrog.prompt_builder")
    wrapper = importlib.import_module("balrog.environments.env_wrapper")
    babyai = importlib.import_module("balrog.environments.babyai_text.clean_lang_wrapper")
    progress = checkout / "balrog" / "environments" / "nle" / "progress.py"
    spec = importlib.util.spec_from_file_location("upstreams_progress", progress)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return {
        "agents": agents,
        "builder": builder.create_prompt_builder,
        "EnvWrapper": wrapper.EnvWrapper,
        "BabyAI": babyai.BabyAITextCleanLangWrapper,
        "progress": module.Progress,
    }


def stand_in(name: str, **attributes: Any) -> None:
    """Provide empty modules for this name and its parents where they cannot be imported."""
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):
        path = ".".join(parts[:depth])
        try:
            importlib.import_module(path)
        except ImportError:
            module = types.ModuleType(path)
            module.__path__ = []
            sys.modules[path] = module
            if depth > 1:
                setattr(sys.modules[".".join(parts[: depth - 1])], parts[depth - 1], module)
    for attribute, value in attributes.items():
        if not hasattr(sys.modules[name], attribute):
            setattr(sys.modules[name], attribute, value)


class _Settings(dict):  # type: ignore[type-arg]
    __getattr__ = dict.__getitem__


def upstreams_dialog(
    upstream: Mapping[str, Any], agent: str, answers: Sequence[str], number: int
) -> list[dict[str, Any]]:
    """Play one episode as upstream's evaluator does."""
    client = Spoken(answers)
    player = make_upstreams(upstream, agent, client)
    env = upstream["EnvWrapper"](
        upstream["BabyAI"](Described(BabyAI(_TASKS[number % len(_TASKS)]))), "babyai", ""
    )
    env.env.default_action  # noqa: B018  (upstream's, used by check_action_validity)
    player.reset()
    observation, _ = env.reset(seed=number)
    player.prompt_builder.update_instruction_prompt("instructions PLAY")
    steps, action = [], None
    for _ in range(_STEPS):
        shown = observation["text"]["long_term_context"]
        response = player.act(observation, prev_action=action)
        played = env.check_action_validity(response.completion)
        observation, _, terminated, truncated, _ = env.step(played)
        if played != response.completion:
            text = observation["text"]["long_term_context"]
            observation["text"]["long_term_context"] = f"{played} instead\n{text}"
        action = response.completion
        steps.append(
            {
                "candidate": response.completion,
                "valid": played == response.completion,
                "played": played,
                "observed": shown if client.prompts else None,
                "roles": [role for role, _ in client.prompts[-1]] if client.prompts else [],
                "progression": env.get_stats()["progression"],
            }
        )
        if terminated or truncated:
            break
    if sum(not step["valid"] for step in steps) != len(env.failed_candidates):
        raise AssertionError("upstream counts its failed candidates otherwise")
    return steps


def make_upstreams(upstream: Mapping[str, Any], agent: str, client: Spoken) -> Any:
    config = SimpleNamespace(agent=_Settings(type=agent, remember_cot=True, **_LIMITS), client=None)
    module = upstream["agents"]
    module.create_llm_client = lambda _: lambda: client
    player = module.AgentFactory(config).create_agent()
    if agent == "few_shot":
        observations, actions = _DEMONSTRATION["observations"], _DEMONSTRATION["actions"]
        player.prompt_builder.update_instruction_prompt("instructions PLAY")
        player.update_icl_observation({"text": {"long_term_context": observations[0]}})
        for action, text in zip(actions, observations[1:]):
            player.update_icl_action(action)
            player.update_icl_observation({"text": {"long_term_context": text}})
        player.wrap_episode()
    return player


def our_dialog(agent: str, answers: Sequence[str], number: int) -> list[dict[str, Any]]:
    """Play the same episode with this worker's operator."""
    model = Spoken(answers)
    ours.LanguageModel = lambda setup: model  # type: ignore[assignment,misc,return-value]
    ours.load = lambda settings: [Demonstration(**_DEMONSTRATION)]  # type: ignore[attr-defined]
    settings = {"agent": agent, "env_id": "BabyAI", **_LIMITS}
    env = BabyAI(_TASKS[number % len(_TASKS)])
    player = ours.BalrogOperator(AgentSetup("agent_0", settings=settings))
    player.episode_begin(number, 0)
    observation, _ = env.reset(seed=number)
    names = list(GRID_ACTIONS)
    steps: list[dict[str, Any]] = []
    for step in range(_STEPS):
        text = env.long_term
        decision = player.select_action(observation, step_index=step)
        exchange = decision.exchanges[0] if decision.exchanges else None
        candidate = AGENTS[agent].read(exchange["answer"].strip() if exchange else "").candidate
        valid = "default" not in exchange["faults"] if exchange else candidate in names
        observed = observation_in(exchange["prompt"][-1]["text"]) if exchange else ""
        observation, _, terminated, truncated, _ = env.step(decision.action)
        steps.append(
            {
                "candidate": candidate,
                "valid": valid,
                "played": names[decision.action],
                "observed": _feedback_as_upstreams(observed, text) if exchange else None,
                "roles": [role for role, _ in model.prompts[-1]] if model.prompts else [],
                "progression": env.progression,
            }
        )
        if terminated or truncated:
            break
    return steps


def _feedback_as_upstreams(observed: str, text: str) -> str:
    """Rewrite an observation's feedback about a played default as `upstreams_dialog` does."""
    said = observed.removesuffix(text)
    if not said:
        return observed
    played = next(name for name in GRID_ACTIONS if name in said)
    return f"{played} instead\n{text}"


def differences(theirs: Sequence[Mapping[str, Any]], own: Sequence[Mapping[str, Any]]) -> list[str]:
    if len(theirs) != len(own):
        return [f"{len(theirs)} steps upstream, {len(own)} here"]
    found = []
    for number, (one, other) in enumerate(zip(theirs, own)):
        for name, value in one.items():
            here = other[name]
            if name == "candidate" and here == NOT_MARKED and not one["valid"]:
                continue  # each words a missing action differently
            if value != here:
                found.append(f"step {number}: {name} is {value!r:.200} upstream, {here!r:.200} here")
    return found


def an_answer(agent: str, rng: random.Random) -> str:
    """Return a random answer as models give them, usually in a form that the agent requests."""
    action = rng.choice([*GRID_ACTIONS, *GRID_ACTIONS, "go foward", "Go forward", "jump", "turn  left", ""])
    thought = rng.choice(
        [
            "I see a ball.\nIt is 2 steps away, so I move.",
            "**Plan**: 1) turn 2) go",
            "ACTION: none yet",
            "é ✓ …",
            "",
        ]
    )
    plain = [
        action,
        f"{action}.",
        f" {action}\n",
        f"`{action}`",
        f"{action}\n{thought}",
        f"{thought} {action}",
        "",
    ]
    marked = [
        f"{thought}<|ACTION|>{action}<|END|>",
        f"<|ACTION|> {action} <|END|> {thought}",
        f"<|ACTION|>{action}",
        f"<|ACTION|>{action}<|END|><|ACTION|>drop<|END|>",
    ]
    named = [f"{thought}\nACTION: {action}", f"{thought} ACTION: drop\nACTION: {action}", f"action: {action}"]
    plan = rng.choice(["No changes to the plan.", "Go to the ball\nand take it", "", thought])
    planned = [
        f"PLAN: {plan}\nACTION: {action}",
        f"plan:\n{plan}\naction: {action}\n",
        f"PLAN: {plan}",
        f"ACTION: {action}\nPLAN: {plan}",
    ]
    forms = {"naive": plain, "few_shot": plain, "cot": named, "custom": planned}.get(agent, marked)
    return rng.choice(forms if rng.random() < 0.8 else [*plain, *marked, *named, *planned])


def compare_progress(upstreams: Any) -> tuple[int, int]:
    """Return the number of random states compared and the number whose progression differs."""
    rng = random.Random(1)
    different = count = 0
    while count < _STATES:
        theirs, own = upstreams(), NetHackProgress()
        for _ in range(50):
            blstats = [0] * 27
            blstats[12], blstats[18] = rng.randint(1, 50), rng.randint(1, 30)
            theirs.update({"blstats": blstats}, 0.0, False, {})
            different += abs(theirs.progression - own.after(blstats)) > 1e-5
            count += 1
    return count, different


if __name__ == "__main__":
    sys.exit(main())
