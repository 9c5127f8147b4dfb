"""The variables, and the SDKs' own files, that have the keys of language models' endpoints.

Only names of variables are handled, never a value. A server of the user's own is given no key of a vendor's
unless the user names it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from mosaic_lab.operators.spec import OperatorSpec

_OWN = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
_TOKEN = "ANTHROPIC_AUTH_TOKEN"
_PLACES = ("ANTHROPIC_CONFIG_DIR", "ANTHROPIC_PROFILE")  # where Anthropic's SDK looks for its files


def key_variable(provider: str, base_url: str | None, named: str | None) -> str | None:
    """Return the name of the variable that has the key, None where none is sent or the SDK finds it by
    itself."""
    if named is not None or base_url is not None:
        return named
    if provider == "anthropic" and "ANTHROPIC_API_KEY" not in os.environ and _sdk_finds_one():
        return None
    return _OWN.get(provider)


def variables(provider: str, base_url: str | None, key: str | None) -> Sequence[str]:
    """Return the names of the variables that the worker needs for that key."""
    if key is not None:
        return (key,)
    if provider != "anthropic" or base_url is not None:
        return ()
    return tuple(name for name in (_TOKEN, *_PLACES) if name in os.environ)


def missing_key(spec: OperatorSpec, name: str) -> str:
    """Return what to do about a variable that is not set; empty where it is not the key of a language
    model."""
    if spec.settings.get("api_key_env") != name:
        return ""
    return (
        f"{spec.name} needs the key of its endpoint in the variable {name}, which is not set in this "
        f"process. Set it before the notebook starts, or in a cell: import getpass, os; "
        f'os.environ["{name}"] = getpass.getpass(). mosaic.operators.llm("local") needs no key'
    )


def may_be_key(name: str) -> bool:
    """Whether the name of a variable looks like a key: long, of letters and digits without words apart, and
    the name of no variable that is set."""
    return len(name) >= 16 and "_" not in name and any(map(str.isdigit, name)) and name not in os.environ


def may_have_secret(url: str) -> bool:
    """Whether a URL has parts that keys are put into: a user name, a password, a query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return True
    return "@" in parts.netloc or bool(parts.query)


def _sdk_finds_one() -> bool:
    """Whether Anthropic's SDK has a token, or a profile in its files, without a key."""
    if os.environ.get(_TOKEN):
        return True
    folder = Path(os.environ.get(_PLACES[0]) or Path.home() / ".config" / "anthropic")
    return any((folder / "configs").glob("*.json"))
