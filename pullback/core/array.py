"""Arrays: immutable values with a shape and a dtype, held in host memory or by the runtime.

`Array` is what users see and what `isinstance(x, Array)` asks for; tracers are Arrays too.
`ConcreteArray` is one whose numbers are known. Operators and methods (`x + y`, `x.sum()`) are
installed by `numpy.methods`, the way from a device buffer to host memory by the runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.types import ArrayType


class Array:
    """An n-dimensional array. Immutable; `x.at[i].set(v)` returns a changed copy."""

    __slots__ = ()

    type: ArrayType
    __array_priority__ = 100

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def dtype(self) -> Any:
        return self.type.dtype

    @property
    def ndim(self) -> int:
        return len(self.type.shape)

    @property
    def size(self) -> int:
        return self.type.size

    @property
    def itemsize(self) -> int:
        return int(self.type.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def weak_type(self) -> bool:
        return self.type.weak

    @property
    def aval(self) -> ArrayType:
        """The type of the array: shape, dtype, weak_type."""
        return self.type

    def __len__(self) -> int:
        if not self.type.shape:
            raise errors.make(TypeError, "len() of an array without axes", op="",
                              fix="use x.size, or give the array an axis")
        return self.type.shape[0]

    __hash__ = None  # type: ignore[assignment]

    def __setitem__(self, index: Any, value: Any) -> None:
        raise errors.make(TypeError, "item assignment: arrays are immutable", op="",
            fix="x = x.at[index].set(value) gives a changed copy (also .add, .multiply, .min, .max)")


class _Host:
    """How device buffers come to the host; filled in by the runtime."""

    to_numpy: Callable[[Any], np.ndarray]
    is_deleted: Callable[[Any], bool]


runtime = _Host()


class ConcreteArray(Array):
    """An Array whose numbers are known: `host` memory, a `device` buffer, or both."""

    __slots__ = ("__weakref__", "_device", "_host", "_sharding", "placement", "type")

    def __init__(self, type: ArrayType, host: np.ndarray | None = None, device: Any = None,
                 placement: Any = None) -> None:
        self.type = type
        self._host = host
        self._device = device
        self.placement = placement  # the device a user asked for with device_put, or None

    def numpy(self) -> np.ndarray:
        """The numbers (for keys: their uint32 words) as a read-only ndarray, without a copy where possible."""
        host = self._host
        if host is None:
            if self._device is None or runtime.is_deleted(self._device):
                raise errors.make(RuntimeError, f"Array of type {self.type} has been deleted", op="",
                                  fix="it was donated to a jitted call (donate_argnums) or deleted; "
                                      "use the call's result instead")
            host = self._host = runtime.to_numpy(self._device)
        return host

    @property
    def in_memory(self) -> bool:
        """Whether the host has the numbers, and no device was asked for."""
        return self._host is not None and self.placement is None

    def concrete(self) -> ConcreteArray:
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self.type.is_key:
            raise errors.make(TypeError, f"a key array of type {self.type} cannot become a NumPy array",
                              op="", fix="random.key_data(key) gives its uint32 words")
        array = np.asarray(self.numpy())  # a scalar of NumPy's may be held
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        if copy:
            return array.copy()
        if array.flags.writeable:
            array = array.view()
            array.flags.writeable = False
        return array

    def item(self, *index: int) -> Any:
        """The element as a Python scalar."""
        return self.numpy().item(*index)

    def tolist(self) -> Any:
        """The elements as nested lists of Python scalars."""
        return self.numpy().tolist()

    def _scalar(self, what: str) -> Any:
        if self.type.is_key:
            raise errors.make(TypeError, f"{what}() of a PRNG key", op="", fix="random.key_data(key) gives its words")
        if self.type.size != 1 or self.type.ndim:
            raise errors.make(TypeError, f"{what}() of an array of type {self.type}; "
                              "only arrays without axes convert to Python scalars", op="",
                              fix="index one element first, or reduce the array")
        return self.numpy().item()

    def __bool__(self) -> bool:
        if self.type.is_key:
            self._scalar("bool")
        if self.type.size != 1:
            raise errors.make(ValueError, f"The truth value of an array of type {self.type} is ambiguous",
                              op="", fix="use x.any() or x.all()")
        return bool(self.numpy().item())

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        if not dtypes.is_integer(self.type.dtype) or self.type.ndim:
            raise errors.make(TypeError, f"an array of type {self.type} is not an index; "
                              "an integer without axes is required", op="")
        return int(self.numpy().item())

    def __iter__(self) -> Iterator[Any]:
        if not self.type.shape:
            raise errors.make(TypeError, "iteration over an array without axes", op="",
                              fix="use x.item() for its value")
        if self.placement is not None:
            return (self[i] for i in range(self.type.shape[0]))  # type: ignore[index]
        t = ArrayType(self.type.shape[1:], self.type.dtype, self.type.weak)
        return (ConcreteArray(t, np.asarray(row)) for row in self.numpy())

    def __format__(self, spec: str) -> str:
        if self.type.ndim == 0 and not self.type.is_key:
            return format(self.numpy()[()].item(), spec)
        return format(str(self), spec)

    def __str__(self) -> str:
        return repr(self) if self.type.is_key else str(self.numpy())

    def __repr__(self) -> str:
        if self.type.is_key:
            return f"Array({self.type.shape}, dtype={self.type.dtype}) overlaying:\n{self.numpy()}"
        if self._host is None and (self._device is None or runtime.is_deleted(self._device)):
            return f"Array({self.type}, deleted)"
        end = f"dtype={self.type.dtype}{', weak_type=True' if self.type.weak else ''})"
        body = f"[], shape={self.type.shape}," if self.type.size == 0 else \
            np.array2string(self.numpy(), prefix="Array(", suffix=",", separator=", ") + ","
        last = len(body) - body.rfind("\n") - 1
        fits = last + 1 + len(end) <= np.get_printoptions()["linewidth"]
        return f"Array({body}{' ' if fits else ' ' * len('Array(')}{end}"

    def __reduce__(self) -> Any:
        return _rebuild, (np.asarray(self.numpy()), self.type.dtype, self.type.weak)

    def __copy__(self) -> ConcreteArray:
        return ConcreteArray(self.type, np.array(self.numpy()))

    def __deepcopy__(self, memo: Any) -> ConcreteArray:
        return self.__copy__()


def _rebuild(host: np.ndarray, dtype: Any, weak: bool) -> ConcreteArray:
    shape = host.shape
    if isinstance(dtype, dtypes.KeyDtype):
        shape = shape[: host.ndim - len(dtype.key_shape)]
    return ConcreteArray(ArrayType(shape, dtype, weak), host)


def from_numpy(host: np.ndarray, weak: bool = False) -> ConcreteArray:
    """An Array over `host`, which nobody may write to afterwards."""
    return ConcreteArray(ArrayType(host.shape, host.dtype, weak), host)
