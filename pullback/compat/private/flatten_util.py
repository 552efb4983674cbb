"""`jax.flatten_util` where it is written in jax."""

from __future__ import annotations

from pullback.flatten_util import ravel_pytree

__all__ = ["ravel_pytree"]
