"""Arenas as real processes: any kind of environment, operators that answer well, badly, late, not at all."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import mosaic_contract

PEERS = Path(__file__).parent / "peers"
CONTRACT = str(Path(mosaic_contract.__file__).parent.parent)
PATIENCE = 60.0  # seconds until a test gives up
UNASKED = ("ask", "withdrawn", "thinking")


class Lane:
    """An arena, and the kernel's side of its wire."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.unasked = []
        self._text = b""
        environment = {**os.environ, "PYTHONPATH": CONTRACT, "PYTHONDONTWRITEBYTECODE": "1"}
        with (self.folder / "worker.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(PEERS / "arena_family.py"), "--arena"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                start_new_session=True,
            )

    def send(self, cmd, **fields):
        self.process.stdin.write(json.dumps({"cmd": cmd, **fields}).encode() + b"\n")
        self.process.stdin.flush()

    def next(self):
        """The next message, whatever it is; None at the end of the stream."""
        until = time.monotonic() + PATIENCE
        while b"\n" not in self._text:
            left = until - time.monotonic()
            assert left > 0, f"no message within {PATIENCE} s; the log:\n{self.log()}"
            if select.select([self.process.stdout], [], [], left)[0]:
                data = os.read(self.process.stdout.fileno(), 1 << 20)
                if not data:
                    return None
                self._text += data
        line, _, self._text = self._text.partition(b"\n")
        return json.loads(line)

    def wait_for(self, kind):
        """The next message of this kind; what else comes unasked is kept."""
        while True:
            message = self.next()
            assert message is not None, f"no {kind!r} before the end; the log:\n{self.log()}"
            if message["type"] == kind:
                return message
            assert message["type"] in UNASKED, message
            self.unasked.append(message)

    def do(self, kind, cmd, **fields):
        self.send(cmd, **fields)
        return self.wait_for(kind)

    def open(self, env_id, kind="opened", max_steps=None, **settings):
        fields = {"protocol": 1, "run_id": "lane", "env_id": env_id, "settings": settings}
        return self.do(kind, "open", **fields, folder=str(self.folder), max_steps=max_steps)

    def seat(self, seats, kind="seated", **operators):
        return self.do(kind, "seat", seats=seats, operators=operators)

    def reset(self, seed=1, index=0, kind="ready"):
        return self.do(kind, "reset", seed=seed, episode_index=index)

    def step(self, kind="stepped"):
        return self.do(kind, "step")

    def move(self):
        """The only move of the next step."""
        (move,) = self.step()["moves"]
        return move

    def episode(self):
        """All steps until the episode ends."""
        steps = [self.step()]
        while not steps[-1]["done"]:
            steps.append(self.step())
        return steps

    def close(self):
        self.do("closed", "close")
        return self.process.wait(PATIENCE)

    def told(self, key="a"):
        """What an operator of `arena_player` was told."""
        log = (self.folder / f"operator-{key}.log").read_text().splitlines()
        return [json.loads(line) for line in log if line.startswith("{")]

    def lines(self):
        return [json.loads(line) for line in (self.folder / "telemetry.jsonl").read_text().splitlines()]

    def log(self):
        return (self.folder / "worker.log").read_text()

    def operators(self):
        """The processes that the arena has started."""
        return children_of(self.process.pid)


def children_of(pid):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_bytes().rpartition(b")")[2].split()
            if int(fields[1]) == pid and fields[0] != b"Z":
                found.append(int(stat.parent.name))
    return found


def player(deadline=None, fallback="wait", plain=False, **settings):
    command = [sys.executable, str(PEERS / "arena_player.py"), *(["plain"] if plain else [])]
    about = {"command": command, "environment": None, "settings": settings}
    return {**about, "name": "Player", "category": "rl", "deadline": deadline, "fallback": fallback}


def in_kernel(deadline=None, fallback="wait"):
    return {**player(deadline, fallback), "command": None, "name": "Me", "category": "human"}


