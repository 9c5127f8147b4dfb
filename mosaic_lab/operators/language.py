"""Language and vision models as operators, and their shared options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, TypeVar, Unpack, get_args, get_type_hints

from mosaic_contract import ConfigError
from mosaic_contract.language.prompts import PromptSettings, VisionSettings
from mosaic_contract.language.settings import ANTHROPIC, OPENAI, ModelSettings, default_max_tokens

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.operators import providers
from mosaic_lab.operators.examples import as_examples
from mosaic_lab.operators.providers import misdirected
from mosaic_lab.operators.python_policy import user_code
from mosaic_lab.operators.spec import CODE, DEADLINE, Category, Fallback, Need, OperatorSpec
from mosaic_lab.serving import Server
from mosaic_lab.validation import Problems, checked

Coordination = Literal["rules", "advice", "roles"]
Strategy = Literal["naive", "cot", "robust_cot", "few_shot", "plan"]
Detail = Literal["auto", "low", "high"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Maker = TypeVar("Maker", bound=Callable[..., OperatorSpec])

LOCAL = "local"
"""The model that needs neither a key nor a network: SmolLM2-135M-Instruct, in the worker's environment."""

_PROMPT_FILES = (".md", ".txt")


class ModelOptions(TypedDict, total=False):
    """Keywords of every operator that calls a language model.

    provider: the name of a provider, such as "openai", "anthropic", "google", "openrouter", "mistral" or
        "vllm" (a server at http://localhost:8000/v1), or "local" (in the worker's own process). Default:
        "local" for "local" and .gguf files, "anthropic" for models whose names begin with "claude", else
        "openai".
    base_url: a server with the provider's API, such as vLLM, Ollama or llama.cpp. It is sent no key unless
        ``api_key_env`` names one. ``${NAME}`` in it is replaced by an environment variable of this process.
    api_key_env: the environment variable with the key; default: the provider's own, such as OPENAI_API_KEY.
    parameters: request parameters that have another name at this server, {"seed": "random_seed"}; "" for
        those that it refuses. Default: the provider's.
    headers: additional headers of each request, {"name": "value"}. Settings are stored, so pass keys by
        variable: {"X-Api-Key": "${MY_KEY}"}.
    body: additional keys of each request, {"name": value}, such as {"top_k": 20}.
    temperature: default: 0, or the model's own if it cannot be chosen.
    top_p: share of the probability mass that tokens are drawn from; default: the model's own.
    seed: seed of the sampling, which not every endpoint accepts. Default: none is sent; a model in the
        worker's process derives one from the episode's.
    stop: string, or up to four of them, at which an answer ends.
    reasoning_effort: "none", "minimal", "low", "medium", "high", "xhigh" or "max", as the model allows.
    max_tokens: limit of one answer, reasoning included; default: 2,048, for a .gguf file 256, for "local" 48.
    timeout: seconds for one request.
    retries: further attempts after a temporary failure, such as a dropped connection. In addition, rate
        limits are waited for up to three minutes.
    concurrency: requests that may be in flight at once, over all operators of an evaluation or a comparison
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


_DEFAULTS = ModelOptions(
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
    """Keywords of the operators whose prompts are ours.

    system: your own system prompt: a text, or the path of a .txt or .md file. In it, ``{agent}``, ``{game}``,
        ``{rules}``, ``{teammates}``, ``{others}``, ``{advice}`` and ``{role}`` are replaced, the last two as
        far as ``coordination`` allows, and ``{answering}`` by the form of answers, which is otherwise added
        at the end.
    strategy: how the model answers: "naive" with the action only, "cot" after reasoning, "robust_cot" with
        the action between marks, "few_shot" as "naive" with ``examples``, "plan" with a plan that it keeps
        between steps; None after a short thought. Or a function of your own, ``"FILE:NAME"``,
        ``"MODULE:NAME"`` or defined in a module: ``strategy(prompt, ask)`` returns an answer with an action.
        ``prompt`` is a list of {"role", "content"}, ``ask(messages)`` sends one, and returns the answer (with
        ``structured=False`` always unrestricted). By name it may also take ``agent``, ``info``,
        ``legal_actions``, ``memory`` (a dict, empty at the start of an episode), ``observation`` (the text)
        and ``step_index``.
    examples: episodes of others that the prompt begins with, as `examples` returns them; a run or a
        comparison that has recorded some stands for its best one.
    coordination: what the prompt contains besides the observation: "rules" the environment's rules,
        "advice" also strategy, "roles" also a role for each agent of a team.
    theory_of_mind: show what teammates see, carry and face, and request a prediction of their next
        actions.
    messages: let agents send each other messages of up to 500 characters, delivered with the next
        observation.
    history: number of latest turns (observations with answers) in each prompt, or {"steps": …, "tokens": …}.
        Older turns are left out, never the system prompt, the examples and the current observation. Tokens
        are estimated, rather too many than too few.
    structured: have the endpoint restrict the answer to the legal actions. By default only "local" is
        restricted, which otherwise rarely names an action. Results are not comparable with those of
        unrestricted models.
    describe: your own text for an observation: ``"FILE:NAME"``, ``"MODULE:NAME"`` or a function defined
        in a module, called in the worker's process with the observation and those of ``agent``, ``info``,
        ``step_index``, ``legal_actions``, ``teammates`` and ``description`` that it accepts by name.
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


