"""Installing, refreshing, checking and removing worker environments: real uv, real processes, small shims."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from support import store
from worker_fixtures import write_shim, write_upstream

import mosaic_lab as mosaic
from mosaic_lab import workers
from mosaic_lab.cli import main
from mosaic_lab.errors import ConfigurationError, WorkerEnvironmentError
from mosaic_lab.runs import Run
from mosaic_lab.runs.training import Trainer
from mosaic_lab.widgets.runs.run_panel import RunPanel

pytestmark = pytest.mark.usefixtures("own_home")


def say(environment: workers.WorkerEnvironment, code: str) -> str:
    return subprocess.check_output([environment.python, "-c", code], text=True, timeout=60).strip()


def with_sources(upstream: Path | str, *, order: str = '["git", "registry"]', git: str = "") -> str:
    git = git or f"toylib @ git+file://{Path('nowhere').absolute()}@0123456"
    return (
        f"[tool.mosaic-lab]\nsources = {order}\n"
        f"[tool.mosaic-lab.source.git]\nupstream = '{git}'\n"
        f"[tool.mosaic-lab.source.registry]\nupstream = '{upstream}'\n"
        "[tool.mosaic-lab.source.path]\nextra = 'git'\n"
    )


EXTRAS = "git = ['iniconfig==2.0.0']\nregistry = ['iniconfig==2.1.0']"


def folders_of(name: str, home: Path) -> list[Path]:
    return [entry for entry in (home / "workers" / name).iterdir() if entry.is_dir()]


def test_a_third_partys_folder_becomes_a_worker_that_runs(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as in notebook kernels
    cleanrl = {info.name: info for info in workers.catalog()}["cleanrl"]
    assert (cleanrl.state, cleanrl.origin) == ("not installed", "bundled")
    lines: list[str] = []
    shim = write_shim(tmp_path / "shim", dependencies=["iniconfig==2.1.0"])

    environment = workers.install(shim, progress=lines.append)

    assert workers.find("toy") == environment
    assert environment.valid and not environment.outdated
    assert environment.capabilities.algorithms == ["walk"]
    assert environment.command() == [str(environment.python), "-m", "toy_worker.cli"]
    assert workers.describe(environment)["hyperparameters"]["walk"][0]["name"] == "learning_rate"
    toy = {info.name: info for info in workers.catalog()}["toy"]
    assert (toy.state, toy.origin) == ("installed", "third party")
    assert [result.name for result in workers.check("toy") if not result.passed] == []
    printed = "\n".join(lines)
    for step in ("resolved 3 packages", "installed 3 packages", "worker 'toy' is ready"):
        assert printed.count(step) == 1, "each step is printed once, although packages are resolved twice"

    # Exact versions and the size are recorded.
    assert "iniconfig==2.1.0" in environment.freeze
    assert any(line.startswith("mosaic-contract") for line in environment.freeze)
    assert environment.freeze_path is not None and environment.freeze_path.read_text().count("\n") == 3
    files = [file for file in environment.root.rglob("*") if not file.is_dir() or file.is_symlink()]
    assert environment.size_bytes == pytest.approx(sum(file.lstat().st_size for file in files), rel=0.2)
    record = json.loads((own_home / "workers" / "toy" / "environment.json").read_text())
    assert record["python_version"] == environment.python_version != ""

    # An installed worker is not installed again.
    lines.clear()
    assert workers.install(shim, progress=lines.append) == environment
    assert workers.ensure("toy", progress=lines.append) == environment
    assert lines == [f"worker 'toy' is installed already, in {environment.root}"]


def test_without_git_the_registry_is_taken_and_each_run_says_why(tmp_path: Path) -> None:
    """Upstream is installed without its own pins, and its outdated Python bound is ignored."""
    upstream = write_upstream(tmp_path / "upstream")
    settings = with_sources(f"toylib @ {upstream.as_uri()}")
    lines: list[str] = []

    environment = workers.install(
        write_shim(tmp_path / "shim", settings=settings, extras=EXTRAS), progress=lines.append
    )

    assert environment.source == "registry"
    assert "toylib's git repository file:///" in environment.source_reason
    assert " cannot be reached from here (" in environment.source_reason
    assert environment.source_reason.endswith(f"; taking toylib at {upstream.as_uri()}")
    assert environment.source_reason in lines[0]
    assert environment.fallback == f"worker 'toy': {environment.source_reason}"
    assert "iniconfig==2.1.0" in environment.freeze
    assert environment.metadata.upstream_version == "1.0"
    assert not any("no-such-package" in line for line in environment.freeze)

    said = environment.fallback
    with store(tmp_path / "runs") as supervisor:
        trainer = Trainer(supervisor)
        run = trainer.train("toy", algorithm="walk", env="Hill-v0", total_timesteps=5)
        assert isinstance(run, Run)
        assert run.wait(60).fallback == said
        other = trainer.train("toy", algorithm="walk", env="Hill-v0", total_timesteps=5)
        for shown, notices in ((run, [said]), (other, []), (run, [said])):
            panel = RunPanel([shown], alone=True)
            assert [notice["text"] for notice in panel.notices()] == notices, "only the first run's panel"
        with pytest.raises(ConfigurationError, match=rf"unknown .*'stride'.* \({re.escape(said)}\)$"):
            trainer.train("toy", algorithm="walk", env="Hill-v0", total_timesteps=5, stride=2)
        with pytest.raises(ConfigurationError, match=r"here it is called 'learning_rate'$"):
            trainer.train("toy", algorithm="walk", env="Hill-v0", total_timesteps=5, lr=2)
    with pytest.raises(ConfigurationError, match=rf"no algorithm 'run'.* \({re.escape(said)}\)$"):
        mosaic.hyperparameters("toy", "run")


def test_a_git_repository_that_can_be_reached_is_taken_first(tmp_path: Path) -> None:
    upstream = write_upstream(tmp_path / "upstream")
    git = ["git", "-C", str(upstream), "-c", "user.name=t", "-c", "user.email=t@localhost"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], check=True, timeout=30)
    commit = subprocess.check_output([*git, "rev-parse", "HEAD"], text=True, timeout=30).strip()
    settings = with_sources("toylib==1.0", git=f"toylib @ git+{upstream.as_uri()}@{commit}")

    environment = workers.install(write_shim(tmp_path / "shim", settings=settings, extras=EXTRAS))

    assert environment.source == "git"
    assert environment.upstream is not None and environment.upstream.endswith(commit)
    assert "iniconfig==2.0.0" in environment.freeze
    assert any(commit in line for line in environment.freeze)


def test_a_checkout_is_taken_as_it_is_now_until_another_source_is_requested(tmp_path: Path) -> None:
    upstream = write_upstream(tmp_path / "upstream")
    settings = with_sources(f"toylib @ {upstream.as_uri()}")
    shim = write_shim(tmp_path / "shim", settings=settings, extras=EXTRAS)
    first = workers.install(shim, source=str(upstream))
    assert first.source == str(upstream)
    assert "iniconfig==2.0.0" in first.freeze

    (upstream / "toylib" / "__init__.py").write_text("VERSION = 'edited'\n")
    second = workers.install("toy", source=str(upstream))
    assert say(second, "import toylib; print(toylib.VERSION)") == "edited"
    assert not first.root.exists()

    second.python.unlink()
    info = workers.info("toy")
    assert info.state == "broken" and str(second.python) in info.detail
    assert workers.find("toy") is None
    lines: list[str] = []
    rebuilt = workers.ensure("toy", progress=lines.append)
    assert rebuilt.source == str(upstream) and rebuilt.root != second.root
    assert f"{second.python}, is gone" in lines[0]

    assert workers.install("toy", source="registry").source == "registry"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"source": "gti"}, r"no such source.*It has: git, registry, the path of a checkout"),
        ({"source": "git"}, r"The source 'git' .* cannot be reached: .*Leave --source out"),
        ({"torch": "gpu"}, r"no such torch build.*auto.*cpu.*cu128"),
        ({"python": "/nowhere/python"}, r"there is no such file.*3\.11"),
    ],
)
def test_what_cannot_be_had_is_refused_with_what_can(
    tmp_path: Path, options: dict[str, str], said: str, own_home: Path
) -> None:
    shim = write_shim(tmp_path / "shim", settings=with_sources("toylib==1.0"), extras=EXTRAS)
    with pytest.raises(WorkerEnvironmentError, match=said):
        workers.install(shim, **options)  # type: ignore[arg-type]
    assert workers.find("toy") is None


def test_an_unknown_worker_is_named_with_the_nearest_and_all_known() -> None:
    for call in (workers.install, workers.ensure, workers.check, workers.info):
        with pytest.raises(
            WorkerEnvironmentError, match=r"no worker 'clenrl'.*Did you mean 'cleanrl'.*Known: "
        ):
            call("clenrl")


def test_a_folder_that_is_not_a_shim_is_refused_with_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(WorkerEnvironmentError, match=r"has no pyproject.toml.*workers/README.md"):
        workers.install(tmp_path)
    below = write_shim(tmp_path / "lab" / "workers" / "toy")
    with pytest.raises(WorkerEnvironmentError, match=rf"has no pyproject.toml\. Workers are in {below}\."):
        workers.install(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    with pytest.raises(WorkerEnvironmentError, match=r"does not describe a worker.*mosaic\.workers"):
        workers.install(tmp_path)


def test_a_failure_shows_uvs_own_words_and_leaves_nothing(tmp_path: Path, own_home: Path) -> None:
    shim = write_shim(tmp_path / "shim", dependencies=["iniconfig==99.0.0"])
    with pytest.raises(WorkerEnvironmentError, match=r"(?s)uv failed.*iniconfig==99\.0\.0.*--python"):
        workers.install(shim)
    assert workers.find("toy") is None
    assert folders_of("toy", own_home) == []


def test_a_worker_that_does_not_load_is_not_installed(tmp_path: Path) -> None:
    shim = write_shim(tmp_path / "shim")
    (shim / "toy_worker" / "__init__.py").write_text("raise RuntimeError('\\x1b[31mhalf written')")
    with pytest.raises(WorkerEnvironmentError, match=": half written") as caught:
        workers.install(shim)
    assert f"Repair it in {shim}, then run the same command again" in str(caught.value)
    assert workers.find("toy") is None


def test_the_folder_of_a_worker_stays_as_it_is(tmp_path: Path) -> None:
    shim = write_shim(tmp_path / "shim")
    project = shim / "pyproject.toml"
    project.write_text(
        project.read_text()
        .replace('["hatchling"]', '["setuptools"]')
        .replace("hatchling.build", "setuptools.build_meta")
        .replace("[tool.hatch.build.targets.wheel]", "[tool.setuptools.package-data]\n'*' = ['*.json']")
        .replace('packages = ["toy_worker"]', "[tool.setuptools]\npackages = ['toy_worker']")
    )
    (shim / "build" / "lib" / "toy_worker").mkdir(parents=True)  # from an earlier manual build
    (shim / "build" / "lib" / "toy_worker" / "stale.py").touch()
    (shim / "link").symlink_to(shim)
    before = sorted(shim.rglob("*"))

    environment = workers.install(shim)
    (shim / "toy_worker" / "cli.py").write_text(
        (shim / "toy_worker" / "cli.py").read_text() + "\n# changed\n"
    )
    workers.ensure("toy")

    assert sorted(shim.rglob("*")) == before
    assert not list(environment.root.rglob("stale.py"))
    assert say(environment, "import toy_worker.cli as it; print(open(it.__file__).read()[-8:])") == "changed"


def test_a_python_that_cannot_be_had_names_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")
    shim = write_shim(tmp_path / "shim", settings="[tool.mosaic-lab]\npython = '3.99'\n")
    with pytest.raises(WorkerEnvironmentError, match=r"(?s)3\.99.*--python PATH"):
        workers.install(shim)


def test_uv_is_stopped_at_the_deadline(tmp_path: Path) -> None:
    with pytest.raises(WorkerEnvironmentError, match="deadline"):
        workers.install(write_shim(tmp_path / "shim"), timeout=0.01)
    assert workers.find("toy") is None


def test_changed_shim_code_is_refreshed_in_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    upstream = write_upstream(tmp_path / "upstream")
    settings = with_sources(f"toylib @ {upstream.as_uri()}")
    shim = write_shim(tmp_path / "shim", settings=settings, extras=EXTRAS)
    built = workers.install(shim)
    write_shim(shim, settings=settings, extras=EXTRAS, learning_rate=0.25)
    assert built.outdated
    assert workers.info("toy").state == "outdated"
    main(["workers", "list"])
    assert "\n\ntoy: outdated, its shim has changed since. Repair: mosaic-lab" in capsys.readouterr().out
    lines: list[str] = []

    refreshed = workers.ensure("toy", progress=lines.append)

    assert refreshed.root == built.root and not refreshed.outdated
    assert workers.describe(refreshed)["hyperparameters"]["walk"][0]["default"] == 0.25
    assert refreshed.metadata.upstream_version == "1.0"
    assert "installing upstream" not in "".join(lines) and "changed since" in lines[0]


def test_removal_under_a_running_worker_lets_it_go_on_and_says_so(tmp_path: Path, own_home: Path) -> None:
    environment = workers.install(write_shim(tmp_path / "shim"))
    worker = sleeper(environment)
    lines: list[str] = []
    try:
        workers.remove("toy", progress=lines.append)

        assert worker.poll() is None
        assert f"pid {worker.pid}" in lines[0] and "they continue" in lines[0]
        assert workers.find("toy") is None
        assert not environment.root.exists()
    finally:
        worker.kill()
        worker.wait(timeout=10)
    with pytest.raises(WorkerEnvironmentError, match="no worker 'toy'"):
        workers.remove("toy")


def test_changed_pins_rebuild_the_environment_and_an_older_one_stays_while_a_worker_runs_in_it(
    tmp_path: Path, own_home: Path
) -> None:
    shim = write_shim(tmp_path / "shim", dependencies=["iniconfig==2.0.0"])
    old = workers.install(shim)
    worker = sleeper(old)
    try:
        write_shim(shim, dependencies=["iniconfig==2.1.0"])
        new = workers.ensure("toy")
        assert "iniconfig==2.1.0" in new.freeze
        assert old.root.exists() and new.root != old.root
    finally:
        worker.kill()
        worker.wait(timeout=10)
    write_shim(shim, dependencies=["iniconfig==2.0.0"])
    last = workers.ensure("toy")
    assert len(folders_of("toy", own_home)) == 1
    write_shim(shim, dependencies=["iniconfig==99.0.0"])
    with pytest.raises(WorkerEnvironmentError):
        workers.ensure("toy")
    found = workers.find("toy")
    assert found == last and found.outdated, "a failed replacement keeps the working environment"
    assert workers.describe(last)


def sleeper(environment: workers.WorkerEnvironment) -> subprocess.Popen[str]:
    """Start a process of the environment and wait until it runs."""
    code = "import sys, time; print('up', flush=True); time.sleep(600)"
    worker = subprocess.Popen([environment.python, "-c", code], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None and worker.stdout.readline() == "up\n"
    return worker