class Arenas(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.lane = Lane(folder.name)
        self.addCleanup(self.end)

    def end(self):
        for pid in [self.lane.process.pid, *self.lane.operators()]:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        self.lane.process.wait(PATIENCE)
        self.lane.process.stdin.close()
        self.lane.process.stdout.close()

    def walk(self, reset=True, **operator):
        """A lane with one player on the walk."""
        self.lane.open("Walk-v0")
        self.lane.seat({"agent_0": "a"}, a=player(**operator))
        if reset:
            self.lane.reset()
        return self.lane

    def wait_until(self, condition):
        until = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < until, self.lane.log()
            time.sleep(0.02)


class Worlds(Arenas):
    def test_one_agent_from_open_to_close(self):
        lane = self.lane
        opened = lane.open("Walk-v0")
        self.assertEqual(opened["paradigm"], "single_agent")
        self.assertEqual(opened["agents"], ["agent_0"])
        self.assertEqual(opened["spaces"]["agent_0"]["action"]["n"], 3)
        self.assertEqual(opened["action_meanings"], {"agent_0": ["left", "stay", "right"]})
        self.assertEqual(opened["keys"], {"agent_0": {"0": 0, "1": 1, "2": 2}})
        self.assertEqual(opened["versions"]["tiny"], "1.0")
        seated = lane.seat({"agent_0": "a"}, a=player(action=2))
        self.assertEqual(seated["operators"], {"a": {"worker": "player", "version": "0.5", "plain": False}})
        ready = lane.reset(seed=7, index=3)
        self.assertEqual((ready["seed"], ready["episode_index"], ready["turn"]), (7, 3, ["agent_0"]))
        steps = lane.episode()
        self.assertEqual([step["step_index"] for step in steps], [1, 2, 3, 4, 5])
        self.assertEqual(steps[1]["returns"], {"agent_0": 4.0})
        move = steps[0]["moves"][0]
        self.assertEqual((move["agent"], move["operator"], move["action"]), ("agent_0", "a", 2))
        self.assertEqual((move["action_str"], move["reasoning"], move["fault"]), ("as ever", "why not", None))
        self.assertEqual((move["input_tokens"], move["output_tokens"]), (3, 4))
        episode = steps[-1]["episode"]
        self.assertEqual((episode["steps"], episode["returns"], episode["seed"]), (5, {"agent_0": 10.0}, 7))
        self.assertTrue(episode["terminated"] and episode["success"] and not episode["truncated"])
        self.assertEqual(lane.close(), 0)
        self.assertIn("the environment was closed", lane.log())

    def test_an_operator_is_told_who_it_is_and_what_it_plays(self):
        lane = self.walk(color="red")
        lane.step()
        (begin,) = [told for told in lane.told() if told["cmd"] == "episode_begin"]
        introduced = next(told for told in lane.told() if told["cmd"] == "init_agent")
        self.assertEqual(introduced["game_name"], "Walk-v0")
        self.assertEqual(introduced["action_space"]["n"], 3)
        settings = introduced["settings"]
        self.assertEqual((settings["color"], settings["env_id"]), ("red", "Walk-v0"))
        self.assertEqual(settings["action_meanings"], ["left", "stay", "right"])
        self.assertEqual(begin["seed"], mosaic_contract.derive_seed(1, "operator/agent_0"))

    def test_everything_is_written_down(self):
        lane = self.walk()
        lane.episode()
        lane.close()
        lines = lane.lines()
        self.assertEqual(lines[0]["event"], "run_started")
        self.assertEqual(lines[-1]["event"], "run_completed")
        steps = [line for line in lines if line.get("type") == "step"]
        self.assertEqual([(line["step_index"], line["action"]) for line in steps], [(n, 1) for n in range(5)])
        (episode,) = [line for line in lines if line.get("type") == "episode"]
        self.assertEqual((episode["total_reward"], episode["episode_seed"]), (5.0, 1))
        self.assertEqual(episode["metadata"], {"operator": "a", "seed": 1, "forfeit": None, "faults": 0})

    def test_the_same_seed_gives_the_same_episode(self):
        lane = self.lane
        lane.open("Walk-v0")
        lane.seat({"agent_0": "me"}, me=in_kernel())

        def observations(seed):
            lane.reset(seed)
            seen = []
            for _ in range(5):
                lane.send("step")
                ask = lane.wait_for("ask")
                seen.append(ask["observation"])
                lane.send("answer", id=ask["id"], action=0)
                lane.wait_for("stepped")
            return seen

        first = observations(5)
        self.assertNotEqual(first, observations(6))
        self.assertEqual(first, observations(5))

    def test_agents_that_act_at_once(self):
        lane = self.lane
        opened = lane.open("Together-v0")
        self.assertEqual(opened["paradigm"], "parallel")
        self.assertEqual(opened["teams"], {"north": ["north_0"], "south": ["south_0"]})
        lane.seat({"north_0": "a", "south_0": "b"}, a=player(action=1), b=player(action=2))
        lane.reset()
        steps = lane.episode()
        self.assertEqual([len(step["moves"]) for step in steps], [2, 2, 1, 1])
        self.assertEqual(steps[1]["turn"], ["north_0"])
        self.assertEqual(steps[-1]["returns"], {"north_0": 4.0, "south_0": 4.0})

    def test_agents_of_one_process_are_told_apart(self):
        lane = self.lane
        lane.open("Together-v0")
        lane.seat({"north_0": "a", "south_0": "a"}, a=player())
        self.assertEqual(len(lane.operators()), 1)
        lane.reset()
        self.assertEqual({move["agent"] for move in lane.step()["moves"]}, {"north_0", "south_0"})
        asked = [told["player_id"] for told in lane.told() if told["cmd"] == "select_action"]
        self.assertEqual(asked, ["north_0", "south_0"])

    def test_agents_in_turns_with_masks(self):
        lane = self.lane
        opened = lane.open("Turns-v0")
        self.assertEqual(opened["paradigm"], "aec")
        self.assertEqual(opened["keys"]["player_1"], {"a": 1, "b": 2, "c": 3})
        lane.seat({"player_0": "a", "player_1": "b"}, a=player(action=3), b=player(action=2))
        self.assertEqual(lane.reset()["turn"], ["player_0"])
        steps = [lane.step(), lane.step()]
        self.assertEqual([step["turn"] for step in steps], [["player_1"], ["player_0"]])
        error = lane.step("error")  # two sticks are left, and player_0 takes three
        self.assertIn("take three", error["message"])
        self.assertEqual((error["agent"], error["operator"]), ("player_0", "a"))
        masks = [told["action_mask"] for told in lane.told() if told["cmd"] == "select_action"]
        self.assertEqual(masks, [[True, True, True], [True, True, False]])

    def test_a_game_in_turns_ends_for_all(self):
        lane = self.lane
        lane.open("Turns-v0")
        lane.seat({"player_0": "a", "player_1": "a"}, a=player(action=1))
        lane.reset()
        steps = lane.episode()
        self.assertEqual(len(steps), 7)
        self.assertEqual(steps[-1]["returns"], {"player_0": 1.0, "player_1": -1.0})
        lane.close()
        rewards = [
            (line["agent_id"], line["action"], line["reward"])
            for line in lane.lines()
            if line.get("type") == "step"
        ]
        self.assertEqual(rewards[-2:], [("player_0", 1, 1.0), ("player_1", None, -1.0)])

    def test_a_limit_of_steps_truncates(self):
        self.lane.open("Walk-v0", max_steps=2)
        self.lane.seat({"agent_0": "a"}, a=player())
        self.lane.reset()
        last = self.lane.episode()[-1]
        self.assertEqual((last["step_index"], last["terminated"], last["truncated"]), (2, False, True))

    def test_rewards_that_are_no_numbers_are_passed_on(self):
        self.lane.open("Nan-v0")
        self.lane.seat({"agent_0": "a"}, a=player())
        self.lane.reset()
        self.assertEqual(self.lane.step()["rewards"], {"agent_0": "NaN"})

    def test_observations_and_reasons_larger_than_a_pipe(self):
        lane = self.lane
        lane.open("Large-v0")
        lane.seat({"agent_0": "a"}, a=player(behaviour="large", at="always"))
        lane.reset()
        self.assertEqual(len(lane.episode()), 5)

    def test_commands_out_of_order_are_errors(self):
        lane = self.lane
        for kind in ("seat", "reset", "step", "dance"):
            self.assertEqual(lane.do("error", kind)["where"], kind)
        lane.open("Walk-v0")
        self.assertIn("seat", lane.do("error", "reset", seed=1)["message"])
        self.assertIn("has no operator", lane.seat({}, "error")["message"])
        lane.seat({"agent_0": "a"}, a=player())
        self.assertIn("reset", lane.step("error")["message"])
        lane.reset(seed=-1, kind="error")
        lane.reset()
        lane.episode()
        self.assertIn("has ended", lane.step("error")["message"])
        lane.reset()
        lane.step()


class Environments(Arenas):
    def test_one_that_cannot_be_made_says_why(self):
        error = self.lane.open("Unmakeable-v0", "error")
        self.assertEqual((error["where"], error["error_type"]), ("open", "ValueError"))
        self.assertIn("a wheel is missing", error["message"])
        self.assertIn("Traceback", error["log"])
        self.assertIn("no environment", self.lane.open("Walk-v9", "error")["message"])
        self.assertEqual(self.lane.close(), 0)

    def test_one_that_fails_in_a_step_can_be_reset(self):
        lane = self.lane
        lane.open("Raise-v0")
        lane.seat({"agent_0": "a"}, a=player())
        lane.reset()
        lane.step()
        error = lane.step("error")
        self.assertIn("the floor has gone", error["message"])
        self.assertIn("RuntimeError", error["log"])
        self.assertIn("reset", lane.step("error")["message"])
        lane.reset()
        lane.step()

    def test_one_that_fails_in_reset(self):
        self.lane.open("NoReset-v0")
        self.lane.seat({"agent_0": "a"}, a=player())
        self.assertIn("no map", self.lane.reset(kind="error")["message"])

    def test_one_whose_observations_cannot_be_sent(self):
        self.lane.open("Strange-v0")
        self.lane.seat({"agent_0": "a"}, a=player())
        self.lane.reset()
        self.lane.step()
        self.assertEqual(self.lane.told()[-1]["info"], {"lives": 3})
        error = self.lane.step("error")
        self.assertEqual((error["where"], error["error_type"]), ("step", "TypeError"))
        self.lane.reset()
        self.lane.step()

    def test_one_that_cannot_be_drawn_says_so_and_goes_on(self):
        from mosaic_contract.fastlane import FrameReader

        lane = self.walk()
        reader = FrameReader(lane.folder)
        self.wait_until(lambda: reader.watch(60) or reader.notice)
        self.assertIn("nothing to see", reader.notice)
        lane.step()

    def test_one_that_hangs_leaves_no_operator_when_it_is_killed(self):
        lane = self.lane
        lane.open("Hang-v0")
        lane.seat({"agent_0": "a"}, a=player())
        lane.reset()
        (operator,) = lane.operators()
        lane.send("step")
        self.wait_until(lambda: any(told["cmd"] == "select_action" for told in lane.told()))
        lane.process.kill()
        self.wait_until(lambda: not alive(operator))


class Faults(Arenas):
    def test_unusable_answers_stop_a_lane_that_waits_for_good_ones(self):
        for behaviour, kind in (
            ("garbage", "garbage"),
            ("no_action", "garbage"),
            ("illegal", "illegal"),
            ("wrong_agent", "garbage"),
            ("error", "error"),
        ):
            with self.subTest(behaviour):
                self.setUp()
                error = self.walk(behaviour=behaviour) and self.lane.step("error")
                self.assertEqual((error["error_type"], error["operator"]), (kind, "a"))
                self.assertIn("select_action", error["log"])
                self.lane.reset()
                self.assertEqual(self.lane.move()["action"], 1)

    def test_unusable_answers_are_replaced_by_the_default_and_counted(self):
        for behaviour in ("garbage", "no_action", "illegal", "wrong_agent", "error"):
            with self.subTest(behaviour):
                self.setUp()
                lane = self.walk(behaviour=behaviour, action=2, fallback="default")
                move = lane.move()
                self.assertEqual((move["action"], move["action_str"]), (1, "stay (1)"))
                self.assertTrue(move["fault"] and move["fault_text"])
                last = lane.episode()[-1]
                self.assertEqual(last["returns"], {"agent_0": 9.0})
                self.assertEqual(last["episode"]["faults"], {"a": 1})

    def test_actions_that_are_none(self):
        for illegal in (-1, 3, 1.5, "1", None, [1], True, {"__ndarray__": {}}, "NaN"):
            with self.subTest(illegal):
                self.setUp()
                move = self.walk(behaviour="illegal", illegal=illegal, fallback="default").move()
                self.assertIn(move["fault"], ("illegal", "garbage"))

    def test_who_forfeits_ends_the_episode_for_all(self):
        lane = self.lane
        lane.open("Together-v0")
        operators = {"a": player(), "b": player(behaviour="illegal", at=1, fallback="forfeit")}
        lane.seat({"north_0": "a", "south_0": "b"}, **operators)
        lane.reset()
        last = lane.episode()[-1]
        self.assertEqual((last["step_index"], last["truncated"]), (1, True))
        self.assertEqual(last["episode"]["forfeit"], "south_0")
        self.assertEqual(last["episode"]["faults"], {"b": 1})
        lane.reset()
        self.assertEqual(len(lane.episode()), 4)

    def test_an_error_that_may_pass_is_asked_once_more(self):
        lane = self.walk(behaviour="error_once")
        self.assertEqual((lane.move()["action"], lane.move()["fault"]), (1, None))
        self.setUp()
        lane = self.walk(behaviour="error_once", at="always", fallback="default")
        self.assertEqual(lane.move()["fault"], "error")

    def test_a_late_answer_is_never_taken_for_the_next_one(self):
        lane = self.lane
        lane.open("Walk-v0", length=1000)
        sleepy = player(behaviour="late", seconds=1.0, deadline=0.3, fallback="default", action=0)
        lane.seat({"agent_0": "a"}, a=sleepy)
        lane.reset()
        # The late answer says 2. The player is still asleep when it is asked again, so that call is late too.
        moves = [lane.move()]
        while moves[-1]["fault"]:
            moves.append(lane.move())
        self.assertGreater(len(moves), 1)
        self.assertEqual({(move["action"], move["fault"]) for move in moves[:-1]}, {(1, "late")})
        self.assertEqual(moves[-1]["action"], 0)

    def test_a_late_answer_is_dropped_while_others_are_still_waited_for(self):
        for behaviour in ({"behaviour": "late"}, {"behaviour": "late", "then": "illegal"}):
            with self.subTest(**behaviour):
                self.setUp()
                lane = self.lane
                lane.open("Together-v0")
                hasty = player(**behaviour, seconds=1.0, deadline=0.1, fallback="default", action=0)
                patient = player(behaviour="late", seconds=2.0)
                lane.seat({"north_0": "a", "south_0": "b"}, a=hasty, b=patient)
                lane.reset()
                late, other = lane.step()["moves"]
                self.assertEqual((late["action"], late["action_str"], late["fault"]), (1, "stay (1)", "late"))
                self.assertEqual((other["action"], other["fault"]), (2, None))

    def test_an_operator_that_reads_nothing_is_sent_no_more(self):
        lane = self.lane
        lane.open("Large-v0", length=100)
        asleep = player(behaviour="late", seconds=600, deadline=0.01, fallback="default")
        lane.seat({"agent_0": "a"}, a=asleep)
        lane.reset()
        for _ in range(5):
            lane.step()
        _, before = usage(lane.process.pid)
        for _ in range(50):  # of 3 MB each
            self.assertEqual(lane.move()["fault"], "late")
        self.assertLess(usage(lane.process.pid)[1] - before, 50_000)

    def test_a_line_beyond_all_bounds_spoils_only_the_call_that_it_answers(self):
        lane = self.lane
        lane.open("Together-v0")
        lane.seat(
            {"north_0": "a", "south_0": "a"}, a=player(behaviour="endless", fallback="default", action=0)
        )
        lane.reset()
        spoilt, *moves = [move for _ in range(3) for move in lane.step()["moves"]]
        self.assertEqual((spoilt["action"], spoilt["fault"]), (1, "garbage"))
        self.assertIn("more than 67108864 bytes", spoilt["fault_text"])
        self.assertEqual([move["fault"] for move in moves], [None] * 4)

    def test_who_waits_for_a_late_answer_takes_it_and_says_so(self):
        lane = self.walk(behaviour="late", seconds=1.8, deadline=0.1)
        move = lane.move()
        self.assertEqual((move["action"], move["fault"]), (2, "late"))
        self.assertIn("deadline was 0.1 s", move["fault_text"])
        thoughts = [message["seconds"] for message in lane.unasked if message["type"] == "thinking"]
        self.assertGreaterEqual(len(thoughts), 2)
        self.assertGreaterEqual(thoughts[0], 0.25)

    def test_the_deadline_is_kept(self):
        lane = self.walk(behaviour="silent", deadline=0.2, fallback="default")
        began = time.monotonic()
        lane.move()
        self.assertLess(time.monotonic() - began, 10.0)  # it would never answer

    def test_more_answers_than_were_asked_for_are_dropped(self):
        lane = self.walk(behaviour="twice", at="always")
        self.assertEqual([lane.move()["action"] for _ in range(5)], [1] * 5)
        pings = [told for told in lane.told() if told["cmd"] == "ping"]
        self.assertGreaterEqual(len(pings), 4)  # before each call but the first

    def test_noise_before_an_answer_spoils_only_that_call(self):
        lane = self.walk(behaviour="garbage", then_answer=True, fallback="default", action=0)
        self.assertEqual([lane.move()["action"] for _ in range(4)], [1, 0, 0, 0])

    def test_an_operator_that_dies_stops_the_lane_with_its_last_words(self):
        for fallback in ("wait", "default", "forfeit"):
            with self.subTest(fallback):
                self.setUp()
                error = self.walk(behaviour="die", fallback=fallback) and self.lane.step("error")
                self.assertEqual(error["error_type"], "OperatorDied")
                self.assertIn("exit code 3", error["message"])
                self.assertIn("about to die", error["log"])
                self.lane.reset()
                self.assertIn("exit code 3", self.lane.step("error")["message"])
                self.assertEqual(self.lane.close(), 0)

    def test_operators_that_cannot_start(self):
        lane = self.lane
        lane.open("Walk-v0")
        missing = {**player(), "command": ["/no/such/python"]}
        self.assertIn("cannot be started", lane.seat({"agent_0": "a"}, "error", a=missing)["message"])
        dying = {**player(), "command": [sys.executable, "-c", "raise SystemExit('no licence')"]}
        error = lane.seat({"agent_0": "a"}, "error", a=dying)
        self.assertIn("no licence", error["log"])
        error = lane.seat({"agent_0": "a"}, "error", a=player(refuse=True))
        self.assertIn("not with me", error["message"])
        self.assertEqual(lane.operators(), [])
        lane.seat({"agent_0": "a"}, a=player())
        lane.reset()
        lane.episode()

    def test_what_an_operator_says_before_it_is_asked_is_passed_over(self):
        self.lane.open("Walk-v0")
        chatty = player()
        chatty["command"].append("chatty")
        seated = self.lane.seat({"agent_0": "a"}, a=chatty)
        self.assertFalse(seated["operators"]["a"]["plain"])
        self.lane.reset()
        self.assertEqual(self.lane.move()["fault"], None)

    def test_an_operator_that_cannot_begin_an_episode(self):
        error = self.walk(no_begin=True) and self.lane.step("error")
        self.assertIn("not today", error["message"])

    def test_a_worker_of_the_platform_is_driven_with_what_it_knows(self):
        self.lane.open("Turns-v0")
        seated = self.lane.seat({"player_0": "a", "player_1": "a"}, a=player(plain=True, action=1))
        self.assertTrue(seated["operators"]["a"]["plain"])
        self.lane.reset()
        self.lane.episode()
        told = self.lane.told()
        self.assertEqual({one["cmd"] for one in told}, {"hello", "init_agent", "select_action"})
        self.assertNotIn("seed", next(one for one in told if one["cmd"] == "init_agent"))
        last = [one for one in told if one["cmd"] == "select_action"][-1]
        self.assertEqual(last["info"], {"legal_moves": [1]})
        self.assertNotIn("step_index", last)


class InTheKernel(Arenas):
    def sit(self, **operator):
        self.lane.open("Walk-v0")
        self.lane.seat({"agent_0": "me"}, me=in_kernel(**operator))
        self.lane.reset()
        self.lane.send("step")
        return self.lane.wait_for("ask")

    def test_is_asked_and_answers(self):
        ask = self.sit()
        self.assertEqual((ask["agent"], ask["operator"], ask["step_index"]), ("agent_0", "me", 0))
        self.lane.send("answer", id=ask["id"] + 100, action=0)  # to a question that nobody asked
        self.lane.send("answer", id=ask["id"], action=2, action_str="right!", reasoning="I felt like it")
        move = self.lane.wait_for("stepped")["moves"][0]
        self.assertEqual((move["action"], move["action_str"]), (2, "right!"))

    def test_a_question_is_withdrawn_at_the_deadline(self):
        ask = self.sit(deadline=0.2, fallback="default")
        self.assertEqual(self.lane.wait_for("withdrawn")["id"], ask["id"])
        self.assertEqual(self.lane.wait_for("stepped")["moves"][0]["fault"], "late")
        self.lane.send("answer", id=ask["id"], action=2)
        self.lane.send("step")
        self.assertNotEqual(self.lane.wait_for("ask")["id"], ask["id"])

    def test_reset_abandons_the_step(self):
        ask = self.sit()
        self.lane.send("reset", seed=2, episode_index=1)
        self.assertEqual(self.lane.wait_for("withdrawn")["id"], ask["id"])
        self.assertEqual(self.lane.wait_for("ready")["seed"], 2)

    def test_an_error_is_an_error(self):
        ask = self.sit()
        self.lane.send("answer", id=ask["id"], error="ZeroDivisionError: division by zero")
        self.assertIn("ZeroDivisionError", self.lane.wait_for("error")["message"])

    def test_close_ends_a_step_that_waits(self):
        self.sit()
        self.lane.send("close")
        self.assertEqual(self.lane.wait_for("closed"), {"type": "closed"})
        self.assertEqual(self.lane.process.wait(PATIENCE), 0)


class Ends(Arenas):
    def test_reset_abandons_a_step_and_its_answer(self):
        lane = self.walk(behaviour="late", seconds=1.5, action=0)
        lane.send("step")
        lane.wait_for("thinking")
        lane.reset(seed=3, index=1)
        move = lane.move()
        self.assertEqual((move["action"], move["fault"]), (0, None))

    def test_the_end_of_the_commands_ends_everything(self):
        lane = self.walk()
        (operator,) = lane.operators()
        lane.process.stdin.close()
        self.assertEqual(lane.process.wait(PATIENCE), 0)
        self.assertFalse(alive(operator))
        self.assertIsNone(lane.next())
        self.assertEqual(lane.lines()[-1]["event"], "run_cancelled")

    def test_sigterm_ends_everything(self):
        lane = self.walk(behaviour="silent")
        lane.send("step")
        lane.wait_for("thinking")
        (operator,) = lane.operators()
        lane.process.terminate()
        self.assertEqual(lane.process.wait(PATIENCE), 143)
        self.assertFalse(alive(operator))
        self.assertEqual(lane.lines()[-1]["event"], "run_cancelled")
        self.assertFalse(os.path.lexists(lane.folder / "fastlane"))

    def test_deaf_operators_are_gone_soon_after_close(self):
        lane = self.walk(deaf=True)
        (operator,) = lane.operators()
        began = time.monotonic()
        self.assertEqual(lane.close(), 0)
        self.assertLess(time.monotonic() - began, 10.0)  # they would never leave
        self.assertFalse(alive(operator))

    def test_an_arena_ends_with_the_process_that_started_it(self):
        code = (
            "import os, subprocess, sys, time\n"
            f"arena = [sys.executable, {str(PEERS / 'arena_family.py')!r}, '--arena']\n"
            "keep = os.pipe()\n"  # its commands never end: only the parent's death tells it
            "child = subprocess.Popen(arena, stdin=keep[0], stdout=subprocess.PIPE, pass_fds=keep)\n"
            "os.write(keep[1], b'{}\\n')\n"
            "child.stdout.readline()\n"  # it answers once it watches its parent
            "print(child.pid, flush=True)\n"
            "time.sleep(600)\n"
        )
        environment = {**os.environ, "PYTHONPATH": CONTRACT}
        kernel = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        arena = int(kernel.stdout.readline())
        kernel.kill()
        kernel.wait(PATIENCE)
        kernel.stdout.close()
        self.wait_until(lambda: not alive(arena))

    def test_many_resets_leave_nothing_behind(self):
        lane = self.walk()
        before = None
        for index in range(300):
            lane.reset(seed=index, index=index)
            lane.step()
            if index == 100:
                before = usage(lane.process.pid)
        handles, kilobytes = usage(lane.process.pid)
        self.assertEqual(handles, before[0])
        self.assertLess(kilobytes - before[1], 2_000)
        self.assertEqual(len(lane.operators()), 1)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


def usage(pid):
    """Open descriptors and resident kilobytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    memory = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return len(list(Path(f"/proc/{pid}/fd").iterdir())), int(memory.split()[1])


class WholeEpisodes(Arenas):
    """Played by the arena itself: the same as step by step, told once, and ended by commands."""

    def play(self, seed=1, index=0, kind="played", **fields):
        return self.lane.do(kind, "episode", seed=seed, episode_index=index, **fields)

    def test_are_those_that_steps_would_have_made(self):
        lane = self.walk(reset=False, action=2)
        lane.reset(seed=7, index=3)
        by_steps = lane.episode()[-1]["episode"]
        played = self.play(7, 3)["episode"]
        (sums,) = played.pop("operators").values()
        played["duration_seconds"] = by_steps["duration_seconds"]
        self.assertEqual(played, by_steps)
        self.assertGreater(sums.pop("latency_ms"), 0)
        expected = {"calls": 5, "illegal": 0, "late": 0, "errors": 0, "input_tokens": 15, "output_tokens": 20}
        self.assertEqual(sums, expected)
        self.assertEqual(lane.close(), 0)
        lines = [{**line, "ts_unix_ns": 0, "timestamp": 0, "duration_seconds": 0} for line in lane.lines()]
        self.assertEqual((len(lines), lines[1:7]), (14, lines[7:13]))

    def test_count_what_operators_do_wrong(self):
        lane = self.lane
        lane.open("Walk-v0")
        lane.seat({"agent_0": "a"}, a=player(fallback="default", action=17))
        played = self.play()["episode"]
        self.assertEqual(played["operators"]["a"]["illegal"], played["operators"]["a"]["calls"])
        self.assertEqual(played["faults"], {"a": played["steps"]})

    def test_end_by_reset_and_by_close(self):
        lane = self.walk(reset=False)
        lane.send("episode", seed=1, episode_index=0, step_delay=600.0)
        lane.reset(seed=2, index=1)  # and no answer to the episode before
        self.assertEqual(lane.step()["episode_index"], 1)
        lane.send("episode", seed=1, episode_index=2, step_delay=600.0)
        self.assertEqual(lane.close(), 0)

    def test_that_fail_say_so_and_the_next_may_do_better(self):
        error = self.play(kind="error")
        self.assertEqual((error["where"], error["error_type"]), ("episode", "ArenaError"))
        self.walk(reset=False)
        self.assertIn("seed", self.play("one", kind="error")["message"])
        self.assertEqual(self.play(5)["episode"]["seed"], 5)


def insider(inside=True, deadline=None, **settings):
    command = [sys.executable, str(PEERS / "arena_family.py"), "--interactive"]
    about = {"command": command, "environment": None, "settings": settings, "inside": inside}
    return {**about, "name": "Insider", "category": "rl", "deadline": deadline, "fallback": "wait"}


class InsideOperators(Arenas):
    """Operators in the arena's own process act as they would in theirs."""

    def seated(self, env_id="Walk-v0", **operator):
        opened = self.lane.open(env_id)
        self.lane.seat(dict.fromkeys(opened["agents"], "a"), a=insider(**operator))

    def test_play_the_same_episodes(self):
        for env_id in ("Walk-v0", "Together-v0", "Turns-v0"):
            told, written = [], []
            for inside in (True, False):
                self.end()
                with self.subTest(env_id, inside=inside), tempfile.TemporaryDirectory() as folder:
                    self.lane = Lane(folder)
                    self.seated(env_id, inside=inside)
                    self.assertEqual(len(self.lane.operators()), 0 if inside else 1)
                    self.lane.reset(seed=4)
                    steps = [self.lane.step(), self.lane.step()]
                    episode = self.lane.do("played", "episode", seed=5, episode_index=1)["episode"]
                    self.assertEqual(self.lane.close(), 0)
                    for step in steps:
                        for move in step["moves"]:
                            del move["latency_ms"]
                    del episode["duration_seconds"], episode["operators"]["a"]["latency_ms"]
                    told.append((steps, episode))
                    lines = [{**line, "ts_unix_ns": 0, "timestamp": 0} for line in self.lane.lines()]
                    written.append([line for line in lines if line.get("type") == "step"])
            self.assertEqual(told[0], told[1])
            self.assertEqual(written[0], written[1])

    def test_that_raise_are_asked_once_more(self):
        self.seated(trouble="once")
        self.assertEqual(self.lane.do("played", "episode", seed=1)["episode"]["steps"], 5)

    def test_that_cannot_act_fail_the_episode_alone(self):
        self.seated(trouble="raise")
        error = self.lane.do("error", "episode", seed=1)
        self.assertEqual((error["operator"], error["error_type"]), ("a", "error"))
        self.assertIn("I do not know", error["message"])
        self.assertIn("I do not know", self.lane.do("error", "episode", seed=2)["message"])

    def test_that_play_what_is_no_action(self):
        self.seated(trouble="illegal")
        self.assertIn("17 is not an action", self.lane.do("error", "episode", seed=1)["message"])

    def test_that_take_long_are_late_and_waited_for(self):
        self.seated(trouble="slow", deadline=0.01)
        played = self.lane.do("played", "episode", seed=1)["episode"]
        self.assertEqual((played["operators"]["a"]["late"], played["steps"]), (3, 5))

    def test_that_refuse_fail_the_seat(self):
        self.lane.open("Walk-v0")
        error = self.lane.seat({"agent_0": "a"}, "error", a=insider(trouble="refuse"))
        self.assertEqual(error["error_type"], "ConfigError")
        self.assertIn("I do not want to play", error["message"])
        self.lane.seat({"agent_0": "a"}, a=insider(trouble="begin"))
        self.assertIn("I am not awake", self.lane.do("error", "episode", seed=1)["message"])


if __name__ == "__main__":
    unittest.main()
