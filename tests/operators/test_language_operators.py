"""Factories of language-model operators: valid arguments, the keys they need, and refusals."""

from __future__ import annotations

import inspect
import socket
from pathlib import Path
from typing import Any

import pytest
from language.language_fixtures import FakeServer

import mosaic_lab as mosaic
from mosaic_lab import operators
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.evaluation.planning import plan_evaluation
from mosaic_lab.evaluation.request import EvaluateRequest


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path / "anthropic"))


def test_each_kind_of_model() -> None:
    made = [
        operators.llm(),
        operators.llm("gpt-5-mini"),
        operators.llm("claude-sonnet-5"),
        operators.llm("qwen3", base_url="http://localhost:8000/v1"),
        operators.llm(
            "a/b", base_url="https://openrouter.ai/api/v1", api_key_env="OPENROUTER_API_KEY", name="b"
        ),
    ]
    assert [(one.category, one.worker, one.name, one.settings["provider"]) for one in made] == [
        ("llm", "llm", "local", "local"),
        ("llm", "llm", "gpt-5-mini", "openai"),
        ("llm", "llm", "claude-sonnet-5", "anthropic"),
        ("llm", "llm", "qwen3", "openai"),
        ("llm", "llm", "b", "openai"),
    ]
    assert [one.settings["max_tokens"] for one in made] == [48, 2048, 2048, 2048, 2048]
    prices = {"input": 2.0, "cached": 0.2, "output": 10.0}
    assert operators.llm("gpt-5-mini", prices=prices).settings["prices"] == prices


