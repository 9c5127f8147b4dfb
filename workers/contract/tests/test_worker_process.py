"""A whole worker as a process of its own: what it prints, how it is stopped, how it ends.

Each test writes the body of a shim's `train` and runs it by the command line that every worker has.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from pathlib import Path

import mosaic_contract
from mosaic_contract import decode_line, parse_message

CONTRACT = str(Path(mosaic_contract.__file__).parent.parent)
PATIENCE = 60.0  # seconds until a test gives up; nothing here takes more than a few

WORKER = """
import ctypes, os, signal, subprocess, sys, threading, time
from mosaic_contract import *

KNOWN = {"learning_rate": Parameter("learning_rate", float, 0.1)}

def metadata():
    return WorkerMetadata("test", "1.0", upstream_library="none"), WorkerCapabilities("test_type")

def resolve(config):
    resolved = config.to_dict(check_hyperparameters(config.hyperparameters, KNOWN))
    return {**resolved, "algorithm": config.algorithm.lower()}

def train(config, telemetry):
__BODY__

sys.exit(main(Worker(metadata, resolve, train, lambda: {"ppo": list(KNOWN.values())})))
"""

LOOP = """
telemetry.metrics(1, {"loss": 0.5})
while True:
    sum(range(1000))
"""


def worker_source(body):
    indented = textwrap.indent(textwrap.dedent(body).strip() or "pass", "    ")
    return WORKER.replace("__BODY__", indented)


class WorkerProcess(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.config = {
            "run_id": "r1",
            "algorithm": "ppo",
            "env_id": "CartPole-v1",
            "seed": 1,
            "total_timesteps": 100,
        }

    def start(self, body, *arguments, stdout=None, stderr=None):
        (self.folder / "worker.py").write_text(worker_source(body))
        (self.folder / "config.json").write_text(json.dumps(self.config))
        self.out, self.err = self.folder / "telemetry.jsonl", self.folder / "worker.log"
        with self.out.open("ab") as out, self.err.open("ab") as err:
            process = subprocess.Popen(
                [sys.executable, "worker.py", *(arguments or ("--config", "config.json"))],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=stdout or out,
                stderr=stderr or err,
                env={**os.environ, "PYTHONPATH": CONTRACT},
                start_new_session=True,
            )
        self.addCleanup(self.kill, process)
        return process

    def kill(self, process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # children of a test that failed, too
        process.wait()

    def run_to_its_end(self, body, *arguments, **streams):
        return self.start(body, *arguments, **streams).wait(PATIENCE)

    def messages(self):
        lines = self.out.read_bytes().split(b"\n")[:-1]  # a line being written has no newline yet
        return [parse_message(decode_line(line)) for line in lines]

    def log(self):
        return self.err.read_text()

    def wait_until(self, condition):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, f"never came; log:\n{self.log()}"
            time.sleep(0.02)

    def wait_for(self, kind):
        self.wait_until(lambda: any(kind == m.KIND for m in self.messages()))

    def end(self):
        """The terminal event, after checking that there is exactly one, at the end."""
        messages = self.messages()
        assert [m.KIND for m in messages if m.TERMINAL] == [messages[-1].KIND], messages
        return messages[-1]


class Trainings(WorkerProcess):
    def test_a_training_from_start_to_end(self):
        code = self.run_to_its_end("""
            telemetry.metrics(50, {"lr": config.hyperparameters["learning_rate"]})
            telemetry.episode(total_reward=5.0, steps=10)
            return {"final_return": 5.0}
            """)
        assert code == 0, self.log()
        first, *others = self.messages()
        assert first.KIND == "run_started" and first.worker_type == "test_type"
        assert first.config["hyperparameters"] == {"learning_rate": 0.1}
        kinds = [m.KIND for m in others]
        assert "heartbeat" in kinds and "metrics" in kinds and "episode" in kinds
        end = self.end()
        assert end.KIND == "run_completed" and end.final_metrics == {"final_return": 5.0}
        assert json.loads((self.folder / "analytics.json").read_text())["run_id"] == "r1"

    def test_the_algorithm_that_runs_is_the_one_that_was_resolved(self):
        self.config["algorithm"] = "PPO"
        assert self.run_to_its_end("return {'algorithm': config.algorithm}") == 0, self.log()
        assert self.messages()[0].algo == self.end().final_metrics["algorithm"] == "ppo"

    def test_prints_of_python_of_c_and_of_children_go_to_stderr(self):
        code = self.run_to_its_end("""
            print("from python")
            libc = ctypes.CDLL(None)
            libc.puts(b"from c")
            libc.fflush(None)
            os.write(1, b"from fd 1\\n")
            subprocess.run(["echo", "from a child"], check=True)
            subprocess.run([sys.executable, "-c", "print('from a python child')"], check=True)
            """)
        assert code == 0, self.log()
        assert self.end().KIND == "run_completed"  # every line of stdout was parsed
        for text in ("from python", "from c", "from fd 1", "from a child", "from a python child"):
            assert text in self.log()

    def test_heartbeats_come_by_themselves_and_count_children(self):
        self.start("""
            child = subprocess.Popen([sys.executable, "-c", "x = bytearray(200 << 20); input()"], stdin=-1)
            with Heartbeats(telemetry, interval=0.1):
                time.sleep(600)
            """)
        self.wait_until(lambda: any(m.KIND == "heartbeat" and m.memory_mb > 200 for m in self.messages()))

    @unittest.skipUnless(Path("/dev/full").exists(), "needs /dev/full")
    def test_a_full_disk_under_stdout_and_stderr_does_not_stop_the_training(self):
        with Path("/dev/full").open("wb") as full:
            code = self.run_to_its_end(
                """
                for step in range(1000):
                    telemetry.metrics(step, {"loss": 0.5})
                    print("a library talks", step)
                    print("and complains", file=sys.stderr)
                (config.run_dir / "trained").touch()
                """,
                stdout=full,
                stderr=full,
            )
        assert code == 0
        assert (self.folder / "trained").exists()

    @unittest.skipUnless(Path("/dev/full").exists(), "needs /dev/full")
    def test_a_full_disk_at_the_end_does_not_make_the_training_fail(self):
        (self.folder / "analytics.json.partial").symlink_to("/dev/full")
        assert self.run_to_its_end("pass") == 0
        assert self.end().KIND == "run_completed"
        assert "analytics.json could not be written" in self.log()
        assert not list(self.folder.glob("analytics.json*"))

    def test_a_reader_that_is_gone_does_not_stop_the_training(self):
        reader, writer = os.pipe()
        os.close(reader)
        code = self.run_to_its_end('telemetry.metrics(1, {"loss": 0.5})', stdout=writer)
        os.close(writer)
        assert code == 0, self.log()


class Endings(WorkerProcess):
    def test_an_error_is_told_with_its_traceback(self):
        code = self.run_to_its_end("telemetry.advance(7); raise RuntimeError('the env broke')")
        end = self.end()
        assert code == 1 and end.KIND == "run_failed"
        assert (end.error, end.error_type, end.step) == ("the env broke", "RuntimeError", 7)
        assert "worker.py" in end.traceback and "RuntimeError: the env broke" in self.log()

    def test_a_failure_that_the_librarys_program_has_told_is_told_once(self):
        code = self.run_to_its_end("""
            print("Traceback of the library")
            raise UpstreamFailed("no legs", "WalkError", "Traceback of the library")
            """)
        end = self.end()
        assert code == 1 and (end.error, end.error_type) == ("no legs", "WalkError")
        assert end.traceback == "Traceback of the library"
        assert self.log() == "Traceback of the library\nERROR mosaic_contract: the run failed: no legs\n"

    def test_a_library_that_is_missing_is_a_failure(self):
        assert self.run_to_its_end("import no_such_library") == 1
        assert self.end().error_type == "ModuleNotFoundError"

    def test_sys_exit_of_a_library(self):
        assert self.run_to_its_end("sys.exit(0)") == 0
        assert self.end().KIND == "run_completed"

    def test_sys_exit_of_a_library_with_an_error(self):
        assert self.run_to_its_end("sys.exit('no display')") == 1
        assert "'no display'" in self.end().error

    def test_a_keyboard_interrupt_that_nobody_typed_is_a_failure(self):
        assert self.run_to_its_end("raise KeyboardInterrupt") == 1
        assert self.end().error_type == "KeyboardInterrupt"

    def test_the_shims_own_terminal_event_is_the_only_one(self):
        assert self.run_to_its_end("telemetry.run_failed('upstream said no'); raise OSError('after')") == 1
        assert self.end().error == "upstream said no"

    def test_a_thread_that_never_ends_does_not_keep_a_cancelled_process(self):
        process = self.start("threading.Thread(target=threading.Event().wait).start()\n" + LOOP)
        self.wait_for("metrics")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 143


class BadConfiguration(WorkerProcess):
    def test_all_problems_are_told_on_both_streams_and_nothing_is_trained(self):
        self.config.update(seed="one", total_timesteps=0)
        for arguments in (("--config", "config.json"), ("--config", "config.json", "--dry-run")):
            with self.subTest(arguments=arguments):
                code = self.run_to_its_end("(config.run_dir / 'trained').touch()", *arguments)
                end = self.messages()[-1]
                assert code == 2 and end.KIND == "run_failed" and end.run_id == "r1"
                assert end.error_type == "ConfigError"
                assert "seed must be an integer" in end.error and "total_timesteps must be" in end.error
                assert "seed must be an integer" in self.log()
        assert not (self.folder / "trained").exists()

    def test_a_misspelt_hyperparameter_names_the_nearest(self):
        self.config["learning_rat"] = 0.1
        assert self.run_to_its_end("pass") == 2
        assert "did you mean 'learning_rate'" in self.end().error

    def test_a_file_that_is_missing(self):
        assert self.run_to_its_end("pass", "--config", "nowhere.json") == 2
        assert "nowhere.json cannot be read" in self.end().error


class Questions(WorkerProcess):
    def test_a_dry_run_prints_the_resolved_configuration_alone(self):
        assert self.run_to_its_end("print('trained')", "--config", "config.json", "--dry-run") == 0
        resolved = json.loads(self.out.read_text())
        assert resolved["hyperparameters"] == {"learning_rate": 0.1} and resolved["run_id"] == "r1"
        assert "trained" not in self.log()

    def test_describe_prints_what_the_worker_is(self):
        assert self.run_to_its_end("pass", "--describe") == 0
        described = json.loads(self.out.read_text())
        assert described["metadata"]["name"] == "test"
        assert described["hyperparameters"]["ppo"][0] == {
            "name": "learning_rate",
            "type": "float",
            "default": 0.1,
            "help": "",
            "choices": [],
        }

    def test_worker_id_and_verbose_show_in_the_log(self):
        code = self.run_to_its_end(
            "import logging; logging.debug('details')",
            "--config", "config.json", "--verbose", "--worker-id", "w%1",
        )  # fmt: skip
        assert code == 0 and "[w%1] DEBUG root: details" in self.log()


class Cancelling(WorkerProcess):
    def cancel(self, body, signum=signal.SIGTERM, group=False, again=False):
        process = self.start(body)
        self.wait_for("metrics")
        for _ in range(2 if again else 1):
            if group:
                os.killpg(process.pid, signum)
            else:
                process.send_signal(signum)
        return process.wait(PATIENCE)

    def test_sigterm_in_a_busy_loop(self):
        assert self.cancel(LOOP) == 143
        end = self.end()
        assert end.KIND == "run_cancelled" and end.reason == "stopped by SIGTERM"

    def test_sigint(self):
        assert self.cancel(LOOP, signal.SIGINT) == 130
        assert self.end().reason == "stopped by SIGINT"

    def test_a_second_sigterm_at_once_changes_nothing(self):
        assert self.cancel(LOOP, again=True) == 143
        assert self.end().KIND == "run_cancelled"

    def test_sigterm_while_waiting_for_a_subprocess(self):
        body = """
            child = subprocess.Popen(["sleep", "600"])
            telemetry.metrics(1, {"loss": 0.5})
            try:
                child.wait()
            finally:
                child.kill()
            """
        assert self.cancel(body) == 143
        assert self.end().KIND == "run_cancelled"

    def test_sigterm_to_the_group_of_a_shim_that_reports_its_dead_subprocess(self):
        body = """
            telemetry.metrics(1, {"loss": 0.5})
            subprocess.run(["sleep", "600"], check=True)
            """
        assert self.cancel(body, group=True) == 143
        assert self.end().KIND == "run_cancelled"

    def test_an_error_that_the_signal_brought_about_is_a_cancellation(self):
        body = """
            telemetry.metrics(1, {"loss": 0.5})
            try:
                time.sleep(600)
            except BaseException:
                raise RuntimeError("the connection broke") from None
            """
        assert self.cancel(body) == 143
        assert self.end().KIND == "run_cancelled"

    def test_a_shim_may_save_first_and_a_second_signal_does_not_disturb_it(self):
        process = self.start("""
            telemetry.metrics(1, {"loss": 0.5})
            try:
                time.sleep(600)
            except Cancelled:
                (config.run_dir / "saving").touch()
                while not (config.run_dir / "told_twice").exists():
                    time.sleep(0.01)
                telemetry.checkpoint_saved("checkpoints/last")
                return {"return": 5.0}
            """)
        self.wait_for("metrics")
        process.send_signal(signal.SIGTERM)
        self.wait_until((self.folder / "saving").exists)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        (self.folder / "told_twice").touch()
        assert process.wait(PATIENCE) == 143
        assert self.messages()[-2].KIND == "checkpoint_saved"
        assert self.end().partial_results == {"return": 5.0}

    def test_a_signal_that_lands_where_python_cannot_raise_is_not_lost(self):
        body = """
            class Slow:
                def __del__(self):
                    telemetry.metrics(1, {"loss": 0.5})
                    while not os.path.exists("signalled"):
                        time.sleep(0.01)
            Slow()
            while True:
                time.sleep(0.1)
            """
        assert self.cancel(body) == 143
        assert self.end().KIND == "run_cancelled"

    def test_a_signal_that_does_not_interrupt_the_main_thread_is_not_lost(self):
        code = self.run_to_its_end("""
            def signal_myself():
                time.sleep(0.5)  # the main thread blocks by then; a signal to this thread does not wake it
                signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
            threading.Thread(target=signal_myself).start()
            os.read(os.pipe()[0], 1)
            """)
        assert code == 143
        assert self.end().KIND == "run_cancelled"

    def test_a_forked_child_that_the_library_terminates_is_no_cancellation(self):
        code = self.run_to_its_end("""
            for _ in range(20):
                pid = os.fork()
                if pid == 0:
                    time.sleep(600)
                os.kill(pid, signal.SIGTERM)
                assert os.waitpid(pid, 0)[1] == signal.SIGTERM
            time.sleep(0.2)
            """)
        assert code == 0, self.log()
        assert self.end().KIND == "run_completed"

    def test_sigterm_before_training_began(self):
        fifo = self.folder / "slow.json"
        os.mkfifo(fifo)
        process = self.start("pass", "--config", "slow.json")
        self.wait_until(lambda: self.open_for_writing(fifo))
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 143
        assert self.end().KIND == "run_cancelled"

    def open_for_writing(self, fifo):
        """False until the worker has opened its end."""
        try:
            self.addCleanup(os.close, os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            return False
        return True

    def test_a_forked_child_of_the_library_dies_without_a_word(self):
        body = """
            pid = os.fork()
            if pid == 0:
                time.sleep(600)
            telemetry.metrics(1, {"loss": 0.5})
            time.sleep(600)
            """
        assert self.cancel(body, group=True) == 143
        assert self.end().KIND == "run_cancelled"

    def test_many_lines_in_flight_stay_whole(self):
        body = """
            step = 0
            while True:
                step += 1
                telemetry.metrics(step, {"loss": 0.5})
            """
        assert self.cancel(body) == 143
        assert self.end().KIND == "run_cancelled"


class ParentWatch(WorkerProcess):
    def test_a_child_ends_when_its_parent_is_killed(self):
        self.start("""
            script = "from mosaic_contract import watch_parent; import os, time; watch_parent();"
            script += "open('child', 'w').write(str(os.getpid())); os.rename('child', 'up'); time.sleep(600)"
            child = subprocess.Popen([sys.executable, "-c", script], start_new_session=True)
            while not os.path.exists("up"):
                time.sleep(0.01)
            telemetry.metrics(1, {"loss": 0.5})
            os.kill(os.getpid(), signal.SIGKILL)
            """).wait(PATIENCE)
        child = int((self.folder / "up").read_text())
        self.wait_until(lambda: not alive(child))

    def test_a_child_of_a_thread_that_ends_lives_on(self):
        self.start("""
            script = "from mosaic_contract import watch_parent; import time; watch_parent(); time.sleep(600)"
            def spawn():
                global child
                child = subprocess.Popen([sys.executable, "-c", script])
            thread = threading.Thread(target=spawn)
            thread.start()
            thread.join()
            for step in range(20):
                time.sleep(0.1)
            telemetry.metrics(1, {"alive": child.poll() is None})
            child.kill()
            """).wait(PATIENCE)
        (metrics,) = [m for m in self.messages() if m.KIND == "metrics"]
        assert metrics.values == {"alive": 1.0}


def alive(pid):
    """Whether a process runs; one that is dead but not yet reaped does not."""
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc").exists():
        return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"
    listing = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return bool(listing.stdout.strip()) and not listing.stdout.strip().startswith("Z")
