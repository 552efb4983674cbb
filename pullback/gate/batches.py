"""Batches made from the standard batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.gate.session import Session
from pullback.gate.values import as_like, dtype_name, is_float, number

__all__ = ["at_bound", "changed"]


def changed(session: Session, change: Callable[[np.ndarray, Any, str], np.ndarray]) -> list[Any]:
    """The standard batch with its float leaves changed, and brought back into their declared ranges."""
    found = []
    for i, leaf in enumerate(session.batch.leaves):
        if not is_float(leaf):
            found.append(leaf)
            continue
        x = change(number(leaf), session.batch_spec(i), dtype_name(leaf))
        found.append(as_like(session.within(i, x), leaf))
    return found


def at_bound(x: np.ndarray, spec: Any, side: int) -> np.ndarray:
    bound = np.inf if spec is None else spec.high if side > 0 else spec.low
    return np.full_like(x, bound) if np.isfinite(bound) else x
