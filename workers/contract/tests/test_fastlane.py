"""Frame ring with plain bytes: readers get exactly the published frames, and invalid frames are refused."""

import math
import os
import time

from mosaic_contract.fastlane import LINK, Frame, FrameError, Hud
from mosaic_contract.fastlane.layout import HEADER_BYTES
from rings import RingTest


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
            self.assertGreaterEqual(taken.st_blocks * 512, 4 * count)  # reserved, not sparse

    def test_an_invalid_frame_is_refused_and_the_ring_continues(self):
        writer, reader = self.writer(), self.reader()
        for pixels, shape, message in (
            (None, None, "not None"),
            ("text", (1, 4), "not a str"),
            ([[0]], (1, 1), "not a list"),
            (memoryview(b"abcdefgh")[::2], (1, 4), "contiguous bytes, not a memoryview"),
            (b"abc", None, r"needs shape=\(height, width, channels\)"),
            (b"abc", (1, 4), r"3 bytes does not have the shape \(1, 4\)"),
            (b"", (0, 4, 3), r"shape is \(0, 4, 3\)"),
            (b"ab", (1, 1, 2), "1, 3 or 4 channels"),
            (b"abc", (3,), r"not \(3,\)"),
            (b"abc", (-1, -1, 3), "at least one pixel"),
            (b"abc", ("a", "b", 3), "not \\('a'"),
            (b"abc", (1 << 20, 1 << 20, 3), "larger than 64 MiB"),
        ):
            with self.assertRaisesRegex(FrameError, message):
                writer.publish(pixels, Hud(), shape)
        for hud in (Hud(step="ten"), Hud(step=1 << 70), Hud(reward="high"), Hud(text=3)):
            with self.assertRaisesRegex(FrameError, "the HUD cannot be written"):
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
