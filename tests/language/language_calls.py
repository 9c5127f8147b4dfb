"""Helpers for tests of language models: a model on the fake server, a dialog, a parser."""

from __future__ import annotations

import base64
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from language.language_fixtures import FakeServer
from mosaic_contract import AgentSetup
from mosaic_contract.language import LanguageModel, Parsed, Turn

PROVIDERS = ["openai", "anthropic"]
ACTIONS = ["turn left", "go forward", "ok"]
PROMPT = [Turn("system", "You play."), Turn("user", "Actions: go forward, turn left")]
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)
"""PNG image of one red pixel."""

KEY_VARIABLE = "FAKE_SERVER_KEY"

PEERS = Path(__file__).parents[1] / "peers"

_numbers = itertools.count()


def parse(text: str) -> Parsed:
    if text.strip() in ACTIONS:
        return Parsed(ACTIONS.index(text.strip()), text.strip())
    return Parsed(None, None, ("unparsed",))


def scripted(server: FakeServer, behaviour: str) -> str:
    """Script a model under a new name, so that no other test has advanced its sequence."""
    return server.script(f"model-{next(_numbers)}", *behaviour.split(","))


def settings_for(server: FakeServer, behaviour: str, provider: str = "openai", **more: Any) -> dict[str, Any]:
    given = {
        "model": scripted(server, behaviour),
        "provider": provider,
        "base_url": server.openai_url if provider == "openai" else server.url,
        "api_key_env": KEY_VARIABLE,
        "timeout": 30.0,
    }
    return given | more


def model(server: FakeServer, behaviour: str, provider: str = "openai", **more: Any) -> LanguageModel:
    return LanguageModel(
        AgentSetup("agent_0", seed=1, settings=settings_for(server, behaviour, provider, **more))
    )


def recording_in(folder: Path, **more: Any) -> dict[str, Any]:
    """Return the settings of a recording as the kernel makes them."""
    given = {"folder": str(folder), "file": "lane-op.jsonl", "lane": "lane", "operator": "LLM"}
    return given | {"replay": None, "reuse": False, "budget": None} | more


class Asker:
    """Process of `peers/asker.py`: after each `answer()` it waits for `play()`."""

    def __init__(self, settings: dict[str, Any], steps: int = 1, python: str = sys.executable) -> None:
        command = [python, str(PEERS / "asker.py"), json.dumps(settings | {"steps": steps})]
        environ = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} if python == sys.executable else None
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ
        )

    def answer(self) -> dict[str, Any]:
        """Wait for the next answer and return it."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the process exited with code {self.process.wait(10)}"
        found: dict[str, Any] = json.loads(line)
        return found

    def play(self) -> None:
        """Let the process play the action and request the next one."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.kill()
        self.close()

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
        self.process.wait(30)

    def __enter__(self) -> Asker:
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()
