"""Overwritten frames, and files that only look like a ring, are never shown."""

import os
import struct
import sys
from unittest import mock

from mosaic_contract.fastlane import LINK, FrameReader, Hud, clear
from mosaic_contract.fastlane.layout import (
    BUSY_AT,
    HEADER_BYTES,
    LATEST_AT,
    MAGIC,
    NOTICE_LENGTH_AT,
    PIXELS_AT,
    SLOTS,
    TEXTS_AT,
    MemoryFence,
)
from rings import NOBODY, RingTest


class Torn(RingTest):
    def test_a_frame_overwritten_during_the_copy_is_not_returned(self):
        writer, reader = self.writer(), self.reader()
        reader.watch(30)
        writer.publish(bytes([0]) * 300, Hud(step=0), (10, 10, 3))
        steps = iter(range(1, 1 + SLOTS))

        def fence():
            writer._words[BUSY_AT : BUSY_AT + SLOTS] = NOBODY  # as other readers do when they finish
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
        with (
            mock.patch.object(writer, "_fence", MemoryFence()),
            mock.patch.object(reader, "_fence", MemoryFence()),
        ):
            for step in range(1000):
                writer.publish(bytes([step & 255]), Hud(step=step), (1, 1))
                self.assertEqual(reader.read().hud.step, step)

    def test_a_fence_that_was_interrupted_half_way_heals(self):
        fence = MemoryFence()
        fence._release()
        for _ in range(3):
            fence()


class Hostile(RingTest):
    """A reader finds no frame in a file that is not a ring, and leaves the file unchanged."""

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
            self.header(MAGIC, PIXELS_AT + 65) + bytes(HEADER_BYTES),  # slots not aligned to words
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
        for lie in (float("nan"), float("inf")):  # time of publication
            struct.pack_into("@d", ring.memory, slot + 16, lie)
            self.assertIsNone(reader.read())
        struct.pack_into("@d", ring.memory, slot + 16, 1.0)
        for latest in ((1 << 64) - 1, 1 << 63, 4 * 77 + 2):
            ring.words[LATEST_AT], true = latest, ring.words[LATEST_AT]
            self.assertIsNone(reader.read())
            ring.words[LATEST_AT] = true
        for at in (96, 104):  # lengths of the strings
            ring.words[(slot + at) // 8] = (1 << 64) - 1
        ring.memory[slot + TEXTS_AT : slot + PIXELS_AT] = b"\xff" * 400
        frame = reader.read()
        self.assertEqual((frame.sequence, frame.pixels, frame.hud.agent), (1, b"abc", "\ufffd" * 400))
        ring.words[NOTICE_LENGTH_AT] = (1 << 64) - 1
        self.assertLessEqual(len(reader.notice), 2048)
