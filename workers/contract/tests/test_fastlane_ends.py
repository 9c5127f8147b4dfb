"""End, removal and location of rings."""

import gc
import io
import os
import socket
import subprocess
import sys
import time
import unittest
from contextlib import redirect_stderr
from pathlib import Path
from unittest import mock

from mosaic_contract.fastlane import LINK, FastlaneError, FrameReader, FrameWriter, clear, ring_files, sweep
from rings import CHILD_SECONDS, RingTest


class Ending(RingTest):
    def test_a_closed_writer_leaves_nothing(self):
        reader = self.reader()
        self.assertEqual(reader.state, "absent")
        self.assertTrue(reader.enabled)
        self.assertEqual(reader.notice, "")
        writer = self.writer()
        writer.publish(b"x", shape=(1, 1))
        self.assertIsNotNone(reader.read())
        self.assertEqual(reader.state, "open")
        writer.publish(b"y", shape=(1, 1))
        writer.notice("all done")
        writer.close()
        writer.close()
        self.assertEqual(self.rings(), [])
        self.assertEqual(list(self.run_dir.iterdir()), [])
        self.assertEqual((reader.read().pixels, reader.state, reader.notice), (b"y", "closed", "all done"))
        reader.watch(30)
        self.assertFalse(writer.due())
        writer.notice("no viewer sees this")
        with self.assertRaisesRegex(FastlaneError, "closed"):
            writer.publish(b"x", shape=(1, 1))
        reader.close()
        self.assertEqual((reader.read(), reader.state), (None, "absent"))

    def test_after_their_end_no_frames_are_due_and_the_first_reason_is_reported(self):
        writer, reader = self.writer(), self.reader()
        reader.watch(1000)
        self.assertTrue(writer.due())
        with redirect_stderr(io.StringIO()) as log:
            writer.end("it cannot be drawn")
            writer.end("it can still not be drawn")
        self.assertEqual(log.getvalue(), "no frames: it cannot be drawn\n")
        self.assertEqual((reader.notice, writer.ended), ("it cannot be drawn", "it cannot be drawn"))
        reader.watch(500)
        self.assertFalse(writer.due())
        self.assertEqual(reader.state, "ended")

    def test_a_writer_that_is_forgotten_is_closed(self):
        writer = FrameWriter(self.run_dir)
        writer.publish(b"x", shape=(1, 1))
        self.assertEqual(len(self.rings()), 1)
        del writer
        gc.collect()
        self.assertEqual((self.rings(), list(self.run_dir.iterdir())), ([], []))

    def test_a_writer_that_starts_again_is_followed(self):
        first, reader = self.writer(), self.reader()
        for _ in range(5):
            first.publish(b"x", shape=(1, 1))
        self.assertEqual(reader.read().sequence, 5)
        second = self.writer()
        first.close()  # must not remove the second writer's link
        second.publish(b"y", shape=(1, 1))
        reader.watch(30)
        deadline = time.monotonic() + 10
        while (frame := reader.read()) is None and time.monotonic() < deadline:
            pass
        self.assertEqual((frame.pixels, frame.sequence), (b"y", 6))
        reader.watch(30)
        self.assertTrue(second.due())

    def test_a_reader_that_was_closed_follows_the_next_writer_too(self):
        reader = self.reader()
        for count, last in ((5, 5), (5, 10), (1, 11)):
            writer = self.writer()
            for _ in range(count):
                writer.publish(b"x", shape=(1, 1))
            self.assertEqual(reader.read().sequence, last)
            reader.close()
            self.assertIsNone(reader.read())  # that frame was already read
            reader.close()
            writer.close()

    def test_notices_are_shown_and_bounded(self):
        writer, reader = self.writer(), self.reader()
        self.assertEqual(reader.notice, "")
        for text in ("this environment cannot be drawn: no render mode", "é" * 5000, "short", ""):
            writer.notice(text)
            self.assertEqual(reader.notice, text[:1024])
        writer.notice("stays")
        writer.publish(bytes(300), shape=(10, 10, 3))
        self.assertEqual(reader.notice, "stays")

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_a_forked_child_has_no_part_in_it(self):
        writer, reader = self.writer(), self.reader()
        writer.publish(b"x", shape=(1, 1))
        reader.watch(30)
        ours, theirs = socket.socketpair()
        child = os.fork()
        if child == 0:
            ours.close()
            refused = False
            try:
                writer.publish(b"y", shape=(1, 1))
            except FastlaneError:
                refused = True
            due = writer.due()
            writer.close()
            theirs.send(b"the child is at work")
            theirs.recv(1)  # wait until the parent has checked
            os._exit(0 if refused and not due else 1)
        ours.settimeout(CHILD_SECONDS)
        ours.recv(100)
        self.assertTrue(writer.due())
        self.assertEqual((reader.state, reader.read().pixels), ("open", b"x"))
        path = writer.path
        with mock.patch.object(Path, "unlink"):  # as if the writer were killed while its child lives on
            writer.close()
        self.assertEqual(sweep(), [path])
        theirs.close()
        ours.close()
        _, status = os.waitpid(child, 0)
        self.assertEqual(status, 0)

    def test_rings_of_dead_writers_are_swept_and_no_others(self):
        alive = self.writer()
        program = (
            "import os, sys, tempfile\n"
            "from pathlib import Path\n"
            "from mosaic_contract.fastlane import FrameWriter, ring_files\n"
            "ring_files.SHARED_MEMORY = Path(sys.argv[1])\n"
            "Path(sys.argv[2]).mkdir()\n"
            "writer = FrameWriter(sys.argv[2])\n"
            "os.kill(os.getpid(), 9)\n"
        )
        for name in ("dead-1", "dead-2"):
            subprocess.run(
                [sys.executable, "-c", program, str(self.shared), str(self.folder / name)],
                env={**os.environ, "TMPDIR": str(self.temporary)},
                timeout=CHILD_SECONDS,
                check=False,
            )
        # The second writer, when it started, swept the first one's ring.
        dead = [path for path in self.rings() if path != alive.path]
        self.assertEqual(len(dead), 1)
        other = alive.path.with_name("gpu-0")
        other.touch()
        reader = FrameReader(self.folder / "dead-2")
        self.assertEqual(reader.state, "closed")
        clear(self.folder / "dead-2")
        self.assertEqual(self.rings(), [alive.path])
        self.assertEqual(list((self.folder / "dead-2").iterdir()), [])
        clear(self.run_dir)  # its writer lives: only the link is removed
        self.assertEqual(sweep(), [])
        self.assertEqual(self.rings(), [alive.path])
        self.assertTrue(other.exists())

    def test_a_sweep_leaves_a_folder_alone_in_which_a_ring_is_being_made(self):
        (self.shared / f"mosaic-lab-{os.getuid()}").mkdir(mode=0o700)
        new = self.shared / f"mosaic-lab-{os.getuid()}" / "new.ring"
        with ring_files._locked(new.parent, ring_files.fcntl.LOCK_SH):
            new.touch()
            self.assertEqual(sweep(), [])
        self.assertEqual(sweep(), [new])


