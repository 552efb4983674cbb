"""`jax.experimental.checkify` where it is written in jax."""

from __future__ import annotations

from pullback.compat.private import inside
from pullback.experimental import checkify

__getattr__ = inside("checkify", checkify)
