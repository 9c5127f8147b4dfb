"""`mosaic-lab train` refuses hyperparameters that are written wrongly, with what to write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from mosaic_lab.cli import main

TRAIN = ("train", "cleanrl", "--algorithm", "ppo", "--env", "CartPole-v1", "--total-timesteps", "1000")
WRONG = [
    (["num_steps==64"], "write one equals sign, num_steps=64"),
    (["--num-steps", "=", "64"], "give hyperparameters as num_steps=64 "),
    (["--num-steps==64"], "give hyperparameters as num_steps=64 "),
    (["num_steps=64", "num_steps=32"], "num_steps=64 and num_steps=32: give num_steps once"),
]


@pytest.mark.parametrize(("words", "expected"), WRONG)
def test_hyperparameters_that_are_written_wrongly(
    words: Sequence[str],
    expected: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        code = main([*TRAIN, *words])
    except SystemExit as ended:
        code = int(ended.code or 0)
    assert code in (1, 2)
    assert expected in capsys.readouterr().err
