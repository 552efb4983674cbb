"""dot_general: products summed over contracted axes, for each index of the batch axes."""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pullback.core import config, dtypes, errors
from pullback.core.primitive import Example, Outputs
from pullback.core.trace import bind, type_of
from pullback.core.types import ArrayType, Linear, Zero
from pullback.ops import dependence
from pullback.ops.convert import convert, convert_element_type, reduce_precision
from pullback.ops.families import ANY, Bilinear, check_kind
from pullback.ops.move import transpose
from pullback.ops.reduce import widened

Axes = tuple[int, ...]
Dims = tuple[tuple[Axes, Axes], tuple[Axes, Axes]]


class Precision(enum.Enum):
    """How exactly products of 32-bit floats are computed on hardware that has a choice."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __str__(self) -> str:
        return self.name

    @classmethod
    def _missing_(cls, name: object) -> Precision | None:
        return _PRECISIONS.get(name.lower() if isinstance(name, str) else name)


_PRECISIONS: dict[Any, Precision] = {
    None: Precision.DEFAULT,
    **dict.fromkeys(["default", "fastest", "bfloat16"], Precision.DEFAULT),
    **dict.fromkeys(["high", "tensorfloat32", "bfloat16_3x"], Precision.HIGH),
    **dict.fromkeys(["highest", "float32"], Precision.HIGHEST)}


class DotAlgorithm(NamedTuple):
    """How a product is computed: what its operands are rounded to, and what its sum is held in.

    Args:
      lhs_precision_type, rhs_precision_type: a dtype, or 'tf32'.
      accumulation_type: dtype of the sum.
      lhs_component_count, rhs_component_count: into how many such values each operand is split.
      num_primitive_operations: how many products of such values are summed.
      allow_imprecise_accumulation: whether the sum may be held in fewer bits.
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


_F16, _BF16, _F32, _F64 = dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64
_ALGORITHMS: dict[str, DotAlgorithm | None] = {
    "DEFAULT": None,
    "ANY_F8_ANY_F8_F32": DotAlgorithm("f8", "f8", _F32),
    "ANY_F8_ANY_F8_F32_FAST_ACCUM": DotAlgorithm("f8", "f8", _F32, 1, 1, 1, True),
    "ANY_F8_ANY_F8_ANY": DotAlgorithm("f8", "f8", None),
    "ANY_F8_ANY_F8_ANY_FAST_ACCUM": DotAlgorithm("f8", "f8", None, 1, 1, 1, True),
    "F16_F16_F16": DotAlgorithm(_F16, _F16, _F16),
    "F16_F16_F32": DotAlgorithm(_F16, _F16, _F32),
    "BF16_BF16_BF16": DotAlgorithm(_BF16, _BF16, _BF16),
    "BF16_BF16_F32": DotAlgorithm(_BF16, _BF16, _F32),
    "BF16_BF16_F32_X3": DotAlgorithm(_BF16, _BF16, _F32, 2, 2, 3),
    "BF16_BF16_F32_X6": DotAlgorithm(_BF16, _BF16, _F32, 3, 3, 6),
    "BF16_BF16_F32_X9": DotAlgorithm(_BF16, _BF16, _F32, 3, 3, 9),
    "TF32_TF32_F32": DotAlgorithm("tf32", "tf32", _F32),
    "TF32_TF32_F32_X3": DotAlgorithm("tf32", "tf32", _F32, 2, 2, 3),
    "F32_F32_F32": DotAlgorithm(_F32, _F32, _F32),
    "F64_F64_F64": DotAlgorithm(_F64, _F64, _F64)}

# Members by index, because equal values would make one member an alias of another.
DotAlgorithmPreset = enum.Enum("DotAlgorithmPreset", {name: i for i, name in enumerate(_ALGORITHMS)},
                               module=__name__)
DotAlgorithmPreset.__doc__ = "Algorithms by name: dtypes of lhs, rhs and sum, and the number of products."

_BITS = {_F16: (5, 10), _BF16: (8, 7), "tf32": (8, 10), _F32: (8, 23)}


