"""Operator processes: commands, answers, errors and ways to end."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from mosaic_contract import AgentSetup, ConfigError, operator_server
from mosaic_contract.agent_threads import AgentThreads
from mosaic_contract.messages import PROTOCOL
from mosaic_contract.operator_server import OperatorServer, ServedAgent
from worker_processes import CONTRACT, PATIENCE, alive

PEER = [sys.executable, str(Path(__file__).parent / "peers" / "acting.py")]


class Talking(unittest.TestCase):
    peer = tuple(PEER)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = Path(folder.name, "stderr.log")
        with self.log.open("wb") as log:
            self.worker = subprocess.Popen(
                [*self.peer, "--interactive"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "PYTHONPATH": CONTRACT},
                start_new_session=True,
            )
        self.addCleanup(self.end)

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.worker.pid, signal.SIGKILL)
        self.worker.wait()
        with contextlib.suppress(OSError):
            self.worker.stdin.close()
        self.worker.stdout.close()

    def send(self, line):
        self.worker.stdin.write(line + b"\n")
        self.worker.stdin.flush()

    def hear(self):
        return json.loads(self.worker.stdout.readline())

    def ask(self, cmd, **fields):
        self.send(json.dumps({"cmd": cmd, **fields}).encode())
        return self.hear()

    def agent(self, behaviour=None, player_id="agent_0", **settings):
        settings = {"behaviour": behaviour} if behaviour else settings
        answer = self.ask("init_agent", player_id=player_id, game_name="Chess", seed=7, settings=settings)
        assert answer == {"type": "agent_ready", "player_id": player_id}

    def wait_for_log(self, text):
        deadline = time.monotonic() + PATIENCE
        while text not in self.log.read_text():
            assert time.monotonic() < deadline, f"not logged within {PATIENCE} s: {text}"
            time.sleep(0.01)


class Answers(Talking):
    def test_hello_says_who_is_there(self):
        hello = self.ask("hello", protocol=PROTOCOL)
        assert hello["type"] == "hello" and hello["protocol"] == PROTOCOL
        assert (hello["worker"], hello["version"]) == ("acting", "2.0")
        assert hello["capabilities"]["modes"] == ["operate"]

    def test_an_operator_receives_everything(self):
        self.agent(colour="white")
        assert self.ask("episode_begin", seed=5, episode_index=2) == {"type": "ok"}
        answer = self.ask(
            "select_action", player_id="agent_0", observation=[1, {"a": 2.5}], action_mask=[0, 1],
            info={"legal_moves": ["e4"]}, step_index=3, unheard_of=True,
        )  # fmt: skip
        assert answer["action"] == {
            "observation": [1, {"a": 2.5}], "mask": [0, 1], "info": {"legal_moves": ["e4"]}, "step": 3,
            "episode": [5, 2], "seed": 7, "colour": "white",
        }  # fmt: skip
        assert self.ask("episode_end", total_reward=1.5, steps=4) == {"type": "ok"}
        assert self.ask("select_action", observation=0)["action"]["episode"] == [1.5, 4]

    def test_a_decision_comes_with_its_words_and_its_time(self):
        self.agent("takes its time")
        answer = self.ask("select_action", observation=0)
        assert 50 <= answer.pop("latency_ms") < 1e3 * PATIENCE
        assert answer == {
            "type": "action_selected", "player_id": "agent_0", "action": 2, "action_str": "right",
            "reasoning": "because", "input_tokens": 10, "output_tokens": 3,
        }  # fmt: skip

    def test_a_language_model_shows_what_it_writes_and_what_led_to_its_action(self):
        self.agent(writes=True)
        partial = self.ask(
            "select_action", player_id="agent_0", observation=0, messages=[{"from": "b", "text": "hi"}]
        )
        assert partial == {"type": "partial", "player_id": "agent_0", "text": partial["text"]}
        assert len(partial["text"]) == 20_000 and partial["text"].endswith("thinking aloud")
        answer = self.hear()  # no second partial line: at most five a second
        assert answer["type"] == "action_selected"
        assert answer["action"] == sorted(
            ["action_mask", "description", "frame", "info", "messages", "step_index", "teammates"]
        )
        (exchange,), (message,) = answer["exchanges"], answer["messages"]
        assert (exchange["answer"], exchange["cost_usd"]) == ("go", None)
        assert message == {"to": "all", "text": "[{'from': 'b', 'text': 'hi'}]"}
        self.agent(player_id="agent_1", writes=True)
        assert self.ask("select_action", player_id="agent_1", observation="spend")["type"] == "partial"
        spent = self.hear()
        assert (spent["error_type"], spent["retryable"]) == ("BudgetSpent", False)
        assert spent["message"] == "the budget of $2.00 is spent: $1.98 in 412 calls"

    def test_agents_of_one_process_are_distinguished(self):
        self.agent(player_id="red", colour="red")
        self.agent(player_id="blue", colour="blue")
        self.ask("episode_begin", player_id="red", seed=1, episode_index=0)
        red, blue = (self.ask("select_action", player_id=name, observation=0) for name in ("red", "blue"))
        assert (red["player_id"], red["action"]["colour"], red["action"]["episode"]) == ("red", "red", [1, 0])
        assert (blue["player_id"], blue["action"]["colour"], blue["action"]["episode"]) == (
            "blue",
            "blue",
            None,
        )
        lost = self.ask("select_action", observation=0)
        assert lost["type"] == "error" and "there are: red, blue" in lost["message"]

    def test_an_episode_begins_for_all_agents_where_none_is_named(self):
        self.agent(player_id="red")
        self.agent(player_id="blue")
        self.ask("episode_begin", seed=4, episode_index=1)
        for name in ("red", "blue"):
            assert self.ask("select_action", player_id=name, observation=0)["action"]["episode"] == [4, 1]

    def test_an_agent_that_is_made_again_replaces_the_old_one(self):
        self.agent(colour="white")
        self.agent(colour="black")
        assert self.ask("select_action", observation=0)["action"]["colour"] == "black"
        self.wait_for_log("closed agent_0")

    def test_what_an_operator_prints_is_log_and_no_answer(self):
        self.agent("prints")
        assert self.ask("select_action", observation=0)["action"] == 1
        assert self.ask("ping") == {"type": "pong"}
        self.wait_for_log("thinking…\n")
        self.wait_for_log("thinking aloud")

    def test_what_reads_stdin_takes_no_commands(self):
        self.agent("reads stdin")
        self.send(b'{"cmd": "select_action", "observation": 0}')
        self.send(b'{"cmd": "ping"}')
        assert self.hear()["action"] == ""
        assert self.hear() == {"type": "pong"}


class Errors(Talking):
    def error(self, answer):
        assert answer["type"] == "error", answer
        assert self.ask("ping") == {"type": "pong"}, "the server must answer after an error"
        return answer["error_type"], answer["retryable"], answer["message"]

    def test_an_operator_that_raises(self):
        self.agent("raises")
        kind, retryable, message = self.error(self.ask("select_action", player_id="agent_0", observation=0))
        assert (kind, retryable, message) == ("RuntimeError", True, "the network is on fire")
        self.wait_for_log("in select_action")

    def test_what_asking_again_cannot_mend(self):
        self.agent("refuses later")
        answer = self.ask("select_action", observation=0)
        assert self.error(answer) == ("ConfigError", False, "this observation is no image")

    def test_an_agent_that_cannot_be_made(self):
        answer = self.ask("init_agent", player_id="red", settings={"behaviour": "refuses"})
        assert answer["player_id"] == "red"
        assert self.error(answer) == ("ConfigError", False, "this policy is for Box(4)")
        assert "there are: none" in self.ask("select_action", player_id="red", observation=0)["message"]

    def test_an_action_that_cannot_be_sent(self):
        self.agent("answers with a function")
        kind, _, message = self.error(self.ask("select_action", observation=0))
        assert kind == "TypeError" and "cannot be written as JSON" in message

    def test_commands_that_make_no_sense(self):
        self.agent()
        for line, said in (
            (b"{garbage", "not JSON"),
            (b"[1]", "not a JSON object"),
            (b'{"cmd": "dance"}', "unknown command 'dance'; known: select_action,"),
            (b"{}", "unknown command None"),
            (b'{"cmd": "select_action"}', "select_action needs an observation"),
            (b'{"cmd": "select_action", "player_id": ["x"], "observation": 0}', "there is no agent ['x']"),
            (b'{"cmd": "select_action", "observation": {"__ndarray__": 1}}', "an array needs dtype"),
            (b'{"cmd": "init_agent", "player_id": 5}', "player_id must be a string, not 5"),
            (b'{"cmd": "init_agent", "seed": -1}', "seed must be an integer ≥ 0, not -1"),
            (b'{"cmd": "init_agent", "settings": [1]}', "settings must be an object, not [1]"),
        ):
            self.send(line)
            _, retryable, message = self.error(self.hear())
            assert said in message and not retryable, message

    def test_a_line_that_is_too_long_is_answered_too(self):
        commands, to_commands = os.pipe()
        from_answers, answers = os.pipe()
        os.write(to_commands, b'{"cmd": "ping"}\n' + b"x" * 2000 + b'\n{"cmd": "ping"}\n{"cmd": "stop"}\n')
        with mock.patch.object(operator_server, "OPERATING_LINE_LIMIT", 1000):
            OperatorServer(lambda: None, lambda setup: None).serve(commands, answers)
        os.close(answers)
        with os.fdopen(from_answers) as heard:
            kinds = [json.loads(line)["type"] for line in heard]
        os.close(commands)
        os.close(to_commands)
        assert sorted(kinds) == ["error", "pong", "pong", "stopped"]


class Ends(Talking):
    def test_stop(self):
        self.agent()
        assert self.ask("stop") == {"type": "stopped"}
        assert self.worker.wait(PATIENCE) == 0
        assert "closed agent_0" in self.log.read_text()

    def test_the_end_of_stdin(self):
        self.agent()
        self.worker.stdin.close()
        assert self.worker.wait(PATIENCE) == 0
        assert "closed agent_0" in self.log.read_text()
        assert self.worker.stdout.read() == b""

    def test_sigterm_while_an_operator_thinks(self):
        self.agent("hangs")
        self.send(b'{"cmd": "select_action", "observation": 0}')
        self.wait_for_log("hanging")
        self.worker.send_signal(signal.SIGTERM)
        assert self.worker.wait(PATIENCE) == 143
        assert self.worker.stdout.read() == b""

    def test_the_answers_have_no_reader(self):
        assert self.ask("ping") == {"type": "pong"}
        self.worker.stdout.close()
        self.send(b'{"cmd": "ping"}')
        assert self.worker.wait(PATIENCE) == 0

    def test_an_operator_that_does_not_close_holds_nothing_up(self):
        self.agent("does not close")
        self.ask("stop")
        began = time.monotonic()
        assert self.worker.wait(PATIENCE) == 0
        assert time.monotonic() - began < 10


class ConcurrentAgents(Talking):
    """A worker whose agents act at the same time (`Worker.concurrent`)."""

    peer = (sys.executable, str(Path(__file__).parent / "peers" / "arena_writer.py"))

    def agents(self, *names, **settings):
        for name in names:
            answer = self.ask("init_agent", player_id=name, settings=settings)
            assert answer == {"type": "agent_ready", "player_id": name}

    def call(self, *names, step=0):
        for name in names:
            command = {"cmd": "select_action", "player_id": name, "observation": 0, "step_index": step}
            self.send(json.dumps(command).encode())

    def begun(self):
        """Return (agent, step) of the calls that operators have begun."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
        return [(line["agent"], line["step"]) for line in lines if line["cmd"] == "called"]

    def hang(self):
        """Start calls of two agents that do not return for 600 s."""
        self.agents("a", "b", seconds=600)
        self.call("a", "b")
        deadline = time.monotonic() + PATIENCE
        while len(self.begun()) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def test_agents_act_at_once_and_each_in_order(self):
        self.agents("a", "b", meets=2)  # a call returns when both agents are called
        self.call("a", "a", "b", "b")
        self.send(b'{"cmd": "episode_end"}')  # for both agents, so answered after all calls
        self.send(b'{"cmd": "ping"}')
        self.call("no such agent")
        heard = [self.hear() for _ in range(7)]
        stray = next(answer for answer in heard if answer["type"] == "error")
        assert "there are: a, b" in stray["message"]
        heard.remove(stray)  # answered at once: it waits for no agent
        assert [answer["type"] for answer in heard] == ["action_selected"] * 4 + ["ok", "pong"]
        assert sorted(answer["player_id"] for answer in heard[:4]) == ["a", "a", "b", "b"]

    def test_the_end_of_stdin_is_after_everything(self):
        self.agents("a", "b", meets=2)
        self.call("a", "b")
        self.worker.stdin.close()
        assert {self.hear()["player_id"] for _ in range(2)} == {"a", "b"}
        assert self.worker.wait(PATIENCE) == 0
        assert "closed" in self.log.read_text()

    def test_calls_that_are_abandoned_hold_up_nothing(self):
        self.agents("a", "b", hang_at=0)
        self.call("a", "b")
        self.send(b'{"cmd": "ping"}')
        self.call("a", step=1)
        self.wait_for_log('"agent": "b", "step": 0')
        self.wait_for_log('"agent": "a", "step": 0')
        self.send(b'{"cmd": "abandon"}')
        self.send(b'{"cmd": "ping"}')
        heard = [self.hear() for _ in range(4)]
        assert sorted(answer["type"] for answer in heard) == ["action_selected", "ok", "pong", "pong"]
        assert heard[-1] == {"type": "pong"}, "an abandoned call must not answer"
        assert self.log.read_text().count('"made"') == 4  # a new operator for each agent
        self.worker.send_signal(signal.SIGTERM)
        assert self.worker.wait(PATIENCE) == 143

    def test_a_new_operator_that_cannot_be_made_leaves_no_other_agent_without_one(self):
        begun, end, renewed = threading.Semaphore(0), threading.Event(), []

        def perform(command):
            if command["cmd"] == "select_action":
                begun.release()
                end.wait(PATIENCE)

        def renew(agent):
            renewed.append(agent)
            if agent == "a":
                raise ConfigError("no more of these")

        threads = AgentThreads(perform)
        for agent in ("a", "b"):
            threads.put({"cmd": "init_agent", "player_id": agent})
            threads.put({"cmd": "select_action", "player_id": agent})
            assert begun.acquire(timeout=PATIENCE)
        with self.assertRaisesRegex(ConfigError, "no more of these"):
            threads.abandon_calls(renew)
        end.set()
        threads.finish()
        assert renewed == ["a", "b"]

    def test_a_replaced_agent_is_closed_once_now_or_after_its_call(self):
        closed = []
        operator = SimpleNamespace(select_action=lambda observation: 0, close=lambda: closed.append(1))
        idle, busy = (ServedAgent(AgentSetup(name), operator) for name in ("idle", "busy"))
        with busy.in_call():
            busy.retire()
            assert closed == []
        assert closed == [1]
        with idle.in_call():
            pass
        idle.retire()
        assert closed == [1, 1]

    def test_stop_in_the_middle_of_calls(self):
        self.hang()
        began = time.monotonic()
        assert self.ask("stop") == {"type": "stopped"}
        assert self.worker.wait(PATIENCE) == 0
        assert time.monotonic() - began < 20.0  # the calls take 600 s
        assert self.worker.stdout.read() == b""

    def test_sigterm_in_the_middle_of_calls(self):
        self.hang()
        self.worker.send_signal(signal.SIGTERM)
        assert self.worker.wait(PATIENCE) == 143
        assert self.worker.stdout.read() == b""


