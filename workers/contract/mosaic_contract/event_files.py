"""TensorBoard files of a program that trains, followed while they grow. TensorBoard is imported when there
are files; without it, none are read."""

from __future__ import annotations

import logging
import os
import time
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, Union

from mosaic_contract.telemetry import Telemetry

_MOST_FILES = 256
_MOST_EVENTS = 20_000  # per file and read, so that the program's output is not delayed

log = logging.getLogger("mosaic_contract")


class EventFileReader:
    """The event files below `folder` that were written to after this object was created.

    Their scalars become metrics; `named` renames the scalars of one step. Tags of files outside the first
    file's folder are `prefixed` with their own folder.
    """

    def __init__(
        self,
        folder: Union[str, Path],
        telemetry: Telemetry,
        named: Callable[[Mapping[str, Any]], Mapping[str, Any]],
        *,
        prefixed: bool,
    ) -> None:
        self._folder = Path(folder)
        self._telemetry, self._named, self._prefixed = telemetry, named, prefixed
        self._since = time.time() - 1.0  # file systems round timestamps
        self._loaders: dict[Path, Any] = {}
        self._first: Path | None = None

    @property
    def found(self) -> bool:
        """Whether any event file has been found."""
        return bool(self._loaders)

    def read(self) -> bool:
        """Send new events. Return whether more are available."""
        if find_spec("tensorboard") is None:
            return False
        for path in self._new_files():
            loaders = import_module("tensorboard.backend.event_processing.event_file_loader")
            try:
                self._loaders[path] = loaders.LegacyEventFileLoader(str(path))
            except Exception as error:  # the file was removed
                log.warning("%s is not followed: %s", path, error)
                self._loaders[path] = None
                continue
            self._first = self._first or path.parent
        more = False
        for path, loader in self._loaders.items():
            try:
                more |= self._send(loader, self._prefix(path.parent))
            except Exception as error:  # a damaged file must not affect others
                log.warning("%s is not followed any further: %s", path, error)
                self._loaders[path] = None
        return more

    def _new_files(self) -> list[Path]:
        paths = []
        for folder, _, names in os.walk(self._folder):
            for name in names:
                path = Path(folder) / name
                if "tfevents" in name and path not in self._loaders:
                    with suppress(OSError):
                        if path.stat().st_mtime >= self._since:
                            paths.append(path)
        return sorted(paths)[: _MOST_FILES - len(self._loaders)]

    def _prefix(self, folder: Path) -> str:
        if not self._prefixed or self._first is None or folder == self._first:
            return ""
        base = self._first if folder.is_relative_to(self._first) else self._folder
        return f"{folder.relative_to(base).as_posix()}/"

    def _send(self, loader: Any, prefix: str) -> bool:
        """Send events; return whether more remain after this batch."""
        if loader is None:
            return False
        step, count = 0, 0
        values: dict[str, Any] = {}
        for count, event in enumerate(loader.Load(), 1):
            for tag, value in _scalars(event):
                if event.step != step and values:
                    self._telemetry.metrics(step, self._named(values))
                    values = {}
                step = event.step
                values[prefix + tag] = value
            if count >= _MOST_EVENTS:
                break
        if values:
            self._telemetry.metrics(step, self._named(values))
        return count >= _MOST_EVENTS


def _scalars(event: Any) -> Iterator[tuple[str, Any]]:
    """Yield the potentially numeric values of an event, in both versions of the format."""
    for value in event.summary.value:
        kind = value.WhichOneof("value")
        if kind == "simple_value":
            yield value.tag, float(value.simple_value)
        elif kind == "tensor" and not value.tensor.string_val:
            try:
                array = import_module("tensorboard.util.tensor_util").make_ndarray(value.tensor)
            except TypeError as error:  # a numeric type that NumPy does not support
                yield value.tag, error
                continue
            if array.size == 1:  # else a histogram or an image
                yield value.tag, array