class Places(RingTest):
    def test_without_shared_memory_the_temporary_folder_serves_and_it_is_said(self):
        self.shared.rmdir()
        writer, reader = self.writer(), self.reader()
        self.assertTrue(writer.path.is_relative_to(self.temporary))
        self.assertIn("No such file or directory", writer.fallback)
        self.assertRegex(reader.notice, "frames are stored in .*temporary.*, not in shared memory")
        writer.publish(bytes(300), shape=(10, 10, 3))
        self.assertEqual(reader.read().pixels, bytes(300))
        writer.close()
        self.assertEqual(self.rings(), [])

    def test_a_folder_that_others_can_write_is_not_used(self):
        ours = self.shared / f"mosaic-lab-{os.getuid()}"
        ours.mkdir()
        ours.chmod(0o777)
        self.assertIn("can be written by others", self.writer().fallback)

    def test_a_link_where_the_folder_should_be_is_not_followed(self):
        (self.folder / "elsewhere").mkdir(mode=0o700)
        (self.shared / f"mosaic-lab-{os.getuid()}").symlink_to(self.folder / "elsewhere")
        self.assertIsNotNone(self.writer().fallback)
        self.assertEqual(list((self.folder / "elsewhere").iterdir()), [])

    def assert_ended(self, reason):
        """Assert that a new writer starts in the ended state and logs the reason."""
        with redirect_stderr(io.StringIO()) as log:
            writer = self.writer()
        self.assertRegex(log.getvalue(), f"^no frames: .*{reason}.*\n$")
        self.assertRegex(writer.ended, reason)
        self.assertIsNone(writer.path)
        self.reader().watch(30)
        self.assertFalse(writer.due())
        writer.notice("no viewer sees this")
        with self.assertRaisesRegex(FastlaneError, reason):
            writer.publish(b"x", shape=(1, 1))

    def test_no_place_at_all_ends_the_frames_and_says_what_was_tried(self):
        self.shared.rmdir()
        self.temporary.rmdir()
        self.assert_ended("no space for 4,096 bytes of frames .*shared.*temporary")

    def test_without_any_temporary_folder_shared_memory_serves(self):
        with mock.patch("tempfile.gettempdir", side_effect=FileNotFoundError):
            self.assertIsNone(self.writer().fallback)
            self.shared.rename(self.folder / "away")
            self.assert_ended("no space for .*shared")
            (self.folder / "away").rename(self.shared)

    def test_a_run_may_have_any_name(self):
        self.run_dir = self.folder / ("日" * 80)
        self.run_dir.mkdir()
        writer, reader = self.writer(), self.reader()
        writer.publish(b"x", shape=(1, 1))
        self.assertEqual(reader.read().pixels, b"x")

    def test_a_run_folder_that_cannot_take_a_link(self):
        (self.run_dir / LINK).mkdir()
        self.assert_ended("cannot be announced in .*run-1")
        self.assertEqual(self.rings(), [])

    def test_no_room_for_a_larger_frame_leaves_the_ring_as_it_was(self):
        writer, reader = self.writer(), self.reader()
        writer.publish(b"abc", shape=(1, 1, 3))
        self.assertEqual(reader.read().pixels, b"abc")
        full = OSError(28, "No space left on device")
        with mock.patch("os.write", side_effect=full), self.assertRaisesRegex(FastlaneError, "No space left"):
            writer.publish(bytes(30_000), shape=(100, 100, 3))
        self.assertEqual(self.rings(), [writer.path])
        writer.publish(b"xyz", shape=(1, 1, 3))
        self.assertEqual((reader.read().pixels, reader.state), (b"xyz", "open"))
