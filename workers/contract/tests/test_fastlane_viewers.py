"""Frame pacing: a frame is due at the highest rate that a viewer requests, and never more often."""

from unittest import mock

from mosaic_contract.fastlane import ring_files
from mosaic_contract.fastlane.layout import LEASE_WORDS, LEASES, LEASES_AT
from mosaic_contract.fastlane.leases import LEASE_SECONDS, smallest_interval
from rings import RingTest, gaps


class Wanting(RingTest):
    """Frame pacing by a clock that the test controls."""

    def setUp(self):
        super().setUp()
        self.now = 10**12
        self.stack.enter_context(mock.patch("time.monotonic_ns", lambda: self.now))
        self.stack.enter_context(mock.patch("time.monotonic", lambda: self.now / 1e9))

    def wait(self, seconds):
        self.now += int(seconds * 1e9)

    def frames_in(self, seconds, writer, *readers, step=0.001, render=0.0):
        """Publish every due frame for `seconds` of the test's clock; return the frames' times."""
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

    def test_nothing_is_due_without_a_viewer(self):
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

    def test_steps_at_the_rate_of_a_viewer_are_all_drawn_at_once(self):
        writer, reader = self.writer(), self.reader()
        for number in range(200):
            reader.watch(60)
            self.assertTrue(writer.due(), number)
            writer.publish(b"x", shape=(1, 1))
            self.wait(1 / 60 + (0.002 if number % 2 else -0.002))

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
        self.wait(2)  # the first drawing loads libraries
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
            words[leases] = written  # the first reader's words overwrite the second's
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
        writer.publish(bytes(3000), shape=(10, 100, 3))  # too large for the ring: moves to a new one
        self.assertFalse(reader.enabled)
        reader.watch(30)
        self.wait(0.2)
        self.assertFalse(writer.due())

    def test_a_switch_is_not_lost_while_the_ring_moves(self):
        point = ring_files.point
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

                with mock.patch.object(ring_files, "point", move):
                    writer.publish(bytes(300), shape=(10, 10, 3))
                self.assertEqual((reader.enabled, self.reader().enabled), (on, on), when)
                writer.close()

    def test_a_reader_that_comes_while_the_writer_finds_no_viewer_is_not_overlooked(self):
        writer, reader = self.writer(), self.reader()
        reader.watch(30)
        self.wait(LEASE_SECONDS + 0.1)
        looks = iter((False, True))

        def look(words, now):
            found = smallest_interval(words, now)
            if next(looks):  # the second and last look
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