class OtherWorkers(unittest.TestCase):
    def run_peer(self, *arguments):
        environ = {**os.environ, "PYTHONPATH": CONTRACT}
        return subprocess.run(
            [*PEER, *arguments], env=environ, capture_output=True, text=True, timeout=PATIENCE, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def test_a_worker_without_operators_says_so(self):
        done = self.run_peer("--interactive", "--cannot")
        assert done.returncode == 2 and "has no operators" in done.stderr

    def test_a_worker_that_only_acts_does_not_train(self):
        done = self.run_peer("--config=/dev/null")
        assert done.returncode == 2
        failed = json.loads(done.stdout)
        assert failed["event"] == "run_failed" and "acting does not train" in failed["payload"]["error"]

    @unittest.skipUnless(Path("/proc").exists(), "the orphan is found through /proc")
    def test_an_operator_ends_with_its_parent_even_if_its_stdin_stays_open(self):
        script = (
            "import subprocess, sys, time; print(subprocess.Popen(sys.argv[1:], stdout=2).pid, flush=True);"
        )
        reading, writing = os.pipe()
        with subprocess.Popen(
            [sys.executable, "-c", script + "time.sleep(600)", *PEER, "--interactive"],
            stdin=reading, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": CONTRACT},
        ) as parent:  # fmt: skip
            operator = int(parent.stdout.readline())
            os.write(writing, b'{"cmd": "ping"}\n')
            assert b"pong" in parent.stderr.readline()
            parent.kill()
            parent.wait()
            deadline = time.monotonic() + PATIENCE
            while alive(operator):
                assert time.monotonic() < deadline, "the operator outlived its parent"
                time.sleep(0.01)
        os.close(reading)
        os.close(writing)
