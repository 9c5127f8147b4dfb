"""Fingerprints and verification: changed results change the fingerprint and are reported with their step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from evaluation.evaluation_fixtures import Evaluate, odd, resealed
from support import wait_until

from mosaic_lab import operators
from mosaic_lab.errors import MosaicError
from mosaic_lab.evaluation import Evaluation
from mosaic_lab.evaluation.fingerprints import digests


@pytest.mark.usefixtures("odd_home")
def test_what_differs_is_reported_with_its_step(tmp_path: Path, start_evaluation: Evaluate) -> None:
    walkers = {"one": operators.worker("odd"), "two": operators.worker("odd")}
    evaluation = start_evaluation(**odd(operators=walkers, seeds=[4, 9])).wait(60)
    before = evaluation.fingerprint()
    telemetry = evaluation.path / "telemetry.jsonl"
    forged = telemetry.read_bytes().replace(b'"agent_0":210', b'"agent_0":211', 1)
    telemetry.write_bytes(resealed(forged))
    (record,) = (one for one in evaluation.records() if (one["operator"], one["seed"]) == ("two", 9))
    steps = evaluation.path / "arenas" / record["arena"] / "telemetry.jsonl"
    lines = steps.read_bytes().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if b'"step_index":6,"episode_index":1,' in line)
    message = json.loads(lines[at])
    lines[at] = json.dumps({**message, "action": 0}, separators=(",", ":")).encode() + b"\n"
    steps.write_bytes(b"".join(lines))
    changed = Evaluation(evaluation.path)
    assert changed.fingerprint() != before
    verification = changed.verify()
    assert not verification.same
    assert verification.episodes == 4
    found = {(one.operator, one.seed): (one.what, one.step) for one in verification.differences}
    assert found.pop(("two", 9)) == (("steps",), 6)
    assert list(found.values()) == [(("returns",), None)]


@pytest.mark.usefixtures("odd_home")
def test_there_is_no_fingerprint_of_a_part(start_evaluation: Evaluate) -> None:
    evaluation = start_evaluation(**odd(operators={"one": operators.worker("odd")}, step_delay=0.01))
    wait_until(lambda: evaluation.done)
    evaluation.stop()
    with pytest.raises(MosaicError, match=r"of 100 episodes are done: a fingerprint covers all of them"):
        evaluation.fingerprint()


def test_checkpoints_are_known_by_their_contents(tmp_path: Path) -> None:
    space = {"type": "Discrete", "n": 2}
    policies = []
    for place, content in (("a", b"weights"), ("b", b"weights"), ("c", b"others")):
        folder = tmp_path / place
        folder.mkdir()
        described = {"format": "mosaic-toy/1", "observation_space": space, "action_space": space}
        (folder / "policy.json").write_text(json.dumps(described))
        (folder / "policy.npy").write_bytes(content)
        policies.append(operators.rl(folder / "policy.npy"))
    one, two, three = digests(policies).values()
    assert one == two != three
