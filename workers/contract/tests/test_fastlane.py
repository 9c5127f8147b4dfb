"""The ring with bytes alone: what is published is what is read, when it is wanted, and nothing else."""

import gc
import io
import math
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from contextlib import ExitStack, redirect_stderr
from pathlib import Path
from unittest import mock

from mosaic_contract.fastlane import (
    LINK,
    FastlaneError,
    Frame,
    FrameError,
    FrameReader,
    FrameWriter,
    Hud,
    clear,
    places,
    sweep,
)
from mosaic_contract.fastlane.fence import Fence
from mosaic_contract.fastlane.layout import (
    BUSY_AT,
    HEADER_BYTES,
    LATEST_AT,
    LEASE_WORDS,
    LEASES,
    LEASES_AT,
    MAGIC,
    NOTICE_LENGTH_AT,
    PIXELS_AT,
    SLOTS,
    TEXTS_AT,
)
from mosaic_contract.fastlane.leases import LEASE_SECONDS, smallest_interval

CHILD_SECONDS = 60
NOBODY = memoryview(bytes(8 * SLOTS)).cast("Q")


def gaps(times):
    return [times[i + 1] - times[i] for i in range(len(times) - 1)]


class RingTest(unittest.TestCase):
    """Each test has a run folder and places for rings of its own."""

    def setUp(self):
        stack = ExitStack()
        self.addCleanup(stack.close)
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.shared, self.temporary, self.run_dir = (
            self.folder / name for name in ("shared", "temporary", "run-1")
        )
        for path in (self.shared, self.temporary, self.run_dir):
            path.mkdir()
        stack.enter_context(mock.patch.object(places, "SHARED_MEMORY", self.shared))
        stack.enter_context(mock.patch.object(tempfile, "tempdir", str(self.temporary)))
        self.stack = stack

    def writer(self, **options):
        writer = FrameWriter(self.run_dir, **options)
        self.addCleanup(writer.close)
        return writer

    def reader(self):
        reader = FrameReader(self.run_dir)
        self.addCleanup(reader.close)
        return reader

    def rings(self):
        return sorted(self.folder.glob("*/mosaic-lab-*/*.ring"))


