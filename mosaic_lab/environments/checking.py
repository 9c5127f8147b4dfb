"""Runs the contract's conformance suite on an installed worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mosaic_lab.environments.catalog import find, not_installed

if TYPE_CHECKING:
    from mosaic_contract.conformance import CheckResult
