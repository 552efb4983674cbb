"""The stages of compilation (jax.stages), and several compilations at the same time."""

from __future__ import annotations

from typing import Any

from pullback.api.jit import Jitted as Wrapped
from pullback.api.stages import Compiled, Lowered, Traced, compile_all

CompilerOptions = dict[str, Any]

__all__ = ["Compiled", "CompilerOptions", "Lowered", "Traced", "Wrapped", "compile_all"]
