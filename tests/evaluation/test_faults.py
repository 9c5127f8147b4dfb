"""Faults in evaluations: after failures, stops and kills, no episode is lost, repeated or left out."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import signal
from pathlib import Path

import pandas as pd
import pytest
from evaluation.evaluation_fixtures import Evaluate, odd, outcomes, resealed
from mosaic_contract.codec import seal
from support import in_own_mounts, wait_until

from mosaic_lab import operators, policies
from mosaic_lab.cli import main
from mosaic_lab.errors import ConfigurationError, MosaicError, RunFailed
from mosaic_lab.evaluation import Evaluation
from mosaic_lab.evaluation.episode_log import EpisodeLog, repair
from mosaic_lab.keeper.states import State
from mosaic_lab.widgets.evaluation.evaluation_panel import EvaluationPanel

pytestmark = pytest.mark.usefixtures("odd_home")


def walker(**settings: object) -> object:
    return operators.worker("odd", **settings)


def alone(**settings: object) -> object:
    """A walker that plays one episode at a time: a failed batch would be played again, and a fault that
    occurs once would not recur."""
    return operators.worker("odd", deadline=30.0, **settings)


def lines(evaluation: Evaluation) -> list[bytes]:
    return (evaluation.path / "telemetry.jsonl").read_bytes().splitlines()


@pytest.mark.parametrize("most", [2, pytest.param(20, marks=pytest.mark.extended)])
def test_killed_at_any_moment_and_resumed_it_is_as_if_undisturbed(
    most: int, start_evaluation: Evaluate
) -> None:
    walkers = {"one": walker(), "two": walker()}
    arguments = odd(operators=walkers, seeds=range(40 + 3 * most), step_delay=0.002, parallel=2)
    undisturbed = start_evaluation(**arguments)
    disturbed = start_evaluation(**arguments)
    dice = random.Random(5)
    kills = 0
    while kills < most:
        wait_until(lambda: disturbed.state is State.RUNNING or disturbed.finished)
        before = disturbed.done
        some = before + dice.randrange(1, 10)
        wait_until(lambda some=some: disturbed.done >= some or disturbed.finished)
        if disturbed.finished:
            break
        pid = disturbed.status.worker_pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        kills += 1
        wait_until(lambda: disturbed.finished)
        with (disturbed.path / "telemetry.jsonl").open("ab") as torn:
            torn.write(lines(disturbed)[-1][: dice.randrange(0, 80)])
        disturbed.resume()
    assert kills == most
    undisturbed.wait(120)
    disturbed.wait(120)
    assert undisturbed.done == undisturbed.total == 80 + 6 * most
    pd.testing.assert_frame_equal(outcomes(disturbed), outcomes(undisturbed))
    once = [line for line in lines(disturbed) if b'"type":"episode"' in line]
    assert len(once) == undisturbed.total
    for seed in (0, 20, 39):
        columns = ["step_index", "action", "reward"]
        ours, theirs = (found.steps("two", seed)[columns] for found in (disturbed, undisturbed))
        pd.testing.assert_frame_equal(ours, theirs)


def test_a_stop_a_torn_line_and_a_flipped_digit_leave_no_trace(
    start_evaluation: Evaluate, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = odd(operators={"one": walker(), "two": walker()}, seeds=range(20))
    undisturbed = start_evaluation(**arguments).wait(60)
    expected = undisturbed.fingerprint()
    rewards = [json.loads(lines(undisturbed)[-1])["payload"]["total_reward"]]
    evaluation = start_evaluation(**arguments, step_delay=0.002)
    wait_until(lambda: evaluation.done >= 22)  # the first operator has finished
    evaluation.stop()
    evaluation.resume().wait(60)
    history = evaluation.status.history
    assert evaluation.resume().status.history == history, "no episode remained to play"
    assert evaluation.versions == undisturbed.versions
    assert evaluation.fingerprint() == expected
    rewards.append(json.loads(lines(evaluation)[-1])["payload"]["total_reward"])

    telemetry = evaluation.path / "telemetry.jsonl"
    whole = telemetry.read_bytes()
    telemetry.write_bytes(whole[: whole.rindex(b'"type":"episode"') + 40])
    evaluation.resume().wait(60)
    assert evaluation.versions == undisturbed.versions
    assert evaluation.fingerprint() == expected
    rewards.append(json.loads(lines(evaluation)[-1])["payload"]["total_reward"])
    assert rewards == [40 * 210.0] * 3

    written = telemetry.read_bytes().splitlines(keepends=True)
    episodes = [number for number, line in enumerate(written) if b'"type":"episode"' in line]
    first, second = episodes[3], episodes[30]
    written[first] = written[first].replace(b'"total_reward":210.0', b'"total_reward":310.0')
    written[second] = written[second].replace(b'"timestamp"', b'"time\xf3tamp"')
    telemetry.write_bytes(b"".join(written))
    damaged = Evaluation(evaluation.folder)
    said = rf"is damaged in lines {first + 1} and {second + 1}: the checksum does not match.*--resume"
    for look in (damaged.results, damaged.summary, damaged.fingerprint):
        with pytest.raises(MosaicError, match=said):
            look()
    assert "38 of 40 episodes, damaged: resume() repairs it" in repr(damaged)
    panel = EvaluationPanel(damaged.folder)
    assert panel.settle()
    html, picture = panel.static_caption().tables, panel.static_picture()
    panel.close()
    assert f"is damaged in lines {first + 1} and {second + 1}" in html
    assert html.count("<td>–</td>") == 8 and picture is None, "no statistic of either operator is shown"
    store = ["--store", str(evaluation.path.parent)]
    assert main(["evaluate", "--resume", evaluation.id, *store]) == 0
    assert "completed, 40 of 40 episodes" in capsys.readouterr().out
    assert damaged.fingerprint() == evaluation.fingerprint() == expected
    log = (evaluation.path / "worker.log").read_text()
    assert f"lines {first + 1} and {second + 1} of telemetry.jsonl dropped" in log


def test_a_full_disk_ends_an_evaluation_that_has_fewer_episodes_than_planned(tmp_path: Path) -> None:
    found = in_own_mounts("full_disk.py", "fills_under_an_evaluation", tmp_path)
    assert found["state"] == found["state_then"] == "failed" and 3 <= found["done"] < 200
    assert "the run store's disk is full" in found["reason"]
    assert "not all of the 200 episodes could be written to" in found["reason"]
    assert found["refused"].endswith("/disk/runs is full")
    note = f"{found['done']} of 200 episodes are recorded: these numbers cover only those."
    assert note in found["summary"]
    state, done, summary = found["at_last"]
    assert (state, done) == ("completed", 200) and "are recorded" not in summary


def test_a_limit_of_file_sizes_is_named_by_the_evaluation_that_it_ends(start_evaluation: Evaluate) -> None:
    evaluation = start_evaluation(**odd(operators={"steady": walker()}, seeds=range(2000)))
    wait_until(lambda: evaluation.done > 3)
    limit = evaluation.folder.telemetry_path.stat().st_size + 5000
    worker = evaluation.status.worker_pid
    assert worker is not None
    resource.prlimit(worker, resource.RLIMIT_FSIZE, (limit, limit))
    with pytest.raises(RunFailed):
        evaluation.wait(60)
    assert "the run failed: not all of the 2,000 episodes could be written to" in evaluation.reason
    assert 3 < evaluation.done < 2000


def test_an_operator_dies_in_episode_37_and_is_skipped(start_evaluation: Evaluate) -> None:
    mortal = walker(behaviour="die", episode=37)
    both = {"mortal": mortal, "steady": walker()}
    evaluation = start_evaluation(**odd(operators=both, seeds=range(60), on_failure="skip")).wait(120)
    table = evaluation.results()
    assert len(table) == 120
    (failed,) = table[table["status"] == "failed"].to_dict("records")
    assert (failed["operator"], failed["seed"]) == ("mortal", 37)
    assert "was killed by signal 9 (SIGKILL)" in failed["error"]
    assert "goodbye, cruel world" in failed["error"]
    assert pd.isna(failed["return"])
    summary = evaluation.summary()
    assert summary["failed"].to_dict() == {"mortal": 1, "steady": 0}
    assert summary["episodes"].to_dict() == {"mortal": 59, "steady": 60}
    assert summary["mean"].to_dict() == {"mortal": 210.0, "steady": 210.0}
    assert evaluation.compare("mortal", "steady").failed == {"mortal": 1, "steady": 0}
    assert evaluation.failed == 1
    assert "1 of them failed" in repr(evaluation)


def test_a_failure_stops_the_evaluation_and_is_retried_when_it_is_resumed(
    tmp_path: Path, start_evaluation: Evaluate
) -> None:
    once = alone(behaviour="die", episode=7, once=str(tmp_path / "once"))
    evaluation = start_evaluation(**odd(operators={"mortal": once}, seeds=range(20)))
    with pytest.raises(RunFailed, match=r"mortal, seed 7: mortal was killed by signal 9"):
        evaluation.wait(60)
    assert (evaluation.done, evaluation.failed) == (8, 1)
    evaluation.resume().wait(60)
    assert (evaluation.done, evaluation.failed) == (20, 0)


def test_a_failure_is_tried_again_in_a_fresh_arena(tmp_path: Path, start_evaluation: Evaluate) -> None:
    players = {
        "once": walker(behaviour="die", episode=7, once=str(tmp_path / "once")),
        "always": walker(behaviour="die", episode=7),
    }
    evaluation = start_evaluation(**odd(operators=players, seeds=range(10), on_failure="retry")).wait(60)
    failed = evaluation.results().query("status == 'failed'")
    assert list(zip(failed["operator"], failed["seed"], strict=True)) == [("always", 7)]
    assert len(evaluation.results()) == 20


@pytest.mark.parametrize("trouble", ["raise", "exit"])
def test_an_environment_that_fails_is_recorded(trouble: str, start_evaluation: Evaluate) -> None:
    arguments = odd(operators={"one": walker()}, seeds=range(3), on_failure="skip")
    evaluation = start_evaluation(**arguments, env_kwargs={"trouble": trouble}).wait(60)
    said = {"raise": "the environment broke", "exit": "exit code 7"}[trouble]
    assert evaluation.failed == 3
    assert evaluation.results()["error"].str.contains(said).all()
    assert evaluation.summary()["mean"].isna().all()


def test_an_environment_that_hangs_fails_its_episode(tmp_path: Path, start_evaluation: Evaluate) -> None:
    trouble = {"trouble": "hang", "at": 3, "once": str(tmp_path / "step")}
    skips = start_evaluation(
        **odd(operators={"one": alone()}, seeds=range(8), on_failure="skip", step_timeout=6),
        env_kwargs=trouble,
    )
    reset = {"trouble": "hang_in_reset", "once": str(tmp_path / "reset")}
    retries = start_evaluation(
        **odd(operators={"one": walker()}, seeds=range(3), on_failure="retry", step_timeout=1),
        env_kwargs=reset,
    )
    panel = EvaluationPanel(skips.folder)
    (stall,) = wait_until(lambda: skips.stalls)
    said = str(stall)
    assert re.fullmatch(r"no step for \d s: one, seed 0, waiting for its environment", said)
    assert "about 0 s remaining" not in repr(skips)
    assert "no step for" in repr(skips)
    panel.start()
    assert any("no step for" in notice["text"] for notice in panel.footer.notices)
    panel.close()
    wait_until(lambda: str(skips.stalls[0]) != said)  # the seconds are updated

    retries.wait(60)
    assert (retries.done, retries.failed) == (3, 0)
    skips.wait(60)
    assert skips.stalls == []
    (failed,) = skips.results().query("status == 'failed'").to_dict("records")
    assert failed["seed"] == 0
    assert failed["error"].startswith("the environment's step took longer than 6 s (step_timeout)")
    assert "time.sleep(3600)" in failed["error"]  # the line that hangs
    assert skips.done == 8


def test_a_suspended_arena_fails_its_episode(start_evaluation: Evaluate) -> None:
    evaluation = start_evaluation(
        **odd(operators={"one": walker()}, seeds=range(3), step_delay=0.05, step_timeout=0.5)
    )
    wait_until(lambda: evaluation.done)
    (arena,) = evaluation.arenas
    assert arena.status.worker_pid is not None
    os.kill(arena.status.worker_pid, signal.SIGSTOP)
    with pytest.raises(
        RunFailed, match=r"one, seed 1: its arena has not responded for 5\.5 s: it was suspend"
    ):
        evaluation.wait(60)
    evaluation.resume().wait(60)
    assert (evaluation.done, evaluation.failed) == (3, 0)


def test_an_operators_time_does_not_count_as_the_environments(start_evaluation: Evaluate) -> None:
    slow = walker(behaviour="slow", at=20, seconds=4)
    evaluation = start_evaluation(**odd(operators={"slow": slow}, seeds=[1], step_timeout=1))
    shown = "slow, seed 1, waiting for its operator"
    wait_until(lambda: any(str(stall).endswith(shown) for stall in evaluation.stalls))
    assert list(evaluation.wait(60).results()["status"]) == ["ok"]


def test_an_environment_that_can_no_longer_be_made_fails_all_episodes(
    start_evaluation: Evaluate, tmp_path: Path
) -> None:
    settings = {"trouble": "unbuildable_again", "once": str(tmp_path / "once")}
    arguments = odd(operators={"one": walker()}, seeds=range(3), env_kwargs=settings)
    evaluation = start_evaluation(**arguments)
    with pytest.raises(RunFailed, match="the environment could not be built"):
        evaluation.wait(60)
    evaluation = start_evaluation(**arguments, on_failure="retry").wait(60)
    assert evaluation.results()["error"].str.contains("the environment could not be built").all()
    assert (evaluation.done, evaluation.failed) == (3, 3)
    assert len(evaluation.arenas) <= 3


def test_mappings_that_do_not_fit_are_refused(start_evaluation: Evaluate) -> None:
    players = {name: walker() for name in ("one", "two", "three", "four", "five")}
    with pytest.raises(ConfigurationError) as caught:
        start_evaluation(**odd(operators=policies.pairings(players, ["agent_0", "agnet_1"])))
    text = str(caught.value)
    lanes = "one against two, one against three, one against four and 17 more"
    assert text.startswith(f"{lanes}: 'agnet_1' names no agent (did you mean 'agent_0'?): ")
    assert text.count("names no agent") == 1, "one message for all players"


def test_faults_are_in_the_results(start_evaluation: Evaluate) -> None:
    clumsy = operators.worker("odd", behaviour="illegal", fallback="default")
    slow = operators.worker("odd", behaviour="slow", at=20, deadline=0.1, seconds=0.3)
    players = {"clumsy": clumsy, "slow": slow}
    table = start_evaluation(**odd(operators=players, seeds=[1])).wait(60).results().set_index("operator")
    assert table["illegal"].to_dict() == {"clumsy": 18, "slow": 0}
    assert table["late"].to_dict() == {"clumsy": 0, "slow": 1}


def test_an_episode_whose_reward_is_nan_has_failed_and_the_others_are_summed_up(
    start_evaluation: Evaluate, tmp_path: Path
) -> None:
    nan = {"trouble": "nan", "once": str(tmp_path / "once")}
    arguments = odd(operators={"one": alone(), "two": alone()}, seeds=[1, 2, 3], env_kwargs=nan)
    evaluation = start_evaluation(**arguments, on_failure="skip").wait(60)
    (failed,) = evaluation.results().query("status == 'failed'").to_dict("records")
    reason = f"the environment's reward was nan at step 3 (episode 0, seed {failed['seed']})"
    assert failed["error"] == reason, "the environment's log, which adds nothing, is left out"
    other = {"one": "two", "two": "one"}[failed["operator"]]
    summary = evaluation.summary()
    assert list(summary.loc[[failed["operator"], other], "episodes"]) == [2, 3]
    assert set(summary["mean"]) == {210.0}
    evaluation.compare("one", "two")
    evaluation.interval_plot()
    (tmp_path / "once").unlink()
    assert start_evaluation(**arguments, on_failure="retry").wait(60).failed == 0


def test_a_return_that_was_recorded_as_nan_is_read_as_a_failed_episode(start_evaluation: Evaluate) -> None:
    """Earlier versions recorded such returns, and their summaries raised."""
    evaluation = start_evaluation(**odd(operators={"one": walker()}, seeds=[1, 2])).wait(60)
    path = evaluation.path / "telemetry.jsonl"
    first, *rest = path.read_bytes().split(b'"total_reward":210.0', 1)
    assert rest, first
    path.write_bytes(resealed(first + b'"total_reward":"NaN"' + rest[0]))
    (failed,) = Evaluation(evaluation.path).results().query("status == 'failed'").to_dict("records")
    assert failed["error"] == "its return is nan"


def test_only_incomplete_lines_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.jsonl"
    whole = seal(b'{"event":"metrics"}\n') + seal(b'{"event":"heartbeat"}\n')
    for surplus in (b"", b'{"type":"epis', b'{"event":"run_cancelled"}\n', b'{"event":"run_failed"}\n{"ty'):
        path.write_bytes(whole + surplus)
        assert repair(path) == []
        assert path.read_bytes() == whole
    path.write_bytes(b"")
    repair(path)
    repair(tmp_path / "nothing.jsonl")
    assert EpisodeLog(path).read() == {}
