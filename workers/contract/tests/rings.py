"""Base class of the ring tests: a run folder and ring folders of the test's own."""

import tempfile
import unittest
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

from mosaic_contract.fastlane import FrameReader, FrameWriter, ring_files
from mosaic_contract.fastlane.layout import SLOTS

CHILD_SECONDS = 60
NOBODY = memoryview(bytes(8 * SLOTS)).cast("Q")


def gaps(times):
    return [times[i + 1] - times[i] for i in range(len(times) - 1)]


class RingTest(unittest.TestCase):
    """Give each test its own run folder, shared memory and temporary folder."""

    def setUp(self):
        stack = ExitStack()
        self.addCleanup(stack.close)
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.shared, self.temporary, self.run_dir = (
            self.folder / name for name in ("shared", "temporary", "run-1")
        )
        for path in (self.shared, self.temporary, self.run_dir):
            path.mkdir()
        stack.enter_context(mock.patch.object(ring_files, "SHARED_MEMORY", self.shared))
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