def rounding(precision: Any, dtype: Any) -> list[tuple[int, int] | None]:
    """Per operand of `dtype`, the exponent and mantissa bits that an algorithm leaves it; None: all."""
    if not isinstance(precision, DotAlgorithm) or not dtypes.is_float(dtype):
        return [None, None]
    result: list[tuple[int, int] | None] = []
    for kind, components in ((precision.lhs_precision_type, precision.lhs_component_count),
                             (precision.rhs_precision_type, precision.rhs_component_count)):
        # More than one component per value is what a 32-bit product has anyway.
        bits = _BITS.get(kind) if components == 1 else None
        result.append(bits if bits is not None and bits[1] < dtypes.finfo(dtype).nmant else None)
    return result


def canonical_precision(given: Any) -> Any:
    """What a user may pass as `precision`, in the form that operations take; None takes the default in force.

    Returns: None, a pair of Precision, a DotAlgorithm or a DotAlgorithmPreset.
    """
    if given is None:
        given = config.default_matmul_precision.value
        if given is None:
            return None
    if isinstance(given, DotAlgorithmPreset):
        return None if given.name == "DEFAULT" else given
    if isinstance(given, DotAlgorithm):
        types = [t if isinstance(t, str) else dtypes.as_dtype(t) for t in given[:3]]
        return DotAlgorithm(*types, *given[3:])
    if isinstance(given, str) and given in _ALGORITHMS:
        return canonical_precision(DotAlgorithmPreset[given])
    pair = tuple(given) if isinstance(given, (tuple, list)) else (given, given)
    if len(pair) == 2 and all([p is None or isinstance(p, (str, Precision)) for p in pair]):
        try:
            return Precision(pair[0]), Precision(pair[1])
        except ValueError:
            pass
    raise errors.value_error(
        f"precision is {given!r}; required is None, one of {', '.join(filter(None, _PRECISIONS))}, a "
        "Precision, a pair of these, a DotAlgorithm, or a DotAlgorithmPreset or its name",
        fix="pass 'highest' for full float32 products")


def resolved(precision: Any) -> Any:
    """`precision` with the algorithm that a preset stands for."""
    return _ALGORITHMS[precision.name] if isinstance(precision, DotAlgorithmPreset) else precision


@functools.cache
def result_dtype(x: Any, y: Any) -> Any:
    """The dtype of a product of operands of dtypes `x` and `y`: the wider one of the richer kind."""
    return max(x, y, key=_richness)


@functools.cache
def _richness(dtype: Any) -> tuple[int, int, bool]:
    kind = dtypes.kind(dtype)
    return "bufc".index(kind.replace("i", "u")), dtypes.itemsize_bits(dtype), kind == "i" or dtype == _BF16


@functools.cache
def held_dtype(x: Any, y: Any, out: Any) -> Any:
    """The dtype in which products are formed and summed before the result is rounded to `out`."""
    base = result_dtype(x, y)
    if _richness(out)[0] > _richness(base)[0]:
        return widened(out)
    if dtypes.kind(out) in "iu" and dtypes.kind(base) in "iu":
        return widened(out)
    if dtypes.kind(out) == dtypes.kind(base):
        return widened(max(base, out, key=_richness))
    return widened(base)


def free_axes(ndim: int, contract: Axes, batch: Axes) -> Axes:
    """The axes that are neither contracted nor batch axes, in order."""
    return tuple([i for i in range(ndim) if i not in contract and i not in batch])


def precision_config(precision: Any) -> str:
    pair = precision if type(precision) is tuple else (Precision.DEFAULT,) * 2
    return f"[{', '.join([f'#stablehlo<precision {p.name}>' for p in pair])}]"


def converted(b: Any, x: Any, dtype: Any) -> Any:
    """A value in another dtype; complex to real keeps the real part."""
    source, target = dtypes.kind(x.type.dtype), dtypes.kind(dtype)
    if source == "c" and target != "c":
        x = b.op("stablehlo.real", [x], x.type.with_dtype(dtypes.to_real(x.type.dtype)))
    if target == "b" and source != "b":
        return b.compare("NE", x, b.full(0, x.type))
    return b.convert(x, dtype)


# The product of two matrices.
MATRICES: Dims = (((1,), (0,)), ((), ()))


