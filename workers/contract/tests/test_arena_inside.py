"""Operators that run in the arena's process: the same episodes as in their own process, and their faults."""

import sys
import tempfile

from lanes import PEERS, Arenas, Lane


def insider(inside=True, deadline=None, **settings):
    command = [sys.executable, str(PEERS / "arena_family.py"), "--interactive"]
    about = {"command": command, "environment": None, "settings": settings, "inside": inside}
    return {**about, "name": "Insider", "category": "rl", "deadline": deadline, "fallback": "wait"}


class InsideOperators(Arenas):
    def seated(self, env_id="Walk-v0", **operator):
        opened = self.lane.open(env_id)
        self.lane.seat(dict.fromkeys(opened["agents"], "a"), a=insider(**operator))

    def test_play_the_same_episodes(self):
        for env_id in ("Walk-v0", "Together-v0", "Turns-v0"):
            received, written = [], []
            for inside in (True, False):
                self.lane.kill()
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
                    received.append((steps, episode))
                    lines = [{**line, "ts_unix_ns": 0, "timestamp": 0} for line in self.lane.lines()]
                    written.append([line for line in lines if line.get("type") == "step"])
            self.assertEqual(received[0], received[1])
            self.assertEqual(written[0], written[1])

    def test_that_raise_are_queried_once_more(self):
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

    def test_that_take_long_take_nothing_of_the_environments_time(self):
        self.lane.open("Walk-v0", step_timeout=0.5)
        self.lane.seat({"agent_0": "a"}, a=insider(trouble="slow", seconds=2.5))
        self.assertEqual(self.lane.do("played", "episode", seed=1)["episode"]["steps"], 5)
        doing = [beat["doing"] for beat in self.lane.unasked if beat["type"] == "beat"]
        self.assertEqual(set(doing), {"operators"})

    def test_an_environment_that_takes_long_is_an_error_that_says_where(self):
        self.lane.open("Hang-v0", step_timeout=0.5)
        self.lane.seat({"agent_0": "a"}, a=insider())
        error = self.lane.do("error", "episode", seed=1)
        self.assertEqual((error["where"], error["error_type"]), ("episode", "StepTimeout"))
        self.assertEqual(error["message"], "the environment's step took longer than 0.5 s (step_timeout)")
        self.assertIn("time.sleep(60)", error["log"])

    def test_that_refuse_fail_the_seat(self):
        self.lane.open("Walk-v0")
        error = self.lane.seat({"agent_0": "a"}, "error", a=insider(trouble="refuse"))
        self.assertEqual(error["error_type"], "ConfigError")
        self.assertIn("I do not want to play", error["message"])
        self.lane.seat({"agent_0": "a"}, a=insider(trouble="begin"))
        self.assertIn("I am not awake", self.lane.do("error", "episode", seed=1)["message"])
