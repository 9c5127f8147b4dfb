"""Environments of every kind in an arena, working and broken."""

import mosaic_contract
from lanes import Arenas, in_kernel, player
from worker_processes import alive


class Adapters(Arenas):
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
        self.assertIsNone(episode["progression"], "what an environment calls so need not be a number")
        self.assertEqual(lane.close(), 0)
        self.assertIn("the environment was closed", lane.log())

    def test_an_operator_receives_who_it_is_and_what_it_plays(self):
        lane = self.walk(color="red")
        lane.step()
        (begin,) = [received for received in lane.received() if received["cmd"] == "episode_begin"]
        introduced = next(received for received in lane.received() if received["cmd"] == "init_agent")
        self.assertEqual(introduced["game_name"], "Walk-v0")
        self.assertEqual(introduced["action_space"]["n"], 3)
        settings = introduced["settings"]
        self.assertEqual((settings["color"], settings["env_id"]), ("red", "Walk-v0"))
        self.assertEqual(settings["action_meanings"], ["left", "stay", "right"])
        self.assertEqual(begin["seed"], mosaic_contract.operator_seed(1, "Player", "agent_0"))

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

    def test_agents_of_one_process_are_distinguished(self):
        lane = self.lane
        lane.open("Together-v0")
        lane.seat({"north_0": "a", "south_0": "a"}, a=player())
        self.assertEqual(len(lane.operators()), 1)
        lane.reset()
        self.assertEqual({move["agent"] for move in lane.step()["moves"]}, {"north_0", "south_0"})
        requested = [
            received["player_id"] for received in lane.received() if received["cmd"] == "select_action"
        ]
        self.assertEqual(requested, ["north_0", "south_0"])

    def test_an_operator_that_ignores_observations_is_sent_none(self):
        lane = self.lane
        lane.open("Together-v0")
        lane.seat({"north_0": "a", "south_0": "b"}, a=player(), b=player(plain="blind"))
        lane.reset()
        lane.step()
        seen = {
            received["player_id"]: received["observation"]
            for received in (*lane.received("a"), *lane.received("b"))
            if received["cmd"] == "select_action"
        }
        self.assertEqual(seen, {"north_0": True, "south_0": False})

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
        masks = [
            received["action_mask"] for received in lane.received() if received["cmd"] == "select_action"
        ]
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

    def test_a_reward_that_is_not_finite_fails_the_episode_with_its_place(self):
        self.lane.open("Nan-v0")
        self.lane.seat({"agent_0": "a"}, a=player())
        self.lane.reset(seed=7, index=3)
        expected = "the environment's reward was nan at step 1 (episode 3, seed 7)"
        self.assertEqual(self.lane.step("error")["message"], expected)

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
        self.assertEqual(self.lane.received()[-1]["info"], {"lives": 3})
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
        self.wait_until(lambda: any(received["cmd"] == "select_action" for received in lane.received()))
        lane.process.kill()
        self.wait_until(lambda: not alive(operator))
