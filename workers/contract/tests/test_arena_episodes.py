"""Episodes and replays that the arena plays without a command per step."""

from lanes import Arenas, player


class WholeEpisodes(Arenas):
    """An episode equals the same one played step by step, is reported once, and ends at reset or close."""

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
        lane.reset(seed=2, index=1)  # the abandoned episode gets no answer
        self.assertEqual(lane.step()["episode_index"], 1)
        lane.send("episode", seed=1, episode_index=2, step_delay=600.0)
        self.assertEqual(lane.close(), 0)

    def test_that_fail_say_so_and_the_next_may_do_better(self):
        error = self.play(kind="error")
        self.assertEqual((error["where"], error["error_type"]), ("episode", "ArenaError"))
        self.walk(reset=False)
        self.assertIn("seed", self.play("one", kind="error")["message"])
        self.assertEqual(self.play(5)["episode"]["seed"], 5)


class Replays(Arenas):
    """A replay steps the environment with recorded actions, without operators, and hashes each state."""

    def test_are_those_of_the_recorded_episode(self):
        lane = self.walk(reset=False)
        played = lane.do("played", "episode", seed=7, episode_index=3)["episode"]
        steps = [line for line in lane.lines() if line.get("type") == "step"]
        states = [lane.do("replayed", "replay", seed=7, episode_index=3, observations=True)]
        for step in steps:
            states.append(lane.do("replayed", "replay", actions={"agent_0": step["action"]}, picture=True))
        self.assertEqual(
            [state["hashes"]["agent_0"] for state in states],
            [*(step["observation_hash"] for step in steps), steps[-1]["end_hash"]],
        )
        self.assertNotIn("end_hash", steps[0])
        self.assertEqual([state["rewards"]["agent_0"] for state in states[1:]], [s["reward"] for s in steps])
        self.assertEqual(states[-1]["done"], played["terminated"])
        self.assertIn("agent_0", states[0]["observations"])
        self.assertIn("nothing to see", states[1]["no_picture"])
        again = lane.do("error", "replay", actions={"agent_0": 0})
        self.assertIn("send replay with a seed first", again["message"])

    def test_refuse_actions_that_do_not_fit_the_state(self):
        lane = self.walk(reset=False)
        lane.do("replayed", "replay", seed=1, episode_index=0)
        self.assertIn("the turn of agent_0", lane.do("error", "replay", actions={"other": 0})["message"])
        self.assertIn("9", lane.do("error", "replay", actions={"agent_0": 9})["message"])
        lane.do("replayed", "replay", actions={"agent_0": 2})
