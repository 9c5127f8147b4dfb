"""Policies called from the kernel: how their processes start, answer, fail and end."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import pytest
from operators.team_fixtures import save_policies
from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab.errors import MosaicError
from mosaic_lab.kernel_policy import Policy
from mosaic_lab.operators import sb3


@pytest.fixture
def checkpoint(odd_home: Path, tmp_path: Path) -> Path:
    return save_policies(tmp_path, red_0=0, red_1=1)


@pytest.fixture
def policy(checkpoint: Path) -> Iterator[Policy]:
    with mosaic.policy(checkpoint, agent="red_1") as policy:
        yield policy


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Restore the SIGINT handler: a shell that runs the tests in the background ignores SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def process_of(policy: Policy) -> psutil.Process:
    return psutil.Process(policy.pid)


def refusal(function: Callable[..., object], *arguments: object, **keywords: object) -> str:
    with pytest.raises(MosaicError) as refused:
        function(*arguments, **keywords)
    return str(refused.value)


def test_a_policy_acts_and_says_what_it_does_not_provide(policy: Policy) -> None:
    assert [policy(seen) for seen in range(6)] == [1, 2, 0, 1, 2, 0]
    assert policy(np.array(4)) == 2
    assert policy.provides == ("action",)
    assert repr(policy) == "<policy linear (odd): observes Discrete(6), provides action>"
    assert refusal(policy.value, 3) == ("the policy linear of worker 'odd' has no value; it provides action")
    assert "only acts, and on one observation at a time" in refusal(policy, [0, 1])


def test_an_observation_of_another_space_is_refused_before_it_is_sent(policy: Policy) -> None:
    assert refusal(policy, 6) == (
        "the observation has values outside Discrete(6). This policy observes Discrete(6): pass one such "
        "observation, or arrays with a row for each of several"
    )
    assert "the observation has the shape (2, 2); its space has ()" in refusal(policy, np.zeros((2, 2)))
    assert "which int64 of its space cannot hold" in refusal(policy, 0.5)
    assert "the observation is 'left'" in refusal(policy, "left")
    assert policy(1) == 2


def test_a_checkpoint_of_several_agents_needs_the_name_of_one(checkpoint: Path) -> None:
    for named, given in ((None, ""), ("blue_0", ", not of 'blue_0'")):
        assert refusal(mosaic.policy, checkpoint, agent=named) == (
            f"the checkpoint has the policies of red_0, red_1{given}: choose one with agent="
        )
    assert refusal(mosaic.policy, checkpoint, agent="red_0", seed="x") == "seed='x': must be an integer ≥ 0"
    assert "is not a trained policy" in refusal(mosaic.policy, mosaic.operators.random())
    assert "there is no file" in refusal(lambda: mosaic.policy(sb3("none.zip")))


def test_the_process_ends_with_the_policy(checkpoint: Path) -> None:
    with mosaic.policy(checkpoint, agent="red_0") as policy:
        inside = process_of(policy)
    assert not inside.is_running()
    assert "the policy linear is closed" in refusal(policy, 0)
    assert repr(policy).startswith("<closed policy linear ")
    policy.close()
    forgotten = mosaic.policy(checkpoint, agent="red_0")
    process = process_of(forgotten)
    del forgotten
    gc.collect()
    assert not process.is_running()


def test_the_process_ends_with_the_kernel(checkpoint: Path) -> None:
    """The process ends whether the kernel exits or is killed."""
    program = (
        "import sys, mosaic_lab as mosaic\n"
        f"policy = mosaic.policy({str(checkpoint)!r}, agent='red_0')\n"
        "print(policy.pid, policy(1), flush=True)\n"
        "sys.stdin.read()\n"
    )
    for kill in (False, True):
        kernel = subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert kernel.stdout is not None and kernel.stdin is not None
        pid, action = map(int, kernel.stdout.readline().split())
        assert action == 1
        process = psutil.Process(pid)
        if kill:
            kernel.kill()
        kernel.communicate(timeout=60)
        wait_until(lambda process=process: not process.is_running())


def test_a_process_that_dies_gives_its_last_lines(policy: Policy) -> None:
    os.kill(policy.pid, signal.SIGABRT)  # the fault handler writes the stack
    message = refusal(policy, 0)
    assert message.startswith("the process of the policy linear was killed by signal 6 (SIGABRT)")
    assert "Its last log lines:\n" in message and "operator_server.py" in message
    assert refusal(policy, 0) == message


def test_a_process_that_is_late_is_ended(checkpoint: Path) -> None:
    with mosaic.policy(checkpoint, agent="red_0", deadline=0.5) as policy:
        process = process_of(policy)
        process.suspend()
        assert "the process of the policy linear did not answer within 0.5 s" in refusal(policy, 0)
        assert not process.is_running()


@pytest.mark.usefixtures("interruptible")
def test_a_call_after_an_interrupted_one_gets_its_own_answer(policy: Policy) -> None:
    process = process_of(policy)
    process.suspend()
    interrupt = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        policy(0)
    process.resume()
    assert [policy(1), policy(2)] == [2, 0]


def test_closing_it_ends_the_call_of_another_thread(policy: Policy) -> None:
    process_of(policy).suspend()
    with ThreadPoolExecutor(1) as thread:
        call = thread.submit(refusal, policy, 0)
        wait_until(call.running)
        policy.close()
        assert call.result(timeout=60) == "the policy linear is closed; make the policy again"


def test_a_fork_of_the_kernel_neither_queries_nor_ends_it(policy: Policy) -> None:
    reading, writing = os.pipe()
    if (fork := os.fork()) == 0:
        try:
            os.write(writing, refusal(policy, 0).encode())
            policy.close()
        finally:
            os._exit(0)
    os.waitpid(fork, 0)
    os.close(writing)
    assert b"the policy linear answers only the process that made it" in os.read(reading, 500)
    os.close(reading)
    assert policy(0) == 1


def test_a_damaged_checkpoint_is_refused_with_the_workers_own_reason(checkpoint: Path) -> None:
    checkpoint.write_text("{")
    assert refusal(mosaic.policy, checkpoint, agent="red_0").startswith("the policy linear: ")
