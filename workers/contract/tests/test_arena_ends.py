"""Ways an arena ends: none leaves operator processes or frames behind."""

import os
import subprocess
import sys
import time

from lanes import PEERS, Arenas
from worker_processes import CONTRACT, PATIENCE, alive


class Ends(Arenas):
    def test_reset_abandons_a_step_and_its_answer(self):
        lane = self.walk(behaviour="late", seconds=1.5, action=0)
        lane.send("step")
        lane.wait_for("thinking")
        lane.reset(seed=3, index=1)
        move = lane.move()
        self.assertEqual((move["action"], move["fault"]), (0, None))

    def test_the_end_of_the_commands_ends_everything(self):
        lane = self.walk()
        (operator,) = lane.operators()
        lane.process.stdin.close()
        self.assertEqual(lane.process.wait(PATIENCE), 0)
        self.assertFalse(alive(operator))
        self.assertIsNone(lane.next())
        self.assertEqual(lane.lines()[-1]["event"], "run_cancelled")

    def test_sigterm_ends_everything(self):
        lane = self.walk(behaviour="silent")
        lane.send("step")
        lane.wait_for("thinking")
        (operator,) = lane.operators()
        lane.process.terminate()
        self.assertEqual(lane.process.wait(PATIENCE), 143)
        self.assertFalse(alive(operator))
        self.assertEqual(lane.lines()[-1]["event"], "run_cancelled")
        self.assertFalse(os.path.lexists(lane.folder / "fastlane"))

    def test_deaf_operators_are_gone_soon_after_close(self):
        lane = self.walk(deaf=True)
        (operator,) = lane.operators()
        began = time.monotonic()
        self.assertEqual(lane.close(), 0)
        self.assertLess(time.monotonic() - began, 10.0)  # these operators would never exit
        self.assertFalse(alive(operator))

    def test_an_arena_ends_with_the_process_that_started_it(self):
        code = (
            "import os, subprocess, sys, time\n"
            f"arena = [sys.executable, {str(PEERS / 'arena_family.py')!r}, '--arena']\n"
            "keep = os.pipe()\n"  # its stdin never closes: only the parent's death ends the arena
            "child = subprocess.Popen(arena, stdin=keep[0], stdout=subprocess.PIPE, pass_fds=keep)\n"
            "os.write(keep[1], b'{}\\n')\n"
            "child.stdout.readline()\n"  # an answer shows that the arena watches its parent
            "print(child.pid, flush=True)\n"
            "time.sleep(600)\n"
        )
        environment = {**os.environ, "PYTHONPATH": CONTRACT}
        kernel = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        arena = int(kernel.stdout.readline())
        kernel.kill()
        kernel.wait(PATIENCE)
        kernel.stdout.close()
        self.wait_until(lambda: not alive(arena))
