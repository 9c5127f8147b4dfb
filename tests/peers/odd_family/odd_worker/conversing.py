"""An operator that behaves like a language model's without calling one: it writes, and is queried again.

Settings: ``answer`` (the second; the first has no action), ``prompt`` (text of the user's turn), ``until``
(a file that must exist before the operator stops writing), ``image`` (SHA-256 of an image in the prompt),
``cost`` (None: unknown).
"""

import time
from pathlib import Path

from mosaic_contract import Decision


class Conversing:
    def __init__(self, setup):
        self._setup = setup
        self._agent, self._settings = setup.player_id, setup.settings

    def select_action(self, observation):
        answer = self._settings.get("answer", "I go forward.\nAction: forward")
        self._write(answer)
        prompt = [
            {"role": "system", "text": f"You are {self._agent}.", "images": []},
            {"role": "user", "text": self._settings.get("prompt", f"You see {observation}."), "images": []},
        ]
        image = self._settings.get("image")
        again = [
            {"role": "assistant", "text": "Well.", "images": []},
            {"role": "user", "text": "Name one action.", "images": [image] if image else []},
        ]
        exchanges = [
            self._exchange(prompt, "Well.", None, ["unparsed"]),
            self._exchange([*prompt, *again], answer, "forward", ["repair"]),
        ]
        return Decision(1, "forward", "The way is free.", 200, 20, exchanges=exchanges)

    def _write(self, answer):
        until = self._settings.get("until")
        written = ""
        for word in answer.split(" "):
            written += f"{word} "
            self._setup.send_partial(written)
        while until and not Path(until).exists():
            time.sleep(0.05)  # the pace of the text, until the test creates the file
            written += "and "
            self._setup.send_partial(written)

    def _exchange(self, prompt, answer, parsed, faults):
        return {
            "prompt": prompt,
            "answer": answer,
            "parsed": parsed,
            "faults": faults,
            "input_tokens": 100,
            "output_tokens": 10,
            "cost_usd": self._settings.get("cost"),
            "latency_ms": 1300.0,
            "model": "small-1",
            "recorded": False,
        }
