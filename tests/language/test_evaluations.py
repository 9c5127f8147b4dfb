"""Language-model evaluations through the real worker and SDK: recorded, replayed, budgeted, killed."""

from __future__ import annotations

import json
import random
import re
import textwrap
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import psutil
import pytest
from arenas.comparison_fixtures import Compare
from evaluation.evaluation_fixtures import Evaluate
from language.frozen_lake import KEY, LAKE, model
from language.language_fixtures import FakeServer
from support import marked_processes, wait_until

import mosaic_lab as mosaic
from mosaic_lab import notebooks, operators
from mosaic_lab.cli import main
from mosaic_lab.errors import ConfigurationError, RunFailed
from mosaic_lab.evaluation import Evaluation
from mosaic_lab.evaluation.launch import evaluate
from mosaic_lab.evaluation.request import EvaluateRequest
from mosaic_lab.keeper.states import State
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.overview.service import Service
from mosaic_lab.runs import Supervisor

pytestmark = pytest.mark.usefixtures("lake_key")


def supervisor_of(evaluation: Evaluation) -> Supervisor:
    return Supervisor(evaluation.path.parent)


def test_every_exchange_is_in_a_table_with_what_it_cost(played: Evaluation, server: FakeServer) -> None:
    table = played.exchanges("LLM")
    assert len(table) == 8
    assert list(table["seed"]) == [3] * 4 + [4] * 4
    assert list(table["step"]) == [0, 1, 2, 3] * 2
    first = table.iloc[0]
    assert "[system]" in first["prompt"] and first["answer"] == first["parsed"]
    assert first["cost_usd"] == pytest.approx((first["input_tokens"] + 2 * first["output_tokens"]) / 1e6)
    assert not table["recorded"].any() and (table["latency_ms"] > 0).all()
    assert len(played.exchanges()) == 8 and len(played.exchanges("random")) == 0
    with pytest.raises(ConfigurationError, match="no operator 'PPO': the operators are LLM, random"):
        played.exchanges("PPO")

    results = played.results().set_index(["operator", "seed"])
    assert results.loc[("LLM", 3), "exchanges"] == 4
    assert results.loc[("LLM", 3), "cost_usd"] == pytest.approx(table[:4]["cost_usd"].sum())
    assert results.loc[("random", 3), "exchanges"] == 0
    assert np.isnan(results.loc[("random", 3), ["cost_usd", "exchange_ms_p50"]].astype(float)).all()
    summary = played.summary()
    assert summary.loc["LLM", "exchanges"] == 8 and summary.loc["LLM", "parse_faults"] == 0
    assert summary.loc["LLM", "input_tokens"] == table["input_tokens"].sum()
    assert summary.loc["LLM", "exchange_ms_p95"] >= summary.loc["LLM", "exchange_ms_p50"] > 0
    assert summary.loc["LLM", "episode_usd"] == pytest.approx(table["cost_usd"].sum() / 2)
    spent = played.spent()
    assert (spent["calls"], spent["usd"]) == (8, pytest.approx(table["cost_usd"].sum()))
    assert np.isnan(summary.loc["random", ["cost_usd", "episode_usd"]].astype(float)).all()
    plot = played.cost_plot()
    (facet,) = plot.facets
    assert [mark.label for mark in facet.marks] == ["LLM"]
    assert plot.note.endswith("no model called: random")
    assert facet.marks[0].points[0][0] == pytest.approx(summary.loc["LLM", "episode_usd"])


def test_recorded_episodes_are_examples(played: Evaluation, server: FakeServer) -> None:
    (best,) = operators.examples(played, "random", steps=2)
    returns = played.results().query("operator == 'random'")["return"]
    assert (best["operator"], best["return"]) == ("random", returns.max())
    assert "You are at row 1, column 1" in best["observations"][0] and len(best["observations"]) <= 2
    assert set(best["actions"]) <= {"left", "down", "right", "up"}
    few = model(server, strategy="few_shot", examples=played)
    assert len(few.settings["examples"]) == 1, "an evaluation gives its best episode"
    with pytest.raises(ConfigurationError, match=r"operator='randon': no such .*did you mean 'random'"):
        operators.examples(played, "randon")


