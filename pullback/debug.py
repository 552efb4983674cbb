"""Looking into running programs (jax.debug)."""

from __future__ import annotations

from pullback.api.host import breakpoint_here as breakpoint
from pullback.api.host import callback
from pullback.api.host import format_log as log
from pullback.api.host import format_print as print
from pullback.api.placement import inspect_array_sharding, visualize_array_sharding, visualize_sharding

__all__ = ["breakpoint", "callback", "inspect_array_sharding", "log", "print", "visualize_array_sharding",
           "visualize_sharding"]