class Publishing(RingTest):
    def test_a_frame_is_read_as_it_was_published(self):
        writer, reader = self.writer(), self.reader()
        before = time.time()
        hud = Hud(3, 4_000_000_000, -0.5, 12.25, 99.0, "agent_0", "4 environments")
        writer.publish(bytes(range(24)), hud, (2, 4, 3))
        frame = reader.read()
        self.assertLessEqual(before, frame.published)
        self.assertLessEqual(frame.published, time.time())
        self.assertEqual(frame, Frame(1, frame.published, 2, 4, 3, bytes(range(24)), hud))
        self.assertEqual(frame.shape, (2, 4, 3))

    def test_the_newest_frame_is_returned_once(self):
        writer, reader, other = self.writer(), self.reader(), self.reader()
        self.assertIsNone(reader.read())
        for step in range(7):
            writer.publish(bytes([step]), Hud(step=step), (1, 1))
        self.assertEqual(reader.read().hud.step, 6)
        self.assertIsNone(reader.read())
        self.assertEqual(other.read().hud.step, 6)
        writer.publish(b"\x07", Hud(step=7), (1, 1, 1))
        self.assertEqual(reader.read().sequence, 8)

    def test_what_is_not_known_stays_unknown(self):
        writer, reader = self.writer(), self.reader()
        writer.publish(b"x", shape=(1, 1))
        self.assertEqual(reader.read().hud, Hud())
        writer.publish(b"x", Hud(0, 0, 0.0, 0.0, 0.0), (1, 1))
        self.assertEqual(reader.read().hud, Hud(0, 0, 0.0, 0.0, 0.0))
        writer.publish(b"x", Hud(reward=float("nan")), (1, 1))
        self.assertTrue(math.isnan(reader.read().hud.reward))

    def test_texts_are_cut_between_characters(self):
        writer, reader = self.writer(), self.reader()
        writer.publish(b"x", Hud(agent="é" * 200, text="日" * 200), (1, 1))
        self.assertEqual(reader.read().hud[5:], ("é" * 50, "日" * 100))
        writer.publish(b"x", Hud(agent="a", text="\ud800"), (1, 1))
        self.assertEqual(reader.read().hud[5:], ("a", "?"))

    def test_anything_with_bytes_is_taken(self):
        writer, reader = self.writer(), self.reader()
        for pixels in (bytearray(b"abcd"), memoryview(b"abcd"), memoryview(b"abcd").cast("i")):
            writer.publish(pixels, shape=(1, 1, 4))
            self.assertEqual(reader.read().pixels, b"abcd")

    def test_size_and_channels_change_and_readers_follow(self):
        writer, reader = self.writer(), self.reader()
        reader.watch(30)
        for size in ((2, 3, 3), (2, 3), (40, 50, 4), (1, 1, 1), (300, 200, 3), (2, 3, 3)):
            count = size[0] * size[1] * (size[2] if len(size) == 3 else 1)
            pixels = os.urandom(count)
            writer.publish(pixels, Hud(step=count), size)
            frame = reader.read()
            self.assertEqual((frame.shape, frame.pixels), ((*size, 1)[:3], pixels))
            self.assertEqual(frame.hud.step, count)
            self.assertEqual(len(self.rings()), 1)
            self.assertEqual((self.run_dir / LINK).resolve(), writer.path.resolve())

    def test_a_ring_takes_five_frames_of_memory_at_most(self):
        writer = self.writer()
        self.assertEqual(writer.path.stat().st_size, HEADER_BYTES)
        for size in ((84, 84, 3), (480, 640, 3)):
            count = size[0] * size[1] * size[2]
            writer.publish(bytes(count), shape=size)
            taken = writer.path.stat()
            self.assertLessEqual(max(taken.st_size, taken.st_blocks * 512), 5 * count)
            self.assertGreaterEqual(taken.st_blocks * 512, 4 * count)  # reserved, not just promised

    def test_what_is_no_frame_is_refused_and_the_ring_goes_on(self):
        writer, reader = self.writer(), self.reader()
        for pixels, shape, message in (
            (None, None, "this is None"),
            ("text", (1, 4), "this is a str"),
            ([[0]], (1, 1), "this is a list"),
            (memoryview(b"abcdefgh")[::2], (1, 4), "contiguous bytes, and this is a memoryview"),
            (b"abc", None, r"needs shape=\(height, width, channels\)"),
            (b"abc", (1, 4), r"3 bytes does not have the shape \(1, 4\)"),
            (b"", (0, 4, 3), r"the shape \(0, 4, 3\)"),
            (b"ab", (1, 1, 2), "1, 3 or 4 channels"),
            (b"abc", (3,), r"this one \(3,\)"),
            (b"abc", (-1, -1, 3), "some pixels"),
            (b"abc", ("a", "b", 3), "this one"),
            (b"abc", (1 << 20, 1 << 20, 3), "larger than 64 MiB"),
        ):
            with self.assertRaisesRegex(FrameError, message):
                writer.publish(pixels, Hud(), shape)
        for hud in (Hud(step="ten"), Hud(step=1 << 70), Hud(reward="high"), Hud(text=3)):
            with self.assertRaisesRegex(FrameError, "the HUD cannot be told"):
                writer.publish(b"abc", hud, (1, 1, 3))
        self.assertIsNone(reader.read())
        writer.publish(b"abc", Hud(step=1), (1, 1, 3))
        self.assertEqual(reader.read().pixels, b"abc")

    def test_limits_that_make_no_sense_are_refused(self):
        for options in ({"max_fps": 0}, {"max_fps": float("nan")}, {"share": 0}, {"share": 1.5}):
            with self.assertRaisesRegex(ValueError, "share="):
                self.writer(**options)
        with self.assertRaisesRegex(ValueError, "fps=0"):
            self.reader().watch(0)