def test_a_replay_needs_no_key_and_has_what_the_model_read_and_wrote(
    played: Evaluation, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY)
    calls = len(server.requests())
    replay = played.replay("LLM", seed=4)
    assert (len(replay), replay.difference, len(server.requests())) == (4, None, calls)
    (exchange,) = replay[0].exchanges
    assert "[system]" in exchange.prompt and exchange.answer == exchange.parsed and not exchange.faults
    table = played.exchanges("LLM")
    for shown, name in {"prompt": "prompt", "answer_faults": "faults"}.items():
        assert replay.table()[shown].tolist() == table[table["seed"] == 4][name].tolist()
    assert "prompt" not in played.replay("random", seed=4).table()


def test_played_again_from_the_recording_without_a_key_or_an_endpoint(
    tmp_path: Path,
    played: Evaluation,
    server: FakeServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    supervisor, before = supervisor_of(played), server.count
    monkeypatch.delenv(KEY)
    with pytest.raises(ConfigurationError, match=rf"needs the key of its endpoint in the variable {KEY}"):
        evaluate(supervisor, EvaluateRequest(operators={"LLM": model(server)}, seeds=[3], **LAKE))
    both = {"LLM": model(server), "random": operators.random()}
    request = EvaluateRequest(operators=both, seeds=[3, 4], replay=played, **LAKE)
    again = evaluate(supervisor, request).wait(240)
    assert again.fingerprint() == played.fingerprint()
    assert again.exchanges()["recorded"].all() and again.spent()["calls"] == 0
    assert again.verify().same, "a replay makes its own recording"
    assert again.summary().loc["LLM", "cost_usd"] == played.summary().loc["LLM", "cost_usd"]

    one = {"LLM": model(server, coordination="advice")}
    other = evaluate(supervisor, EvaluateRequest(operators=one, seeds=[3], replay=str(played.path), **LAKE))
    with pytest.raises(
        RunFailed,
        match=r"LLM, seed 3: .*departs from the recording at episode 0, step "
        r"0",
    ) as left:
        other.wait(240)
    assert str(left.value).count("departs from the recording") == 1, "not repeated from the operator's log"

    bundle = played.bundle(tmp_path / "share.zip")
    elsewhere = ["--into", str(tmp_path / "into"), "--store", str(tmp_path / "elsewhere")]
    assert main(["evaluate", str(bundle), "--verify", *elsewhere]) == 0
    assert "identical: 4 episodes" in capsys.readouterr().out
    replay = ["--replay", str(tmp_path / "into"), "--store", str(tmp_path / "elsewhere")]
    assert main(["evaluate", str(tmp_path / "into" / "script.json"), *replay]) == 0
    (found,) = (Evaluation(run.folder) for run in Supervisor(tmp_path / "elsewhere").runs())
    assert found.fingerprint() == played.fingerprint()
    assert server.count == before, "the endpoint was not called again"


CELLS = (
    """
    import mosaic_lab as mosaic
    lab = mosaic.Lab("runs")
    def model(name, key):
        return mosaic.operators.llm(name, base_url=URL, api_key_env=key, retries=0)
    lake = {"env": "FrozenLake-v1", "max_steps": 3, "seeds": [1]}
    ev = lab.evaluate(operators={"LLM": model("fake:legal", "LAKE_KEY")}, **lake).wait()
    ev
    """,
    """
    print(ev.bundle("share.zip"))
    ev.exchanges()
    """,
    """
    cmp = lab.compare(operators={"LLM": model("fake:legal", "LAKE_KEY")}, **lake)
    cmp.step()
    cmp
    """,
    """
    cmp.stop()
    try:
        lab.evaluate(operators={"LLM": model("fake:legal", "WRONG_KEY")}, **lake).wait()
    except mosaic.RunFailed as error:
        print(error)
    """,
)
WRONG = "sk-wrong-fedcba9876543210"


def test_no_file_has_a_key_neither_what_runs_write_nor_the_notebook_its_page_and_the_bundle(
    tmp_path: Path, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WRONG_KEY", WRONG)
    sources = [f"URL = {server.openai_url!r}", *map(textwrap.dedent, CELLS)]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one.strip()) for one in sources])
    nbformat.write(notebook, tmp_path / "keys.ipynb")
    notebooks.execute(tmp_path / "keys.ipynb", tmp_path / "executed.ipynb")
    notebooks.to_html(tmp_path / "executed.ipynb", tmp_path / "page.html")
    written = {str(path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with zipfile.ZipFile(tmp_path / "share.zip") as bundle:
        written |= {f"share.zip/{name}": bundle.read(name) for name in bundle.namelist()}
    for part in ("/exchanges/", ".log", "config.json", "/comparisons/", "share.zip/exchanges/", "page.html"):
        assert any(part in name for name in written), part
    assert b"WRONG_KEY" in written[str(tmp_path / "executed.ipynb")].rpartition(b"outputs")[2], (
        "the reason of the failure"
    )
    for secret in (server.key, WRONG):
        assert [name for name, content in written.items() if secret.encode() in content] == []


def test_a_spent_budget_ends_an_evaluation_and_a_larger_one_resumes_it(
    tmp_path: Path, start_evaluation: Evaluate, server: FakeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    before = server.count
    evaluation = start_evaluation(
        operators={"LLM": model(server, max_tokens=10)},
        seeds=range(6),
        parallel=1,
        budget={"tokens": 2000},
        **LAKE,
    ).wait(240)
    assert evaluation.state is State.CANCELLED
    assert re.match(
        r"the budget of 2,000 tokens is spent: [\d,]+ tokens in \d+ calls; resume\(budget=…\) continues",
        evaluation.reason,
    )
    done, spent = evaluation.done, evaluation.spent()
    assert 0 < done < 6 and 0 < spent["tokens"] <= 2000
    nothing = start_evaluation(
        operators={"LLM": model(server)}, seeds=[1], budget={"tokens": 200}, **LAKE
    ).wait(240)
    assert nothing.reason.startswith("the budget of 200 tokens is too small for one call")
    assert nothing.spent()["calls"] == 0
    with pytest.raises(
        ConfigurationError, match=r'is spent: .*give a larger one, resume\(budget={"tokens": 40'
    ):
        evaluation.resume()
    with pytest.raises(ConfigurationError, match="leaves nothing to spend"):
        evaluation.resume(budget={"tokens": 1500})
    resume = ["evaluate", "--resume", evaluation.id, "--store", str(evaluation.path.parent)]
    assert main([*resume, "--budget-tokens", str(2000 + spent["tokens"] // 2)]) == 1
    assert f"--resume {evaluation.id} continues with a larger budget" in capsys.readouterr().out
    again = Evaluation(evaluation.folder)
    again.resume(budget={"tokens": 1_000_000}).wait(240)
    assert (again.done, again.state) == (6, State.COMPLETED)
    assert server.count - before == again.spent()["calls"] == 24, "no answer was paid for twice"


@pytest.mark.parametrize("kills", [2, pytest.param(60, marks=pytest.mark.extended)])
def test_killed_at_any_moment_it_pays_for_no_recorded_answer_again(
    kills: int, start_evaluation: Evaluate, server: FakeServer
) -> None:
    before, dice = server.count, random.Random(kills)
    evaluation = start_evaluation(
        operators={"LLM": model(server, "fake:latency=0.3+legal")},
        seeds=range(2 * kills),
        parallel=2,
        on_failure="stop",
        **{**LAKE, "max_steps": 3},
    )
    lost = 0
    for _ in range(kills):
        begun = evaluation.spent()["calls"]
        wait_until(lambda begun=begun: evaluation.spent()["calls"] > begun or evaluation.finished, 120)
        assert not evaluation.finished
        time.sleep(dice.uniform(0, 0.3))  # at a random moment of a call
        victim = dice.choice(processes(evaluation))
        victim.kill()
        wait_until(lambda: evaluation.finished, 60)
        wait_until(lambda: not marked_processes(evaluation.path))
        unrecorded = server.count - before - lost - evaluation.spent()["calls"]
        assert 0 <= unrecorded <= 2, "at most one call in flight per arena"
        lost += unrecorded
        evaluation.resume()
    evaluation.wait(600)
    assert evaluation.state is State.COMPLETED
    table = evaluation.exchanges()
    moments = Counter(zip(table["seed"], table["step"], table["call"], strict=True))
    assert set(moments.values()) == {1}
    assert len(moments) == 3 * 2 * kills
    assert server.count - before == len(table) + lost


def processes(evaluation: Evaluation) -> list[psutil.Process]:
    """Return the evaluation's own process, an arena's and an operator's, as far as they are running."""
    found: dict[str, psutil.Process] = {}
    for process in marked_processes(evaluation.path):
        try:
            line = " ".join(process.cmdline())
        except psutil.Error:
            continue
        for name in ("mosaic_lab.evaluation", "--arena", "--interactive"):
            if name in line:
                found.setdefault(name, process)
    return list(found.values())


def test_an_endpoint_that_was_slow_is_no_other_evaluation(
    start_evaluation: Evaluate, server: FakeServer
) -> None:
    lanes = {"LLM": model(server, server.script("slow once", "latency=1+legal", "legal"), deadline=0.5)}
    evaluation = start_evaluation(operators=lanes, seeds=[1], **LAKE).wait(240)
    assert evaluation.results()["late"].item() >= 1
    again = start_evaluation(operators=lanes, seeds=[1], replay=evaluation, **LAKE).wait(240)
    assert again.fingerprint() == evaluation.fingerprint()


def test_stop_answers_in_the_middle_of_a_call(
    start_evaluation: Evaluate, start_comparison: Compare, server: FakeServer
) -> None:
    slow, before = model(server, "fake:latency=10+legal"), server.count
    evaluation = start_evaluation(operators={"LLM": slow}, seeds=[1], **LAKE)
    wait_until(lambda: server.count > before, 120)
    began = time.monotonic()
    evaluation.stop()
    assert time.monotonic() - began < 2
    assert evaluation.state is State.CANCELLED

    comparison, before = start_comparison(operators={"LLM": slow}, **LAKE), server.count
    comparison.step(timeout=0)
    wait_until(lambda: server.count > before, 120)
    began = time.monotonic()
    comparison.stop()
    assert time.monotonic() - began < 2


def test_a_transcript_has_the_exchanges_of_an_evaluation_and_of_a_comparison(
    played: Evaluation, start_comparison: Compare, server: FakeServer
) -> None:
    assert [len(played.transcript()), len(played.transcript("LLM", seed=3))] == [8, 4]
    assert "The returns of LLM, random are all equal: an interval of zero" in repr(played.summary())
    with pytest.raises(ConfigurationError, match="no operator 'PPO': the operators are LLM, random"):
        played.transcript("PPO")
    with pytest.raises(ConfigurationError, match="seed=5: its seeds are 3, 4"):
        played.transcript("LLM", seed=5)
    samples = json.loads(played.transcript().save(played.path / "log.json").read_text())["samples"]
    assert [sample["id"] for sample in samples] == ["LLM, seed 3", "LLM, seed 4"]
    assert all("return" in sample["scores"] for sample in samples)

    comparison = start_comparison(operators={"LLM": model(server)}, seeds=[5], **LAKE)
    comparison.step(2)
    transcript = comparison.transcript("LLM", seed=5)
    assert len(transcript) == 2

    for store, name, count in ((played.path.parent, played.id, 8), (transcript.store, transcript.name, 2)):
        service = Service(store)
        page, _ = service.answer("transcript", {"run": name, "first": 1, "rows": 1})
        assert (page["total"], page["indexed"], page["searched"]) == (count, 1, 1)
        (row,) = page["rows"]
        exchange, _ = service.answer("exchange", {"run": name, "id": row["id"]})
        assert exchange["place"]["step"] == 1 and exchange["call"]["answer"][1] == row["action"]
        means, numbers = service.answer("exchange_means", {"run": name, "amount": "tokens"})
        assert [line["label"] for line in means["lines"]] == ["LLM"] and len(numbers) == 2
        _, (file,) = service.answer("exchange_file", {"run": name, "format": "jsonl"})
        assert len(file.splitlines()) == count


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an amount": ({"budget": {"usd": -1}}, r"budget\['usd'\]=-1: must be a number of US dollars > 0"),
    "a unit": ({"budget": {"dollars": 1}}, r"budget has no key 'dollars'"),
    "no table": ({"budget": 2.0}, r'budget=2.0: must be \{"usd": 2.0\}'),
    "tokens": ({"budget": {"tokens": 1.5}}, "must be an integer > 0"),
    "a run": ({"replay": "nothing"}, "replay='nothing': must be an evaluation, the id of one"),
    "no evaluation": ({"replay": 7}, "replay=7: must be an evaluation"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_is_refused_before_anything_starts(what: str, tmp_path: Path) -> None:
    given, says = REFUSED[what]
    lab = mosaic.Lab(tmp_path)
    with pytest.raises(ConfigurationError, match=says):
        lab.evaluate(operators={"LLM": operators.llm("local")}, seeds=[1], **LAKE, **given)
    assert not lab.runs


def test_what_does_not_fit_the_models_or_the_recording_is_refused(
    tmp_path: Path, played: Evaluation, server: FakeServer
) -> None:
    supervisor = supervisor_of(played)

    def refused(says: str, llm: OperatorSpec | None = None, label: str = "LLM", **given: Any) -> None:
        request = {"operators": {label: llm or model(server)}, "seeds": [3], **LAKE, **given}
        with pytest.raises(ConfigurationError, match=says):
            evaluate(supervisor, EvaluateRequest(**request))

    refused(r"the price of the model 'fake:legal' is unknown", model(server, prices=None), budget={"usd": 1})
    refused("no language model plays here", operators.random(), budget={"usd": 1})
    refused("no language model or engine plays here", operators.random(), replay=played)
    refused("was played in FrozenLake-v1, not in Taxi-v3", env="Taxi-v3", env_kwargs=None, replay=played)
    refused("has no recording of GPT: it has LLM", label="GPT", replay=played.id)
    refused(
        "LLM was recorded with fake:legal in .*, not with fake:other",
        model(server, "fake:other"),
        replay=played,
    )
    refused("the seeds 7, 8 were not played in", seeds=[3, 7, 8], replay=played)
    refused("costs nothing; leave the budget out", replay=played, budget={"usd": 1})
    refused(rf"replay: {tmp_path} has no recording", replay=tmp_path)


def test_a_script_names_language_models_a_budget_and_a_replay(
    tmp_path: Path, played: Evaluation, server: FakeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "lake.toml"
    script.write_text(
        'env = "FrozenLake-v1"\nenv_kwargs = { is_slippery = false }\nmax_steps = 4\nseeds = [3]\n'
        f'replay = "{played.path}"\n[operators.LLM]\nkind = "llm"\nmodel = "fake:legal"\n'
        f'base_url = "{server.openai_url}"\napi_key_env = "{KEY}"\n'
    )
    where = ["--store", str(tmp_path / "runs")]
    assert main(["evaluate", str(script), *where]) == 0
    assert "completed, 1 of 1 episodes" in capsys.readouterr().out
    script.write_text(script.read_text().replace(f'replay = "{played.path}"\n', "budget = { usd = 0.0 }\n"))
    assert main(["evaluate", str(script), *where]) == 1
    assert "line 5: budget['usd']=0.0: must be a number of US dollars > 0" in capsys.readouterr().err
    script.write_text(script.read_text().replace('model = "fake', 'modle = "fake'))
    assert main(["evaluate", str(script), *where, "--budget-usd", "1"]) == 1
    assert "unknown key 'modle'; did you mean 'model'?" in capsys.readouterr().err
