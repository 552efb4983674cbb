"""Looking into running programs (jax.debug)."""

from __future__ import annotations

from pullback.api.host import breakpoint_here as breakpoint
from pullback.api.host import callback
from pullback.api.host import format_print as print

__all__ = ["breakpoint", "callback", "print"]
