"""A small real worker that misbehaves on demand: ``--config FILE``, behaviour named by "algorithm".

Deliberately raw: it writes the protocol's lines itself, as a third party's worker might, well or badly.
``hold`` and ``go`` in the hyperparameters are paths: the worker creates ``hold`` and waits for ``go``, so
that a test can act between two events instead of sleeping.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

with Path(sys.argv[sys.argv.index("--config") + 1]).open() as file:
    CONFIG = json.load(file)
OPTIONS = CONFIG["hyperparameters"]
RUN_ID = CONFIG["run_id"]
STEPS = CONFIG["total_timesteps"]


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def event(name: str, timestamp: float | None = None, **payload: object) -> None:
    stamp = time.time() if timestamp is None else timestamp
    message = {"event": name, "run_id": RUN_ID, "timestamp": stamp, "payload": payload}
    write(json.dumps(message).encode() + b"\n")


def metrics(step: int, value: float = 1.0, timestamp: float | None = None) -> None:
    event("metrics", timestamp, step=step, values={"value": value})


def meet() -> None:
    """Report to the test that this point is reached, and wait for permission to continue."""
    if "hold" in OPTIONS:
        Path(OPTIONS["hold"]).touch()
        while not Path(OPTIONS["go"]).exists():
            time.sleep(0.01)  # polls for a file that the test creates


def leave_on_sigterm() -> None:
    def leave(number: int, frame: object) -> None:
        event("run_cancelled", reason="SIGTERM", completed_episodes=0, partial_results={})
        os._exit(143)

    signal.signal(signal.SIGTERM, leave)


def deaf() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def sleep_for_ever() -> None:
    """Appear to the keeper to work without end; signal handlers still run."""
    while True:
        time.sleep(60)


# ------------------------------------------------------------------ behaviours


def train() -> None:
    """Report metrics every ``pause`` seconds; obey SIGTERM."""
    leave_on_sigterm()
    event("run_started", worker_type="peer")
    for step in range(STEPS):
        metrics(step)
        time.sleep(OPTIONS.get("pause", 0.001))  # keeps the output of long trainings small
    meet()
    event("run_completed", episodes=0, final_metrics={})


def episodes(count: int) -> None:
    """Report episodes with returns 0, 1, 2, …"""
    for number in range(count):
        episode = {"type": "episode", "episode_index": number, "total_reward": number, "steps": 1}
        write(json.dumps({**episode, "run_id": RUN_ID}).encode() + b"\n")


def play() -> None:
    episodes(STEPS)
    event("run_completed", episodes=STEPS)


def team() -> None:
    """Report episodes of two agents, one of which always has the higher return."""
    for number in range(STEPS):
        for agent, total in (("left", -10.0), ("right", -20.0)):
            episode = {"type": "episode", "episode_index": number, "agent_id": agent, "total_reward": total}
            write(json.dumps({**episode, "steps": 1, "run_id": RUN_ID}).encode() + b"\n")
    event("run_completed", episodes=STEPS)


def silent() -> None:
    """Run without writing a line."""
    sleep_for_ever()


def paint() -> None:
    """Write colours, a title and a bell into the log and an event, as rich and similar libraries do."""
    red, title = "\x1b[1;31m", "\x1b]0;owned\x07"
    print(f"{title}\x1b[2K{red}the log\x1b[0m\x07 of café", file=sys.stderr, flush=True)
    lines = f"Traceback\n  {red}in line 1\x1b[0m\n"
    event("run_failed", error=f"{red}too hot\x1b[0m\x9b2J", error_type="ValueError", traceback=lines)
    sys.exit(1)


def fail() -> None:
    """Report an exception by the protocol and on stderr."""
    import traceback

    event("run_started", worker_type="peer")
    try:
        raise ValueError("the reward was a potato")
    except ValueError as error:
        trace = traceback.format_exc()
        event("run_failed", error=str(error), error_type="ValueError", traceback=trace, episode=0, step=3)
        traceback.print_exc()
    print("about to leave with an error", file=sys.stderr)
    sys.exit(1)


def exit_1() -> None:
    print("something went wrong here", file=sys.stderr)
    sys.exit(1)


def refuse() -> None:
    event(
        "run_failed",
        error="learning_rat: did you mean learning_rate?",
        error_type="ConfigError",
        traceback="",
    )
    sys.exit(2)


def killed() -> None:
    metrics(1)
    meet()
    os.kill(os.getpid(), OPTIONS.get("signal", signal.SIGKILL))


def hang() -> None:
    """Report once, then ignore SIGTERM."""
    deaf()
    metrics(1)
    sleep_for_ever()


def hold_shared_memory() -> None:
    """Ignore signals while holding a shared-memory segment and a temporary file."""
    import tempfile
    from multiprocessing.shared_memory import SharedMemory

    deaf()
    segment = SharedMemory(create=True, size=1 << 16)
    with tempfile.NamedTemporaryFile(delete=False) as file:
        event("run_started", segment=segment.name, file=file.name)
    sleep_for_ever()


def leave_children() -> None:
    """Complete, but leave one child in this session and one in its own running (deaf if ``deaf``)."""
    code = "import signal, sys, time\n"
    if OPTIONS.get("deaf"):
        code += "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    code += "print('up', flush=True)\nwhile True: time.sleep(60)"
    for own_session in (False, True):
        child = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=own_session
        )
        assert child.stdout is not None
        child.stdout.readline()
    metrics(1)
    if OPTIONS.get("stay"):
        sleep_for_ever()
    event("run_completed", episodes=0)
    os._exit(0)


def start_daemon() -> None:
    """Start a deaf daemon connected to the run only by its ancestry; write its pid to the file ``pid``."""
    code = (
        "import os, pathlib, signal, sys, time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid(), os.chdir('/'), signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "new = pathlib.Path(sys.argv[1] + '.new')\n"
        "new.write_text(str(os.getpid())), new.rename(sys.argv[1])\n"
        "os.closerange(0, 100)\n"
        "while True: time.sleep(60)"
    )
    subprocess.run(["env", "-i", sys.executable, "-c", code, OPTIONS["pid"]], check=True)
    while not Path(OPTIONS["pid"]).exists():
        time.sleep(0.01)  # polls for the daemon's file: it is not a child of this process
    leave_on_sigterm()
    metrics(1)
    sleep_for_ever()


def torn_line() -> None:
    metrics(1)
    write(b'{"event": "metrics", "run_id": "x", "payl')
    meet()
    os.kill(os.getpid(), signal.SIGKILL)


def flood() -> None:
    """Write lines as fast as the disk accepts them."""
    leave_on_sigterm()
    stamp = time.time()
    head = f'{{"event": "metrics", "run_id": "{RUN_ID}", "timestamp": {stamp}, "payload": {{"step": '
    for start in range(0, STEPS, 10_000):
        block = "".join(
            f'{head}{step}, "values": {{"value": {step}}}}}}}\n' for step in range(start, start + 10_000)
        )
        write(block.encode())
    event("run_completed", episodes=0)


def spill() -> None:
    """Write megabytes of zeros without end, ignoring signals."""
    deaf()
    while True:
        write(bytes(8 << 20))
        time.sleep(0.02)  # at most 400 MB/s: other processes use the disk


def shout() -> None:
    """Write 40 MB to the log, then work without end."""
    leave_on_sigterm()
    event("run_started")
    for number in range(400):
        print(number, 100_000 * "x", file=sys.stderr)
    print("shouted enough", file=sys.stderr, flush=True)
    sleep_for_ever()


def not_numbers() -> None:
    for step, value in enumerate([1.0, float("nan"), float("inf"), float("-inf"), 2.0]):
        metrics(step, value)  # bare NaN and Infinity, as json.dumps writes them
    text = {"step": 5, "values": {"value": "NaN"}}
    write(json.dumps({"event": "metrics", "timestamp": 1.0, "payload": text}).encode() + b"\n")
    nested = {"step": 6, "values": {"eval": {"return": 3.0, "by_seed": {"1": 2.0}}}}
    write(json.dumps({"event": "metrics", "timestamp": 1.0, "payload": nested}).encode() + b"\n")
    event("run_completed", episodes=0)


def jumping_clock() -> None:
    now = time.time()
    for step, offset in enumerate([0, 1, -86_400, -86_399, 86_400, 86_401, 2, 3]):
        metrics(step, step, timestamp=now + offset)
    event("run_completed", now - 1e6, episodes=0)


def use_resources() -> None:
    """Use 100 MiB and half a second of CPU time, part of it in a child."""
    block = bytearray(os.urandom(1 << 20)) * 100
    code = "import time\nwhile time.process_time() < 0.25: pass"
    subprocess.run([sys.executable, "-c", code], check=True)
    while time.process_time() < 0.25:
        pass
    event("run_completed", episodes=len(block))


def work_hard() -> None:
    """Use 100 MiB here and in a child, 8 MiB of disk, and a busy CPU until the test continues it."""
    busy = "import os\nblock = bytearray(os.urandom(1 << 20)) * 100\nwhile os.getppid() == %d: pass"
    block = bytearray(os.urandom(1 << 20)) * 100
    Path("result").write_bytes(os.urandom(8 << 20))
    child = subprocess.Popen([sys.executable, "-c", busy % os.getpid()])
    metrics(3, len(block))
    meet()
    child.kill()
    event("run_completed")


def eat_memory() -> None:
    metrics(1)
    blocks = []
    while True:
        blocks.append(bytearray(os.urandom(1 << 20)) * 16)


def import_late() -> None:
    """Import a module from the environment after the test has acted."""
    metrics(1)
    meet()
    try:
        import late_module  # noqa: F401
    except ImportError as error:
        event("run_failed", error=str(error), error_type=type(error).__name__, traceback="")
        sys.exit(1)
    event("run_completed", episodes=0)


def show_environment() -> None:
    """Report the names of all environment variables, but values of device and thread settings only."""
    shown = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "OMP_NUM_THREADS", "SDL_NO_SIGNAL_HANDLERS")
    event(
        "run_started",
        names=sorted(os.environ),
        cwd=str(Path.cwd()),
        **{name: os.environ.get(name) for name in shown},
    )
    meet()
    event("run_completed", episodes=0)


def keep_writing_files() -> None:
    """Recreate its folder whenever it is removed, as libraries that save checkpoints do."""
    leave_on_sigterm()
    metrics(1)
    while True:
        folder = Path(CONFIG["run_dir"], "checkpoints")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "newest").write_text(str(time.time()))
        time.sleep(0.01)  # often enough to hit a removal, without a busy core


def save_checkpoints() -> None:
    """Save three checkpoints and delete the last one; on demand, also episodes and a video."""
    episodes(OPTIONS.get("play", 0))
    if OPTIONS.get("video"):
        Path(CONFIG["run_dir"], "videos").mkdir()
        Path(CONFIG["run_dir"], "videos", "0.mp4").touch()
    for step in (10, 20, 30):
        path = Path(CONFIG["run_dir"], "checkpoints", f"step-{step}")
        path.parent.mkdir(exist_ok=True)
        path.write_text("weights")
        saved = {"checkpoint_path": str(path), "episode": 1, "step": step, "metrics": {"return": step}}
        event("checkpoint_saved", format="text", **saved)
    Path(CONFIG["run_dir"], "checkpoints", "step-30").unlink()
    if OPTIONS.get("stay"):
        sleep_for_ever()
    event("run_completed", episodes=0)


globals()[CONFIG["algorithm"]]()