class Wanting(RingTest):
    """When a frame is due, on a clock that the test turns."""

    def setUp(self):
        super().setUp()
        self.now = 10**12
        self.stack.enter_context(mock.patch("time.monotonic_ns", lambda: self.now))
        self.stack.enter_context(mock.patch("time.monotonic", lambda: self.now / 1e9))

    def wait(self, seconds):
        self.now += int(seconds * 1e9)

    def frames_in(self, seconds, writer, *readers, step=0.001, render=0.0):
        """Publish whatever is due while the clock runs; the times of the frames."""
        times, end = [], self.now + int(seconds * 1e9)
        while self.now < end:
            for reader, fps in readers:
                reader.watch(fps)
            if writer.due():
                times.append(self.now / 1e9)
                self.wait(render)
                writer.publish(b"x", shape=(1, 1))
            self.wait(step)
        return times

    def test_nothing_is_due_while_nobody_watches(self):
        writer, reader = self.writer(), self.reader()
        self.assertFalse(writer.due())
        reader.read()
        self.assertFalse(writer.due())
        reader.watch(10)
        self.assertTrue(writer.due())

    def test_frames_come_as_often_as_the_most_eager_reader_wants(self):
        writer, slow, fast = self.writer(), self.reader(), self.reader()
        self.assertAlmostEqual(len(self.frames_in(10, writer, (slow, 2))), 20, delta=1)
        self.assertAlmostEqual(len(self.frames_in(10, writer, (slow, 2), (fast, 30))), 300, delta=3)
        fast.unwatch()
        self.assertAlmostEqual(len(self.frames_in(10, writer, (slow, 2))), 20, delta=1)

    def test_slow_steps_do_not_add_up_to_fewer_frames(self):
        writer, reader = self.writer(), self.reader()
        times = self.frames_in(10, writer, (reader, 30), step=0.02)
        self.assertAlmostEqual(len(times), 300, delta=5)
        self.assertGreater(min(gaps(times)), 0.5 / 30)

    def test_an_eager_reader_does_not_wait_for_a_slow_one(self):
        writer, slow, fast = self.writer(), self.reader(), self.reader()
        slow.watch(0.1)
        self.assertTrue(writer.due())
        writer.publish(b"x", shape=(1, 1))
        fast.watch(30)
        self.assertGreater(len(self.frames_in(0.5, writer)), 10)

    def test_the_writer_bounds_what_readers_may_want(self):
        writer, reader = self.writer(max_fps=12.5), self.reader()
        self.assertAlmostEqual(len(self.frames_in(10, writer, (reader, 1e9))), 125, delta=1)

    def test_rendering_keeps_within_its_share(self):
        writer, reader = self.writer(share=0.04), self.reader()
        times = self.frames_in(20, writer, (reader, 30), render=0.01)
        self.assertAlmostEqual(len(times), 20 / 0.25, delta=2)
        self.assertGreaterEqual(min(gaps(times)[1:]), 0.25)

    def test_the_first_drawing_does_not_count(self):
        writer, reader = self.writer(share=0.04), self.reader()
        reader.watch(30)
        self.assertTrue(writer.due())
        self.wait(2)  # libraries are loaded
        writer.publish(b"x", shape=(1, 1))
        reader.watch(30)
        self.assertTrue(writer.due())
        writer.publish(b"x", shape=(1, 1))

    def test_a_lease_lapses(self):
        writer, reader = self.writer(), self.reader()
        reader.watch(30)
        self.assertTrue(writer.due())
        self.wait(LEASE_SECONDS - 0.1)
        self.assertTrue(writer.due())
        self.wait(0.2)
        self.assertFalse(writer.due())
        reader.watch(30)
        self.wait(0.2)
        self.assertTrue(writer.due())

    def test_a_lease_moves_along_to_a_larger_ring(self):
        writer, reader = self.writer(), self.reader()
        reader.watch(30)
        writer.publish(bytes(300), shape=(10, 10, 3))
        self.assertTrue(writer.due())
        for _ in range(100):
            reader.watch(30)
            writer.publish(bytes(300), shape=(10, 10, 3))
        reader.unwatch()
        self.wait(1)
        self.assertFalse(writer.due())

    def test_more_readers_than_places(self):
        writer, readers = self.writer(), [self.reader() for _ in range(40)]
        for fps, reader in enumerate(readers, 1):
            reader.watch(fps)
        self.assertTrue(writer.due())
        for reader in readers[:-1]:
            reader.unwatch()
        readers[-1].watch(40)
        self.assertGreater(len(self.frames_in(1, writer)), 30)

    def test_two_readers_that_took_the_same_place(self):
        writer, one, other = self.writer(), self.reader(), self.reader()
        writer.publish(b"x", shape=(1, 1))
        leases = slice(LEASES_AT, LEASES_AT + LEASES * LEASE_WORDS)
        with mock.patch("secrets.randbelow", lambda n: 5):
            one.watch(1)
            words = one._ring.words
            written = memoryview(bytes(words[leases])).cast("Q")
            one.unwatch()
            other.watch(30)
            words[leases] = written  # what the first had written arrives on top of it
            self.assertGreater(len(self.frames_in(3, writer, (one, 1), (other, 30))), 80)

    def test_frames_are_switched_off_and_on_by_readers(self):
        writer, reader, other = self.writer(enabled=False), self.reader(), self.reader()
        reader.watch(30)
        self.assertFalse(reader.enabled)
        self.assertFalse(writer.due())
        other.enable()
        self.assertTrue(reader.enabled)
        self.wait(0.2)
        self.assertTrue(writer.due())
        writer.publish(bytes(300), shape=(10, 10, 3))
        other.enable(False)
        writer.publish(bytes(3000), shape=(10, 100, 3))  # in another ring
        self.assertFalse(reader.enabled)
        reader.watch(30)
        self.wait(0.2)
        self.assertFalse(writer.due())

    def test_a_switch_is_not_lost_while_the_ring_moves(self):
        point = places.point
        for on in (False, True):
            for when in ("before", "after"):
                writer, reader = self.writer(enabled=not on), self.reader()
                self.assertEqual(reader.enabled, not on)

                def move(run_dir, ring, when=when, reader=reader, on=on):
                    if when == "before":
                        reader.enable(on)
                    point(run_dir, ring)
                    if when == "after":
                        reader.enable(on)

                with mock.patch.object(places, "point", move):
                    writer.publish(bytes(300), shape=(10, 10, 3))
                self.assertEqual((reader.enabled, self.reader().enabled), (on, on), when)
                writer.close()

    def test_a_reader_that_comes_while_the_writer_finds_nobody_is_not_overlooked(self):
        writer, reader = self.writer(), self.reader()
        reader.watch(30)
        self.wait(LEASE_SECONDS + 0.1)
        looks = iter((False, True))

        def look(words, now):
            found = smallest_interval(words, now)
            if next(looks):  # the last one
                reader.watch(30)
            return found

        with mock.patch("mosaic_contract.fastlane.writer.smallest_interval", look):
            self.assertFalse(writer.due())
        self.wait(0.1)
        self.assertTrue(writer.due())

    def test_garbage_in_the_leases_is_not_believed(self):
        writer = self.writer()
        for at in range(16, 96):
            writer._ring.words[at] = (1 << 64) - 1
        self.assertFalse(writer.due())


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
        writer.notice("nobody hears this")
        with self.assertRaisesRegex(FastlaneError, "closed"):
            writer.publish(b"x", shape=(1, 1))
        reader.close()
        self.assertEqual((reader.read(), reader.state), (None, "absent"))

    def test_after_their_end_no_frames_are_due_and_the_first_reason_is_told(self):
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
        first.close()  # must not take the link of the second along
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
            self.assertIsNone(reader.read())  # the same frame again
            reader.close()
            writer.close()

    def test_notices_are_told_and_bounded(self):
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
            theirs.recv(1)  # until the parent has looked
            os._exit(0 if refused and not due else 1)
        ours.settimeout(CHILD_SECONDS)
        ours.recv(100)
        self.assertTrue(writer.due())
        self.assertEqual((reader.state, reader.read().pixels), ("open", b"x"))
        path = writer.path
        with mock.patch.object(Path, "unlink"):  # what a killed writer leaves, while its child lives on
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
            "from mosaic_contract.fastlane import FrameWriter, places\n"
            "places.SHARED_MEMORY = Path(sys.argv[1])\n"
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
        # The second has swept what the first has left, when it started.
        dead = [path for path in self.rings() if path != alive.path]
        self.assertEqual(len(dead), 1)
        other = alive.path.with_name("gpu-0")
        other.touch()
        reader = FrameReader(self.folder / "dead-2")
        self.assertEqual(reader.state, "closed")
        clear(self.folder / "dead-2")
        self.assertEqual(self.rings(), [alive.path])
        self.assertEqual(list((self.folder / "dead-2").iterdir()), [])
        clear(self.run_dir)  # lives: only its link goes
        self.assertEqual(sweep(), [])
        self.assertEqual(self.rings(), [alive.path])
        self.assertTrue(other.exists())

    def test_a_sweep_leaves_a_folder_alone_in_which_a_ring_is_being_made(self):
        (self.shared / f"mosaic-lab-{os.getuid()}").mkdir(mode=0o700)
        new = self.shared / f"mosaic-lab-{os.getuid()}" / "new.ring"
        with places._locked(new.parent, places.fcntl.LOCK_SH):
            new.touch()
            self.assertEqual(sweep(), [])
        self.assertEqual(sweep(), [new])


