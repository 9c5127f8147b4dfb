"""``mosaic-lab workers``: install, list, check and remove, run as commands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from worker_fixtures import write_shim

from mosaic_lab import cli, workers
from mosaic_lab.workers import WorkerEnvironment, shims

pytestmark = pytest.mark.usefixtures("own_home")


def mosaic_lab(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).parent / "mosaic-lab"
    return subprocess.run(
        [program, "workers", *arguments], capture_output=True, text=True, timeout=300, check=False
    )


def test_a_worker_from_installation_to_removal(tmp_path: Path) -> None:
    shim = write_shim(tmp_path / "shim")

    installed = mosaic_lab("install", str(shim))
    assert installed.returncode == 0, installed.stderr
    assert "resolved" in installed.stdout and "worker 'toy' is ready" in installed.stdout

    listed = mosaic_lab("list").stdout
    assert " ".join(listed.splitlines()[0].split()) == "NAME STATE UPSTREAM SOURCE PYTHON SIZE ORIGIN"
    assert [line.split()[:2] for line in listed.splitlines() if line.startswith("toy")] == [
        ["toy", "installed"]
    ]

    profile = mosaic_lab("list", "toy").stdout
    row = next(line for line in profile.splitlines() if "learning_rate" in line)
    assert row.split(maxsplit=3) == ["learning_rate", "float", "0.5", "length of a step"]
    assert "exact versions in" in profile
    hint = "1 algorithm; the hyperparameters of one: mosaic-lab workers list toy --algorithm NAME"
    assert f"\n{hint}\n" in profile
    assert "no algorithm 'run'; it has: walk" in mosaic_lab("list", "toy", "--algorithm", "run").stdout

    checked = mosaic_lab("check", "toy")
    assert checked.returncode == 0 and "all checks passed" in checked.stdout

    removed = mosaic_lab("remove", "toy")
    assert removed.returncode == 0 and "removed the environment" in removed.stdout
    assert "toy" not in mosaic_lab("list").stdout


def test_algorithms_and_environments_are_listed_with_what_their_worker_says_of_them(tmp_path: Path) -> None:
    shim = write_shim(tmp_path / "shim")
    about, program = shim / "toy_worker" / "__init__.py", shim / "toy_worker" / "cli.py"
    facts = "{'walk': {'actions': 'discrete', 'agents': 'one'}, 'run': {'actions': 'continuous'}}"
    about.write_text(about.read_text().replace('["walk"]', f'["walk", "run"], algorithm_facts={facts}'))
    known, both = '{"walk": list(KNOWN.values())}', '{"walk": list(KNOWN.values()), "run": []}'
    made = "[f'Hill-{n}' for n in range(30)] + ['Maze-a', 'Maze-b', 'Maze-c', 'Pole']"
    program.write_text(program.read_text().replace(f"{known})", f"{both}, environments=lambda: {made})"))
    workers.install(shim)
    listed = mosaic_lab("list", "toy").stdout
    shown = listed[listed.index("2 algorithms;") :].splitlines()[1:4]
    assert [line.split() for line in shown] == [
        ["algorithm", "actions", "agents", "hyperparameters"],
        ["walk", "discrete", "one", "1"],
        ["run", "continuous", "-", "0"],
    ]
    assert listed.index("2 algorithms;") < listed.index("learning_rate")
    assert "2 algorithms" not in mosaic_lab("list", "toy", "--algorithm", "walk").stdout

    assert "34 environments\n  Hill- (30): Hill-0, Hill-1, Hill-2, Hill-3, Hill-4, …\n" in listed
    assert "  Maze- (3): Maze-a, Maze-b, Maze-c\n  others (1): Pole\n" in listed
    assert "All of them: mosaic-lab workers list toy --environments '*'" in listed
    assert mosaic_lab("list", "toy", "--environments", "*-2?").stdout.split() == [
        f"Hill-{number}" for number in range(20, 30)
    ]
    none = mosaic_lab("list", "toy", "--environments", "Hole*")
    assert (none.returncode, none.stdout) == (1, "none of its 34 environments matches 'Hole*'\n")


def test_what_a_worker_shows_once_installed_is_said_before() -> None:
    assert "(then its environments are shown here)" in mosaic_lab("list", "multigrid").stdout
    assert "(then its algorithms are shown here)" in mosaic_lab("list", "tianshou").stdout


def test_a_worker_that_is_not_installed_says_how(tmp_path: Path) -> None:
    listed = mosaic_lab("list", "cleanrl")
    assert listed.returncode == 0 and "mosaic-lab workers install cleanrl" in listed.stdout
    checked = mosaic_lab("check", "cleanrl")
    assert checked.returncode == 1 and "is not installed" in checked.stderr


def test_a_worker_that_breaks_the_protocol_fails_its_check(tmp_path: Path) -> None:
    shim = write_shim(tmp_path / "shim")
    program = shim / "toy_worker" / "cli.py"
    program.write_text(
        program.read_text().replace("check_hyperparameters(config.hyperparameters, KNOWN)", "{}")
    )
    workers.install(shim)

    checked = mosaic_lab("check", "toy")

    assert checked.returncode == 1
    assert "bad configuration" in checked.stdout and "checks failed" in checked.stdout


def test_errors_are_one_message_and_exit_code_1() -> None:
    failed = mosaic_lab("install", "clenrl")
    assert failed.returncode == 1
    assert "Did you mean 'cleanrl'" in failed.stderr and "Traceback" not in failed.stderr


class TestAll:
    """``install --all``, with three small shims and one that needs a GPU in place of the bundled ones."""

    @pytest.fixture(autouse=True)
    def _bundled(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        contract, folder = shims.contract_folder(), tmp_path / "bundled"
        write_shim(folder / "a", "first")
        write_shim(folder / "b", "second", dependencies=["iniconfig==99.0.0"])
        write_shim(folder / "c", "third")
        write_shim(folder / "d", "fourth", settings="[tool.mosaic-lab]\ngpu = true")
        (folder / "contract").symlink_to(contract)
        monkeypatch.setattr(shims, "bundled_folder", lambda: folder)

    @pytest.mark.extended
    def test_one_that_fails_does_not_keep_the_others_back(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["workers", "install", "--all"]) == 1

        printed, errors = capsys.readouterr()
        assert "3 workers" in printed and "GB" in printed.splitlines()[0]
        rows = [line.split()[:2] for line in printed.splitlines()[-5:]]
        assert rows[:4] == [
            ["NAME", "RESULT"],
            ["first", "installed"],
            ["second", "failed"],
            ["third", "installed"],
        ]
        assert printed.splitlines()[-1].startswith("1 of 3 failed")
        assert "iniconfig==99.0.0" in errors and "Traceback" not in errors
        states = {info.name: info.state for info in workers.catalog()}
        assert [states[name] for name in ("first", "second", "third")] == [
            "installed",
            "not installed",
            "installed",
        ]

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--all", "first"], "not allowed with"),
            (["first", "--all"], "not allowed with"),
            (["--all", "--source", "git"], "are for one worker: leave --all out"),
            (["--all", "--python", "3.11"], "are for one worker: leave --all out"),
            ([], "is required"),
        ],
    )
    def test_all_or_one_is_named_and_what_is_for_one_is_refused(
        self, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit) as ended:
            cli.main(["workers", "install", *arguments])
        assert ended.value.code == 2
        assert said in capsys.readouterr().err


class TestTheRealCleanRL:
    """CleanRL in the session's home, where its environment is built once for all tests."""

    @pytest.fixture(autouse=True)
    def _session_home(self, own_home: Path, mosaic_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MOSAIC_LAB_HOME", str(mosaic_home))

    def test_it_is_built_from_its_pins(self, cleanrl_environment: WorkerEnvironment) -> None:
        assert "torch==2.13.0" in {line.partition("+")[0] for line in cleanrl_environment.freeze}
        assert cleanrl_environment.python_version.startswith("3.11.")
        assert cleanrl_environment.source in ("git", "registry") and cleanrl_environment.source_reason
        assert cleanrl_environment.size_bytes > 500e6
