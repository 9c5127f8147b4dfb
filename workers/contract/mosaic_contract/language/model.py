"""A language model as called by a shim: turns in, one recorded exchange with its parsed action out."""

from __future__ import annotations

import functools
import time
from dataclasses import replace
from pkgutil import resolve_name
from typing import Any, Callable, Protocol, Sequence

from mosaic_contract.language.endpoint import choice_in
from mosaic_contract.language.exchange import PARSE_FAULTS, Choices, Exchange, Parsed, Reply, Turn, prompt_of
from mosaic_contract.language.exchange_store import ExchangeStore
from mosaic_contract.language.prices import price_of
from mosaic_contract.language.recording import CallKey, Episode
from mosaic_contract.language.retries import repeat
from mosaic_contract.language.settings import ANTHROPIC, LOCAL, OPENAI, ModelSettings
from mosaic_contract.operators import AgentSetup
from mosaic_contract.seeds import derive_seed

_MAX_PROMPT_CHARS = 1_000_000  # fits in a recording's line even with all of JSON's escapes
_BACKENDS = {  # by provider, each imported for the first agent that calls it
    OPENAI: "mosaic_contract.language.openai_api:OpenAIEndpoint",
    ANTHROPIC: "mosaic_contract.language.anthropic_api:AnthropicEndpoint",
    LOCAL: "mosaic_contract.language.local:LocalModel",
}


class Backend(Protocol):
    """An endpoint, or a model in this process."""

    def complete(
        self, turns: Sequence[Turn], choices: Choices | None, seed: int, show: Callable[[str], None]
    ) -> Reply: ...


