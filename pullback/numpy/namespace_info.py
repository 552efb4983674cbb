"""What the Python array API standard lets programs ask about a namespace."""

from __future__ import annotations

from typing import Any

from pullback.core import dtypes, errors
from pullback.runtime.device import devices

__all__ = ["__array_api_version__", "__array_namespace_info__"]

__array_api_version__ = "2024.12"

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]


class _Info:
    """Answers of `__array_namespace_info__()`."""

    def capabilities(self) -> dict[str, Any]:
        """What the namespace can do, by the names of the standard."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> None:
        """None: arrays are made on the default device."""

    def devices(self) -> list[Any]:
        """The devices that arrays can be on."""
        return devices()

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes that results have if none is asked for."""
        kinds = {"real floating": float, "complex floating": complex, "integral": int, "indexing": int}
        return {kind: dtypes.canonicalize(python) for kind, python in kinds.items()}

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, Any]:
        """The dtypes of a kind, or of several; None: all. Without enable_x64 those of 64 bits are left out.

        Raises:
          ValueError: for another word.
        """
        if isinstance(kind, tuple):
            return {name: dtype for each in kind for name, dtype in self.dtypes(kind=each).items()}
        names = _KINDS["bool"] + _KINDS["numeric"] if kind is None else _KINDS.get(kind)
        if names is None:
            raise errors.value_error(f"kind is {kind!r}, one of {[*_KINDS]} is required", op="dtypes",
                                     fix="check the spelling")
        found = {name: dtypes.as_dtype(name) for name in names}
        return {name: dtype for name, dtype in found.items() if dtypes.canonicalize(dtype) == dtype}


def __array_namespace_info__() -> _Info:  # noqa: N807
    """What this namespace offers, as the array API standard asks for it."""
    return _Info()
