"""A budget in money or tokens, shared by all operator processes of an evaluation.

The maximum cost of a call is reserved before it; its actual cost is booked afterwards. The ledger is a file
beside the recording, `budget.json`, changed under a lock. Each process holds its own lock while it is alive,
so that its reservations end with it. In that case, and if the file is missing, the amount spent is recomputed
from the recording. An evaluation removes the file when it starts, since an earlier start may have had no
budget.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, Sequence

from mosaic_contract.errors import BudgetSpent, ConfigError
from mosaic_contract.language.exchange import Turn
from mosaic_contract.language.prices import Price
from mosaic_contract.language.recording import IMAGE_HEAD, image_head, read

LEDGER = "budget.json"
"""The name of the ledger file in a recording's folder."""

_POLL_SECONDS = 0.05
_ROUNDING_USD = 1e-9  # floating-point sums may slightly exceed a budget that they exhaust
_MAX_IMAGE_TOKENS, _MIN_IMAGE_TOKENS = 4_000, 300
_PIXELS_PER_TOKEN = 400  # with the minimum above, no less than endpoints count by tiles or patches
_TURN_TOKENS = 8
_BYTES_PER_TOKEN = 3  # conservative estimate; English text has about 4


class Budget:
    """One operator process's share of a budget: `usd`, `tokens` or both. `price` is its model's."""

    def __init__(
        self, folder: Path, usd: float | None, tokens: int | None, price: Price | None, patience: float
    ) -> None:
        self._usd, self._tokens, self._price, self._patience = usd, tokens, price, patience
        self._folder = folder
        self._locks = folder / "locks"
        self._locks.mkdir(parents=True, exist_ok=True)
        self._holder = uuid.uuid4().hex
        self._reservations: set[str] = set()  # neither booked nor released
        self._life_lock = _open_lock(self._locks / self._holder)
        fcntl.flock(self._life_lock, fcntl.LOCK_EX)

    def reserve(self, usd: float | None, tokens: int) -> str:
        """Reserve the maximum cost of a call and return the reservation. Waits while only pending calls of
        other processes prevent it. Raises `BudgetSpent`."""
        deadline = time.monotonic() + self._patience
        while True:
            with self._locked_ledger() as ledger:
                if not self._is_within(ledger, usd, tokens, ledger["reserved"].values()):
                    self._release_abandoned(ledger)
                pending = [] if time.monotonic() < deadline else ledger["reserved"].values()
                if not self._is_within(ledger, usd, tokens, pending):
                    raise BudgetSpent(self._spent_text(ledger))
                if self._is_within(ledger, usd, tokens, ledger["reserved"].values()):
                    name = uuid.uuid4().hex
                    ledger["reserved"][name] = [self._holder, usd or 0.0, tokens]
                    self._reservations.add(name)
                    return name
            time.sleep(_POLL_SECONDS)

    def book(self, name: str, usd: float, tokens: int, record: Callable[[], None]) -> None:
        """Replace a reservation by the actual cost of the call, and record its exchange: both or neither,
        even if this process dies."""
        with self._locked_ledger() as ledger:
            record()
            ledger["reserved"].pop(name, None)
            ledger["usd"] += usd
            ledger["tokens"] += tokens
            ledger["calls"] += 1
        self._reservations.discard(name)

    def release(self, name: str) -> None:
        """Release a reservation unless it has been booked: the call produced no answer."""
        if name in self._reservations:
            self._reservations.discard(name)
            with self._locked_ledger() as ledger:
                ledger["reserved"].pop(name, None)

    def close(self) -> None:
        (self._locks / self._holder).unlink(missing_ok=True)
        os.close(self._life_lock)

    def _is_within(self, ledger: dict[str, Any], usd: float | None, tokens: int, reserved: Any) -> bool:
        reserved = list(reserved)
        spent_usd = ledger["usd"] + sum(reservation[1] for reservation in reserved) + (usd or 0.0)
        spent_tokens = ledger["tokens"] + sum(reservation[2] for reservation in reserved) + tokens
        return (self._usd is None or spent_usd <= self._usd + _ROUNDING_USD) and (
            self._tokens is None or spent_tokens <= self._tokens
        )

    def _spent_text(self, ledger: dict[str, Any]) -> str:
        calls = f"{ledger['calls']:,} call{'' if ledger['calls'] == 1 else 's'}"
        if self._usd is not None:
            return f"the budget of {dollars(self._usd)} is spent: {dollars(ledger['usd'])} in {calls}"
        return f"the budget of {self._tokens:,} tokens is spent: {ledger['tokens']:,} in {calls}"

    @contextmanager
    def _locked_ledger(self) -> Iterator[dict[str, Any]]:
        """Provide the locked ledger. Changes are saved unless the block raises."""
        path = self._folder / LEDGER
        lock = _open_lock(self._locks / "budget")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            old_text = ""
            try:
                old_text = path.read_text()
                ledger = json.loads(old_text)
            except FileNotFoundError:
                ledger = {"reserved": {}, **spent(self._folder, self._price)}
            yield ledger
            if (new_text := json.dumps(ledger)) != old_text:
                part = path.with_suffix(".part")
                part.write_text(new_text)
                part.replace(path)
        finally:
            os.close(lock)

    def _release_abandoned(self, ledger: dict[str, Any]) -> None:
        """Release the reservations of dead processes. Since such a process may have recorded an exchange
        without booking it, everything is counted again."""
        holders = {reservation[0] for reservation in ledger["reserved"].values()} - {self._holder}
        dead = {holder for holder in holders if not self._is_alive(holder)}
        if dead:
            remaining = {
                name: reservation
                for name, reservation in ledger["reserved"].items()
                if reservation[0] not in dead
            }
            ledger.update(spent(self._folder, self._price), reserved=remaining)

    def _is_alive(self, holder: str) -> bool:
        path = self._locks / holder
        if not path.exists():
            return False
        file = _open_lock(path)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(file)
        path.unlink(missing_ok=True)
        return False


