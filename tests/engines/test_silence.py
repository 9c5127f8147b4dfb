"""What a run's reason says while its cluster does not answer."""

from __future__ import annotations

import re

import pytest

from mosaic_lab.engines import silence
from mosaic_lab.engines.engine import NoHead, Unreachable
from mosaic_lab.engines.silence import Silence

CUT, REFUSED = Unreachable("no answer within 32 s"), NoHead("nothing answers at 10.0.0.5:6379")


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1e9
        monkeypatch.setattr(silence.time, "time", lambda: self.now)


def test_a_network_that_is_cut_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, one = Clock(monkeypatch), Silence("gpu-lab")
    first = one.reason(CUT)
    clock.now += 3600
    assert one.reason(CUT) == one.reason(Unreachable("another reason")) == first
    said = (
        r"gpu-lab has not answered since \d\d:\d\d:\d\d \(no answer within 32 s\); what runs there continues"
    )
    assert re.fullmatch(said, first)
    one.end()
    assert one.reason(CUT) != first


def test_a_head_that_is_gone_for_a_minute_takes_the_nodes_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, one = Clock(monkeypatch), Silence("gpu-lab")
    one.reason(CUT)
    clock.now += 600
    assert one.reason(REFUSED).endswith("what runs there continues")
    clock.now += 61
    lost = one.reason(REFUSED)
    assert "(nothing answers at 10.0.0.5:6379): if its head was lost, its nodes have left after 60 s" in lost
    assert "ended this run, which fails, or begins again with restarts=, when a head answers there" in lost
    clock.now += 61
    assert one.reason(REFUSED) == lost
    assert one.reason(CUT).endswith("what runs there continues"), (
        "its machine is out of reach: perhaps all lives"
    )
