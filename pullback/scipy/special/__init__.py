"""Special functions, element by element: jax.scipy.special's interface.

Integers become floats. Operands broadcast. How far results are from the exact ones stands in docs/accuracy.md.
"""

from __future__ import annotations

from typing import Any

from pullback.core import errors
from pullback.scipy.special import elementary, transcendental
from pullback.scipy.special.elementary import *  # noqa: F403
from pullback.scipy.special.transcendental import *  # noqa: F403

__all__ = sorted([*elementary.__all__, *transcendental.__all__])


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.scipy.special.{name}")
