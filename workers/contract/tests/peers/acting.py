"""A worker whose operators behave as their `behaviour` setting says."""

import os
import sys
import time

from mosaic_contract import ConfigError, Decision, Worker, WorkerCapabilities, WorkerMetadata, main
from mosaic_contract.errors import BudgetSpent


def metadata():
    about = WorkerMetadata("acting", "2.0", upstream_library="none")
    return about, WorkerCapabilities(modes=["operate"])


class Told:
    """Answers with everything it received."""

    def __init__(self, setup):
        self.setup, self.episode = setup, None

    def episode_begin(self, seed, episode_index):
        self.episode = [seed, episode_index]

    def episode_end(self, total_reward, steps):
        self.episode = [total_reward, steps]

    def select_action(self, observation, *, action_mask=None, info=None, step_index=None):
        reported = {"observation": observation, "mask": action_mask, "info": info, "step": step_index}
        return {**reported, "episode": self.episode, "seed": self.setup.seed, **self.setup.settings}

    def close(self):
        print("closed", self.setup.player_id)


class Misbehaving:
    def __init__(self, setup):
        self.behaviour = setup.settings["behaviour"]
        if self.behaviour == "refuses":
            raise ConfigError("this policy is for Box(4)")

    def select_action(self, observation):
        if self.behaviour == "raises":
            raise RuntimeError("the network is on fire")
        if self.behaviour == "refuses later":
            raise ConfigError("this observation is no image")
        if self.behaviour == "answers with a function":
            return print
        if self.behaviour == "prints":
            print("thinking…")
            os.system("echo thinking aloud")
        if self.behaviour == "reads stdin":
            return sys.stdin.read() + os.popen("cat").read()
        if self.behaviour == "takes its time":
            time.sleep(0.05)
            return Decision(2, "right", "because", 10, 3)
        if self.behaviour == "hangs":
            sys.stderr.write("hanging\n")
            time.sleep(600)
        return 1

    def close(self):
        if self.behaviour == "does not close":
            time.sleep(600)


class Writing:
    """A language-model operator: sends partial text, and reports the exchange behind its action."""

    def __init__(self, setup):
        self.setup = setup

    def select_action(self, observation, **hints):
        text = "thinking " * 10_000
        for _ in range(3):
            self.setup.send_partial(text + "aloud")
        if observation == "spend":
            raise BudgetSpent("the budget of $2.00 is spent: $1.98 in 412 calls")
        exchange = {"prompt": "?", "answer": "go", "parsed": 1, "faults": [], "cost_usd": None}
        return Decision(
            sorted(hints), exchanges=[exchange], messages=[{"to": "all", "text": str(hints["messages"])}]
        )


def operate(setup):
    if setup.settings.get("writes"):
        return Writing(setup)
    return (Misbehaving if "behaviour" in setup.settings else Told)(setup)


if __name__ == "__main__":
    sys.exit(main(Worker(metadata, operate=None if "--cannot" in sys.argv else operate), sys.argv[1:2]))