def _matmul(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x @ y; of integers by way of floats, for which there is a BLAS, where all sums are exact."""
    if x.shape[-1] == 1:
        return x * y
    if x.dtype.kind in "fc" or x.size < 1024 or not y.size:
        return np.matmul(x, y)
    largest = [max(int(a.max()), -int(a.min())) for a in (x, y)]
    if x.shape[-1] * largest[0] * largest[1] >= 2 ** 53:
        return np.matmul(x, y)
    whole = np.matmul(x.astype(np.float64), y.astype(np.float64)).astype(np.int64)
    return whole != 0 if x.dtype == np.bool_ else whole.astype(x.dtype)


_OUTER = (((), ()), ((), ()))


def _direct(dims: Dims, x_ndim: int, y_ndim: int) -> Callable[..., Any] | None:
    """NumPy's own function for a product of floats, where it has one."""
    if dims == MATRICES and x_ndim == 2 and y_ndim < 3:
        return np.matmul
    return np.multiply.outer if dims == _OUTER else None


def _stacks(x_shape: tuple[int, ...], y_shape: tuple[int, ...], dims: Dims) -> Callable[..., Any]:
    """The product of arrays of these shapes, as stacks of matrices: [*batch, m, k] @ [*batch, k, n]."""
    (lc, rc), (lb, rb) = dims
    lf, rf = free_axes(len(x_shape), lc, lb), free_axes(len(y_shape), rc, rb)
    batch, m, n, k = ([s[i] for i in axes] for s, axes in ((x_shape, lb), (x_shape, lf), (y_shape, rf), (x_shape, lc)))
    left, left_shape = (*lb, *lf, *lc), (*batch, math.prod(m), math.prod(k))
    right, right_shape, shape = (*rb, *rc, *rf), (*batch, math.prod(k), math.prod(n)), (*batch, *m, *n)

    def product(x: Any, y: Any) -> Any:
        x, y = x.transpose(left).reshape(left_shape), y.transpose(right).reshape(right_shape)
        return _matmul(x, y).reshape(shape)
    return product


class DotGeneral(Bilinear):
    """Axes of the result: batch axes, free axes of lhs, free axes of rhs.

    `dims` is ((lhs contracted, rhs contracted), (lhs batch, rhs batch)); `dtype` that of the result, or None.
    """

    parallel = True

    def type(self, x: ArrayType, y: ArrayType, *, dims: Dims, precision: Any = None,  # type: ignore[override]
             dtype: Any = None) -> list[ArrayType]:
        check_kind([x, y], ANY)
        check_dims(x, y, dims)
        (lc, rc), (lb, rb) = dims
        shape = (*[x.shape[i] for i in lb], *[x.shape[i] for i in free_axes(x.ndim, lc, lb)],
                 *[y.shape[i] for i in free_axes(y.ndim, rc, rb)])
        out = result_dtype(x.dtype, y.dtype) if dtype is None else dtype
        return [ArrayType(shape, out, x.weak and y.weak)]

    def numpy(self, x: np.ndarray, y: np.ndarray, *, dims: Dims, precision: Any = None, dtype: Any = None
              ) -> Outputs:
        if precision is None and x.dtype == y.dtype == (dtype or x.dtype) and x.dtype.char in "fd":
            direct = _direct(dims, x.ndim, y.ndim)
            if direct is not None:
                return [direct(x, y)]
        out = result_dtype(x.dtype, y.dtype) if dtype is None else dtype
        held = held_dtype(x.dtype, y.dtype, out)
        x, y = convert(x, held), convert(y, held)
        if precision is not None:
            x, y = (a if bits is None else
                    reduce_precision.numpy(a, exponent_bits=bits[0], mantissa_bits=bits[1])[0]
                    for a, bits in zip((x, y), rounding(resolved(precision), held)))
        return [convert(_stacks(x.shape, y.shape, dims)(x, y), out)]

    def alone(self, types: Sequence[ArrayType], params: dict[str, Any]) -> Callable[..., Any] | None:
        (x, y), dims, out = types, params["dims"], params.get("dtype") or types[0].dtype
        if params.get("precision") is not None or not x.dtype == y.dtype == out or x.dtype.char not in "fd" or (
                type(self).numpy is not DotGeneral.numpy):
            return None
        return _direct(dims, x.ndim, y.ndim) or _stacks(x.shape, y.shape, dims)

    def dependence(self, which: int, types: Sequence[ArrayType], values: Sequence[Any], params: dict[str, Any]) -> Any:
        (lc, rc), (lb, rb) = dims = params["dims"]
        free = free_axes(types[0].ndim, lc, lb), free_axes(types[1].ndim, rc, rb)
        return dependence.products(types, which, values[1 - which], dims, free)

    def hlo(self, b: Any, x: Any, y: Any, *, dims: Dims, precision: Any = None, dtype: Any = None) -> Outputs:
        out = b.outputs[0]
        held = held_dtype(x.type.dtype, y.type.dtype, out.dtype)
        # XLA multiplies 16-bit floats faster than 32-bit copies of them, and sums in 32 bits all the same.
        narrow = held == _F32 and any([x.type.dtype == y.type.dtype == d for d in (_BF16, _F16)])
        if not narrow:
            x, y = converted(b, x, held), converted(b, y, held)
        x, y = (a if bits is None else
                b.op("stablehlo.reduce_precision", [a], a.type,
                     f"exponent_bits = {bits[0]} : i32, mantissa_bits = {bits[1]} : i32")
                for a, bits in zip((x, y), rounding(resolved(precision), x.type.dtype)))
        if not narrow and _is_tiny(x.type, y.type, dims, b.nested):
            return [converted(b, _unrolled(b, x, y, dims), out.dtype)]
        (lc, rc), (lb, rb) = dims
        numbers = ", ".join([f"{name}_dimensions = {list(axes)}" for name, axes in (
            ("lhs_batching", lb), ("rhs_batching", rb), ("lhs_contracting", lc), ("rhs_contracting", rc))])
        result = b.op("stablehlo.dot_general", [x, y], out.with_dtype(held),
                      f"dot_dimension_numbers = #stablehlo.dot<{numbers}>, "
                      f"precision_config = {precision_config(precision)}")
        return [converted(b, result, out.dtype)]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        if params.get("dtype") is not None and not dtypes.is_inexact(params["dtype"]):
            outputs = bind(self, primals, params)
            return outputs, [Zero(type_of(outputs[0]).tangent())]
        return super().jvp(primals, tangents, **params)

    def transpose(self, cts: Sequence[Any], x: Any, y: Any, *, dims: Dims, precision: Any = None,
                  dtype: Any = None) -> list[Any]:
        contract, batch = dims
        if isinstance(x, Linear):
            return [self._cotangent(cts[0], x.type, y, contract, batch, precision, 0), None]
        return [None, self._cotangent(cts[0], y.type, x, contract[::-1], batch[::-1], precision, 1)]

    def _cotangent(self, ct: Any, own: ArrayType, other: Any, contract: tuple[Axes, Axes],
                   batch: tuple[Axes, Axes], precision: Any, side: int) -> Any:
        """The cotangent of operand `side`: of type `own`, contracted with `other`."""
        (own_contract, other_contract), (own_batch, other_batch) = contract, batch
        own_free = free_axes(own.ndim, own_contract, own_batch)
        other_free = free_axes(type_of(other).ndim, other_contract, other_batch)
        start = len(own_batch) + (len(own_free) if side == 0 else 0)
        ct_axes = tuple(range(start, start + len(other_free)))
        ct_batch = tuple(range(len(own_batch)))
        contracted = [own_contract[other_contract.index(i)] for i in sorted(other_contract)]
        # Which axis of the operand each axis of the product is, for ct @ other and for other @ ct. A product
        # whose result must be transposed is slow: take the order that needs none, if there is one.
        direct = [*own_batch, *own_free, *contracted]
        swapped = [*own_batch, *contracted, *own_free]
        pair = precision[::-1] if type(precision) is tuple else precision
        if swapped == sorted(swapped) and direct != swapped:
            axes = swapped
            result = self(other, ct, dims=((other_free, ct_axes), (other_batch, ct_batch)),
                          precision=precision if side == 1 else pair)
        else:
            axes = direct
            result = self(ct, other, dims=((ct_axes, other_free), (ct_batch, other_batch)),
                          precision=precision if side == 0 else pair)
        if axes != sorted(axes):
            result = transpose(result, perm=tuple([axes.index(i) for i in range(len(axes))]))
        if type_of(result).dtype != own.dtype:
            result = convert_element_type(result, dtype=own.dtype)
        return result

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, dims: Dims,
              precision: Any = None, dtype: Any = None) -> tuple[Outputs, list[bool]]:
        x, y = args
        (lc, rc), (lb, rb) = dims
        if batched[0]:
            lc, lb = _shifted(lc), _shifted(lb)
        if batched[1]:
            rc, rb = _shifted(rc), _shifted(rb)
        if all(batched):
            dims = (lc, rc), ((0, *lb), (0, *rb))
            return [self(x, y, dims=dims, precision=precision, dtype=dtype)], [True]
        m = type_of(x).ndim - len(lc) - len(lb)
        if batched[1] and m and type_of(y).ndim - len(rc) - len(rb) == 1:
            # matrix @ batch of vectors, as vectors @ matrix: the new axis comes out in front of the free ones.
            pair = precision[::-1] if type(precision) is tuple else precision
            out = self(y, x, dims=((rc, lc), (rb, lb)), precision=pair, dtype=dtype)
            position = len(lb)
        else:
            out = self(x, y, dims=((lc, rc), (lb, rb)), precision=precision, dtype=dtype)
            position = len(lb) + (m if batched[1] else 0)
        if position:
            order = (position, *[i for i in range(type_of(out).ndim) if i != position])
            out = transpose(out, perm=order)
        return [out], [True]

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        def draw(*shape: int, dtype: Any = np.float32) -> np.ndarray:
            if dtypes.kind(dtype) == "b":
                return rng.integers(0, 2, shape).astype(dtype)
            if dtypes.kind(dtype) in "iu":
                info = dtypes.iinfo(dtype)
                return rng.integers(int(info.min), int(info.max), shape, endpoint=True).astype(dtype)
            values = rng.normal(size=shape)
            return (values + 1j * rng.normal(size=shape) if dtypes.kind(dtype) == "c"
                    else values).astype(dtype)

        matrix = (((1,), (0,)), ((), ()))
        for side in (0, 1):
            for xs, ys, dims in (
                    ((2, 3), (3, 4), matrix),
                    ((3, 2), (3, 4), (((0,), (0,)), ((), ()))),
                    ((2, 3), (4, 3), (((1,), (1,)), ((), ()))),
                    ((3, 2), (4, 3), (((0,), (1,)), ((), ()))),
                    ((3,), (3, 2), (((0,), (0,)), ((), ()))),
                    ((2, 3), (3,), (((1,), (0,)), ((), ()))),
                    ((3,), (2,), (((), ()), ((), ()))),
                    ((2, 3, 4), (2, 4, 2), (((2,), (1,)), ((0,), (0,)))),
                    ((3, 2, 4), (4, 3, 2), (((0, 2), (1, 0)), ((1,), (2,)))),
                    ((2, 3, 2, 2), (2, 2, 3), (((1,), (2,)), ((3, 0), (0, 1)))),
                    ((0, 3), (3, 2), matrix), ((2, 0), (0, 2), matrix),
                    ((64, 2, 2, 4), (4, 64, 4), (((3,), (0,)), ((0,), (1,))))):
                yield Example(draw(*xs), draw(*ys), dims=dims, linear=(side,), order=1 if 0 in xs + ys else 2)
        yield Example(draw(2, 3), draw(2, 3), dims=(((0, 1), (0, 1)), ((), ())), linear=(0,),
                      precision=(Precision.HIGHEST, Precision.HIGHEST))
        # XLA's CPU backend does not round the operands of every product that asks for it.
        yield Example(draw(2, 3), draw(3, 2), dims=matrix, precision=DotAlgorithmPreset["BF16_BF16_F32"],
                      order=0, rtol=2e-2)
        yield Example(draw(2, 3), draw(3, 2), dims=matrix, precision=DotAlgorithmPreset["F32_F32_F32"],
                      order=0)
        for dtype in (np.int32, np.int8, np.uint8, np.bool_, np.float16, dtypes.bfloat16):
            yield Example(draw(2, 5, dtype=dtype), draw(5, 3, dtype=dtype), dims=matrix, order=0)
        yield Example(draw(2, 3, dtype=np.complex64), draw(3, 4, dtype=np.complex64), dims=matrix,
                      linear=(1,), order=1)
        for x, y, out in ((np.int8, np.int8, np.int32), (dtypes.bfloat16, dtypes.bfloat16, np.float32),
                          (np.bool_, np.bool_, np.int32), (np.uint8, np.int8, np.int32),
                          (np.float32, np.float32, np.int8), (np.int8, np.int8, np.float32),
                          (np.float16, np.float32, None), (np.int8, np.float32, None)):
            yield Example(draw(3, 4, dtype=x), draw(4, 2, dtype=y), dims=matrix, order=0,
                          dtype=None if out is None else np.dtype(out))

    def oracle(self, jax: Any, x: Any, y: Any, *, dims: Dims, precision: Any = None, dtype: Any = None
               ) -> Any:
        if type(precision) is tuple:
            precision = tuple([p.name.lower() for p in precision])
        elif precision is not None:
            precision = precision.name
        return jax.lax.dot_general(x, y, dims, precision=precision, preferred_element_type=dtype)


