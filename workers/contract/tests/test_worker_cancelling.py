"""Cancellation of a worker process by signals, and its end when its parent dies."""

import os
import signal

from worker_processes import LOOP, PATIENCE, WorkerProcess, alive


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

    def test_sigterm_where_an_environment_has_its_own_handler(self):
        for handler in ("signal.SIG_IGN", "signal.SIG_DFL", "print"):
            with self.subTest(handler):
                assert self.cancel(f"signal.signal(signal.SIGTERM, {handler})\n{LOOP}") == 143
                assert self.end().KIND == "run_cancelled"
                assert "SIGTERM is kept for stopping the run" in self.log() and "worker.py" in self.log()
                self.out.unlink(), self.err.unlink()

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
                while not (config.run_dir / "signalled_twice").exists():
                    time.sleep(0.01)
                telemetry.checkpoint_saved("checkpoints/last")
                return {"return": 5.0}
            """)
        self.wait_for("metrics")
        process.send_signal(signal.SIGTERM)
        self.wait_until((self.folder / "saving").exists)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        (self.folder / "signalled_twice").touch()
        assert process.wait(PATIENCE) == 143
        assert self.messages()[-2].KIND == "checkpoint_saved"
        assert self.end().partial_results == {"return": 5.0}

    def test_a_library_may_copy_what_it_raises_on(self):
        body = """
            import copy
            telemetry.metrics(1, {"loss": 0.5})
            try:
                try:
                    time.sleep(600)
                except BaseException as error:
                    raise copy.copy(error)
            except Cancelled as cancelled:
                return {"exit_code": cancelled.exit_code}
            """
        assert self.cancel(body) == 143
        assert self.end().partial_results == {"exit_code": 143}

    def test_a_signal_waits_for_the_end_of_what_must_not_be_left_in_the_middle(self):
        process = self.start("""
            from mosaic_contract.signals import signals_held

            with signals_held():
                telemetry.metrics(1, {"loss": 0.5})
                while not (config.run_dir / "signalled").exists():
                    time.sleep(0.01)
                telemetry.checkpoint_saved("whole")
            time.sleep(600)
            """)
        self.wait_for("metrics")
        process.send_signal(signal.SIGTERM)
        (self.folder / "signalled").touch()
        assert process.wait(PATIENCE) == 143
        assert [message.KIND for message in self.messages()[-2:]] == ["checkpoint_saved", "run_cancelled"]

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
        """Return whether the worker has opened the FIFO's other end."""
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
