"""A server's request: the arguments of `Lab.serve` as one value, checked."""

from __future__ import annotations

import difflib
import re
import shutil
import socket
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from msgspec import Meta, structs

from mosaic_lab.runs.request import Request, literal
from mosaic_lab.runs.run import DEFAULT_GRACE
from mosaic_lab.runs.run_record import RunRecord
from mosaic_lab.serving.engines import ENGINES, HOST
from mosaic_lab.validation import Problems

EngineName = Literal["llama.cpp", "vllm"]
LOCAL = "local"
_OPTION = re.compile(r"[a-z][a-z0-9_]*")
_RESERVED = {  # options that have their own argument
    "host": "the server answers on this machine only",
    "api_key": "keys are written to run folders, and the server answers on this machine only",
    "hf_token": 'keys are written to run folders; pass_env_vars=["HF_TOKEN"] passes it on',
    "served_model_name": "the name of the model is that of its file or folder",
    "alias": "the name of the model is that of its file or folder",
}


class ServeRequest(Request, kw_only=True, frozen=True):
    """The arguments of `Lab.serve`, as given."""

    METHOD: ClassVar[str] = "serve"

    engine: Annotated[EngineName, Meta(description="the program that serves")]
    model: Annotated[Path | str, Meta(description="a GGUF file, or for vllm a name or folder")]
    gpus: Annotated[int | Sequence[int] | None, Meta(description="a number, or indices")] = None
    port: Annotated[int | None, Meta(ge=1, le=65535, description="the port (default: a free one)")] = None
    threads: Annotated[int | None, Meta(ge=1, description="CPU threads (default: half of the cores)")] = None
    program: Annotated[Path | str | None, Meta(description="your own program")] = None
    env_vars: Mapping[str, str] | None = None
    pass_env_vars: Iterable[str] = ()
    grace_seconds: Annotated[float, Meta(ge=0, description="seconds to end by itself")] = DEFAULT_GRACE
    options: Mapping[str, Any] = {}

    @property
    def served_name(self) -> str:
        """The name of the model in requests."""
        path = Path(self.model)
        return path.stem if path.suffix == ".gguf" else path.name if path.is_dir() else str(self.model)

    def validated(self) -> ServeRequest:
        """Return the request with absolute paths. Raises ConfigurationError with all problems."""
        problems = Problems()
        if self.engine not in ENGINES:
            near = difflib.get_close_matches(str(self.engine), get_args(EngineName), n=1, cutoff=0.4)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            problems.add("", f"engine={self.engine!r:.100}: must be one of {', '.join(ENGINES)}{hint}")
            problems.check()
        request = self.checked(problems)
        model = _model(request, problems)
        program = None if request.program is None else _program(request.program, problems)
        for name, value in request.options.items():
            if name in _RESERVED or not _OPTION.fullmatch(name):
                problems.add(
                    "", f"{name}=: {_RESERVED.get(name, 'must be an option in lower case')}; leave it out"
                )
            elif not isinstance(value, bool | int | float | str | list | tuple | dict):
                problems.add("", f"{name}={value!r:.100}: must be a string, a number, True, False or a list")
        if request.port is not None and not problems.found and not is_free(request.port):
            problems.add(
                "", f"port={request.port}: taken by another program; without port= a free one is chosen"
            )
        problems.check()
        return structs.replace(request, model=model, program=program)

    def written(self) -> tuple[Sequence[str], Mapping[str, Any]]:
        given = self.given()
        first = [literal(str(given.pop(name))) for name in ("engine", "model")]
        options = given.pop("options", {})
        return first, {**given, **options}

    def to_json(self) -> dict[str, Any]:
        """Return the given arguments as JSON-compatible data, with only the names of ``env_vars``."""
        names = (*self.pass_env_vars, *(self.env_vars or ()))
        recorded = structs.replace(self, env_vars=None, pass_env_vars=names)
        return super(ServeRequest, recorded).to_json()


def request_of(run: RunRecord) -> ServeRequest:
    """Return the request that started a server. Raises LookupError or TypeError for damaged files."""
    return ServeRequest(**run.folder.document(run.folder.request_path))


def is_free(port: int) -> bool:
    """Return whether a program can listen on a port of this machine."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def _model(request: ServeRequest, problems: Problems) -> str:
    """Return the model in the form that the program accepts: an absolute path, or a name."""
    text = str(request.model)
    path = Path(text).expanduser()
    if not isinstance(request.model, str | Path) or not text.strip():
        problems.add("", f"model={request.model!r:.100}: must be a file, a folder or a name")
    elif request.engine == "vllm":
        if path.is_dir() and not (path / "config.json").is_file():
            problems.add("", f"model={text!r}: the folder has no config.json of a model")
        elif not path.is_dir() and (text.endswith(".gguf") or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", text)):
            problems.add("", f"model={text!r}: there is no such folder; a name looks like Qwen/Qwen3-8B")
        return str(path.resolve()) if path.is_dir() else text
    elif text == LOCAL and request.program is None:
        return LOCAL
    elif not path.is_file():
        problems.add(
            "", f"model={text!r}: there is no file {path.resolve()}; give a .gguf file, or {LOCAL!r}"
        )
    elif (head := path.open("rb").read(4)) != b"GGUF":
        problems.add("", f"model={text!r}: not a GGUF file: it begins with {head!r}, not b'GGUF'")
    return str(path.resolve())


def _program(program: Path | str, problems: Problems) -> str:
    path = shutil.which(Path(program).expanduser())
    if path is None:
        problems.add("", f"program={str(program)!r}: neither a program on the PATH nor an executable file")
    return path or str(program)
