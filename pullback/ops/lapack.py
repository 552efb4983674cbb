"""LAPACK, in programs and in NumPy references; and `Stacked`, the family of primitives that rest on it.

Programs call the LAPACK that jaxlib takes from SciPy (`runtime.pjrt` registers it when a program with such a call is
compiled or loaded), references call SciPy: signs and phases are the same on both paths.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.primitive import Outputs, Primitive
from pullback.core.trace import bind
from pullback.core.types import ArrayType
from pullback.core.vector import broadcast

LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def check_matrices(x: ArrayType, *, square: bool = False) -> None:
    """An error unless `x` is a stack of matrices that LAPACK takes."""
    check_dtype(x)
    if x.ndim < 2:
        raise errors.make(errors.OperandError, op=errors.source.called(),
                          problem=f"got {x}, at least 2 axes are required: the last two are those of the matrices",
                          fix="add an axis: x[None, :] is a matrix of one row")
    if square and x.shape[-1] != x.shape[-2]:
        raise errors.make(errors.OperandError, op=errors.source.called(),
                          problem=f"got {x}: matrices of {x.shape[-2]} by {x.shape[-1]}, square ones are required",
                          fix="check the axes; the last two are those of the matrices")


def check_dtype(x: ArrayType) -> None:
    if x.dtype.name not in LETTERS:
        raise errors.type_error(f"got {x}, a dtype of float32, float64, complex64 or complex128 is required",
                                fix="convert with astype(jnp.float32)")


def check_same_stack(**operands: tuple[ArrayType, int]) -> None:
    """An error unless operands, given with the number of their own axes, have one dtype and one stack."""
    (first, (t, own)), *others = operands.items()
    for name, (u, count) in others:
        if u.dtype != t.dtype:
            raise errors.make(errors.OperandError, f"{first} is {t} and {name} is {u}, one dtype is required",
                              fix="convert one with astype")
        if u.ndim < count or u.shape[: u.ndim - count] != t.shape[: t.ndim - own]:
            raise errors.type_error(f"{first} is {t} and {name} is {u}: the axes before the last {own} and {count} "
                                    "must be equal", fix="broadcast one with jnp.broadcast_to")


class OfStacks(Primitive):
    """Operations on each matrix of a stack; leading axes are those of the stack, and a batch is one more of them."""

    parallel = True

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        outputs = bind(self, [x if flag else broadcast(x, size) for x, flag in zip(args, batched, strict=True)], params)
        return outputs, [True] * len(outputs)


class Stacked(OfStacks):
    """Operations whose reference is that for a single matrix.

    Members give `own`, the number of axes of each operand besides those of the stack, and `one`, the reference: it
    raises LinAlgError where LAPACK fails, and the results are NaN.
    """

    own: tuple[int, ...] = (2,)

    def one(self, *arrays: np.ndarray, **params: Any) -> Sequence[Any]:
        raise self.missing("NumPy reference")

    def failed(self, result: np.ndarray) -> np.ndarray:
        return np.full_like(result, np.nan)

    def numpy(self, *arrays: np.ndarray, **params: Any) -> Outputs:
        types = self.infer(tuple([ArrayType(a.shape, a.dtype) for a in arrays]), params)
        if arrays[0].ndim == self.own[0]:
            try:
                found = self.one(*arrays, **params)
                return [np.array(x, t.dtype, order="C") for x, t in zip(found, types, strict=True)]
            except np.linalg.LinAlgError:
                return [self.failed(np.zeros(t.shape, t.dtype)) for t in types]
        outputs = [np.zeros(t.shape, t.dtype) for t in types]
        for index in np.ndindex(*arrays[0].shape[: arrays[0].ndim - self.own[0]]):
            try:
                results = self.one(*[a[index] for a in arrays], **params)
            except np.linalg.LinAlgError:
                results = [self.failed(output[index]) for output in outputs]
            for output, result in zip(outputs, results, strict=True):
                output[index] = result
        return outputs


def routine(name: str, x: np.ndarray) -> Any:
    """SciPy's LAPACK or BLAS function of that name for the dtype of an array."""
    return _routine(name, x.dtype)


@functools.cache
def _routine(name: str, dtype: Any) -> Any:
    from scipy.linalg import get_blas_funcs, get_lapack_funcs
    return (get_blas_funcs if name == "trsm" else get_lapack_funcs)(name, dtype=dtype)


def done(info: int) -> None:
    """A LinAlgError where LAPACK says that it failed."""
    if info:
        raise np.linalg.LinAlgError


