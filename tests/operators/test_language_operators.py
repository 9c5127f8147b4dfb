"""Language models as operators: what their makers accept, which keys they need, and what is refused."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

import mosaic_lab as mosaic
from mosaic_lab import operators
from mosaic_lab.errors import ConfigurationError
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
        ("grok-4", {"provider": "google"}, 'llm("grok-4", provider="openrouter")'),
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
    with pytest.raises(ConfigurationError, match=r"^provider='gogle': must be one of [^\n]*$"):
        operators.llm("gemini-2.5-flash", provider="gogle")  # type: ignore[arg-type]


def test_servers_that_are_known_by_name() -> None:
    found = {
        provider: operators.llm(model, provider=provider)
        for provider, model in (("google", "gemini-2.5-flash"), ("openrouter", "a/b"), ("vllm", "qwen3"))
    }
    assert {name: (one.settings["base_url"], one.pass_env_vars) for name, one in found.items()} == {
        "google": ("https://generativelanguage.googleapis.com/v1beta/openai/", ("GEMINI_API_KEY",)),
        "openrouter": ("https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
        "vllm": ("http://localhost:8000/v1", ()),
    }
    elsewhere = operators.llm("gemini-2.5-flash", provider="google", base_url="http://gateway/v1")
    assert elsewhere.pass_env_vars == (), "a server of the user's own is given no key unless it is named"


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
        assert "abc" not in str(caught.value), "a key that is given by mistake is not shown"
    with pytest.raises(ConfigurationError, match=r"headers= and body= are for a server"):
        operators.llm("local", body={"top_k": 5})


def test_lanes_that_wait_for_an_endpoint_are_more_than_the_cores() -> None:
    def arenas(operator: mosaic.operators.OperatorSpec) -> int:
        request = EvaluateRequest(env="CartPole-v1", operators={"it": operator})
        return plan_evaluation(request, lambda run: run).parallel

    assert arenas(operators.llm("local")) == arenas(operators.random())
    assert arenas(operators.llm("qwen3", base_url="http://localhost:8000/v1")) >= 8


def test_which_variables_are_passed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A vendor's key goes to the vendor; another server gets the one that the user names, or none."""
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
        "the SDK's own file is enough"
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
            provider="opnai",  # type: ignore[arg-type]
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
    assert "sk-a-key" not in text, "a key that is given by mistake is not shown"
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
    assert spec.code == spec.settings["describe"]
    assert operators.llm("local").code is None
    with pytest.raises(ConfigurationError, match=r"(?s)describe: .*%%writefile describe\.py"):
        operators.llm("local", describe=lambda observation: "")
