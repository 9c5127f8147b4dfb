"""The checks of workers that write runs as files of another tool: a tiny run, in every format."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Callable

from mosaic_contract.conformance.subject import Subject, Unmet, expect_exit

_RUN = {"id": "conformance", "name": "a tiny run", "hyperparameters": {"learning_rate": 0.5}}
_POINTS = [[0, 1000.0, {"loss": 1.0}], [1, None, {"loss": float("nan"), "return": 2.0}]]


class ExportChecks:
    """`formats` of the subject's configuration are the values of `--export` that the worker knows."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject

    def checks(self) -> dict[str, Callable[[], str]]:
        return {f"export {form}": partial(self.export, form) for form in self._formats()}

    def export(self, form: str) -> str:
        out = self.subject.empty_folder(f"exported-{form}")
        process = self.subject.start(form, "--export", form, "--out", str(out), talks=True)
        with process:
            assert process.popen.stdin is not None
            process.popen.stdin.write("".join(f"{json.dumps(line)}\n" for line in (_RUN, *_POINTS)).encode())
            process.popen.stdin.close()
            expect_exit(process, 0, self.subject.deadline)
            answers = process.messages()
        if [answer.get("run") for answer in answers] != ["conformance"]:
            raise Unmet('one line on stdout: {"run": "conformance", "path"}', repr(answers), process)
        path = Path(str(answers[0].get("path")))
        if out not in path.parents or not path.exists():
            raise Unmet(f"a path below {out} that exists", str(path), process)
        return path.name

    def _formats(self) -> list[str]:
        return [str(form) for form in self.subject.config.get("formats", [])]