def call(b: Any, name: str, operands: Sequence[Any], out_types: Sequence[ArrayType], stack: int,
         overwritten: Mapping[int, int] | None = None, **attributes: Any) -> list[Any]:
    """Writes a call of LAPACK into a program.

    Args:
      name: 'potrf', or, where real and complex numbers have different ones, 'syevd heevd'; or a whole target.
      out_types: of the results.
      stack: how many leading axes are those of the stack.
      overwritten: results that take the memory of an operand.
      attributes: the letters, flags and numbers that the call wants.
    """
    dtype = operands[0].type.dtype
    real, _, other = name.partition(" ")
    target = f"lapack_{LETTERS[dtype.name]}{other if other and dtypes.is_complex(dtype) else real}_ffi"
    if name.endswith("_ffi"):
        target = name
    texts = {str: lambda v: f"{ord(v)} : ui8", bool: lambda v: str(v).lower(), int: lambda v: f"{v} : i32"}
    config = ", ".join([f"{key} = {texts[type(v)](v)}" for key, v in attributes.items()])
    aliases = ", ".join([f"#stablehlo.output_operand_alias<output_tuple_indices = "
                         f"{[i] if len(out_types) > 1 else []}, operand_index = {j}, operand_tuple_indices = []>"
                         for i, j in (overwritten or {}).items()])
    layouts = [", ".join([_layout(t, stack) for t in types])
               for types in ([v.type for v in operands], out_types)]
    return b.multi("stablehlo.custom_call", operands, out_types,  # type: ignore[no-any-return]
                   f'call_target_name = "{target}", has_side_effect = false, api_version = 4 : i32, '
                   f"backend_config = {{{config}}}, operand_layouts = [{layouts[0]}], result_layouts = [{layouts[1]}], "
                   f"output_operand_aliases = [{aliases}]")


def _layout(t: ArrayType, stack: int) -> str:
    """From the axis whose elements are neighbours outwards: matrices are stored by columns."""
    axes = list(range(t.ndim))[::-1]
    if t.ndim - stack == 2:
        axes[:2] = axes[1], axes[0]
    return f"dense<{axes if axes else ''}> : tensor<{t.ndim}xindex>"


def info_type(x: ArrayType, own: int = 2) -> ArrayType:
    return ArrayType(x.shape[: x.ndim - own], dtypes.int32)


def succeeded(b: Any, info: Any, values: Sequence[Any]) -> list[Any]:
    """The values, NaN where LAPACK failed."""
    good = b.compare("EQ", info, b.full(0, info.type))
    results = []
    for v in values:
        where = b.broadcast_in_dim(good, range(info.type.ndim), v.type.with_dtype(dtypes.bool_))
        nan = complex(np.nan, np.nan) if dtypes.is_complex(v.type.dtype) else np.nan
        results.append(b.select(where, v, b.full(nan, v.type)))
    return results


def conjugate(b: Any, x: Any) -> Any:
    """The conjugate of complex numbers; others as they are."""
    if not dtypes.is_complex(x.type.dtype):
        return x
    part = x.type.with_dtype(dtypes.to_real(x.type.dtype))
    real, imag = (b.op(f"stablehlo.{name}", [x], part) for name in ("real", "imag"))
    return b.op("stablehlo.complex", [real, b.neg(imag)], x.type)


def hermitian(b: Any, x: Any) -> Any:
    """(x + x^H) / 2."""
    n = x.type.ndim
    other = conjugate(b, b.transpose(x, (*range(n - 2), n - 1, n - 2)))
    return b.mul(b.add(x, other), b.full(0.5, x.type))


def triangle(b: Any, x: Any, direction: str) -> Any:
    """The elements with row GE (lower) or LE (upper) column, zeros elsewhere."""
    position = x.type.with_dtype(dtypes.int32)
    row, column = (b.iota(position, x.type.ndim - i) for i in (2, 1))
    return b.select(b.compare(direction, row, column), x, b.full(0, x.type))


def part(b: Any, x: Any, rows: int, columns: int) -> Any:
    """The first rows and columns."""
    *stack, m, n = x.type.shape
    if (rows, columns) == (m, n):
        return x
    return b.op("stablehlo.slice", [x], x.type.with_shape((*stack, rows, columns)),
                f"start_indices = {b.ints([0] * x.type.ndim)}, limit_indices = {b.ints([*stack, rows, columns])}, "
                f"strides = {b.ints([1] * x.type.ndim)}")


def draw(rng: np.random.Generator, *shape: int, dtype: Any = np.float32) -> np.ndarray:
    """Normal numbers, for examples."""
    values = rng.normal(size=shape)
    return np.asarray(values + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else values).astype(dtype)


def positive(rng: np.random.Generator, *shape: int, dtype: Any = np.float32) -> np.ndarray:
    """Positive definite matrices, well conditioned."""
    x = draw(rng, *shape, shape[-1], dtype=dtype)
    return (x @ np.swapaxes(x.conj(), -1, -2) + shape[-1] * np.eye(shape[-1])).astype(dtype)
