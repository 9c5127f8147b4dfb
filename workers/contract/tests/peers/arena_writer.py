"""An operator that acts as a language model does: `python arena_writer.py --interactive`.

Settings: `meets` (number of calls that must be in progress before any answers), `seconds` (duration of a
call), `hang_at` (step at which it hangs), `writes` (text of a partial line), `says` (messages), `exchanges`,
`raises` (name of an error class). Logs what it receives to stderr.
"""

import json
import sys
import threading
import time

from mosaic_contract import Decision, Worker, WorkerCapabilities, WorkerMetadata, errors, main

HINTS = ("frame", "teammates", "description", "messages")
called = threading.Condition()
count = 0


def log(**facts):
    print(json.dumps(facts), file=sys.stderr, flush=True)


def meet(agents):
    """Wait until the number of calls reaches the next multiple of `agents`."""
    global count
    with called:
        count += 1
        called.notify_all()
        wanted = -(-count // agents) * agents
        if not called.wait_for(lambda: count >= wanted, timeout=30):
            raise TimeoutError(f"only {count} calls at once")


class Writer:
    def __init__(self, setup):
        self.setup, self.settings = setup, setup.settings

    def select_action(self, observation, *, step_index=None, **hints):
        facts = {name: hints[name] for name in HINTS}
        if facts["frame"] is not None:
            facts["frame"] = [str(facts["frame"].dtype), facts["frame"].shape, facts["frame"][0, 0].tolist()]
        log(cmd="called", agent=self.setup.player_id, step=step_index, **facts)
        if "meets" in self.settings:
            meet(self.settings["meets"])
        if "writes" in self.settings:
            self.setup.send_partial(self.settings["writes"])
        if self.settings.get("hang_at") == step_index:
            time.sleep(600)
        time.sleep(self.settings.get("seconds", 0))
        if "raises" in self.settings:
            raise getattr(errors, self.settings["raises"])("no more of this")
        exchanges, says = (self.settings.get(name, []) for name in ("exchanges", "says"))
        return Decision(self.settings.get("action", 1), "goes on", "so be it", 5, 2, exchanges, says)

    def close(self):
        log(cmd="closed", agent=self.setup.player_id)


def operate(setup):
    log(cmd="made", agent=setup.player_id, settings=setup.settings)
    return Writer(setup)


def metadata():
    return WorkerMetadata("writer", "1.0"), WorkerCapabilities(modes=["operate"])


if __name__ == "__main__":
    sys.exit(main(Worker(metadata, operate=operate, concurrent=True)))
