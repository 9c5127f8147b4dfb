"""The layout of a ring file, the order of the accesses to it, `Ring`, a mapping of one, and `MemoryFence`.

Offsets are counted in words of 8 bytes::

    header, 4096 bytes │ slot 0: begin, end, record, pixels │ slot 1 │ slot 2 │ slot 3

**A slot is a sequence lock**, so a reader never returns a torn frame. The writer stores the frame's number in
``begin``, *fence*, stores the frame, *fence*, stores the number in ``end`` (and in ``latest``, which is only
a hint). The reader loads ``end``, *fence*, copies the frame, *fence*, loads ``begin``. The copy is whole if
both equal the expected number: ``end`` shows that nothing in the copy is older than the frame, and if the
copy had met a store of a later frame, ``begin`` would show that frame's number. This requires store-store
order in the writer and load-load order in the reader, which the fence of `new_fence` provides.

**Store-load order** is required in two rare cases, which therefore use a `MemoryFence`: a writer clears the
word that signals a viewer and then checks the leases once more; and a ring that moves is marked before its
switch is checked again, while the process that sets the switch checks the mark afterwards.

**Words** are aligned, in native byte order: item access to a ``memoryview`` cast to "Q" is one load or store,
which no 64-bit processor tears. (``struct`` with "<Q" copies byte by byte and must not be used here.) Frame
and HUD need no such care: they are only used if the words agree.
"""

from __future__ import annotations

import mmap
import os
import stat
import struct
import threading
from collections.abc import Callable
from pathlib import Path

HEADER_BYTES = 4096
SLOTS = 4
MAGIC = int.from_bytes(b"MOSAIC\x00\x01", "big")  # the last byte is the layout's version

# Words set once, before other processes know of the file. WRITER: the same in all rings of a writer.
MAGIC_AT, SLOT_BYTES_AT, WRITER_AT = 0, 1, 2
# Words written by the writer.
STATUS_AT, LATEST_AT = 8, 9  # LATEST: number and slot of the newest whole frame, 0 before the first
OPEN, CLOSED, MOVED, ENDED = 0, 1, 2, 3  # ENDED: the writer is alive but publishes no more frames
# Words written by readers. BUSY, one per slot: a reader copies it, so the writer avoids it if possible.
BUSY_AT = 12
INTEREST_AT, ENABLED_AT = 16, 17  # INTEREST: 0 means that there is no viewer, so the writer skips the leases
LEASES_AT, LEASES, LEASE_WORDS = 32, 16, 4
TOKEN, EXPIRES, INTERVAL = 0, 1, 2  # of a lease; times in nanoseconds of the monotonic clock
# The notice: its own sequence lock, the length in bytes, and UTF-8.
NOTICE_BEGIN_AT, NOTICE_END_AT, NOTICE_LENGTH_AT = 96, 97, 98
NOTICE_BYTES_AT, NOTICE_LIMIT = 1024, 2048  # bytes, not words
READERS_BYTES = slice(8 * INTEREST_AT, HEADER_BYTES)  # of the header, copied to a larger ring

BEGIN, END = 0, 1  # words of a slot
RECORD_AT, TEXTS_AT, PIXELS_AT = 16, 112, 512  # bytes from the start of a slot
AGENT_LIMIT, TEXT_LIMIT = 100, 300  # bytes of UTF-8
# published; height, width, channels; flags of the HUD numbers present, episode, step, reward, episode return,
# steps per second; lengths of agent and text, which are stored consecutively at TEXTS_AT
RECORD = struct.Struct("@d3Q Q2q3d 2Q")
assert RECORD_AT + RECORD.size == TEXTS_AT and TEXTS_AT + AGENT_LIMIT + TEXT_LIMIT == PIXELS_AT

MAX_FRAME = 64 << 20  # bytes
SUFFIX = ".ring"


