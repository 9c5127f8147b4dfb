"""A memory fence in pure Python, and why the ring is right with it on processors with weak memory order.

A call of the fence that `new_fence` returns keeps this thread's stores before the call before those after it,
and its loads before those after it, as seen by other threads and by other processes that share the memory. A
call of a `Fence` keeps stores before later loads too.

**What the ring needs.** A slot is a sequence lock. The writer stores the frame's number in ``begin``,
*fence*, stores the frame, *fence*, stores the number in ``end`` (and in ``latest``, which is a hint only).
The reader loads ``end``, *fence*, copies the frame, *fence*, loads ``begin``; the copy is whole if both are
the number that it looked for: nothing in it is older than the frame, because of ``end``, and had the copy met
a store of a later frame, ``begin`` would show that frame's number. This takes store before store in the
writer and load before load in the reader.

**Store before load** is needed in two rare places, which therefore have a `Fence`: a writer clears the word
that says that there is a viewer and then looks once more at the leases; and a ring that moves is marked
before its switch is looked at again, while who throws the switch looks at the mark afterwards.

**Words** are 8 bytes, aligned, in native byte order: item access to a ``memoryview`` cast to "Q" is one load
or store, which no 64-bit processor tears. (``struct`` with "<Q" goes byte by byte: not here.) Frame and HUD
need no such care: they are only believed when the words agree. The compiler moves nothing across a fence,
which is a call from the interpreter into compiled code.

**x86-64** makes stores visible in the order of the program and does loads in that order, ``memcpy`` included.
Only a store before a later load has to be kept: the locked instructions of a `Fence` do.

**A `Fence`**, which other processors always need, gives a private lock back and takes it again: an atomic
read-modify-write with *release* order, then one with *acquire* order, on the same word. (``sem_post`` and
``sem_trywait`` up to CPython 3.12, compare-and-exchange from 3.13 on; on macOS the unlock and the lock of a
pthread mutex.) On ARMv8 (``po;[L]``, ``[L];po;[A]``, ``[A];po``) and RISC-V (``.rl`` before ``.aq``) that is
a full fence; to take the lock first would let accesses from both sides in between. On POWER the release is an
``lwsync``, enough for frames but up to CPython 3.12 not a full fence: in the rare places a viewer may be
overlooked until the lease is renewed (0.5 s), and a switch in the microsecond of a move be lost.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable


def new_fence() -> Callable[[], None]:
    """Return a fence for frames, for one thread at a time. It never waits."""
    return _nothing if os.uname().machine in ("x86_64", "amd64") else Fence()


def _nothing() -> None:
    pass


class Fence:
    """A full fence, for one thread at a time, as a callable. It never waits."""

    __slots__ = ("_acquire", "_release")

    def __init__(self) -> None:
        lock = threading.Lock()
        lock.acquire()
        self._release = lock.release
        self._acquire = lock.acquire

    def __call__(self) -> None:
        try:
            self._release()
        except RuntimeError:  # an exception (a signal's) came between the two halves of the last call
            self._acquire(False)
            self._release()
        self._acquire(False)
