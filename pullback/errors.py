"""The error classes that users can meet (jax.errors)."""

from __future__ import annotations

from pullback.core.errors import (
    CompileError,
    ConcretizationTypeError,
    KeyReuseError,
    MissingRuleError,
    NonConcreteBooleanIndexError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
    UnsupportedError,
)

JaxRuntimeError = RuntimeError

__all__ = ["CompileError", "ConcretizationTypeError", "JaxRuntimeError", "KeyReuseError", "MissingRuleError",
           "NonConcreteBooleanIndexError", "TracerArrayConversionError", "TracerBoolConversionError",
           "TracerIntegerConversionError", "UnexpectedTracerError", "UnsupportedError"]
