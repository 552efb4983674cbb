"""Waiting for what compiled code does beside computing."""

from __future__ import annotations

from pullback.api.host import effects_barrier as wait_for_tokens

__all__ = ["wait_for_tokens"]
