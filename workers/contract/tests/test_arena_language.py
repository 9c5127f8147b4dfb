"""Language-model operators in an arena: their inputs, their reported exchanges and their messages."""

import json
import sys

from lanes import PEERS, Arenas, player

EXCHANGE = {
    "prompt": [{"role": "user", "text": "where to?", "images": []}],
    "answer": "right",
    "parsed": "right",
    "faults": [],
    "input_tokens": 5,
    "output_tokens": 2,
    "cost_usd": 0.25,
    "latency_ms": 12.4,
    "model": "tiny",
    "recorded": False,
}


def writer(needs=(), fallback="wait", **settings):
    command = [sys.executable, str(PEERS / "arena_writer.py"), "--interactive"]
    about = {**player(fallback=fallback), "command": command, "settings": settings}
    return {**about, "name": "LLM", "category": "llm", "needs": list(needs)}


class Writers(Arenas):
    def team(self, operators, **seats):
        """Return the lane, reset, with operators seated at red_0, red_1 and blue_0."""
        self.lane.open("Team-v0")
        self.lane.seat({"red_0": "a", "red_1": "a", "blue_0": "a", **seats}, **operators)
        self.lane.reset()
        return self.lane

    def called(self, agent, key="a"):
        """Return the `called` messages that an agent's operator received, in order."""
        return [one for one in self.lane.received(key) if one["cmd"] == "called" and one["agent"] == agent]

    def test_operators_are_sent_what_they_need(self):
        lane = self.team({"a": writer(["frame", "teammates", "description"]), "b": writer()}, blue_0="b")
        lane.step()
        (red,), (blue,) = self.called("red_0"), self.called("blue_0", "b")
        self.assertEqual(red["frame"], ["uint8", [2, 4, 3], [255, 0, 0]])
        self.assertEqual(red["teammates"], {"red_1": "red_1 sees 0"})
        self.assertEqual(red["description"], {"text": "red_0 holds the ball"})
        self.assertEqual((blue["frame"], blue["teammates"], blue["description"]), (None, None, None))
        made = next(one["settings"] for one in lane.received() if one["agent"] == "red_0")
        self.assertEqual(made["instructions"], "Bring the ball home.")
        self.assertEqual((made["agents"], made["teammates"]), (["red_0", "red_1", "blue_0"], ["red_1"]))

    def test_what_an_environment_cannot_give_is_refused_at_the_seat(self):
        self.lane.open("Mode-v0")  # made without a render mode
        error = self.lane.seat({"agent_0": "a"}, "error", a=writer(["frame"]))
        self.assertEqual(error["error_type"], "ConfigError")
        self.assertIn("LLM needs pictures: Mode-v0 cannot be made with rgb_array", error["message"])
        self.assertEqual(self.lane.operators(), [])
        error = self.lane.seat({"agent_0": "a"}, "error", a=writer(["taste"]))
        self.assertIn("needs 'taste': an arena sends frame, teammates, description", error["message"])

    def test_messages_reach_their_receivers_with_the_next_observation(self):
        says = [{"to": "red_1", "text": "left!"}, {"to": "all", "text": "hello"}]
        lane = self.team({"a": writer(says=says), "b": writer()}, red_1="b", blue_0="b")
        moves = {move["agent"]: move for move in lane.step()["moves"]}
        self.assertEqual(moves["red_0"]["messages"], says)
        self.assertNotIn("messages", moves["red_1"])
        lane.step()
        first, second = self.called("red_1", "b")
        self.assertEqual(first["messages"], [])
        left = {"from": "red_0", "text": "left!", "step_index": 0}
        hello = {**left, "text": "hello"}
        self.assertEqual(second["messages"], [left, hello])
        self.assertEqual(self.called("blue_0", "b")[1]["messages"], [hello])
        lane.reset()  # discards undelivered messages
        lane.step()
        self.assertEqual(self.called("blue_0", "b")[2]["messages"], [])
        lane.close()
        written = [line.get("messages") for line in lane.lines() if line.get("agent_id") == "red_0"]
        self.assertEqual(written, [says] * 3)

    def test_messages_are_bounded_and_what_is_cut_off_is_said(self):
        says = [{"to": "all", "text": "y" * 700}, {"to": "nobody", "text": "hm"}, {"to": 5}]
        lane = self.team({"a": writer(says=says + 8 * says[:1]), "b": writer()}, red_1="b", blue_0="b")
        move = next(move for move in lane.step()["moves"] if move["agent"] == "red_0")
        self.assertEqual([len(one["text"]) for one in move["messages"]], [500] * 6)
        self.assertEqual(move["fault"], None)
        for said in (
            "a message of 700 characters was cut to 500",
            "a message to 'nobody' was not delivered: there are red_1, blue_0",
            """a message must be {"to": agent, "text": text}, not {'to': 5}""",
            "3 messages beyond 8 were dropped",
        ):
            self.assertIn(said, move["fault_text"])

    def test_viewers_of_single_steps_see_what_a_model_writes(self):
        lane = self.team({"a": writer(writes="let me think"), "b": writer()}, red_1="b", blue_0="b")
        lane.step()
        (partial,) = [one for one in lane.unasked if one["type"] == "partial"]
        text = {"text": "let me think"}
        self.assertEqual(partial, {"type": "partial", "agent": "red_0", "operator": "a", **text})
        lane.unasked.clear()
        lane.do("played", "episode", seed=1)
        self.assertEqual([one for one in lane.unasked if one["type"] == "partial"], [])

    def test_agents_of_one_process_are_answered_at_once(self):
        lane = self.team({"a": writer(meets=3)})  # no agent answers before all three are called
        last = lane.episode()[-1]
        self.assertEqual((last["step_index"], last["episode"]["faults"]), (4, {}))
        self.assertEqual(lane.close(), 0)
        self.assertEqual([one["cmd"] for one in lane.received()].count("closed"), 3)

    def test_a_reset_in_the_middle_of_a_call_does_not_wait_for_it(self):
        lane = self.team({"a": writer(hang_at=1)})
        lane.step()
        lane.send("step")
        self.wait_until(lambda: len(self.called("red_0")) == 2)
        lane.reset()
        self.assertEqual([move["action"] for move in lane.step()["moves"]], [1, 1, 1])

    def test_exchanges_come_with_the_move(self):
        long = {**EXCHANGE, "prompt": [{"role": "user", "text": "a" * 400_000 + "z", "images": []}]}
        lane = self.team({"a": writer(exchanges=[EXCHANGE, long]), "b": writer()}, red_1="b", blue_0="b")
        moves = {move["agent"]: move for move in lane.step()["moves"]}
        whole, cut = moves["red_0"]["exchanges"]
        self.assertNotIn("exchanges", moves["red_1"])
        self.assertLess(len(json.dumps(moves["red_0"]["exchanges"])), 256 << 10)
        self.assertEqual(whole, EXCHANGE)
        text = cut["prompt"][0].pop("text")
        self.assertIn("[… 384001 characters are left out here …]", text)
        self.assertEqual((text[0], text[-1]), ("a", "z"))
        self.assertEqual({**cut, "prompt": 0}, {**EXCHANGE, "prompt": 0})

    def test_a_scripted_episode_sums_exchanges_up(self):
        repair = {**EXCHANGE, "faults": ["repair", "unparsed", "default"], "parsed": None, "latency_ms": None}
        free = {**EXCHANGE, "faults": ["illegal"], "cost_usd": 0}
        lane = self.team(
            {"a": writer(exchanges=[free, repair]), "b": writer(exchanges=[{**EXCHANGE, "cost_usd": None}])},
            red_1="b",
            blue_0="b",
        )
        received = lane.do("played", "episode", seed=1)["episode"]["operators"]
        names = ("calls", "exchanges", "cost_usd", "parse_faults", "repairs", "defaults", "input_tokens")
        self.assertEqual([received["a"][name] for name in names], [4, 8, 1.0, 8, 4, 4, 40])
        self.assertEqual(received["a"]["exchange_ms"], [12] * 4)
        self.assertEqual([received["b"][name] for name in names], [8, 8, None, 0, 0, 0, 40])
        lane.seat({"red_0": "a", "red_1": "a", "blue_0": "a"}, a=writer())
        received = lane.do("played", "episode", seed=1)["episode"]["operators"]["a"]
        self.assertNotIn("exchanges", received)

    def test_what_is_paid_for_an_unusable_answer_counts(self):
        self.team({"a": writer(action=99, fallback="default", exchanges=[EXCHANGE])})
        received = self.lane.do("played", "episode", seed=1)["episode"]["operators"]["a"]
        self.assertEqual((received["illegal"], received["exchanges"], received["input_tokens"]), (12, 12, 60))

    def test_some_errors_end_the_episode_whatever_the_fallback(self):
        for raised, kind in (
            ("BudgetSpent", "BudgetSpent"),
            ("RecordingMismatch", "RecordingMismatch"),
            ("EndpointRefused", "ConfigError"),
        ):
            with self.subTest(raised):
                self.setUp()
                lane = self.team({"a": writer(raises=raised, fallback="default")})
                for command in ("step", "episode"):
                    error = lane.do("error", command, seed=1)
                    self.assertEqual((error["error_type"], error["operator"]), (kind, "a"))
                    self.assertIn("no more of this", error["message"])
        self.setUp()
        lane = self.team({"a": writer(raises="EndpointFailed", fallback="default")})
        self.assertEqual({move["fault"] for move in lane.step()["moves"]}, {"error"})