@pytest.mark.parametrize(
    ("model", "options", "line"),
    [
        ("gemini-2.5-flash", {}, 'llm("gemini-2.5-flash", provider="google")'),
        ("gpt-5-mini", {"provider": "anthropic"}, 'llm("gpt-5-mini", provider="openai")'),
        ("claude-sonnet-5", {"provider": "openai"}, 'llm("claude-sonnet-5", provider="anthropic")'),
        ("grok-4", {"provider": "google"}, 'llm("grok-4", provider="xai")'),
        ("llama-4", {"provider": "mistral"}, 'llm("llama-4", provider="openrouter")'),
        ("gpt-oss-20b", {}, 'llm("gpt-oss-20b", provider="vllm")'),
        ("qwen/qwen3", {}, 'llm("qwen/qwen3", provider="openrouter")'),
    ],
)
def test_a_model_of_another_maker_is_refused_with_the_line_to_type(
    model: str, options: dict[str, Any], line: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        operators.llm(model, **options)
    assert f"mosaic.operators.{line}" in str(caught.value)
    assert operators.llm(model, base_url="http://localhost:8000/v1").settings["model"] == model


def test_a_provider_that_is_not_known_is_the_only_problem_of_its_model() -> None:
    with pytest.raises(
        ConfigurationError,
        match=r"^provider='gogle' \(did you mean 'google'\?\): must be one of openai, [^\n]*$",
    ):
        operators.llm("gemini-2.5-flash", provider="gogle")


def test_servers_that_are_known_by_name() -> None:
    models = {"google": "gemini-2.5-flash", "openrouter": "a/b", "groq": "qwen/qwen3", "vllm": "qwen3"}
    found = {provider: operators.llm(model, provider=provider) for provider, model in models.items()}
    assert {name: (one.settings["base_url"], one.pass_env_vars) for name, one in found.items()} == {
        "google": ("https://generativelanguage.googleapis.com/v1beta/openai/", ("GEMINI_API_KEY",)),
        "openrouter": ("https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
        "groq": ("https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
        "vllm": ("http://localhost:8000/v1", ()),
    }
    assert found["groq"].settings["parameters"] == {"max_tokens": "max_completion_tokens"}
    again = operators.llm(**found["groq"].settings)
    assert again.settings == found["groq"].settings, "settings from a script or bundle make the same operator"
    elsewhere = operators.llm("gemini-2.5-flash", provider="google", base_url="http://gateway/v1")
    assert elsewhere.pass_env_vars == (), "a user's own server gets a key only if named"
    with pytest.raises(ConfigurationError, match=r"structured=True: \S*deepseek\S* has no response_f"):
        operators.llm("deepseek-chat", provider="deepseek", structured=True)
    with pytest.raises(ConfigurationError, match=r"seed=0: https://generative\S* has no seed: leave it out"):
        operators.llm("gemini-2.5-flash", provider="google", seed=0)


def test_user_defined_providers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MOSAIC_LAB_HOME", str(tmp_path))
    own = tmp_path / "providers.toml"
    own.write_text(
        '[campus]\nbase_url = "https://llm.campus/v1"\nkey = "CAMPUS_KEY"\nparameters = { seed = "" }\n'
    )
    spec = operators.llm("qwen3", provider="campus")
    assert (spec.settings["base_url"], spec.pass_env_vars) == ("https://llm.campus/v1", ("CAMPUS_KEY",))
    with pytest.raises(ConfigurationError, match=r"qwen3 needs the key .* in the variable CAMPUS_KEY"):
        mosaic.Lab(tmp_path / "runs").evaluate(env="CartPole-v1", operators={"LLM": spec}, seeds=[0])
    for table, said in (
        ('[campus]\nbase_url = "llm.campus"', r"\[campus\] base_url='llm.campus': must be an address"),
        ('[campus]\naddress = "https://a"', r"line 1: \[campus\]: must be a table with base_url"),
        ('[campus]\nbase_url = "https://a"\nkey = "sk-fake-0123"', r"\[campus\] key: must be the name"),
        ("campus", r"providers.toml is not valid TOML"),
    ):
        own.write_text(table)
        with pytest.raises(ConfigurationError, match=said) as caught:
            operators.llm("qwen3", provider="campus")
        assert "sk-fake" not in str(caught.value), "a key passed by mistake is not shown"


def test_the_models_that_an_endpoint_lists(
    language_server: FakeServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MOSAIC_LAB_HOME", str(tmp_path))
    for name, api, url in (
        ("mine", "openai", language_server.openai_url),
        ("theirs", "anthropic", language_server.url),
    ):
        table = f'[{name}]\nbase_url = "{url}"\nkey = "MY_KEY"\napi = "{api}"\n'
        with (tmp_path / "providers.toml").open("a") as own:
            own.write(table)
    monkeypatch.setenv("MY_KEY", language_server.key)
    for provider in ("mine", "theirs", language_server.openai_url):
        assert mosaic.models(provider) == ["fake:legal", "fake:ok"]
    monkeypatch.setenv("MY_KEY", "sk-wrong")
    with pytest.raises(ConfigurationError, match=r"no such key: \[key\].*: set MY_KEY to a valid key"):
        mosaic.models("mine")
    monkeypatch.setenv("MY_KEY", f"{language_server.key}\n")
    with pytest.raises(ConfigurationError, match="MY_KEY has a line break or control character: set it"):
        mosaic.models("mine")
    with pytest.raises(ConfigurationError, match=r"provider='mina' \(did you mean 'mine'\?\)"):
        mosaic.models("mina")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        with pytest.raises(MosaicError, match=r"(did not answer within 0\.1 s|cannot be reached: timed out)"):
            mosaic.models(url, timeout=0.1)
    with pytest.raises(MosaicError, match=r"cannot be reached: .*refused"):
        mosaic.models(url)


def test_headers_and_body_are_recorded_and_their_keys_are_not(tmp_path: Path) -> None:
    own = {"api-key": "${GATEWAY_KEY}", "X-Title": "Lake"}
    url = "https://gateway/${TENANT_KEY}/v1"
    spec = operators.llm("qwen3", base_url=url, headers=own, body={"reasoning_effort": "low"})
    assert (spec.settings["headers"], spec.settings["body"]) == (own, {"reasoning_effort": "low"})
    assert spec.pass_env_vars == ("TENANT_KEY", "GATEWAY_KEY")
    with pytest.raises(ConfigurationError, match=r"qwen3 has \$\{TENANT_KEY\} in base_url= or headers="):
        mosaic.Lab(tmp_path / "runs").evaluate(env="CartPole-v1", operators={"LLM": spec}, seeds=[0])
    for wrong, said in (
        ({"headers": {"api-key": "abc"}}, r"headers\['api-key'\] may be a key"),
        ({"headers": {"X-Title": "sk-fake-0123456789abcdef"}}, r"headers\['X-Title'\] may be a key"),
        ({"headers": {"a b": "c"}}, "'a b' is not the name of a header"),
        ({"headers": {"a": "b\nc"}}, "printable ASCII"),
        ({"body": {"max_tokens": 5}}, r"body\['max_tokens'\]: give max_tokens= itself"),
        ({"body": {"messages": []}}, r"body\['messages'\] is set by the operator itself"),
        ({"body": {"api_key": "abc"}}, "looks like a secret"),
        ({"base_url": "https://host/sk-fake-0123456789abcdef/v1"}, "a part that looks like a key"),
    ):
        with pytest.raises(ConfigurationError, match=said) as caught:
            operators.llm("qwen3", **{"base_url": "http://localhost/v1", **wrong})
        assert "abc" not in str(caught.value), "a key passed by mistake is not shown"
    with pytest.raises(ConfigurationError, match=r"headers=, body= and parameters= are for a server"):
        operators.llm("local", body={"top_k": 5})


def test_lanes_that_wait_for_an_endpoint_are_more_than_the_cores() -> None:
    def arenas(operator: mosaic.operators.OperatorSpec) -> int:
        request = EvaluateRequest(env="CartPole-v1", operators={"it": operator})
        return plan_evaluation(request, lambda run: run).parallel

    assert arenas(operators.llm("local")) == arenas(operators.random())
    assert arenas(operators.llm("qwen3", base_url="http://localhost:8000/v1")) >= 8


def test_which_variables_are_passed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A vendor's key goes to the vendor only; any other server gets the key that the user names, or none."""
    url = "http://localhost:8000/v1"
    assert operators.llm("local").pass_env_vars == ()
    assert operators.llm("gpt-5-mini").pass_env_vars == ("OPENAI_API_KEY",)
    assert operators.llm("gpt-5-mini", pass_env_vars=["HTTPS_PROXY"]).pass_env_vars == (
        "OPENAI_API_KEY",
        "HTTPS_PROXY",
    )
    assert operators.llm("qwen3", base_url=url).pass_env_vars == ()
    assert operators.llm("qwen3", base_url=url, api_key_env="MY_KEY").pass_env_vars == ("MY_KEY",)
    assert operators.llm("claude-sonnet-5").pass_env_vars == ("ANTHROPIC_API_KEY",)
    (tmp_path / "anthropic" / "configs").mkdir(parents=True)
    (tmp_path / "anthropic" / "configs" / "default.json").write_text("{}")
    assert operators.llm("claude-sonnet-5").pass_env_vars == ("ANTHROPIC_CONFIG_DIR",), (
        "the SDK's own configuration file is enough"
    )
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    assert operators.llm("claude-sonnet-5").pass_env_vars == ("ANTHROPIC_API_KEY",)


def test_a_missing_key_is_an_error_before_anything_starts(tmp_path: Path) -> None:
    model = operators.llm("gpt-5-mini")
    with pytest.raises(ConfigurationError) as caught:
        mosaic.Lab(tmp_path / "runs").evaluate(
            env="Odd-v0", operators={"LLM": model}, seeds=[0], budget={"usd": 1}
        )
    assert "no language model plays" not in str(caught.value)
    assert "LLM: gpt-5-mini needs the key of its endpoint in the variable OPENAI_API_KEY" in str(caught.value)
    assert 'in a cell: import getpass, os; os.environ["OPENAI_API_KEY"] = getpass' in str(caught.value)
    assert 'mosaic.operators.llm("local") needs no key' in str(caught.value)


def test_a_key_in_place_of_its_variable_is_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigurationError, match="api_key_env looks like a key itself") as caught:
        operators.llm("gpt-5-mini", api_key_env="abcd1234efgh5678ijkl")
    assert "abcd1234" not in str(caught.value)


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        operators.llm(
            "gpt-5-mini",
            provider="opnai",
            base_url="localhost:8000",
            api_key_env="sk-a-key",
            temperature=3,
            max_tokens=0,
            timeout=0,
            retries=-1,
            prices={"in": 1},
            coordination="strategy",  # type: ignore[arg-type]
            history=1000,
            structured=True,
            messages=True,
            describe=tmp_path / "nothing.py:text",
        )
    text = str(caught.value)
    assert text.startswith("12 problems:")
    for wrong in (
        "provider='opnai'",
        "base_url='localhost:8000'",
        "temperature=3",
        "max_tokens=0",
        "timeout=0",
        "retries=-1",
        "prices={'in': 1}",
        "coordination='strategy'",
        "history=1000",
        "there is no file",
    ):
        assert wrong in text
    assert "sk-a-key" not in text, "a key passed by mistake is not shown"
    for secret in (
        "https://sk-a-key@host/v1",
        "https://me:sk-a-key@host/v1",
        "https://host/v1?api_key=sk-a-key",
    ):
        with pytest.raises(ConfigurationError, match="base_url has a user name") as refused:
            operators.llm("qwen3", base_url=secret)
        assert "sk-a-key" not in str(refused.value)
    with pytest.raises(ConfigurationError, match=r"llm has no temprature=.*did you mean.*temperature"):
        operators.llm("local", temprature=0)  # type: ignore[call-arg]
    with pytest.raises(ConfigurationError, match=r"there is no file .*gone\.gguf"):
        operators.llm(tmp_path / "gone.gguf")


def test_shared_keywords_are_shown_with_the_makers_own() -> None:
    assert {"model", "coordination", "provider", "base_url", "prices", "deadline"} <= set(
        inspect.signature(operators.llm).parameters
    )
    assert "retries: further attempts" in (inspect.getdoc(operators.llm) or "")


def test_a_describer_is_code_of_the_users(tmp_path: Path) -> None:
    file = tmp_path / "describe.py"
    file.write_text("def text(observation):\n    return str(observation)\n")
    spec = operators.llm("local", describe=f"{file}:text")
    assert spec.files == {"describe.py": file}
    assert spec.code == {"describe": spec.settings["describe"]}
    assert not operators.llm("local").code
    with pytest.raises(ConfigurationError, match=r"(?s)describe: .*%%writefile describe\.py"):
        operators.llm("local", describe=lambda observation: "")


def test_a_prompt_may_be_a_file_and_a_strategy_code(tmp_path: Path) -> None:
    prompt, code = tmp_path / "careful.txt", tmp_path / "mine.py"
    prompt.write_text("Careful, {agent}! {rules}")
    code.write_text("def vote(prompt, ask):\n    return ask(prompt)\n")
    for make in (operators.llm, operators.vlm):
        spec = make("qwen3", base_url="http://h/v1", system=prompt, strategy=f"{code}:vote")
        assert spec.settings["system"] == "Careful, {agent}! {rules}"
        assert (spec.files, list(spec.code)) == ({"mine.py": code}, ["strategy"])
    shown = [{"observations": ["a wall"], "actions": ["turn left"], "seed": 3}]
    few = operators.llm("local", strategy="few_shot", examples=shown, history={"tokens": 900})
    assert (few.settings["examples"], few.settings["history"]) == (shown, {"tokens": 900})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"strategy": "robust_cott"},
            "strategy='robust_cott': must be one of 'naive', .*'plan'.*did you mean",
        ),
        ({"strategy": "react"}, "strategy='react': must be one of 'naive', .*, 'plan'$"),
        ({"strategy": lambda prompt, ask: ""}, r"(?s)strategy: .*%%writefile strategy\.py.*\(prompt, ask\)"),
        (
            {"strategy": "few_shot"},
            r'strategy="few_shot" needs examples=, such as mosaic.operators.examples\(',
        ),
        ({"strategy": "cot", "structured": True}, "structured=True leaves no room for the reasoning of"),
        ({"strategy": "naive", "messages": True}, "strategy='naive' leaves no room for messages"),
        (
            {"system": "Play, {agnet}!"},
            r"there is no placeholder \{agnet\}.*did you mean 'agent'.*\{\{agnet\}\}",
        ),
        ({"system": "gone.txt"}, r"system: gone.txt cannot be read: .*No such file"),
        ({"system": " "}, "system=' ': must be a string of 1 to 100,000 characters"),
        ({"history": {"step": 3}}, r'must be \{"steps": …\}, \{"tokens": …\} or both'),
        ({"history": {"tokens": -1}}, r"history\['tokens'\]=-1: must be an integer from 0 to 1,000,000"),
        ({"examples": [{"observations": ["a"], "actions": ["b", "c"]}]}, "has 1 observations and 2 actions"),
        ({"examples": [{"text": "a"}]}, r'examples\[0\]: must be \{"observations": \[text, …\]'),
        ({"examples": 3}, "examples: 3 has no episodes: give an evaluation or a comparison"),
    ],
)
def test_a_prompt_that_cannot_be_is_refused(given: dict[str, Any], said: str) -> None:
    for make in (operators.llm, operators.vlm):
        with pytest.raises(ConfigurationError, match=said):
            make("qwen3", base_url="http://h/v1", **given)
