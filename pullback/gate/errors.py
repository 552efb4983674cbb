"""The gate's own errors: each says what was found and one fix."""

from __future__ import annotations

__all__ = ["ContractError", "UsageError"]


class UsageError(Exception):
    """The gate was asked for something it cannot do; the command line exits with 4."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(f"{message}\n  fix: {fix}")


class ContractError(ValueError):
    """A value breaks the contract that guards a function; `leaf` is the path of the first that does."""

    def __init__(self, message: str, leaf: str = "") -> None:
        super().__init__(message)
        self.leaf = leaf
