"""Client that talks to a worker's operators as an arena does."""

from __future__ import annotations

import select
import subprocess
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from mosaic_contract import decode_line, encode_line, pack, unpack
from mosaic_contract.codec import OPERATING_LINE_LIMIT

SECONDS = 60.0


def end(process: subprocess.Popen[bytes]) -> None:
    """Close the process's stdin, upon which it must exit by itself; kill it after 30 s."""
    assert process.stdin and process.stdout
    process.stdin.close()
    try:
        process.wait(timeout=30)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


class Conversation:
    """Context manager that runs the command with `--interactive`. Messages may contain arrays both ways."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = [*command, "--interactive"]

    def __enter__(self) -> Conversation:
        self.process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        end(self.process)
        assert self.process.returncode == 0

    def ask(self, cmd: str, **fields: Any) -> dict[str, Any]:
        """Send a command and return its answer, whatever its type; partial answers of a model are skipped."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(encode_line({"cmd": cmd, **pack(fields)}, OPERATING_LINE_LIMIT))
        self.process.stdin.flush()
        while True:
            assert select.select([self.process.stdout], [], [], SECONDS)[0], f"no answer to {cmd}"
            answer: dict[str, Any] = unpack(decode_line(self.process.stdout.readline()))
            if answer.get("type") != "partial":
                return answer

    def agent(self, action_space: dict[str, Any], player_id: str = "agent_0", **setup: Any) -> None:
        answer = self.ask("init_agent", player_id=player_id, action_space=action_space, **setup)
        assert answer["type"] == "agent_ready", answer

    def act(self, observation: Any = 0, **fields: Any) -> dict[str, Any]:
        """Return the answer to `select_action`, which must not be an error."""
        answer = self.ask("select_action", observation=observation, **fields)
        assert answer["type"] == "action_selected", answer
        return answer
