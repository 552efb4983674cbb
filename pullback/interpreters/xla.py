"""Primitives run by the compiler, one by one (jax.interpreters.xla)."""

from __future__ import annotations

from typing import Any

from pullback.core import errors
from pullback.core.primitive import Primitive
from pullback.extend.primitive import run_compiled
from pullback.runtime.device import as_array

__all__ = ["apply_primitive"]


def apply_primitive(prim: Primitive, *args: Any, **params: Any) -> Any:
    """The operation by its lowering rule, compiled and run: serves as an implementation.

    Example:
      >>> double_p = Primitive("double")
      >>> _ = double_p.def_abstract_eval(lambda x: x)
      >>> register_lowering(double_p, lower_fun(lambda x: x + x, multiple_results=False))
      >>> _ = double_p.def_impl(functools.partial(apply_primitive, double_p))
      >>> print(double_p.bind(jnp.arange(3)))
      [0 2 4]
    """
    outputs = run_compiled(prim, [as_array(x) for x in args], params)
    return outputs if prim.multiple_results else outputs[0]


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.interpreters.xla.{name}")