def _is_tiny(x: ArrayType, y: ArrayType, dims: Dims, nested: bool) -> bool:
    """Whether XLA's call per product would cost more than the product: of many small matrices, or in a loop."""
    (lc, rc), (lb, rb) = dims
    batch, m, k, n = (math.prod([t.shape[i] for i in axes]) for t, axes in (
        (x, lb), (x, free_axes(x.ndim, lc, lb)), (x, lc), (y, free_axes(y.ndim, rc, rb))))
    size = m * k * n
    if not dtypes.is_float(x.dtype) or min(m, n) < 2 or k > 16:
        return False
    return m <= 8 and n <= 8 and size >= 32 and batch * size >= 4096 or nested and 64 <= batch * size <= 2048


def _unrolled(b: Any, x: Any, y: Any, dims: Dims) -> Any:
    """The sum over k of x[..., m, k] y[..., k, n] written out, which XLA fuses into one loop."""
    (lc, rc), (lb, rb) = dims
    lf, rf = free_axes(x.type.ndim, lc, lb), free_axes(y.type.ndim, rc, rb)
    batch, m, n = ([t.shape[i] for i in axes] for t, axes in ((x.type, lb), (x.type, lf), (y.type, rf)))
    k = math.prod([x.type.shape[i] for i in lc])
    x = b.reshape(b.transpose(x, (*lb, *lf, *lc)), (*batch, *m, k))
    y = b.reshape(b.transpose(y, (*rb, *rf, *rc)), (*batch, *n, k))
    out = x.type.with_shape((*batch, *m, *n))
    places = range(len(out.shape))
    total = None
    for i in range(k):
        product = []
        for v, kept in ((x, places[:len(batch) + len(m)]), (y, (*places[:len(batch)], *places[len(batch) + len(m):]))):
            shape = v.type.shape
            column = b.op("stablehlo.slice", [v], v.type.with_shape((*shape[:-1], 1)),
                          f"start_indices = {b.ints([*[0] * (len(shape) - 1), i])}, "
                          f"limit_indices = {b.ints([*shape[:-1], i + 1])}, strides = {b.ints([1] * len(shape))}")
            product.append(b.broadcast_in_dim(b.reshape(column, shape[:-1]), kept, out))
        total = b.mul(*product) if total is None else b.add(total, b.mul(*product))
    return total


