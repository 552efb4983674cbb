"""XLA's compiler, of which nothing here can be replaced."""

from __future__ import annotations

from pullback.compat.private import inside

__getattr__ = inside("compiler")
