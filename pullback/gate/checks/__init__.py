"""The checks, in the order in which they run. Each module has one `CHECK`."""

from __future__ import annotations

from pullback.gate.checks import (
    contract,
    data,
    derivative,
    environment,
    finite,
    flow,
    keys,
    purity,
    reference,
    refusal,
    transforms,
    update,
)
from pullback.gate.checks.base import Check

__all__ = ["CHECKS", "Check"]

CHECKS: tuple[Check, ...] = (contract.CHECK, derivative.CHECK, flow.CHECK, keys.CHECK, finite.CHECK, refusal.CHECK,
                             transforms.CHECK, reference.CHECK, purity.CHECK, data.CHECK, update.CHECK,
                             environment.CHECK)
