"""Command line of the peer worker: conforms except for the defects in PEER_MISBEHAVES."""

import ctypes
import os
import signal
import subprocess
import sys
import time

from mosaic_contract import Parameter, Worker, check_hyperparameters, main
from mosaic_contract.fastlane import FrameWriter

from . import WRONG, get_worker_metadata

LIBC = ctypes.CDLL(None)
PARAMETERS = {"step_size": Parameter("step_size", float, 1.0)}


def resolve(config):
    if "accepts anything" in WRONG:
        return config.to_dict()
    return config.to_dict(check_hyperparameters(config.hyperparameters, PARAMETERS))


def train(config, telemetry):
    from peer_upstream import walk

    before(config, telemetry)
    reward, began = 0.0, 0
    for step, position in walk(config.total_timesteps, config.seed, config.hyperparameters["step_size"]):
        reward += position
        if step % 100 == 0:
            telemetry.metrics(step, {"position": position})
            telemetry.episode(total_reward=reward, steps=step - began, step=step)
            reward, began = 0.0, step
            time.sleep(0.001)
    if "exits 0 without a word" in WRONG:
        LIBC._exit(0)
    return {"position": position}


def before(config, telemetry):
    if "prints garbage" in WRONG:
        os.write(telemetry.fileno(), b"loading weights...\n")
    if "ignores SIGTERM" in WRONG:
        LIBC.signal(signal.SIGTERM, 1)  # SIG_IGN, behind Python's back
    if "dies of SIGTERM" in WRONG:
        LIBC.signal(signal.SIGTERM, 0)
    if "leaves a grandchild" in WRONG:
        subprocess.Popen(["sleep", "600"], start_new_session=True)
    if "leaves its frames" in WRONG:
        del FrameWriter.__del__
        FrameWriter(config.run_dir)
    if "ends twice" in WRONG:
        os.write(
            telemetry.fileno(), b'{"event": "run_completed", "run_id": "x", "timestamp": 1, "payload": {}}\n'
        )
    if "crashes" in WRONG:
        raise RuntimeError("the walk has no legs")
    if "hangs" in WRONG:
        time.sleep(600)


if __name__ == "__main__":
    sys.exit(main(Worker(get_worker_metadata, resolve, train, lambda: {"walk": list(PARAMETERS.values())})))
