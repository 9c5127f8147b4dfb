"""Keywords that all operators with a language model share, and those that only `llm` and `vlm` have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, TypeVar, get_args, get_type_hints

from mosaic_contract.language.settings import ModelSettings

from mosaic_lab.operators.spec import DEADLINE, Fallback, OperatorSpec
from mosaic_lab.validation import checked

Coordination = Literal["rules", "advice", "roles"]
Strategy = Literal["naive", "cot", "robust_cot", "few_shot", "plan"]
Detail = Literal["auto", "low", "high"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Maker = TypeVar("Maker", bound=Callable[..., OperatorSpec])


class ModelOptions(TypedDict, total=False):
    """Keywords of every operator that calls a language model.

    provider: the name of a provider, such as "openai", "anthropic", "google", "openrouter", "mistral" or
        "vllm" (a server at http://localhost:8000/v1), or "local" (in the worker's own process). Default:
        "local" for "local" and .gguf files, "anthropic" for models whose names begin with "claude", else
        "openai".
    base_url: a server with the provider's API, such as vLLM, Ollama or llama.cpp. It is sent no key unless
        ``api_key_env`` names one. ``${NAME}`` in it is replaced by an environment variable of this process.
    api_key_env: the environment variable with the key; default: the provider's own, such as OPENAI_API_KEY.
    parameters: request parameters that have another name at this server, such as {"seed": "random_seed"};
        "" for those it does not support. Default: the provider's.
    headers: additional headers of each request, {"name": "value"}. Settings are stored, so pass keys by
        variable: {"X-Api-Key": "${MY_KEY}"}.
    body: additional keys of each request, {"name": value}, such as {"top_k": 20}.
    temperature: default: 0, or the model's own if it cannot be set.
    top_p: share of the probability mass that tokens are drawn from; default: the model's own.
    seed: sampling seed, which not every endpoint accepts. Default: none is sent; a model in the worker's
        process derives one from the episode's seed.
    stop: a string, or up to four, at which an answer ends.
    reasoning_effort: "none", "minimal", "low", "medium", "high", "xhigh" or "max", as the model allows.
    max_tokens: limit of one answer, including reasoning; default: 2,048; 256 for a .gguf file, 48 for
        "local".
    timeout: seconds for one request.
    retries: further attempts after a temporary failure, such as a dropped connection. Rate limits are
        waited out separately, for up to three minutes.
    concurrency: maximum number of requests in flight, over all operators of an evaluation or a comparison
        that call the same provider.
    prices: {"input": …, "output": …} in US dollars per million tokens, for a model whose price is unknown or
        differs; "cached" too, if the endpoint charges less for cached input.
    pass_env_vars: additional environment variables to pass to the worker, such as those of a proxy.
    name: a display name; default: the model.
    deadline: seconds for an action, None for no limit.
    fallback: what happens at the deadline; see `OperatorSpec`.
    """

    provider: str | None
    base_url: str | None
    api_key_env: str | None
    parameters: Mapping[str, str]
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    temperature: float | None
    top_p: float | None
    seed: int | None
    stop: str | Sequence[str] | None
    reasoning_effort: Effort | None
    max_tokens: int | None
    timeout: float
    retries: int
    concurrency: int
    prices: Mapping[str, float] | None
    pass_env_vars: Sequence[str]
    name: str | None
    deadline: float | None
    fallback: Fallback


DEFAULTS = ModelOptions(
    provider=None,
    base_url=None,
    api_key_env=None,
    parameters={},
    headers={},
    body={},
    temperature=None,
    top_p=None,
    seed=None,
    stop=None,
    reasoning_effort=None,
    max_tokens=None,
    timeout=ModelSettings.timeout,
    retries=ModelSettings.retries,
    concurrency=ModelSettings.concurrency,
    prices=None,
    pass_env_vars=(),
    name=None,
    deadline=DEADLINE,
    fallback="wait",
)


class PromptOptions(ModelOptions, total=False):
    """Keywords of the operators `llm` and `vlm`, whose prompts MOSAIC Lab writes.

    system: your own system prompt, or the path of a .txt or .md file. In it, ``{agent}``, ``{game}``,
        ``{rules}``, ``{teammates}``, ``{others}``, ``{advice}`` and ``{role}`` are replaced, the last two as
        far as ``coordination`` allows, and ``{answering}`` is replaced by the format of answers, which is
        otherwise appended.
    strategy: how the model answers: "naive" with the action only, "cot" after reasoning, "robust_cot" with
        the action between marks, "few_shot" like "naive" with ``examples``, "plan" with a plan that persists
        between steps; None after a short thought. Or your own function, given as ``"FILE:NAME"``,
        ``"MODULE:NAME"`` or defined in a module: ``strategy(prompt, ask)`` returns an answer with an action.
        ``prompt`` is a list of {"role", "content"}; ``ask(messages)`` sends such a list and returns the
        answer, which ``ask(messages, structured=False)`` never restricts. The function may also accept, by
        name, ``agent``, ``info``, ``legal_actions``, ``memory`` (a dict, empty at the start of an episode),
        ``observation`` (as text) and ``step_index``.
    examples: episodes of other players at the beginning of the prompt, as `examples` returns them; for a
        run or a comparison with recorded episodes, its best one.
    coordination: what the prompt contains besides the observation: "rules" for the environment's rules,
        "advice" for strategic advice too, "roles" for a role for each agent of a team as well.
    theory_of_mind: show what teammates see, carry and face, and ask for a prediction of their next
        actions.
    messages: let agents send each other messages of up to 500 characters, delivered with the next
        observation.
    history: number of latest turns (observations and answers) in each prompt, or {"steps": …, "tokens": …}.
        Older turns are left out, never the system prompt, the examples and the current observation. The
        number of tokens is a conservative estimate.
    structured: have the endpoint restrict the answer to the legal actions. By default only "local" is
        restricted, which otherwise rarely names an action. Results are not comparable with those of
        unrestricted models.
    describe: your own function that describes an observation: ``"FILE:NAME"``, ``"MODULE:NAME"`` or a
        function defined in a module. It is called in the worker's process with the observation and whichever
        of ``agent``, ``info``, ``step_index``, ``legal_actions``, ``teammates`` and ``description`` it
        accepts by name.
    """

    system: str | Path | None
    strategy: Strategy | str | Path | Callable[..., str] | None
    examples: Any
    coordination: Coordination
    theory_of_mind: bool
    messages: bool
    history: int | Mapping[str, int]
    structured: bool | None
    describe: str | Path | Callable[..., str] | None


PROMPT_DEFAULTS: dict[str, Any] = {
    "system": None,
    "strategy": None,
    "examples": (),
    "coordination": "rules",
    "theory_of_mind": False,
    "messages": False,
    "history": 0,
    "structured": None,
    "describe": None,
}


def of_a_model(maker: Maker) -> Maker:
    """Show `ModelOptions`, or `PromptOptions`, in a factory's signature and documentation in place of
    ``**options``, and refuse unknown keywords.
    """
    signature = inspect.signature(maker)
    (options,) = get_args(get_type_hints(maker)["options"])
    defaults = {**(PROMPT_DEFAULTS if options is PromptOptions else {}), **DEFAULTS}
    types = get_type_hints(options)
    parameters = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=types[name])
        for name, default in defaults.items()
    ]
    maker.__signature__ = signature.replace(parameters=[*parameters, *shared])  # type: ignore[attr-defined]
    documented = dict.fromkeys((options, ModelOptions))
    texts = "\n".join(inspect.cleandoc(one.__doc__ or "").partition("\n\n")[2] for one in documented)
    head, raises, tail = inspect.cleandoc(maker.__doc__ or "").partition("\n\nRaises:")
    maker.__doc__ = f"{head}\n" + "\n".join(f"    {line}" for line in texts.splitlines()) + raises + tail
    return checked(maker)  # type: ignore[return-value]
