"""A memory fence in pure Python, and why it makes the ring correct on processors with weak memory order.

A call of the fence returned by `new_fence` orders this thread's stores before the call before those after it,
and its loads before those after it, as observed by other threads and by other processes that share the
memory. A call of a `MemoryFence` also orders stores before later loads.

**Requirements of the ring.** A slot is a sequence lock. The writer stores the frame's number in ``begin``,
*fence*, stores the frame, *fence*, stores the number in ``end`` (and in ``latest``, which is only a hint).
The reader loads ``end``, *fence*, copies the frame, *fence*, loads ``begin``. The copy is whole if both equal
the expected number: ``end`` shows that nothing in the copy is older than the frame, and if the copy had met a
store of a later frame, ``begin`` would show that frame's number. This requires store-store order in the
writer and load-load order in the reader.

**Store-load order** is required in two rare cases, which therefore use a `MemoryFence`: a writer clears the
word that signals a viewer and then checks the leases once more; and a ring that moves is marked before its
switch is checked again, while the process that sets the switch checks the mark afterwards.

**Words** are 8 bytes, aligned, in native byte order: item access to a ``memoryview`` cast to "Q" is one load
or store, which no 64-bit processor tears. (``struct`` with "<Q" copies byte by byte and must not be used
here.) Frame and HUD need no such care: they are only used if the words agree. The compiler moves nothing
across a fence, which is a call from the interpreter into compiled code.

**x86-64** makes stores visible in program order and performs loads in that order, ``memcpy`` included. Only a
store before a later load needs a fence: the locked instructions of a `MemoryFence`.

**A `MemoryFence`**, which other processors always need, releases a private lock and acquires it again: an
atomic read-modify-write with *release* order, then one with *acquire* order, on the same word. (``sem_post``
and ``sem_trywait`` up to CPython 3.12, compare-and-exchange from 3.13 on; on macOS the unlock and the lock of
a pthread mutex.) On ARMv8 (``po;[L]``, ``[L];po;[A]``, ``[A];po``) and RISC-V (``.rl`` before ``.aq``) this
is a full fence; acquiring the lock first would let accesses from both sides in between. On POWER the release
is an ``lwsync``, sufficient for frames but up to CPython 3.12 not a full fence: in the rare cases a viewer
may be overlooked until the lease is renewed (0.5 s), and a switch within the microsecond of a move may be
lost.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable


def new_fence() -> Callable[[], None]:
    """Return a fence for frames, for use by one thread at a time. It never blocks."""
    return _nothing if os.uname().machine in ("x86_64", "amd64") else MemoryFence()


def _nothing() -> None:
    pass


class MemoryFence:
    """A full fence, for use by one thread at a time, as a callable. It never blocks."""

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
