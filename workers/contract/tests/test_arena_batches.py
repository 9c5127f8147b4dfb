"""Batches of episodes that an arena plays concurrently."""

import tempfile

from lanes import Arenas, Lane
from test_arena_inside import insider
from worker_processes import PATIENCE

SEEDS = range(7)


class Batches(Arenas):
    """Episodes played in a batch equal the same episodes played one by one."""

    def begin(self, env_id, batch, **operator):
        self.lane.open(env_id)
        self.lane.do(
            "seated",
            "seat",
            seats={"agent_0": "a"},
            operators={"a": insider(silent=True, **operator)},
            batch=batch,
        )
        for seed in SEEDS[:batch]:
            self.lane.send("episode", seed=seed, episode_index=seed)

    def test_have_the_same_steps_and_ends(self):
        ends, steps = [], []
        for batch, inside in ((1, False), (3, False), (7, True)):
            self.lane.kill()
            with self.subTest(batch=batch, inside=inside), tempfile.TemporaryDirectory() as folder:
                self.lane = Lane(folder)
                self.begin("Own-v0", batch, inside=inside)
                played = []
                for seed in SEEDS:
                    played.append(self.lane.wait_for("played")["episode"])
                    if seed + batch in SEEDS:  # an ended episode frees its place in the batch
                        self.lane.send("episode", seed=seed + batch, episode_index=seed + batch)
                self.assertEqual(self.lane.close(), 0)
                for episode in played:
                    del episode["duration_seconds"], episode["operators"]["a"]["latency_ms"]
                ends.append(sorted(played, key=lambda episode: episode["seed"]))
                lines = [
                    {**line, "ts_unix_ns": 0} for line in self.lane.lines() if line.get("type") == "step"
                ]
                steps.append(sorted(lines, key=lambda line: (line["episode_seed"], line["step_index"])))
        self.assertEqual(ends[0], ends[1])
        self.assertEqual(ends[0], ends[2])
        self.assertEqual(steps[0], steps[1])
        self.assertEqual(steps[0], steps[2])

    def test_end_together_when_one_cannot_go_on(self):
        for env_id, trouble, text in (
            ("Own-v0", "illegal", "17 is not an action"),
            ("Own-v0", "raise", "I do not know"),
            ("Raise-v0", "", "the floor has gone"),
            ("Walk-v0", "", "the environment uses the global random generators"),
        ):
            self.lane.kill()
            with self.subTest(env_id, trouble=trouble), tempfile.TemporaryDirectory() as folder:
                self.lane = Lane(folder)
                self.begin(env_id, 3, inside=False, trouble=trouble)
                error = self.lane.wait_for("error")
                self.assertEqual(error["where"], "episode")
                self.assertIn(text, error["message"])
                self.lane.send("close")
                while self.lane.next()["type"] != "closed":
                    pass  # errors of the episodes that had not begun
                self.assertEqual(self.lane.process.wait(PATIENCE), 0)