_PROMPT_DEFAULTS: dict[str, Any] = {
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
    defaults = {**(_PROMPT_DEFAULTS if options is PromptOptions else {}), **_DEFAULTS}
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


@of_a_model
def llm(model: str | Path | Server = LOCAL, **options: Unpack[PromptOptions]) -> OperatorSpec:
    """A language model that reads observations as text and answers with an action, for any number of agents.

    Args:
        model: the endpoint's name of a model, such as "gpt-5-mini"; "local" for a small model that needs
            neither a key nor a network; the path of a .gguf file; or a server (`Lab.serve`), whose answer is
            waited for.

    Raises:
        ConfigurationError: all invalid arguments at once.
    """
    problems = Problems()
    always = ("coordination", "theory_of_mind", "messages", "history", "structured")
    settings = _prompt_settings(problems, options, always)
    needs: tuple[Need, ...] = (
        ("description", "teammates") if options.get("theory_of_mind") else ("description",)
    )
    return model_operator("llm", "llm", model, options, settings, problems, needs)


def _prompt_settings(problems: Problems, options: PromptOptions, always: Container[str]) -> dict[str, Any]:
    """Return the prompt's settings: those given, and those in ``always``, which earlier versions had."""
    given = {name: options.get(name, default) for name, default in _PROMPT_DEFAULTS.items()}
    for name, read in (
        ("system", _system_text),
        ("strategy", _strategy),
        ("examples", as_examples),
        ("describe", lambda value: user_code(value, "describe")),
    ):
        try:
            given[name] = _PROMPT_DEFAULTS[name] if given[name] is None else read(given[name])
        except ConfigurationError as error:
            problems.add("", f"{name}: {error}")
            given[name] = _PROMPT_DEFAULTS[name]
    try:
        PromptSettings.read(given)
    except ConfigError as error:
        for text in error.problems:
            problems.add("", text)
    folders = {code["folder"] for name in CODE if isinstance(code := given[name], Mapping)}
    if len(folders) > 1:
        problems.add(
            "", f"strategy= and describe= must be in one folder, not in {' and '.join(sorted(folders))}"
        )
    return {name: value for name, value in given.items() if name in always or value != _PROMPT_DEFAULTS[name]}


def _system_text(system: Any) -> Any:
    """Return the text of a system prompt that may be given as a file."""
    if not is_prompt_file(system):
        return system
    try:
        return Path(system).expanduser().read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{system} cannot be read: {error}") from None


def is_prompt_file(system: Any) -> bool:
    """Return whether a system prompt is given as a file rather than a text."""
    return isinstance(system, Path) or (
        isinstance(system, str) and system.endswith(_PROMPT_FILES) and "\n" not in system
    )


def _strategy(strategy: Any) -> Any:
    is_name = isinstance(strategy, str) and ":" not in strategy
    return strategy if is_name or isinstance(strategy, Mapping) else user_code(strategy, "strategy")


def model_operator(
    category: Category,
    worker: str,
    model: str | Path | Server,
    options: ModelOptions,
    settings: Mapping[str, Any],
    problems: Problems,
    needs: Sequence[Need] = (),
) -> OperatorSpec:
    """Return the operator of a worker that calls a language model; ``settings`` are the worker's own.

    Raises ConfigurationError with the ``problems`` found so far and those of ``model`` and ``options``.
    """
    if isinstance(model, Server):
        problems.check()  # before the wait
        served = {"provider": model.engine, "base_url": model.wait_ready().address}
        model, options = model.model, ModelOptions(**{**options, **served})  # type: ignore[typeddict-item]
    chosen = ModelOptions(**{**_DEFAULTS, **options})
    provider, chosen = _at_provider(problems, model, chosen, worker)
    base_url, key = chosen["base_url"], chosen["api_key_env"]
    _check_refused(problems, chosen, {**settings, **options})
    model = _model(problems, model, provider)
    variables = _check_options(problems, chosen, provider, model)
    problems.check()
    key = providers.key_variable(provider, base_url, key)
    tokens = chosen["max_tokens"] or default_max_tokens(provider, model)
    passed = (*providers.variables(provider, base_url, key), *variables, *chosen["pass_env_vars"])
    return OperatorSpec(
        category,
        chosen["name"] or (Path(model).stem if provider == LOCAL else model),
        worker,
        settings={
            "model": model,
            "provider": provider,
            "base_url": base_url,
            "api_key_env": key,
            **{name: dict(chosen[name]) for name in ("parameters", "headers", "body") if chosen[name]},
            **{
                name: chosen[name]
                for name in ("temperature", "top_p", "seed", "stop", "reasoning_effort")
                if chosen[name] is not None
            },
            "max_tokens": tokens,
            **{name: chosen[name] for name in ("timeout", "retries", "concurrency")},
            "prices": dict(chosen["prices"]) if chosen["prices"] else None,
            **settings,
        },
        deadline=chosen["deadline"],
        fallback=chosen["fallback"],
        needs=needs,
        pass_env_vars=tuple(dict.fromkeys(passed)),
    )


def _at_provider(
    problems: Problems, model: str | Path, options: ModelOptions, worker: str
) -> tuple[str, ModelOptions]:
    """Return the API of the provider, and the options with the provider's own where none are given."""
    name = options["provider"] or _provider_of(model)
    known = providers.providers()
    if name == LOCAL:
        return LOCAL, options
    if name not in known:
        problems.add("", providers.unknown(name, [*known, LOCAL]))
        return OPENAI, options
    provider, base_url = known[name], options["base_url"]
    if base_url is None and (wrong := misdirected(str(model), name, worker)):
        problems.add("", wrong)
    key = options["api_key_env"]
    if base_url is None and not provider.of_sdk:
        base_url, key = provider.base_url, key or provider.key
    parameters = {**provider.parameters, **options["parameters"]}
    at_provider = {"provider": name, "base_url": base_url, "api_key_env": key, "parameters": parameters}
    return provider.api, ModelOptions(**{**options, **at_provider})  # type: ignore[typeddict-item]


def _check_refused(problems: Problems, options: ModelOptions, given: Mapping[str, Any]) -> None:
    """Record a problem for each ``given`` argument that is a request parameter refused by the server."""
    where = options["base_url"] or options["provider"]
    for parameter in sorted(name for name, other in options["parameters"].items() if other == ""):
        name = "structured" if parameter == "response_format" else parameter
        if given.get(name) is not None and given[name] is not False:
            problems.add("", f"{name}={given[name]!r:.100}: {where} has no {parameter}: leave it out")


def is_model_file(model: Any) -> bool:
    """Return whether a model is given as a file rather than a name."""
    return str(model).lower().endswith(".gguf")


def _provider_of(model: Any) -> str:
    text = str(model)
    if text == LOCAL or is_model_file(text):
        return LOCAL
    return ANTHROPIC if text.startswith("claude") else OPENAI


def _model(problems: Problems, model: Any, provider: str) -> str:
    """Return the model in the form that the worker accepts: a file by its absolute path."""
    if not isinstance(model, str | Path) or not str(model).strip():
        problems.add("", f'model={model!r}: must be the name of a model, such as "gpt-5-mini", or "local"')
        return LOCAL
    if provider != LOCAL or model == LOCAL:
        return str(model)
    file = Path(model).expanduser().resolve()
    if not is_model_file(file):
        problems.add("", f'model={str(model)!r} with provider="local": must be "local" or a .gguf file')
    elif not file.is_file():
        problems.add("", f"model={str(model)!r}: there is no file {file}")
    return str(file)


def _check_options(problems: Problems, options: ModelOptions, provider: str, model: str) -> Sequence[str]:
    """Return the names of the variables in the options."""
    variables: Sequence[str] = ()
    try:
        variables = ModelSettings.read({**options, "provider": provider, "model": model}).variables
    except ConfigError as error:
        for text in error.problems:
            problems.add("", text)
    for name, value in options.items():
        if name in ("timeout", "retries", "concurrency") and value is None:
            problems.add("", f"{name}=None: must be a number")
    url = options["base_url"]
    if isinstance(url, str) and providers.may_have_secret(url):
        problems.add(
            "",
            "base_url has a user name, a password, a query or a part that looks like a key, and settings are "
            "written to folders: use api_key_env=, or write ${NAME} for a variable that has it",
        )
    for header in providers.secret_headers(options["headers"]):
        problems.add(
            "",
            f"headers[{header!r}] may be a key, and settings are written to folders: write ${{NAME}} for a "
            "variable of this process's environment that has it",
        )
    key = options["api_key_env"]
    if isinstance(key, str) and key.isidentifier() and providers.may_be_key(key):  # other texts: see above
        problems.add(
            "",
            "api_key_env looks like a key itself, which is not repeated here: give the name of the variable "
            "that has it, such as OPENAI_API_KEY",
        )
    if provider == LOCAL and key is not None:
        problems.add("", "api_key_env: a local model runs in the worker's process and needs none")
    if options["name"] is not None and not (isinstance(options["name"], str) and options["name"]):
        problems.add("", f"name={options['name']!r}: must be a string")
    return variables


@of_a_model
def vlm(
    model: str | Server,
    *,
    text: bool = False,
    images: int = 1,
    max_side: int | None = None,
    detail: Detail = "auto",
    **options: Unpack[PromptOptions],
) -> OperatorSpec:
    """A vision model that sees rendered frames and answers with an action, in every environment that renders.

    Args:
        model: the endpoint's name of a model that accepts images, such as "gpt-5-mini" or "claude-sonnet-5".
        text: describe the observation in words too, as `llm` does.
        images: number of latest frames in each prompt, oldest first.
        max_side: longest side in pixels to which frames are reduced; None sends them unchanged. Smaller
            frames cost fewer tokens.
        detail: level of detail for OpenAI's models; other APIs have no such option.

    Raises:
        ConfigurationError: all invalid arguments at once.
    """
    problems = Problems()
    settings = {"text": text, "images": images, "max_side": max_side, "detail": detail}
    is_local = options.get("provider") == LOCAL or model == LOCAL or is_model_file(model)
    try:
        VisionSettings.read({**settings, "model": model, "provider": LOCAL if is_local else None})
    except ConfigError as error:
        for problem in error.problems:
            problems.add("", problem)
    settings |= _prompt_settings(problems, options, ("structured",))
    if options.get("describe") is not None and not text:
        problems.add("", "describe= is a text beside the image: give text=True as well")
    knows_team = bool(options.get("theory_of_mind"))
    needs: list[Need] = ["frame"]
    needs += ["description"] if text or knows_team else []
    needs += ["teammates"] if knows_team else []
    return model_operator("vlm", "vlm", model, options, settings, problems, needs)
