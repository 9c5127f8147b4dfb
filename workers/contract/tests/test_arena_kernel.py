"""Operators that run in the kernel: the arena requests each action and the kernel answers."""

from lanes import Arenas, in_kernel
from worker_processes import PATIENCE


class InTheKernel(Arenas):
    def sit(self, **operator):
        self.lane.open("Walk-v0")
        self.lane.seat({"agent_0": "me"}, me=in_kernel(**operator))
        self.lane.reset()
        self.lane.send("step")
        return self.lane.wait_for("ask")

    def test_is_queried_and_answers(self):
        ask = self.sit()
        self.assertEqual((ask["agent"], ask["operator"], ask["step_index"]), ("agent_0", "me", 0))
        self.lane.send("answer", id=ask["id"] + 100, action=0)  # answers no open request
        self.lane.send("answer", id=ask["id"], action=2, action_str="right!", reasoning="I felt like it")
        move = self.lane.wait_for("stepped")["moves"][0]
        self.assertEqual((move["action"], move["action_str"]), (2, "right!"))

    def test_a_person_is_sent_no_observation(self):
        self.assertNotIn("observation", self.sit(category="human"))

    def test_is_not_asked_for_an_answer_that_comes_with_the_step(self):
        self.lane.send("answer", id=self.sit(category="human")["id"], action=2)
        self.lane.wait_for("stepped")
        self.lane.unasked.clear()
        held = {"agent_0": {"action": 1, "action_str": "held"}}
        move = self.lane.do("stepped", "step", held=held)["moves"][0]
        self.assertEqual((move["action"], move["action_str"], move["fault"]), (1, "held", None))
        move = self.lane.do("stepped", "step", held={"agent_0": {"default": True}})["moves"][0]
        self.assertEqual((move["fault"], self.lane.unasked), (None, []))

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
