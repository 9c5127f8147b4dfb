"""Language and vision models as operators: the arguments, checked and turned into their worker's settings."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from mosaic_contract import ConfigError
from mosaic_contract.language.prompt_settings import PromptSettings, VisionSettings
from mosaic_contract.language.settings import ANTHROPIC, OPENAI, ModelSettings, default_max_tokens

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.operators import providers
from mosaic_lab.operators.examples import as_examples
from mosaic_lab.operators.model_options import (
    DEFAULTS,
    PROMPT_DEFAULTS,
    Detail,
    ModelOptions,
    PromptOptions,
    of_a_model,
)
from mosaic_lab.operators.providers import misdirected
from mosaic_lab.operators.python_policy import user_code
from mosaic_lab.operators.spec import CODE, Category, Need, OperatorSpec
from mosaic_lab.serving import Server
from mosaic_lab.validation import Problems

LOCAL = "local"
"""The model that needs neither a key nor a network: SmolLM2-135M-Instruct, in the worker's environment."""

_PROMPT_FILES = (".md", ".txt")


@of_a_model
def llm(model: str | Path | Server = LOCAL, **options: Unpack[PromptOptions]) -> OperatorSpec:
    """A language model that reads observations as text and answers with an action, for any number of agents.

    Args:
        model: the name of a model at the endpoint, such as "gpt-5-mini"; "local" for a small model that
            needs neither a key nor a network but takes seconds per action; the path of a .gguf file; or a
            server (`Lab.serve`), whose start the call waits for.

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
    """Return the prompt's settings that differ from the default, and those in ``always``, which earlier
    versions always recorded."""
    values = {name: options.get(name, default) for name, default in PROMPT_DEFAULTS.items()}
    for name, read in (
        ("system", _system_text),
        ("strategy", _strategy),
        ("examples", as_examples),
        ("describe", lambda value: user_code(value, "describe")),
    ):
        try:
            values[name] = PROMPT_DEFAULTS[name] if values[name] is None else read(values[name])
        except ConfigurationError as error:
            problems.add("", f"{name}: {error}")
            values[name] = PROMPT_DEFAULTS[name]
    try:
        PromptSettings.read(values)
    except ConfigError as error:
        for text in error.problems:
            problems.add("", text)
    folders = {code["folder"] for name in CODE if isinstance(code := values[name], Mapping)}
    if len(folders) > 1:
        problems.add(
            "", f"strategy= and describe= must be in the same folder, not in {' and '.join(sorted(folders))}"
        )
    return {name: value for name, value in values.items() if name in always or value != PROMPT_DEFAULTS[name]}


def _system_text(system: Any) -> Any:
    """Return a system prompt, read from its file if it is given as one."""
    if not is_prompt_file(system):
        return system
    try:
        return Path(system).expanduser().read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{system} cannot be read: {error}") from None


def is_prompt_file(system: Any) -> bool:
    """Return whether a system prompt is given as a file rather than a string."""
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

    Raises ConfigurationError with the ``problems`` found so far and any with ``model`` and ``options``.
    """
    if isinstance(model, Server):
        problems.check()  # before the wait
        served = {"provider": model.engine, "base_url": model.wait_ready().address}
        model, options = model.model, ModelOptions(**{**options, **served})  # type: ignore[typeddict-item]
    chosen = ModelOptions(**{**DEFAULTS, **options})
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
    """Return the provider's API, and the options completed with the provider's defaults."""
    name = options["provider"] or _provider_of(model)
    by_name = providers.providers()
    if name == LOCAL:
        return LOCAL, options
    if name not in by_name:
        problems.add("", providers.unknown(name, [*by_name, LOCAL]))
        return OPENAI, options
    provider, base_url = by_name[name], options["base_url"]
    if base_url is None and (wrong := misdirected(str(model), name, worker)):
        problems.add("", wrong)
    key = options["api_key_env"]
    if base_url is None and not provider.of_sdk:
        base_url, key = provider.base_url, key or provider.key
    parameters = {**provider.parameters, **options["parameters"]}
    at_provider = {"provider": name, "base_url": base_url, "api_key_env": key, "parameters": parameters}
    return provider.api, ModelOptions(**{**options, **at_provider})  # type: ignore[typeddict-item]


def _check_refused(problems: Problems, options: ModelOptions, given: Mapping[str, Any]) -> None:
    """Record a problem for each ``given`` argument that the server does not accept as a request parameter."""
    endpoint = options["base_url"] or options["provider"]
    for parameter in sorted(name for name, alias in options["parameters"].items() if alias == ""):
        name = "structured" if parameter == "response_format" else parameter
        if given.get(name) is not None and given[name] is not False:
            problems.add("", f"{name}={given[name]!r:.100}: {endpoint} has no {parameter}: leave it out")


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
    """Record problems with the options; return the names of the environment variables they refer to."""
    variables: Sequence[str] = ()
    try:
        variables = ModelSettings.read({**options, "provider": provider, "model": model}).variables
    except ConfigError as error:
        for text in error.problems:
            problems.add("", text)
    for name in ("timeout", "retries", "concurrency"):
        if options[name] is None:
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
    if isinstance(key, str) and key.isidentifier() and providers.may_be_key(key):  # other strings: see above
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
        model: the name of a model at the endpoint that accepts images, such as "gpt-5-mini" or
            "claude-sonnet-5".
        text: describe the observation in words too, as `llm` does.
        images: number of latest frames in each prompt, oldest first.
        max_side: length in pixels to which a frame's longer side is reduced; None sends frames unchanged.
            Smaller frames cost fewer tokens.
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
        problems.add("", "describe= needs text=True, which adds its text to the image")
    knows_team = bool(options.get("theory_of_mind"))
    needs: list[Need] = ["frame"]
    needs += ["description"] if text or knows_team else []
    needs += ["teammates"] if knows_team else []
    return model_operator("vlm", "vlm", model, options, settings, problems, needs)