def read_budget(value: Any, price: Price | None, model: str) -> tuple[float | None, int | None] | None:
    """Read {"usd": …, "tokens": …}; None if neither is given. Raises `ConfigError`, also for a budget in USD
    if the price of the model is unknown."""
    if value is None:
        return None
    if not isinstance(value, Mapping) or not value.keys() <= {"usd", "tokens"}:
        raise ConfigError(f'budget={value!r:.100}: must be {{"usd": …}} or {{"tokens": …}}')
    for name, amount in value.items():
        if amount is not None and (
            isinstance(amount, bool) or not isinstance(amount, (int, float)) or not amount >= 0
        ):
            raise ConfigError(f"budget[{name!r}]={amount!r:.100}: must be a number ≥ 0")
    usd, tokens = value.get("usd"), value.get("tokens")
    if usd is not None and price is None:
        raise ConfigError(
            f"a budget in USD needs the price of {model}, which is unknown: give "
            'prices={"input": USD per million tokens, "output": …}, or a budget in tokens'
        )
    return None if usd is None and tokens is None else (usd, tokens)


def spent(folder: Path, price: Price | None = None) -> dict[str, Any]:
    """Return the cost of the calls in a recording: {"usd", "tokens", "calls"}.

    Exchanges that were themselves replayed from a recording cost nothing. Tokens are estimated if an endpoint
    reported none. If the cost of a call is unknown, `price` is used; without it, "usd" includes only known
    costs.
    """
    usd, tokens, calls = 0.0, 0, 0
    for entry in read(folder):
        if not entry.get("recorded"):
            one_usd, one_tokens = charge(entry, price, folder)
            usd, tokens = usd + (one_usd or 0.0), tokens + one_tokens
            calls += one_tokens > 0  # moves of an engine are recorded too, without tokens
    return {"usd": usd, "tokens": tokens, "calls": calls}


def charge(exchange: Mapping[str, Any], price: Price | None, folder: Path) -> tuple[float | None, int]:
    """Return the amounts that an exchange in the recording `folder` adds to a budget: USD, None if unknown,
    and tokens."""
    prompt, answer = exchange["prompt"], exchange["answer"]
    prompt_tokens, answer_tokens = exchange["input_tokens"], exchange["output_tokens"]
    if prompt_tokens is None:
        heads = [image_head(folder, name) for turn in prompt for name in turn["images"]]
        prompt_tokens = sum(text_tokens(turn["text"]) for turn in prompt) + sum(map(image_tokens, heads))
    if answer_tokens is None:
        answer_tokens = text_tokens(answer)
    usd = exchange["cost_usd"]
    if usd is None and price is not None:
        usd = price.cost(prompt_tokens, answer_tokens)
    return usd, prompt_tokens + answer_tokens


def estimate(turns: Sequence[Turn], max_tokens: int, price: Price | None) -> tuple[float | None, int]:
    """Return the maximum cost of a call: USD, None if the price is unknown, and tokens."""
    prompt_tokens = sum(text_tokens(turn.text) + sum(map(image_tokens, turn.images)) for turn in turns)
    return (None if price is None else price.cost(prompt_tokens, max_tokens)), prompt_tokens + max_tokens


def dollars(usd: float) -> str:
    """Return an amount for messages, with two to four decimals, or two digits below $0.0001."""
    if 0 < usd < 1e-4:
        return f"${usd:.2g}"
    integer, _, decimals = f"{usd:,.4f}".partition(".")
    return f"${integer}.{decimals.rstrip('0').ljust(2, '0')}"


def text_tokens(text: str) -> int:
    """Return a conservative estimate of the tokens of a turn's text."""
    return len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN + _TURN_TOKENS


def image_tokens(data: bytes) -> int:
    """Return a conservative estimate of the tokens of an image, from the beginning of its PNG file; the
    maximum if its size is unknown."""
    if len(data) < IMAGE_HEAD:
        return _MAX_IMAGE_TOKENS
    pixels = int.from_bytes(data[16:20], "big") * int.from_bytes(data[20:24], "big")
    return min(_MAX_IMAGE_TOKENS, _MIN_IMAGE_TOKENS + pixels // _PIXELS_PER_TOKEN)


def _open_lock(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
