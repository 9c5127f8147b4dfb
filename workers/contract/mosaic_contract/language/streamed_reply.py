"""An answer while it is being written: its text, its thoughts, and the numbers reported by the endpoint."""

from __future__ import annotations

import re
from typing import Any, Callable

from mosaic_contract.codec import whole_number
from mosaic_contract.language.exchange import Reply

ANSWER_LIMIT = 64_000
"""Maximum number of characters of an answer, and of its thoughts, that are read."""

_MAX_TOKENS = 10**9  # per exchange; a larger number is not a valid count
_MAX_USD = 1e6
_NAMES = "think|thinking|thought|thoughts|reason|reasoning|reflection|analysis|scratchpad|seed:think"
_OPENS = re.compile(
    rf"<(?:{_NAMES})>|\[THINK\]|◁think▷|<\|(?:begin_of_thought|START_THINKING)\|>"
    r"|<\|channel\|>analysis<\|message\|>|<unused94>(?:thought\n)?",
    re.I,
)
_CLOSES = re.compile(
    rf"</(?:{_NAMES})>|\[/THINK\]|◁/think▷|<\|(?:end_of_thought|END_THINKING)\|>"
    r"|(?:<\|end\|>)?(?:<\|start\|>assistant)?<\|channel\|>final<\|message\|>|<unused95>",
    re.I,
)


class StreamedReply:
    """An answer while it is being written. `show` receives all text written so far; `redact` removes secrets
    from that text and from the reply."""

    def __init__(self, model: str, show: Callable[[str], None], redact: Callable[[str], str] = str) -> None:
        self.model = model
        self.text = ""
        self.reasoning = ""
        self.faults: list[str] = []
        self.finished = False
        self.too_long = False
        self.usage: dict[str, Any] = {}  # fields of a `Reply`
        self._show = show
        self._redact = redact

    def add(self, text: str | None, reasoning: str | None = None) -> None:
        if not text and not reasoning:
            return
        self.text += text or ""
        self.reasoning += reasoning or ""
        if len(self.text) > ANSWER_LIMIT or len(self.reasoning) > ANSWER_LIMIT:
            self.text, self.reasoning = self.text[:ANSWER_LIMIT], self.reasoning[:ANSWER_LIMIT]
            self.too_long = True
            self.fault("too_long")
        self._show(self._clean("\n\n".join(filter(None, (self.reasoning, self.text)))))

    def fault(self, name: str) -> None:
        if name not in self.faults:
            self.faults.append(name)

    def count(
        self, input_tokens: Any = None, output_tokens: Any = None, cached: Any = None, cost: Any = None
    ) -> None:
        """Record the plausible numbers reported by an endpoint; others are unknown."""
        inputs, outputs, cached = tokens(input_tokens), tokens(output_tokens), tokens(cached)
        counts = {
            "input_tokens": inputs,
            "output_tokens": outputs,
            "cached_tokens": min(cached, inputs) if cached is not None and inputs is not None else None,
            "cost_usd": float(cost) if type(cost) in (int, float) and 0 <= cost <= _MAX_USD else None,
        }
        self.usage.update({name: value for name, value in counts.items() if value is not None})

    def reply(self) -> Reply:
        """Return the answer so far."""
        text, thoughts = split_thoughts(self._clean(self.text))
        reasoning = "\n".join(filter(None, (self._clean(self.reasoning), thoughts)))
        return Reply(text, self._clean(self.model), reasoning, tuple(self.faults), **self.usage)

    def partial(self) -> Reply | None:
        """Return the answer so far; None if nothing has arrived."""
        return self.reply() if self.text or self.reasoning else None

    def _clean(self, text: str) -> str:
        return self._redact(join_surrogates(text))


def split_thoughts(text: str) -> tuple[str, str]:
    """Split an answer with tagged thoughts into the answer and the thoughts. Thoughts end at the last closing
    tag, with or without an opening tag (some servers cut it off). Unclosed thoughts extend to the end."""
    closings = list(_CLOSES.finditer(text))
    thoughts, answer = (text[: closings[-1].start()], text[closings[-1].end() :]) if closings else ("", text)
    opening = _OPENS.search(answer)
    if opening:
        thoughts, answer = f"{thoughts}\n{answer[opening.end() :]}", answer[: opening.start()]
    if not closings and not opening:
        return text, ""
    return answer.strip(), _CLOSES.sub("", _OPENS.sub("", thoughts)).strip()


def join_surrogates(text: str) -> str:
    """Return text with the halves of surrogate pairs joined, which may arrive in separate pieces of a stream.
    An unpaired half becomes U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def tokens(value: Any) -> int | None:
    """Return a reported number of tokens; None if it is not a valid count."""
    number = whole_number(value)
    return number if number is not None and 0 <= number <= _MAX_TOKENS else None
