"""Operator faults: unusable, late and missing answers, and processes that die or cannot start."""

import sys
import time

from lanes import Arenas, player, usage
from mosaic_contract import operator_seed


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
        for behaviour in ("garbage", "illegal", "error"):
            with self.subTest(behaviour):
                self.setUp()
                lane = self.walk(behaviour=behaviour, action=2, fallback="default")
                move = lane.move()
                self.assertEqual((move["action"], move["action_str"]), (1, "stay (1)"))
                self.assertTrue(move["fault"] and move["fault_text"])
                last = lane.episode()[-1]
                self.assertEqual(last["returns"], {"agent_0": 9.0})
                self.assertEqual(last["episode"]["faults"], {"a": 1})

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

    def test_an_error_that_may_pass_is_queried_once_more(self):
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
        # The late answer is action 2. The player still sleeps at the next request, so that call is late too.
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
        self.assertLess(time.monotonic() - began, 10.0)  # the operator would never answer

    def test_more_answers_than_were_requested_are_dropped(self):
        lane = self.walk(behaviour="twice", at="always")
        self.assertEqual([lane.move()["action"] for _ in range(5)], [1] * 5)
        pings = [received for received in lane.received() if received["cmd"] == "ping"]
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

    def test_unknown_lines_and_capabilities_of_an_operator_are_passed_over(self):
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
        for plain in ("plain", "plain mute"):
            with self.subTest(plain):
                self.setUp()
                self.lane.open("Turns-v0")
                seated = self.lane.seat({"player_0": "a", "player_1": "a"}, a=player(plain=plain, action=1))
                self.assertTrue(seated["operators"]["a"]["plain"])
                self.lane.reset()
                self.lane.episode()
                received = self.lane.received()
                self.assertEqual(
                    {one["cmd"] for one in received}, {"hello", "ping", "init_agent", "select_action"}
                )
                introduced = next(one for one in received if one["cmd"] == "init_agent")
                self.assertNotIn("seed", introduced)
                for name in ("observation_space", "action_space", "action_meanings"):
                    self.assertTrue(introduced[name])
                    self.assertEqual(introduced["settings"][name], introduced[name])
                last = [one for one in received if one["cmd"] == "select_action"][-1]
                self.assertEqual(last["action_mask"], [1, 0, 0])
                self.assertEqual(last["info"], {"legal_moves": [1]})
                self.assertNotIn("step_index", last)

    def test_a_worker_of_the_platform_gets_a_fresh_seed_for_each_episode_where_it_takes_one(self):
        self.lane.open("Walk-v0")
        self.lane.seat({"agent_0": "a"}, a=player(plain="plain seeded"))
        for seed in (1, 2, 1):
            self.lane.reset(seed)
            self.lane.episode()
            self.assertEqual(len(self.lane.operators()), 1)
        _, *seeds = [one["seed"] for one in self.lane.received() if one["cmd"] == "started"]
        self.assertEqual(seeds, [str(operator_seed(seed, "Player", "agent_0")) for seed in (1, 2, 1)])
        self.assertEqual(self.lane.close(), 0)
