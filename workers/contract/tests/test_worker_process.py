"""Worker processes: their streams, configuration errors and exit codes."""

import json
import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from worker_processes import CONTRACT, LOOP, PATIENCE, WorkerProcess


class Trainings(WorkerProcess):
    def test_a_training_from_start_to_end(self):
        code = self.run_to_its_end("""
            telemetry.metrics(50, {"lr": config.hyperparameters["learning_rate"]})
            telemetry.episode(total_reward=5.0, steps=10)
            return {"final_return": 5.0}
            """)
        assert code == 0, self.log()
        first, *others = self.messages()
        assert first.KIND == "run_started" and first.worker_type == "test"
        assert first.config["hyperparameters"] == {"learning_rate": 0.1}
        kinds = [m.KIND for m in others]
        assert "heartbeat" in kinds and "metrics" in kinds and "episode" in kinds
        end = self.end()
        assert end.KIND == "run_completed" and end.final_metrics == {"final_return": 5.0}
        assert json.loads((self.folder / "analytics.json").read_text())["run_id"] == "r1"

    def test_standard_streams_that_are_closed_are_there_for_the_worker(self):
        closed = subprocess.Popen(
            ["sh", "-c", 'exec "$0" worker.py --config config.json 0<&- 1>&- 2>&-', sys.executable],
            cwd=self.prepare("open('streams', 'w').write(str([os.fstat(n).st_rdev for n in range(3)]))"),
            env={**os.environ, "PYTHONPATH": CONTRACT},
        )
        assert closed.wait(PATIENCE) == 0
        null = Path(os.devnull).stat().st_rdev
        assert json.loads((self.folder / "streams").read_text()) == [null, null, null]

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
            from mosaic_contract.heartbeat import Heartbeats
            child = subprocess.Popen([sys.executable, "-c", "x = bytearray(200 << 20); input()"], stdin=-1)
            with Heartbeats(telemetry, interval=0.1):
                time.sleep(600)
            """)
        self.wait_until(lambda: any(m.KIND == "heartbeat" and m.memory_mb > 200 for m in self.messages()))

    def test_a_training_whose_last_checkpoint_could_not_be_saved_has_failed(self):
        body = """
            telemetry.checkpoint_failed(OSError(28, "no space left on device"), step=100)
            if config.hyperparameters["learning_rate"] < 0.1:
                telemetry.checkpoint_saved("step-200.pt", step=200)
            return {}
            """
        assert self.run_to_its_end(body) == 1, self.log()
        lost = "the checkpoint of the last step, 100, could not be saved: [Errno 28] no space left on device"
        assert (self.end().error_type, self.end().error) == ("OSError", lost)
        self.config["hyperparameters"] = {"learning_rate": 0.05}
        assert self.run_to_its_end(body) == 0, self.log()

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
    def test_an_error_is_reported_with_its_traceback(self):
        code = self.run_to_its_end("telemetry.advance(7); raise RuntimeError('the env broke')")
        end = self.end()
        assert code == 1 and end.KIND == "run_failed"
        assert (end.error, end.error_type, end.step) == ("the env broke", "RuntimeError", 7)
        assert "worker.py" in end.traceback and "RuntimeError: the env broke" in self.log()

    def test_a_failure_that_the_librarys_program_has_reported_is_reported_once(self):
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

    def test_an_end_of_the_process_before_the_last_step_is_a_failure_with_the_line_that_called_it(self):
        for call, status in (
            ("sys.exit(0)", "exit code 0"),
            ("quit()", "exit code 0"),
            ("os._exit(0)", "exit code 0"),
            ("os._exit(3)", "exit code 3"),
            ("sys.exit('no display')", "exit code 1, 'no display'"),
        ):
            with self.subTest(call):
                assert self.run_to_its_end(f"telemetry.advance(10)\n{call}") == 1, self.log()
                end = self.end()
                assert (end.KIND, end.error_type) == ("run_failed", "SystemExit")
                assert f"the environment ended the process ({status}) at step 10 of 100: line " in end.error
                assert "of worker.py, in train" in end.error and call in end.traceback
                assert end.error in self.log()
                self.out.unlink()

    def test_an_end_of_the_process_at_the_last_step_is_the_end_of_the_training(self):
        for call in ("sys.exit(0)", "os._exit(0)"):
            with self.subTest(call):
                assert self.run_to_its_end(f"telemetry.advance(100)\n{call}") == 0, self.log()
                assert self.end().KIND == "run_completed"
                self.out.unlink()

    def test_an_end_of_the_process_in_a_check_of_the_configuration_is_an_error_of_it(self):
        for algorithm in ("leaves", "exits"):
            with self.subTest(algorithm):
                self.config["algorithm"] = algorithm
                assert self.run_to_its_end("pass", "--config", "config.json", "--dry-run") == 2
                error = "the environment ended the process (exit code 0) before the training began: line "
                assert error in self.end().error
                self.out.unlink()

    def test_an_exit_hook_that_never_ends_does_not_keep_a_check_of_the_configuration(self):
        self.config["algorithm"] = "hook"
        assert self.run_to_its_end("pass", "--config", "config.json", "--dry-run") == 0

    def test_a_forked_child_may_leave_as_it_likes(self):
        code = self.run_to_its_end("""
            child = os.fork()
            if not child:
                os._exit(7)
            return {"status": os.waitpid(child, 0)[1] >> 8}
            """)
        assert code == 0 and self.end().final_metrics == {"status": 7}, self.log()

    def test_a_keyboard_interrupt_that_was_not_typed_is_a_failure(self):
        assert self.run_to_its_end("raise KeyboardInterrupt") == 1
        assert self.end().error_type == "KeyboardInterrupt"

    def test_the_shims_own_terminal_event_is_the_only_one(self):
        assert self.run_to_its_end("telemetry.run_failed('upstream said no'); raise OSError('after')") == 1
        assert self.end().error == "upstream said no"

    def test_a_thread_that_never_ends_does_not_keep_a_process_that_has_ended(self):
        self.config["algorithm"] = "thread"
        for arguments, end in (((), "run_completed"), (("--config", "config.json", "--dry-run"), None)):
            with self.subTest(arguments):
                assert self.run_to_its_end("pass", *arguments) == 0
                assert end is None or end == self.end().KIND
                assert "the process ends without its threads that still run: the simulator's" in self.log()
                self.err.unlink(), self.out.unlink()

    def test_a_thread_that_never_ends_does_not_keep_a_cancelled_process(self):
        process = self.start("threading.Thread(target=threading.Event().wait).start()\n" + LOOP)
        self.wait_for("metrics")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 143


class BadConfiguration(WorkerProcess):
    def test_all_problems_are_reported_on_both_streams_and_nothing_is_trained(self):
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
            "minimum": None,
            "maximum": 1,
            "exclusive_minimum": None,
        }

    def test_worker_id_and_verbose_show_in_the_log(self):
        code = self.run_to_its_end(
            "import logging; logging.debug('details')",
            "--config", "config.json", "--verbose", "--worker-id", "w%1",
        )  # fmt: skip
        assert code == 0 and "[w%1] DEBUG root: details" in self.log()