class Places(RingTest):
    def test_without_shared_memory_the_temporary_folder_serves_and_it_is_said(self):
        self.shared.rmdir()
        writer, reader = self.writer(), self.reader()
        self.assertTrue(writer.path.is_relative_to(self.temporary))
        self.assertIn("No such file or directory", writer.fallback)
        self.assertRegex(reader.notice, "frames lie in .*temporary.*, not in shared memory")
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
        """A new writer has come to its end, and the log says why."""
        with redirect_stderr(io.StringIO()) as log:
            writer = self.writer()
        self.assertRegex(log.getvalue(), f"^no frames: .*{reason}.*\n$")
        self.assertRegex(writer.ended, reason)
        self.assertIsNone(writer.path)
        self.reader().watch(30)
        self.assertFalse(writer.due())
        writer.notice("nobody hears this")
        with self.assertRaisesRegex(FastlaneError, reason):
            writer.publish(b"x", shape=(1, 1))

    def test_no_place_at_all_ends_the_frames_and_says_what_was_tried(self):
        self.shared.rmdir()
        self.temporary.rmdir()
        self.assert_ended("no place for 4,096 bytes of frames .*shared.*temporary")

    def test_without_any_temporary_folder_shared_memory_serves(self):
        with mock.patch("tempfile.gettempdir", side_effect=FileNotFoundError):
            self.assertIsNone(self.writer().fallback)
            self.shared.rename(self.folder / "away")
            self.assert_ended("no place for .*shared")
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