def slot_bytes(frame_bytes: int) -> int:
    """Return the size of a slot for frames of ``frame_bytes`` bytes, a multiple of a cache line."""
    return PIXELS_AT + -(-frame_bytes // 64) * 64


def file_bytes(slot: int) -> int:
    """Return the size of a ring file with slots of ``slot`` bytes (0: a header only)."""
    return -(-(HEADER_BYTES + SLOTS * slot) // mmap.PAGESIZE) * mmap.PAGESIZE


def truncated(text: str, limit: int) -> bytes:
    """Return at most ``limit`` bytes of UTF-8, truncated between characters."""
    data = text.encode("utf-8", "replace")
    return data if len(data) <= limit else data[:limit].decode("utf-8", "ignore").encode()


class Ring:
    """A mapped ring file: ``memory`` as bytes, ``words`` as 8-byte words, and the offset of each slot."""

    def __init__(self, path: Path, descriptor: int, size: int) -> None:
        self.path = path
        self.memory = mmap.mmap(descriptor, size)
        self.words = memoryview(self.memory).cast("Q")

    def locate_slots(self) -> None:
        """Compute the offsets of the slots. From here on, the slot size in the header is trusted."""
        slot = self.words[SLOT_BYTES_AT]
        self.capacity = max(0, slot - PIXELS_AT)  # bytes of pixels that fit in a slot
        self.slots = [HEADER_BYTES + index * slot for index in range(SLOTS)]  # in bytes
        self.writer = self.words[WRITER_AT]

    @classmethod
    def open(cls, path: Path) -> Ring | None:
        """Return a reader's mapping of a ring, None for a file that is not a ring. The file is not changed
        before its owner, name, size and header have been validated."""
        if path.suffix != SUFFIX:
            return None
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            status = os.fstat(descriptor)
            is_own_file = stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid()
            if not is_own_file or status.st_size < HEADER_BYTES:
                return None
            ring = cls(path, descriptor, status.st_size // 8 * 8)
        except (OSError, ValueError):
            return None
        finally:
            os.close(descriptor)
        slot = ring.words[SLOT_BYTES_AT]
        is_valid_size = slot % 8 == 0 and (slot == 0 or slot > PIXELS_AT)
        if ring.words[MAGIC_AT] != MAGIC or not is_valid_size or HEADER_BYTES + SLOTS * slot > status.st_size:
            return None
        ring.locate_slots()
        return ring


def new_fence() -> Callable[[], None]:
    """Return a fence for frames, for use by one thread at a time. It never blocks, and orders stores before
    later stores and loads before later loads; see `MemoryFence`."""
    return _no_fence if os.uname().machine in ("x86_64", "amd64") else MemoryFence()


def _no_fence() -> None:
    pass


class MemoryFence:
    """A full fence in pure Python, for use by one thread at a time, as a callable. It never blocks.

    A call orders this thread's loads and stores before it before those after it, as observed by other threads
    and by other processes that share the memory. The compiler moves nothing across a fence, which is a call
    from the interpreter into compiled code.

    x86-64 makes stores visible in program order and performs loads in that order, ``memcpy`` included. There
    only a store before a later load needs a fence: the locked instructions of this one.

    The call releases a private lock and acquires it again: an atomic read-modify-write with *release* order,
    then one with *acquire* order, on the same word. (``sem_post`` and ``sem_trywait`` up to CPython 3.12,
    compare-and-exchange from 3.13 on; on macOS the unlock and the lock of a pthread mutex.) On ARMv8
    (``po;[L]``, ``[L];po;[A]``, ``[A];po``) and RISC-V (``.rl`` before ``.aq``) this is a full fence;
    acquiring the lock first would let accesses from both sides in between. On POWER the release is an
    ``lwsync``, sufficient for frames but up to CPython 3.12 not a full fence: in the rare cases a viewer may
    be overlooked until the lease is renewed (0.5 s), and a switch within the microsecond of a move may be
    lost.
    """

    __slots__ = ("_acquire", "_release")

    def __init__(self) -> None:
        lock = threading.Lock()
        lock.acquire()
        self._release = lock.release
        self._acquire = lock.acquire

    def __call__(self) -> None:
        try:
            self._release()
        except RuntimeError:  # an exception (of a signal) interrupted the previous call between its halves
            self._acquire(False)
            self._release()
        self._acquire(False)
