"""Workers, algorithms and hyperparameters in Python: tables and Tab completion."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from widgets.kernels import kernel_with_lab

import mosaic_lab as mosaic
from mosaic_lab.errors import ConfigurationError, WorkerEnvironmentError

pytestmark = pytest.mark.usefixtures("toy")


def test_workers_algorithms_and_hyperparameters_are_tables() -> None:
    known = mosaic.workers()
    assert known.loc["toy", ["state", "trains", "algorithms"]].to_list() == ["installed", True, "walk"]
    assert "Stable-Baselines3" in known.loc["sb3", "description"]
    assert known.loc["sb3", "description"] in known._repr_html_()  # not truncated
    assert mosaic.algorithms("Toy").loc["walk", "hyperparameters"] == 1
    table = mosaic.hyperparameters("toy", "Walk")
    assert table.loc["learning_rate", ["type", "default"]].to_list() == ["float", 0.5]
    assert "<td style=" in table.head(1)._repr_html_()
    with pytest.raises(ConfigurationError, match=r"toy has no algorithm 'wolk'.*'walk'"):
        mosaic.hyperparameters("toy", "wolk")
    with pytest.raises(ConfigurationError, match=r"policy has no algorithms; mosaic\.workers\(\) shows"):
        mosaic.algorithms("policy")
    with pytest.raises(WorkerEnvironmentError, match=r'mosaic_lab\.workers\.install\("rllib"\)'):
        mosaic.algorithms("ray")


def test_tab_completes_hyperparameters_in_a_kernel(tmp_path: Path) -> None:
    mosaic.hyperparameters("toy", "walk")  # cached from now on
    with kernel_with_lab(tmp_path / "runs") as client:

        def completed(code: str) -> set[str]:
            found = client.complete(code, reply=True, timeout=60)["content"]["matches"]
            return {one for one in found if one.startswith("learning_rate")}

        assert completed('lab.train("toy", algorithm="walk", lea') == {"learning_rate="}
        assert completed('run = lab.sweep(\n    "Toy",\n    algorithm="Walk",\n    ') == {"learning_rate="}
        assert not completed('lab.train("toy", algorithm="walk", seed=[lea')
        assert not completed('lab.train("toy", algorithm="walk", learning_rate=1, lea')
        assert not completed('lab.train("toy", algorithm="walk")\nlea')


def test_tab_completes_hyperparameters_in_a_terminal(tmp_path: Path) -> None:
    mosaic.hyperparameters("toy", "walk")  # cached from now on
    code = """
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from mosaic_lab.widgets import keyword_completion

shell = InteractiveShell.instance()
shell.run_cell("import sys, mosaic_lab; lab = mosaic_lab.Lab(sys.argv[1])")
line = 'lab.train("toy", algorithm="walk", lea'
with provisionalcompleter():
    print([one.text for one in shell.Completer.completions(line, len(line))])
    keyword_completion._WAIT_SECONDS = 0  # as on a busy machine
    for _ in range(50):
        assert "learning_rate=" in [one.text for one in shell.Completer.completions(line, len(line))]
"""
    command = [sys.executable, "-c", code, str(tmp_path / "runs")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "'learning_rate='" in done.stdout.splitlines()[-1]
