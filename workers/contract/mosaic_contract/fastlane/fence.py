"""A memory fence in pure Python, and why the ring is right with it on processors with weak memory order.

A call of the fence that `new_fence` returns keeps this thread's stores before the call before those after it,
and its loads before those after it, as seen by other threads and by other processes that share the memory. A
call of a `Fence` keeps stores before later loads too.

**What the ring needs.** A slot is a sequence lock. The writer stores the frame's number in ``begin``,
*fence*, stores the frame, *fence*, stores the number in ``end`` (and in ``latest``, which is a hint only).
The reader loads ``end``, *fence*, copies the frame, *fence*, loads ``begin``; the copy is whole if both are
the number that it looked for. For then: ``end`` is stored after the frame and loaded before the copy, so the
copy holds nothing older than the frame; and had the copy met one store of a later frame, the number of that
frame, stored in ``begin`` before it, would be seen by the load of ``begin`` that comes after it. This takes
store before store in the writer and load before load in the reader, nothing else.

**Store before load** is needed in two rare places, which therefore have a `Fence`: a writer clears the word
that says that there is a viewer and then looks once more at the leases; and a ring that moves is marked
before its switch is looked at again, while who throws the switch looks at the mark afterwards.

**Words** are 8 bytes, aligned, in native byte order: item access to a ``memoryview`` cast to "Q" copies
``sizeof(unsigned long long)`` bytes between two variables, which compilers turn into one load or store
instruction, and which the C library's ``memcpy`` of 8 bytes does in one too. One aligned access of 8 bytes is
never torn on any 64-bit processor. (``struct`` with "<Q" goes byte by byte: not here.) Frame and HUD need no
such care: they are only believed when the words agree.

**The compiler** moves nothing across a fence: each step is a call of its own from the interpreter into
compiled code that it cannot look into.

**x86-64** makes stores visible in the order of the program, and does loads in that order. String
instructions, in which ``memcpy`` may copy, are not reordered with other stores. After non-temporal stores, in
which it may copy large blocks, the C library sets a store fence by itself. Nothing is left to do but to keep
a store before a later load: the locked instructions of a `Fence` do.

**A `Fence`**, which elsewhere is needed always, gives a private lock back and takes it again at once: an
atomic read-modify-write with *release* order, then one with *acquire* order, on the same word. (``sem_post``
and ``sem_trywait`` up to CPython 3.12, sequentially consistent compare-and-exchange from 3.13 on; with a
pthread mutex, as on macOS, the unlock that ends the one and the lock that begins the other.) No other thread
knows the lock, so both succeed.

* ARMv8: accesses before a store-release stay before it (``po;[L]``), a store-release stays before a later
  load-acquire (``[L];po;[A]``; exclusives and LSE atomics are of this kind, there is no weaker RCpc form of
  them), and accesses after a load-acquire stay after it (``[A];po``). Chained, that is a full fence. The
  order matters: to take the lock and then give it back would let accesses from both sides in between.
* RISC-V: the same chain, by the rules for ``.rl`` before ``.aq`` (RCsc) annotations, or by explicit fences.
* POWER: release is an ``lwsync`` before the exchange: it keeps stores before stores and loads before loads,
  which is what frames need. Up to CPython 3.12 it is no full fence: there, in the rare places, a watcher
  may be overlooked until the lease is renewed (0.5 s), and a switch in the microsecond of a move be lost.
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
