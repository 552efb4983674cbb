"""Primitives: the operations programs are made of. One object holds all the rules of an operation.

A class is a family of operations, an instance is one operation. Every rule takes and returns lists
of outputs. The rules, and who calls them:

    type       types, params -> types                       every trace that records
    numpy      ndarrays, params -> ndarrays                 eager evaluation; the reference for XLA
    hlo        builder, values, params -> values            lowering to StableHLO
    expand     arrays, params -> arrays                     the operation in terms of others
    jvp        primals, tangents, params -> outs, tangents  forward mode
    linearize  as jvp                                       reverse mode's forward pass
    jet        order, primals, series, params -> both       Taylor mode; without it, by way of jvp
    transpose  cotangents, args, params -> cotangents       reverse mode's backward pass
    batch      size, args, flags, params -> outs, flags     vmap; the batch axis is axis 0
    examples   rng -> examples                              the generated tests
    oracle     jax, args, params -> result                  what real jax computes, for those tests
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import errors
from pullback.core.trace import bind, type_of
from pullback.core.types import ArrayType, Zero
from pullback.core.values import value

TABLE: dict[str, Primitive] = {}

Outputs = list[Any]

JAX_NAMES = {"jaxpr": "program", "cond_jaxpr": "cond", "body_jaxpr": "body"}


class Example:
    """One call that must satisfy every property of the rules.

    Args:
      args: ndarrays and scalars, the operands.
      params: the parameters of the call.
      order: how many derivatives to check (0: none; 2: second order too).
      linear: operands in which the call is linear and has a transpose rule; checked by dot test.
      fixed: operands that are not differentiated even though their dtype would allow it.
      rtol: relative tolerance of NumPy against XLA and jax; None: by dtype.
    """

    def __init__(self, *args: Any, order: int = 2, linear: tuple[int, ...] = (), fixed: tuple[int, ...] = (),
                 rtol: float | None = None, **params: Any) -> None:
        self.args = args
        self.params = params
        self.order = order
        self.linear = linear
        self.fixed = fixed
        self.rtol = rtol

    def __repr__(self) -> str:
        def short(arg: Any) -> str:
            return f"{arg.dtype}{list(arg.shape)}" if isinstance(arg, np.ndarray) else repr(arg)
        parts = [short(a) for a in self.args] + [f"{k}={v}" for k, v in self.params.items()]
        return ", ".join(parts)


class Primitive:
    """An operation and all its rules."""

    programs: tuple[str, ...] = ()  # names of the params that hold programs
    runs_program = False            # the operation is exactly the run of its one program
    transparent = False             # carries a Python function, which eager evaluation runs as it is
    parallel = False                # eager evaluation of large arrays goes to XLA, whose threads win there
    slow_reference = False          # eager evaluation goes to XLA whatever the size
    # What code that reads jax's programs asks of an operation.
    call_primitive = ref_primitive = skip_canonicalization = False
    is_effectful = None

    def __init__(self, name: str) -> None:
        assert name not in TABLE, name
        self.name = name
        self.plans: dict[Any, Any] = {}  # how eager evaluation runs a call, by types and params
        self._types: dict[Any, list[ArrayType]] = {}
        self._expands: dict[str, bool] = {}
        self._multiple: bool | None = None
        TABLE[name] = self

    def __repr__(self) -> str:
        return self.name

    def __call__(self, *args: Any, **params: Any) -> Any:
        """Runs or records the operation; a single output comes without its list."""
        outputs = bind(self, args, params)
        return outputs[0] if len(outputs) == 1 else outputs

    @property
    def multiple_results(self) -> bool:
        """Whether `bind` returns a list: some call of the operation has another number of outputs than one."""
        if self._multiple is None:
            calls = [] if self.programs else [
                (tuple([type_of(value(a)) for a in e.args]), e.params) for e in self.examples(np.random.default_rng(0))]
            self._multiple = not calls or any(len(self.infer(types, params)) != 1 for types, params in calls)
        return self._multiple

    def bind(self, *args: Any, **params: Any) -> Any:
        """Runs or records the operation, for code that reads programs: a list where it has `multiple_results`."""
        params = self.get_bind_params(params)
        outputs = bind(self, [value(arg) for arg in args], params)
        return outputs if self.multiple_results else outputs[0]

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """The params of an equation as `bind` takes them: a program under jax's name for it goes under its own."""
        own = dict(params)
        for jaxs, name in JAX_NAMES.items():
            if jaxs in own and name in self.programs:
                closed = own.pop(jaxs)
                if getattr(closed, "consts", ()):
                    raise errors.value_error(f"{jaxs} is a program that holds {len(closed.consts)} arrays, one that "
                                             "takes them as operands is required", op=self.name,
                                             fix="make the arrays arguments of the function")
                own[name] = closed.program
        return own

    def infer(self, types: tuple[ArrayType, ...], params: dict[str, Any]) -> list[ArrayType]:
        """`type`, remembered per operand types and params, unless that would keep a program in memory."""
        if self.programs:
            return self.type(*types, **params)
        try:
            key = (types, *params.items())
            known = self._types.get(key)
        except TypeError:  # a param that is not hashable
            return self.type(*types, **params)
        if known is None:
            if len(self._types) > 4096:
                self._types.clear()
            known = self._types[key] = self.type(*types, **params)
        return known

    def expands(self, rule: str) -> bool:
        """Whether `rule` is to be had from `expand`, because the primitive does not define its own."""
        known = self._expands.get(rule)
        if known is None:
            known = self._expands[rule] = self.expand is not None and self._lacks(rule)
        return known

    def _lacks(self, rule: str) -> bool:
        own = getattr(type(self), rule)
        if rule == "linearize" and own is Primitive.linearize:
            own = type(self).jvp
            rule = "jvp"
        return own is getattr(Primitive, rule)

    def missing(self, rule: str, fix: str = "") -> errors.MissingRuleError:
        return errors.make(errors.MissingRuleError, f"operation {self.name} has no {rule}", op="",
                           fix=fix or f"see docs/adding_a_primitive.md for how to add its {rule}")

    def run(self, args: Sequence[Any], params: dict[str, Any]) -> Outputs:
        """Of a transparent primitive: the function it carries, run under the current trace."""
        raise self.missing("function to run")

    def prepare(self, args: Sequence[Any], params: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        """Of a transparent primitive: operands and params for a program, with the function staged."""
        raise self.missing("form for programs")

    # -- the rules ------------------------------------------------------------------------------

    def type(self, *types: ArrayType, **params: Any) -> list[ArrayType]:
        raise self.missing("type rule")

    def numpy(self, *arrays: np.ndarray, **params: Any) -> Outputs:
        raise self.missing("NumPy reference")

    def alone(self, types: Sequence[ArrayType], params: dict[str, Any]) -> Callable[..., Any] | None:
        """A quicker function of operands of these types, which gives the only result of `numpy`; None: no such."""
        return None

    def dependence(self, which: int, types: Sequence[ArrayType], values: Sequence[Any], params: dict[str, Any]) -> Any:
        """Where the only result depends on operand `which`, as a pattern (ops/dependence.py); None: everywhere.

        Asked of operations that are linear in it. `values` has the operands that are known, and None for others.
        """
        return None

    def hlo(self, b: Any, *values: Any, **params: Any) -> Outputs:
        raise self.missing("StableHLO lowering")

    expand: Any = None
    # `dependence` of all results at once, where there are several, or programs: (follow, patterns, values, **params).
    through: Any = None

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        raise self.missing("derivative", "stop the gradient with lax.stop_gradient, or give a custom rule")

    def linearize(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
                  ) -> tuple[Outputs, Outputs]:
        return self.jvp(primals, tangents, **params)

    jet: Any = None

    def transpose(self, cts: Sequence[Any], *args: Any, **params: Any) -> list[Any]:
        raise self.missing("transpose rule")

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        raise self.missing("batching rule")

    def batch_named(self, size: int, axis_name: Any, args: Sequence[Any], batched: Sequence[bool],
                    **params: Any) -> tuple[Outputs, list[bool]]:
        """`batch` for an operation that uses the mapped axis by name."""
        raise self.missing("rule for a named axis")

    def effects(self, params: dict[str, Any]) -> frozenset[str]:
        return frozenset()

    def axis_names(self, params: dict[str, Any]) -> frozenset[Any]:
        """Names of mapped axes that the operation uses."""
        return frozenset()

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        raise self.missing("examples")

    def oracle(self, jax: Any, *args: Any, **params: Any) -> Any:
        """The same call in real jax; the default is the function of that name in its lax."""
        return getattr(jax.lax, self.name)(*args, **params)


class NoGradient(Primitive):
    """A primitive whose outputs have no tangent: integers, comparisons, signs, random bits."""

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        outputs = bind(self, primals, params)
        return outputs, [Zero(output.type.tangent()) for output in outputs]