class Torn(RingTest):
    def test_a_frame_overwritten_during_the_copy_is_not_returned(self):
        writer, reader = self.writer(), self.reader()
        reader.watch(30)
        writer.publish(bytes([0]) * 300, Hud(step=0), (10, 10, 3))
        steps = iter(range(1, 1 + SLOTS))

        def fence():
            writer._words[BUSY_AT : BUSY_AT + SLOTS] = NOBODY  # as others do that are done
            for step in steps:
                writer.publish(bytes([step]) * 300, Hud(step=step), (10, 10, 3))

        with mock.patch.object(reader, "_fence", fence):
            frame = reader.read()
        self.assertEqual((frame.hud.step, frame.pixels), (SLOTS, bytes([SLOTS]) * 300))

    def test_a_frame_is_safe_while_the_next_ones_are_published(self):
        writer, reader = self.writer(), self.reader()
        reader.watch(30)
        writer.publish(bytes([0]) * 300, Hud(step=0), (10, 10, 3))
        steps = iter(range(1, 100))

        def fence():
            for step in steps:
                writer.publish(bytes([step]) * 300, Hud(step=step), (10, 10, 3))

        with mock.patch.object(reader, "_fence", fence):
            frame = reader.read()
        self.assertEqual((frame.hud.step, frame.pixels), (0, bytes(300)))
        self.assertEqual(reader.read().hud.step, 99)

    def test_a_reader_that_is_overtaken_again_and_again_gives_up(self):
        writer, reader = self.writer(), self.reader()
        writer.publish(bytes(300), shape=(10, 10, 3))

        def fence():
            writer._words[BUSY_AT : BUSY_AT + SLOTS] = NOBODY
            for _ in range(SLOTS):
                writer.publish(bytes(300), shape=(10, 10, 3))

        with mock.patch.object(reader, "_fence", fence):
            self.assertIsNone(reader.read())
        self.assertIsNotNone(reader.read())

    def test_marks_of_readers_that_were_killed_do_not_stop_the_writer(self):
        writer, reader = self.writer(), self.reader()
        for step in range(20):
            for slot in range(step % 5):
                writer._words[BUSY_AT + slot] = 1
            newest = writer._words[LATEST_AT] % SLOTS
            writer.publish(bytes([step]), Hud(step=step), (1, 1))
            self.assertNotEqual(writer._words[LATEST_AT] % SLOTS, newest)
            self.assertEqual(reader.read().hud.step, step)

    def test_a_half_written_frame_stays_unseen(self):
        writer, reader = self.writer(), self.reader()
        writer.publish(b"old", Hud(step=1), (1, 1, 3))
        with mock.patch.object(writer, "_targets", [None] * SLOTS), self.assertRaises(TypeError):
            writer.publish(b"new", Hud(step=2), (1, 1, 3))
        frame = reader.read()
        self.assertEqual((frame.pixels, frame.hud.step), (b"old", 1))
        for step in range(3, 9):
            writer.publish(b"new", Hud(step=step), (1, 1, 3))
            self.assertEqual(reader.read().hud.step, step)

    def test_frames_pass_the_fence_of_other_processors(self):
        writer, reader = self.writer(), self.reader()
        with mock.patch.object(writer, "_fence", Fence()), mock.patch.object(reader, "_fence", Fence()):
            for step in range(1000):
                writer.publish(bytes([step & 255]), Hud(step=step), (1, 1))
                self.assertEqual(reader.read().hud.step, step)

    def test_a_fence_that_was_interrupted_half_way_heals(self):
        fence = Fence()
        fence._release()
        for _ in range(3):
            fence()