def _shifted(axes: Axes) -> Axes:
    return tuple([i + 1 for i in axes])


def check_dims(x: ArrayType, y: ArrayType, dims: Dims) -> None:
    """A TypeError unless `dims` are contracted and batch axes of `x` and `y`."""
    for what, (left, right) in zip(("contracted", "batch"), dims):
        for side, t, axes in (("lhs", x, left), ("rhs", y, right)):
            for axis in axes:
                if not 0 <= axis < t.ndim:
                    raise errors.type_error(
                        f"{what} axes of {side} are {axes}: {axis} is not an axis of {side} {t}",
                        fix=f"write {axis % t.ndim} for {axis}" if -t.ndim <= axis < 0 else
                            f"check the rank of {side} and dimension_numbers")
            if len(set(axes)) != len(axes):
                raise errors.type_error(f"{what} axes of {side} {axes} name one axis twice",
                                        fix="name each axis once")
        if len(left) != len(right):
            raise errors.type_error(
                f"{what} axes come in pairs: {left} of lhs {x}, {right} of rhs {y}",
                fix="give dimension_numbers as ((lhs contracted, rhs contracted), (lhs batch, rhs batch))")
        for i, j in zip(left, right):
            if x.shape[i] != y.shape[j]:
                raise errors.type_error(
                    f"{what} sizes differ: lhs {x} axis {i} has size {x.shape[i]}, rhs {y} axis {j} has size "
                    f"{y.shape[j]}", fix="transpose one operand, or check which axis is the batch axis")
    for side, contract, batch in (("lhs", dims[0][0], dims[1][0]), ("rhs", dims[0][1], dims[1][1])):
        both = sorted(set(contract) & set(batch))
        if both:
            raise errors.type_error(f"axis {both[0]} of {side} is both contracted and a batch axis",
                                    fix="name it in one of the two")


dot_general = DotGeneral("dot_general")
