"""Legal actions of Gymnasium environments: the info's mask, else the method `action_masks`."""

import unittest

from lanes import Arenas, player
from mosaic_contract.arena.environment_adapters import adapt


class Discrete:
    n = 3


class MultiDiscrete:
    nvec = (2, 3)


class Doors:
    """An environment of one agent with the masks and info that a test passes."""

    def __init__(self, action_space, masks=None, info=None):
        self.observation_space, self.action_space = None, action_space
        self.info = info or {}
        if masks is not None:
            self.action_masks = lambda: masks

    def get_wrapper_attr(self, name):
        return getattr(self, name)

    def reset(self, seed=None):
        return "doors", self.info

    def step(self, action):
        return "doors", 0.0, False, False, self.info


def observed(env):
    adapter = adapt(env, "Masked-v0")
    adapter.begin(1)
    return adapter.observe("agent_0")


class ActionMasks(unittest.TestCase):
    def test_the_method_says_what_is_legal(self):
        self.assertEqual(observed(Doors(Discrete(), [True, False, True])).mask, [True, False, True])

    def test_a_flat_mask_of_several_numbers_has_a_part_for_each(self):
        mask = observed(Doors(MultiDiscrete(), [True, False, True, True, False])).mask
        self.assertEqual(mask, ([True, False], [True, True, False]))

    def test_the_mask_in_the_info_comes_first(self):
        env = Doors(Discrete(), [True, True, True], {"action_mask": [0, 1, 0]})
        self.assertEqual(observed(env).mask, [0, 1, 0])

    def test_without_either_everything_is_legal(self):
        self.assertIsNone(observed(Doors(Discrete())).mask)


class InAnArena(Arenas):
    def test_an_operator_receives_the_mask_of_each_step(self):
        lane = self.lane
        lane.open("Doors-v0")
        lane.seat({"agent_0": "a"}, a=player(action=2))
        lane.reset()
        lane.step()
        lane.step()
        masks = [one["action_mask"] for one in lane.received() if one["cmd"] == "select_action"]
        self.assertEqual(masks, [[True, True, True], [True, False, True]])
