"""The user's cache of TextWorld games, of which those used longest ago go when it grows too large."""

from __future__ import annotations

import os
from pathlib import Path

LIMIT_BYTES = 1 << 30


def cache_folder(version: str) -> Path:
    """Return the folder of the games that one version of TextWorld has made."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return root / "mosaic-lab" / "textworld" / version


def cached(file: Path) -> bool:
    """Return whether a game is in the cache; it then counts as used now."""
    if not (file.exists() and file.with_suffix(".json").exists()):
        return False
    try:
        os.utime(file)
    except FileNotFoundError:  # another process has just removed it
        return False
    return True


def prune(folder: Path, limit_bytes: int = LIMIT_BYTES) -> None:
    """Remove the games used longest ago, until the rest takes at most this much; the latest one stays."""
    games = []
    for file in folder.glob("*.z8"):
        try:
            description = file.with_suffix(".json")
            games.append((file.stat().st_mtime, file.stat().st_size + description.stat().st_size, file))
        except FileNotFoundError:
            continue
    total = sum(size for _, size, _ in games)
    for _, size, file in sorted(games)[:-1]:
        if total <= limit_bytes:
            break
        for path in (file, file.with_suffix(".json")):  # the game first: it is what is looked for
            path.unlink(missing_ok=True)
        total -= size
