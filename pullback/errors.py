"""The error classes that users can meet (jax.errors)."""

from __future__ import annotations

from pullback.core.errors import (
    CompileError,
    ConcretizationTypeError,
    JAXIndexError,
    JAXTypeError,
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

__all__ = [
    "CompileError", "ConcretizationTypeError", "JAXIndexError", "JAXTypeError", "JaxRuntimeError", "KeyReuseError",
    "MissingRuleError", "NonConcreteBooleanIndexError", "TracerArrayConversionError", "TracerBoolConversionError",
    "TracerIntegerConversionError", "UnexpectedTracerError", "UnsupportedError",
]
