"""python -m odd_worker.cli --arena, or --interactive"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from mosaic_contract import Decision, Worker, main
from mosaic_contract.errors import BudgetSpent

from odd_worker import get_worker_metadata
from odd_worker.conversing import Conversing
from odd_worker.spaces import Discrete
from odd_worker.team import LinearPolicy, TeamEnvironment

REASONS = "Nothing has happened so far. " * 9 + "So I go on."


class OddEnvironment:
    """Counts its steps up to ``length``; the count is the observation and the reward.

    ``trouble`` begins at step ``at`` (raise, nan, hang, exit), in the reset (hang_in_reset) or at creation
    (unbuildable); success: action 1 succeeds. With ``once``, the path of a file to create, only the first
    environment to get there is in trouble; with unbuildable_again, all but the first.
    """

    render_mode = None

    def __init__(self, trouble="", at=3, length=20, once=None):
        self.observation_space, self.action_space = Discrete(1000), Discrete(2)
        self._trouble, self._at, self._length, self._once = trouble, at, length, once
        self._step = 0
        if (trouble == "unbuildable" and self._is_hit()) or (
            trouble == "unbuildable_again" and not self._is_hit()
        ):
            raise RuntimeError("the environment could not be built")

    def _is_hit(self):
        if self._once is None:
            return True
        try:
            Path(self._once).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def reset(self, seed=None):
        if self._trouble == "hang_in_reset" and self._is_hit():
            time.sleep(3600)  # longer than any deadline
        self._step = 0
        return 0, {}

    def step(self, action):
        self._step += 1
        reward = float(self._step)
        if self._step >= self._at and self._trouble in ("raise", "nan", "hang", "exit") and self._is_hit():
            if self._trouble == "raise":
                raise RuntimeError("the environment broke")
            if self._trouble == "hang":
                time.sleep(3600)  # longer than any deadline
            if self._trouble == "exit":
                os._exit(7)
            reward = float("nan")
        info = {"is_success": action == 1} if self._trouble == "success" else {}
        return self._step, reward, False, self._step >= self._length, info

    def close(self):
        pass


class OddOperator:
    """Plays 1; ``behaviour`` begins at step ``at``: die, hang, slow (``seconds``), illegal, shout (prints
    40 MB), explain, write (like a language model, until the file ``finished`` exists), spend (exceeds the
    budget). ``episode`` limits it to that episode; ``once`` as in `OddEnvironment`.
    "refuse" fails at creation, "keyed" does so without ODD_API_KEY in its environment."""

    def __init__(self, write, behaviour="", at=3, seconds=0.5, episode=None, once=None, finished=""):
        self._write, self._finished = write, finished
        self._behaviour, self._at, self._seconds, self._once = behaviour, at, seconds, once
        self._episode = episode
        self._playing = None
        if behaviour == "refuse":
            raise ValueError("I do not want to play")
        if behaviour == "keyed" and not os.environ.get("ODD_API_KEY"):
            raise ValueError("I was given no key")

    def episode_begin(self, seed, episode_index):
        self._playing = episode_index

    def _is_hit(self):
        if self._episode not in (None, self._playing):
            return False
        try:
            return self._once is None or not Path(self._once).touch(exist_ok=False)
        except FileExistsError:
            return False

    def select_action(self, observation, *, step_index=None):
        if (step_index or 0) + 1 >= self._at and self._is_hit():
            if self._behaviour == "die":
                print("goodbye, cruel world", file=sys.stderr, flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
            if self._behaviour == "hang":
                time.sleep(3600)  # longer than any deadline
            if self._behaviour == "shout" and step_index == 0:
                print(40_000 * (1_000 * "x" + "\n"), file=sys.stderr)
            if self._behaviour == "slow":
                time.sleep(self._seconds)  # an operator that is late on request
            if self._behaviour == "illegal":
                return 17
            if self._behaviour == "write":
                while not Path(self._finished).exists():
                    self._write("I could go on")
                    time.sleep(0.05)  # the pace of the text, until the test creates the file
                exchange = {"prompt": "go on?", "answer": "I could go on", "cost_usd": None}
                return Decision(1, "go on", exchanges=[exchange], messages=[{"to": "all", "text": "hi"}])
            if self._behaviour == "spend":
                raise BudgetSpent("the budget of $2.00 is spent: $1.98 in 412 calls")
            if self._behaviour == "explain":
                return Decision(1, "go on", REASONS, input_tokens=1234, output_tokens=56)
        return 1


def make(env_id, settings, render_mode):
    if render_mode is not None:
        raise ValueError("cannot be drawn")
    return (TeamEnvironment if env_id == "Team-v0" else OddEnvironment)(**settings)


def operate(setup):
    if setup.settings.get("behaviour") == "converse":
        return Conversing(setup)
    if setup.settings.get("checkpoint", "").endswith(".weights"):
        return LinearPolicy(setup.settings["checkpoint"], setup.player_id)
    known = ("behaviour", "at", "seconds", "episode", "once", "finished")
    return OddOperator(
        setup.send_partial, **{name: value for name, value in setup.settings.items() if name in known}
    )


if __name__ == "__main__":
    sys.exit(main(Worker(get_worker_metadata, operate=operate, make_environment=make)))