class LanguageModel:
    """The language model of one agent.

    Reads `setup.settings`: the fields of `ModelSettings`, and "recording", the recording that exchanges are
    written to, reused and replayed from (without it, nothing is recorded). Raises `ConfigError` for invalid
    settings, including a missing key. A replay calls no model and needs no key.

    `backend` makes the backend instead of the configured one; it is not called in a replay.
    """

    def __init__(self, setup: AgentSetup, backend: Callable[[], Backend] | None = None) -> None:
        self.settings = ModelSettings.read(setup.settings)
        self._show = setup.send_partial
        self._agent = setup.player_id
        self._seed = setup.seed
        self._episode = self._step = self._call = 0
        self._current_episode: Episode | None = None
        prices = dict(self.settings.prices) if self.settings.prices else None
        self._price = price_of(self.settings.provider, self.settings.model, prices, self.settings.base_url)
        self._exchanges = ExchangeStore(
            setup.settings.get("recording"), setup.player_id, self.settings, self._price
        )
        self._backend: Backend | None = None
        if not self._exchanges.replays:
            self._backend = backend() if backend is not None else _backend(self.settings)

    def begin_episode(self, seed: int | None, episode_index: int) -> None:
        """Set the episode that the next calls belong to. A seed of None keeps the last seed."""
        previous = self._current_episode
        self._seed = self._seed if seed is None else seed
        self._episode, self._step, self._call = episode_index, 0, 0
        self._current_episode = (self._seed, episode_index)
        if previous is not None and previous != self._current_episode:
            self._exchanges.forget(previous)

    def begin_step(self, step_index: int) -> None:
        """Set the step of the episode that the next calls belong to."""
        self._step, self._call = step_index, 0

    def ask(
        self,
        turns: Sequence[Turn],
        parse: Callable[[str], Parsed],
        *,
        choices: Choices | None = None,
        repair: bool = False,
        last: bool = False,
    ) -> Exchange:
        """Send a dialog and return the exchange, written to the recording, with the action parsed.

        `choices`: the answer must be one of these, or have this form. `repair`: a second attempt after an
        answer without an action. `last`: no further attempt follows, so the default action is played if the
        answer has none. Both are recorded as faults. `parse` is not called for an answer without text.

        Raises `EndpointRefused` for errors that calling again cannot fix, `EndpointFailed` after the retries,
        `BudgetSpent`, `RecordingMismatch`, and `ValueError` for a prompt of more than a million characters.
        """
        length = sum(len(turn.text) for turn in turns)
        if length > _MAX_PROMPT_CHARS:
            raise ValueError(f"a prompt has at most {_MAX_PROMPT_CHARS:,} characters, this one {length:,}")
        key = CallKey(self._exchanges.lane, self._agent, self._seed, self._episode, self._step, self._call)
        self._call += 1
        prompt = prompt_of(turns)

        def with_action(exchange: Exchange) -> Exchange:
            return _parsed(exchange, parse, choices is not None, repair, last)

        recorded = self._exchanges.recorded(key, prompt)
        if recorded is not None:
            exchange, is_own = recorded
            if is_own:
                return with_action(exchange)
            return self._record(exchange, with_action, key, turns, None)
        with self._exchanges.reserved(turns) as reservation:
            exchange = self._request(turns, prompt, choices, key)
            return self._record(exchange, with_action, key, turns, reservation)

    def close(self) -> None:
        self._exchanges.close()

    def _request(self, turns: Sequence[Turn], prompt: Any, choices: Choices | None, key: CallKey) -> Exchange:
        """Call the model, with retries."""
        assert self._backend is not None, "a replay calls no model"
        backend, began = self._backend, [0.0, 0.0]
        seed = derive_seed(key.seed or 0, f"{key.episode_index}/{key.step_index}/{key.call}")

        def attempt() -> Reply:
            with self._exchanges.slot():
                began[:] = time.time(), time.perf_counter()
                return backend.complete(turns, choices, seed, self._show)

        reply, retries = repeat(attempt, self.settings.retries, self.settings.label)
        latency = 1e3 * (time.perf_counter() - began[1])
        return Exchange(
            prompt=prompt,
            answer=reply.text,
            parsed=None,
            faults=reply.faults,
            model=reply.model,
            reasoning=reply.reasoning,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            cost_usd=self._cost(reply),
            latency_ms=round(latency, 3),
            retries=retries,
            started=began[0],
        )

    def _record(
        self,
        exchange: Exchange,
        with_action: Callable[[Exchange], Exchange],
        key: CallKey,
        turns: Sequence[Turn],
        reservation: str | None,
    ) -> Exchange:
        """Parse and record an answer. An answer that was paid for is recorded even if its parsing raises."""
        try:
            exchange = with_action(exchange)
        finally:
            self._exchanges.write(exchange, key, turns, reservation)
        return exchange

    def _cost(self, reply: Reply) -> float | None:
        """Return a reply's cost in USD: as reported by the endpoint, else from the price; None if unknown."""
        if reply.cost_usd is not None:
            return reply.cost_usd
        if self._price is None or reply.input_tokens is None or reply.output_tokens is None:
            return None
        return self._price.cost(reply.input_tokens, reply.output_tokens, reply.cached_tokens or 0)


def _parsed(
    exchange: Exchange, parse: Callable[[str], Parsed], restricted: bool, repair: bool, last: bool
) -> Exchange:
    """Return the exchange with the action in its answer and the faults of parsing. An answer recorded without
    an action has none."""
    parsed = Parsed(None, None)
    empty = not exchange.answer.strip()
    if not empty and not set(exchange.faults).intersection(PARSE_FAULTS):
        parsed = parse(choice_in(exchange.answer) if restricted else exchange.answer)
    conditions = {"empty": empty, "repair": repair, "default": last and parsed.action is None}
    faults = (*exchange.faults, *parsed.faults, *(name for name, holds in conditions.items() if holds))
    return replace(exchange, parsed=parsed.text, action=parsed.action, faults=tuple(dict.fromkeys(faults)))


@functools.lru_cache(maxsize=None)
def _backend(settings: ModelSettings) -> Backend:
    """Return the backend of a model, shared by the agents of this process with the same settings."""
    return resolve_name(_BACKENDS[settings.provider])(settings)
