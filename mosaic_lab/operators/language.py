"""Language and vision models as operators, and their shared options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, TypeVar, Unpack, get_args, get_type_hints

from mosaic_contract import ConfigError
from mosaic_contract.language.settings import ANTHROPIC, OPENAI, ModelSettings, default_max_tokens

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.operators import providers
from mosaic_lab.operators.providers import SERVERS, Provider, misdirected
from mosaic_lab.operators.python_policy import describer_settings
from mosaic_lab.operators.spec import DEADLINE, Category, Fallback, Need, OperatorSpec, check_arguments
from mosaic_lab.validation import Problems, checked

Coordination = Literal["rules", "advice", "roles"]
Detail = Literal["auto", "low", "high"]
Maker = TypeVar("Maker", bound=Callable[..., OperatorSpec])

LOCAL = "local"
"""The model that needs neither a key nor a network: SmolLM2-135M-Instruct, in the worker's environment."""

_HISTORY = range(257)  # turns
_IMAGES = range(1, 17)
_SIDES = range(16, 8193)  # pixels


class ModelOptions(TypedDict, total=False):
    """Keywords of every operator that calls a language model.

    provider: "openai", "anthropic", "google", "openrouter", "vllm" (a server at http://localhost:8000/v1) or
        "local" (in the worker's own process). Default: "local" for "local" and .gguf files, "anthropic" for
        models whose names begin with "claude", else "openai".
    base_url: a server with the provider's API, such as vLLM, Ollama or llama.cpp. It is sent no key unless
        ``api_key_env`` names one. ``${NAME}`` in it is replaced by an environment variable of this process.
    api_key_env: the environment variable with the key; default: the provider's own, OPENAI_API_KEY,
        ANTHROPIC_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY.
    headers: additional headers of each request, {"name": "value"}. Settings are stored, so pass keys by
        variable: {"X-Api-Key": "${MY_KEY}"}.
    body: additional keys of each request, {"name": value}, such as {"reasoning_effort": "low"}.
    temperature: default: 0, or the model's own if it cannot be chosen.
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

    provider: Provider | None
    base_url: str | None
    api_key_env: str | None
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    temperature: float | None
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
    headers={},
    body={},
    temperature=None,
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


def of_a_model(maker: Maker) -> Maker:
    """Show `ModelOptions` in a factory's signature and documentation in place of ``**options``, and refuse
    unknown keywords.
    """
    signature = inspect.signature(maker)
    types = get_type_hints(ModelOptions)
    parameters = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=types[name])
        for name, default in _DEFAULTS.items()
    ]
    maker.__signature__ = signature.replace(parameters=[*parameters, *shared])  # type: ignore[attr-defined]
    texts = inspect.cleandoc(ModelOptions.__doc__ or "").partition("\n\n")[2]
    head, raises, tail = inspect.cleandoc(maker.__doc__ or "").partition("\n\nRaises:")
    maker.__doc__ = f"{head}\n" + "\n".join(f"    {line}" for line in texts.splitlines()) + raises + tail
    return checked(maker)  # type: ignore[return-value]


@of_a_model
def llm(
    model: str | Path = LOCAL,
    *,
    coordination: Coordination = "rules",
    theory_of_mind: bool = False,
    messages: bool = False,
    history: int = 0,
    structured: bool | None = None,
    describe: str | Path | Callable[..., str] | None = None,
    **options: Unpack[ModelOptions],
) -> OperatorSpec:
    """A language model that reads observations as text and answers with an action, for any number of agents.

    Args:
        model: the endpoint's name of a model, such as "gpt-5-mini"; "local" for a small model that needs
            neither a key nor a network; or the path of a .gguf file.
        coordination: what the prompt contains besides the observation: "rules" the environment's rules,
            "advice" also strategy, "roles" also a role for each agent of a team.
        theory_of_mind: show what teammates see, carry and face, and request a prediction of their next
            actions.
        messages: let agents send each other messages of up to 500 characters, delivered with the next
            observation.
        history: number of latest turns (observations with answers) in each prompt.
        structured: have the endpoint restrict the answer to the legal actions. By default only "local" is
            restricted, which otherwise rarely names an action. Results are not comparable with those of
            unrestricted models.
        describe: your own text for an observation: ``"FILE:NAME"``, ``"MODULE:NAME"`` or a function defined
            in a module, called in the worker's process with the observation and those of ``agent``, ``info``,
            ``step_index``, ``legal_actions``, ``teammates`` and ``description`` that it accepts by name.

    Raises:
        ConfigurationError: all invalid arguments at once.
    """
    problems = Problems()
    settings = check_arguments(
        problems,
        ("structured",),
        coordination=(coordination, get_args(Coordination)),
        theory_of_mind=(theory_of_mind, bool),
        messages=(messages, bool),
        history=(history, _HISTORY),
        structured=(structured, bool),
    )
    if structured is True and messages is True:
        problems.add("", "structured=True leaves no room for messages in an answer: use one of the two")
    if describe is not None:
        try:
            settings["describe"] = describer_settings(describe)
        except ConfigurationError as error:
            problems.add("", f"describe: {error}")
    needs: tuple[Need, ...] = ("description", "teammates") if theory_of_mind else ("description",)
    return model_operator("llm", "llm", model, options, settings, problems, needs)


def model_operator(
    category: Category,
    worker: str,
    model: str | Path,
    options: ModelOptions,
    settings: Mapping[str, Any],
    problems: Problems,
    needs: Sequence[Need] = (),
) -> OperatorSpec:
    """Return the operator of a worker that calls a language model; ``settings`` are the worker's own.

    Raises ConfigurationError with the ``problems`` found so far and those of ``model`` and ``options``.
    """
    chosen = ModelOptions(**{**_DEFAULTS, **options})
    provider: str = chosen["provider"] or _provider_of(model)
    if provider not in get_args(Provider):
        problems.add("", f"provider={provider!r}: must be one of {', '.join(map(repr, get_args(Provider)))}")
        provider = OPENAI
    elif chosen["base_url"] is None and (wrong := misdirected(str(model), provider, worker)):
        problems.add("", wrong)
    base_url, key = chosen["base_url"], chosen["api_key_env"]
    if provider in SERVERS:
        if base_url is None:
            base_url, key = SERVERS[provider].base_url, key or SERVERS[provider].key
        provider = OPENAI
    model = _model(problems, model, provider)
    chosen = ModelOptions(**{**chosen, "base_url": base_url, "api_key_env": key})
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
            **{name: dict(chosen[name]) for name in ("headers", "body") if chosen[name]},
            **({} if chosen["temperature"] is None else {"temperature": chosen["temperature"]}),
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
    model: str,
    *,
    text: bool = False,
    images: int = 1,
    max_side: int | None = None,
    detail: Detail = "auto",
    structured: bool = False,
    **options: Unpack[ModelOptions],
) -> OperatorSpec:
    """A vision model that sees rendered frames and answers with an action, in every environment that renders.

    Args:
        model: the endpoint's name of a model that accepts images, such as "gpt-5-mini" or "claude-sonnet-5".
        text: describe the observation in words too, as `llm` does.
        images: number of latest frames in each prompt, oldest first.
        max_side: longest side in pixels to which frames are reduced; None sends them unchanged. Smaller
            frames cost fewer tokens.
        detail: level of detail for OpenAI's models; other APIs have no such option.
        structured: have the endpoint restrict the answer to the legal actions. Off by default: results are
            not comparable with those of unrestricted models.

    Raises:
        ConfigurationError: all invalid arguments at once.
    """
    problems = Problems()
    if options.get("provider") == LOCAL or model == LOCAL or is_model_file(model):
        problems.add(
            "",
            f"model={model!r}: the local model reads text and sees no images; give a vision model of an "
            'endpoint, such as vlm("gpt-5-mini") or vlm("qwen3-vl", base_url="http://localhost:8000/v1")',
        )
    settings = check_arguments(
        problems,
        ("max_side",),
        text=(text, bool),
        images=(images, _IMAGES),
        max_side=(max_side, _SIDES),
        detail=(detail, get_args(Detail)),
        structured=(structured, bool),
    )
    needs: tuple[Need, ...] = ("frame", "description") if text else ("frame",)
    return model_operator("vlm", "vlm", model, options, settings, problems, needs)