class Hostile(RingTest):
    """Whatever lies where a ring should be, a reader finds no frame in it and changes nothing."""

    def setUp(self):
        super().setUp()
        self.path = self.shared / f"mosaic-lab-{os.getuid()}" / "hostile.ring"
        self.path.parent.mkdir(mode=0o700)

    def assert_no_ring(self, path):
        link = self.run_dir / LINK
        link.symlink_to(path)
        content = path.read_bytes() if path.is_file() else None
        reader = FrameReader(self.run_dir)
        reader.watch(30)
        reader.enable(False)
        self.assertEqual((reader.read(), reader.state, reader.notice), (None, "absent", ""))
        self.assertEqual(path.read_bytes() if path.is_file() else None, content)
        link.unlink()

    def header(self, *words):
        return b"".join(word.to_bytes(8, sys.byteorder) for word in words).ljust(HEADER_BYTES, b"\0")

    def test_what_is_no_ring(self):
        for content in (
            b"",
            b"short",
            bytes(HEADER_BYTES),
            os.urandom(2 * HEADER_BYTES),
            self.header(MAGIC, PIXELS_AT + 64),  # slots beyond the end of the file
            self.header(MAGIC, (1 << 64) - 8),
            self.header(MAGIC, PIXELS_AT + 65) + bytes(HEADER_BYTES),  # slots off their words
            self.header(MAGIC, 8) + bytes(HEADER_BYTES),
            self.header(MAGIC ^ 1),
        ):
            self.path.write_bytes(content)
            self.assert_no_ring(self.path)

    def test_other_files(self):
        real = self.writer().path
        elsewhere = self.folder / "elsewhere.ring"
        elsewhere.write_bytes(real.read_bytes())
        self.assert_no_ring_after_clear(elsewhere)
        renamed = self.path.with_name("database")
        renamed.write_bytes(real.read_bytes())
        self.assert_no_ring_after_clear(renamed)
        pipe = self.path.with_name("pipe.ring")
        os.mkfifo(pipe)
        self.assert_no_ring_after_clear(pipe)
        link = self.path.with_name("link.ring")
        link.symlink_to(real)
        self.assert_no_ring_after_clear(link)
        self.assert_no_ring_after_clear(self.folder)

    def assert_no_ring_after_clear(self, path):
        (self.run_dir / LINK).unlink(missing_ok=True)
        self.assert_no_ring(path)

    def test_clear_removes_nothing_outside_our_folders(self):
        for path in (self.folder / "precious.ring", self.path.with_name("gpu-0")):
            path.write_bytes(b"precious")
            (self.run_dir / LINK).symlink_to(path)
            clear(self.run_dir)
            self.assertEqual(path.read_bytes(), b"precious")
            self.assertFalse((self.run_dir / LINK).is_symlink())

    def test_records_that_lie(self):
        writer, reader = self.writer(), self.reader()
        writer.publish(b"abc", Hud(step=1, text="fine"), (1, 1, 3))
        ring = writer._ring
        slot = ring.slots[1]
        for at, lies in {
            24: (0, 1 << 63, 1 << 32, 5000),  # height
            40: (0, 2, 5, 1 << 63),  # channels
        }.items():
            for lie in lies:
                ring.words[(slot + at) // 8], true = lie, ring.words[(slot + at) // 8]
                self.assertIsNone(reader.read())
                ring.words[(slot + at) // 8] = true
        for lie in (float("nan"), float("inf")):  # when it was published
            struct.pack_into("@d", ring.memory, slot + 16, lie)
            self.assertIsNone(reader.read())
        struct.pack_into("@d", ring.memory, slot + 16, 1.0)
        for latest in ((1 << 64) - 1, 1 << 63, 4 * 77 + 2):
            ring.words[LATEST_AT], true = latest, ring.words[LATEST_AT]
            self.assertIsNone(reader.read())
            ring.words[LATEST_AT] = true
        for at in (96, 104):  # lengths of the texts
            ring.words[(slot + at) // 8] = (1 << 64) - 1
        ring.memory[slot + TEXTS_AT : slot + PIXELS_AT] = b"\xff" * 400
        frame = reader.read()
        self.assertEqual((frame.sequence, frame.pixels, frame.hud.agent), (1, b"abc", "\ufffd" * 400))
        ring.words[NOTICE_LENGTH_AT] = (1 << 64) - 1
        self.assertLessEqual(len(reader.notice), 2048)


if __name__ == "__main__":
    unittest.main()
