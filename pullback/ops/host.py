"""Calls back into Python from a running program: pure_callback, io_callback, debug callbacks.

An ordered call takes a token and gives one back, so that calls keep their order; lowering threads the token through
loops and branches (runtime.lower).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.primitive import Example, Outputs, Primitive
from pullback.core.trace import bind, type_of
from pullback.core.types import ArrayType
from pullback.core.vector import broadcast
from pullback.interpret.stage import stage
from pullback.ops.scan import scan

Function = Callable[..., Sequence[np.ndarray]]


class Callback(Primitive):
    """function(*arrays) -> arrays of `types`, on the host.

    Params:
      function: takes read-only ndarrays, returns a sequence of ndarrays.
      types: the types of the results.
      effect: '' (pure: may be dropped or repeated), 'unordered' or 'ordered'.
      vmap_method: what vmap does; None refuses.
    """

    def type(self, *args: ArrayType, function: Function, types: tuple[ArrayType, ...], effect: str,
             vmap_method: str | None) -> list[ArrayType]:
        return list(types)

    def numpy(self, *arrays: np.ndarray, function: Function, types: tuple[ArrayType, ...], effect: str,
              vmap_method: str | None) -> Outputs:
        return checked(function(*[np.asarray(a) for a in arrays]), types)

    def hlo(self, b: Any, *values: Any, function: Function, types: tuple[ArrayType, ...], effect: str,
            vmap_method: str | None) -> Outputs:
        ordered = effect == "ordered"
        token = ArrayType((), dtypes.int32)

        def on_host(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
            given = arrays[1:] if ordered else arrays
            results = checked(function(*given), types)
            return (np.zeros((), np.int32), *results) if ordered or not types else tuple(results)

        operands = [b.token, *values] if ordered else list(values)
        # A call without results gives a token nobody needs: XLA wants every call to have one.
        out_types = [token, *types] if ordered or not types else list(types)
        index = len(b.module.callbacks)
        b.module.callbacks.append(on_host)
        attrs = (f'call_target_name = "xla_ffi_python_cpu_callback", has_side_effect = {str(bool(effect)).lower()}, '
                 f"api_version = 4 : i32, backend_config = {{index = {index} : ui64}}")
        results = b.multi("stablehlo.custom_call", operands, out_types, attrs)
        if ordered:
            b.token = results[0]
        return results[1:] if ordered or not types else results

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        if params["types"]:
            raise self.missing("derivative: what a Python callback does to its arguments is not known",
                               "wrap it in custom_jvp or custom_vjp, or stop the gradient of its arguments")
        return bind(self, primals, params), []

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], *, function: Function,
              types: tuple[ArrayType, ...], effect: str, vmap_method: str | None) -> tuple[Outputs, list[bool]]:
        if effect == "ordered":
            raise errors.make(ValueError, "an ordered callback inside vmap: the elements of a batch have no order",
                              op="", fix="use ordered=False, or loop with lax.map or lax.scan")
        params = {"function": function, "effect": effect, "vmap_method": vmap_method}
        everything = tuple(t.batched(size) for t in types)
        if vmap_method == "sequential" or vmap_method == "sequential_unrolled" or not types:
            return self._each(size, args, batched, {**params, "types": types}), [True] * len(types)
        if vmap_method in ("expand_dims", "broadcast_all", "legacy_vectorized"):
            given = []
            for arg, flag in zip(args, batched, strict=True):
                if not flag and vmap_method == "broadcast_all":
                    arg = broadcast(arg, size)
                elif not flag and vmap_method == "expand_dims":
                    arg = broadcast(arg, 1)
                given.append(arg)
            return bind(self, given, {**params, "types": everything}), [True] * len(types)
        raise errors.value_error(f"a pure_callback inside vmap, and vmap_method is {vmap_method!r}", op="pure_callback",
                                 fix="pass vmap_method='sequential', or 'expand_dims' or 'broadcast_all' for a "
                                     "function that takes a leading batch axis")

    def _each(self, size: int, args: Sequence[Any], batched: Sequence[bool], params: dict[str, Any]) -> Outputs:
        """One call for each element of the batch, one after the other."""
        consts = [arg for arg, flag in zip(args, batched, strict=True) if not flag]
        rows = [arg for arg, flag in zip(args, batched, strict=True) if flag]
        types = [type_of(c) for c in consts] + [type_of(r).unbatched() for r in rows]

        def one(*xs: Any) -> list[Any]:
            fixed, moving = iter(xs[: len(consts)]), iter(xs[len(consts):])
            return bind(self, [next(moving) if flag else next(fixed) for flag in batched], params)

        program, _ = stage(one, types, name="callback")
        return bind(scan, [*consts, *rows], {"program": program, "n_consts": len(consts), "n_carry": 0, "length": size,
                                             "reverse": False, "unroll": 1})

    def effects(self, params: dict[str, Any]) -> frozenset[str]:
        return frozenset([params["effect"]]) if params["effect"] else frozenset()

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        x = rng.normal(size=3).astype(np.float32)
        t = ArrayType((3,), dtypes.float32)
        for method in ("sequential", "expand_dims"):
            yield Example(x, function=_twice, types=(t,), effect="", vmap_method=method, order=0)

    def oracle(self, jax: Any, x: Any, **params: Any) -> Any:
        return jax.numpy.asarray(x) * 2


def _twice(x: np.ndarray) -> list[np.ndarray]:
    return [2 * x]


def checked(results: Sequence[Any], types: Sequence[ArrayType]) -> list[np.ndarray]:
    """A callback's results, which must have the promised shapes and dtypes."""
    if len(results) != len(types):
        raise errors.make(ValueError, f"the callback returned {len(results)} arrays, {len(types)} are required", op="",
                          fix="return what result_shape_dtypes promises")
    arrays = []
    for result, t in zip(results, types, strict=True):
        array = np.asarray(result)
        if dtypes.canonicalize(array.dtype) == t.dtype != array.dtype:
            array = array.astype(t.dtype)  # NumPy computes in 64 bits; that they are off is known
        if array.shape != t.shape or array.dtype != t.dtype:
            raise errors.make(
                ValueError, f"the callback returned {array.dtype}{list(array.shape)}, {t} is required", op="",
                fix="return what result_shape_dtypes promises (np.asarray(x, dtype))")
        arrays.append(array)
    return arrays


callback = Callback("callback")
