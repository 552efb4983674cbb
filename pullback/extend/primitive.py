"""Operations that users define, with rules in jax's form: the class, and the registries that hold the rules.

pullback's own rules take and return lists, and know symbolic zeros and linear operands by its own classes. Everything
here is the way between the two forms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pullback.core import dtypes, errors, tree
from pullback.core import primitive as own
from pullback.core.array import Array, ConcreteArray
from pullback.core.primitive import Outputs
from pullback.core.trace import bind, type_of
from pullback.core.types import ArrayType, Linear, is_scalar
from pullback.core.types import Zero as OwnZero
from pullback.core.values import value
from pullback.core.vector import broadcast, instantiate
from pullback.interpret.stage import stage
from pullback.runtime.device import as_array
from pullback.runtime.eager import compiled

Rule = Callable[..., Any]


class _AnyType(type):
    """isinstance(x, ShapedArray) holds for every type of an array."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, ArrayType)


class ShapedArray(metaclass=_AnyType):
    """Shape and dtype of an array, as rules for shapes take and return it; pullback's own type of an array.

    Args:
      shape: a tuple of ints.
      dtype: a dtype.
      weak_type: whether a Python scalar decided the dtype.
    """

    def __new__(cls, shape: Sequence[int], dtype: Any, weak_type: bool = False, **_: Any) -> Any:
        return ArrayType(tuple(int(n) for n in shape), dtypes.as_dtype(dtype), bool(weak_type))


class Zero:
    """A tangent or cotangent known to be zero, as rules in `ad` get and return it."""

    def __init__(self, aval: ArrayType) -> None:
        self.aval = aval

    def instantiate(self) -> Any:
        """An array of zeros."""
        return instantiate(OwnZero(self.aval))

    def __repr__(self) -> str:
        return f"Zero({self.aval})"


class UndefinedPrimal:
    """In a transpose rule, the place of an operand that the operation is linear in."""

    def __init__(self, aval: ArrayType) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval})"


def outward(x: Any) -> Any:
    """A tangent, cotangent or operand in jax's form."""
    if isinstance(x, OwnZero):
        return Zero(x.type)
    if isinstance(x, Linear):
        return UndefinedPrimal(x.type)
    return as_array(x)


def inward(x: Any, t: ArrayType, what: str) -> Any:
    """A rule's tangent or cotangent for a value of type `t`, in pullback's form."""
    wanted = t.tangent()
    if x is None or isinstance(x, Zero) or getattr(x, "dtype", None) == dtypes.float0:
        return OwnZero(wanted)
    x = as_array(x)
    given = type_of(x)
    if given.shape != wanted.shape or given.dtype != wanted.dtype and not given.weak:
        raise errors.type_error(f"the {what} returned a value of type {given} for one of type {t}", op="",
                                fix="give it that shape and dtype (sum over broadcast axes, astype)")
    return x if given.dtype == wanted.dtype else own.TABLE["convert_element_type"](x, dtype=wanted.dtype, weak=False)


class Rules(dict[Any, Rule]):
    """The rules of one kind, by primitive."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def __setitem__(self, primitive: Any, rule: Rule) -> None:
        if not isinstance(primitive, Primitive):
            what = f"{primitive!r} is one of pullback's own operations" if isinstance(primitive, own.Primitive) else \
                f"got {primitive!r:.60}"
            raise errors.type_error(f"{what}; a primitive made with jax.extend.core.Primitive is required",
                                    op=self.kind, fix="wrap the operation in a primitive, custom_jvp or custom_vjp "
                                                      "function of your own")
        if not callable(rule):
            raise errors.type_error(f"the rule for {primitive} is {rule!r:.60}, a function is required", op=self.kind)
        super().__setitem__(primitive, rule)


JVPS = Rules("ad.primitive_jvps")
TRANSPOSES = Rules("ad.primitive_transposes")
BATCHERS = Rules("batching.primitive_batchers")
AXIS_BATCHERS = Rules("batching.fancy_primitive_batchers")
SIZE_BATCHERS = Rules("batching.axis_primitive_batchers")
LOWERINGS = Rules("mlir.register_lowering")


class AxisData(NamedTuple):
    """What a rule in `batching.fancy_primitive_batchers` is told of the mapped axis."""

    name: Any
    size: int


_builders: list[Any] = []


def building() -> Any:
    """The builder of the lowering rule that runs."""
    if not _builders:
        raise errors.make(RuntimeError, "an operation of a dialect was used outside a lowering rule", op="",
                          fix="use jax.numpy or jax.lax here")
    return _builders[-1]


class LoweringContext:
    """What a lowering rule is given beside its operands: `primitive`, `avals_in`, `avals_out`, and the builder."""

    def __init__(self, builder: Any, primitive: Primitive, avals_in: Sequence[ArrayType]) -> None:
        self.builder = builder
        self.primitive = primitive
        self.avals_in = list(avals_in)
        self.avals_out = list(builder.outputs)


class Primitive(own.Primitive):
    """An operation of your own. Its rules are set by its `def_` methods and in `jax.interpreters`.

    Args:
      name: for messages and printed programs.

    Attributes:
      multiple_results: set it to True where the operation's rules return lists.

    Raises (when it is used): MissingRuleError, which is a NotImplementedError: a transformation needs a rule that
      was not given; the message names the registry.

    Example:
      >>> double_p = Primitive("double")
      >>> @double_p.def_impl
      ... def double_impl(x):
      ...     return np.asarray(x) * 2
      >>> double_p.bind(jnp.arange(3))
      Array([0, 2, 4], dtype=int32)
    """

    multiple_results = False
    transparent = True

    def __init__(self, name: str) -> None:  # not in TABLE: names are the user's own, and may come again
        self.name = name
        self._types: dict[Any, list[ArrayType]] = {}
        self._expands: dict[str, bool] = {}
        self.impl: Rule | None = None
        self.abstract_eval: Rule | None = None
        self._effects: frozenset[str] = frozenset()

    # -- what users call -------------------------------------------------------------------------

    def bind(self, *args: Any, **params: Any) -> Any:
        """Runs or records the operation; a list where it has multiple results.

        Args:
          *args: arrays and numbers.
          **params: anything else the rules take.
        """
        operands = []
        for i, arg in enumerate(args):
            try:
                operands.append(as_array(arg))
            except TypeError:
                raise errors.type_error(f"operand {i} is a {type(arg).__name__}, an array or a number is required",
                                        op=self.name, fix="pass what is no array by keyword: it is a parameter"
                                        ) from None
        outputs = bind(self, operands, params)
        return outputs if self.multiple_results else outputs[0]

    __call__ = bind

    def def_impl(self, impl: Rule) -> Rule:
        """Sets how it is computed: (*arrays, **params) -> result(s), NumPy arrays or jax's."""
        self.impl = impl
        return impl

    def def_abstract_eval(self, abstract_eval: Rule) -> Rule:
        """Sets its types: (*avals, **params) -> aval(s), as ShapedArray(shape, dtype)."""
        self.abstract_eval = abstract_eval
        self._types.clear()
        return abstract_eval

    def def_effectful_abstract_eval(self, effectful_abstract_eval: Rule) -> Rule:
        """Sets its types: (*avals, **params) -> (aval(s), effects). What has effects stays in every program."""
        def types(*avals: Any, **params: Any) -> Any:
            result, effects = effectful_abstract_eval(*avals, **params)
            self._effects = frozenset({"unordered"}) if effects else frozenset()
            return result
        self.def_abstract_eval(types)
        return effectful_abstract_eval

    # -- pullback's rules, by way of the user's --------------------------------------------------

    def _need(self, rule: Rule | None, what: str, where: str) -> Rule:
        if rule is None:
            raise self.missing(what, f"give it one with {where}")
        return rule

    def _listed(self, result: Any, what: str) -> list[Any]:
        if not self.multiple_results:
            return [result]
        if not isinstance(result, (tuple, list)):
            raise errors.type_error(f"the {what} of {self.name} returned a {type(result).__name__}, a list is required",
                                    op="", fix="return a list, or leave multiple_results False")
        return list(result)

    def type(self, *types: ArrayType, **params: Any) -> list[ArrayType]:
        rule = self._need(self.abstract_eval, "rule for its types (abstract evaluation)", "def_abstract_eval")
        result = self._listed(rule(*types, **params), "rule for types")
        for t in result:
            if not (hasattr(t, "shape") and hasattr(t, "dtype")):
                raise errors.type_error(f"the rule for types of {self.name} returned {t!r:.60}, a ShapedArray is "
                                        "required", op="", fix="return jax.core.ShapedArray(shape, dtype)")
        return [ArrayType(tuple(t.shape), _canonical(t.dtype), bool(getattr(t, "weak_type", False))) for t in result]

    def run(self, args: Sequence[Any], params: dict[str, Any]) -> Outputs:
        if self.impl is None and self in LOWERINGS:
            return run_compiled(self, args, params)
        rule = self._need(self.impl, "rule to evaluate it", "def_impl")
        return [value(x) for x in self._listed(rule(*args, **params), "implementation")]

    def prepare(self, args: Sequence[Any], params: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        return args, params

    def hlo(self, b: Any, *values: Any, **params: Any) -> Outputs:
        rule = self._need(LOWERINGS.get(self), "lowering rule for compiled code",
                          "mlir.register_lowering(primitive, mlir.lower_fun(function, multiple_results=...))")
        promised = list(b.outputs)
        _builders.append(b)
        try:
            result = rule(LoweringContext(b, self, [v.type for v in values]), *values, **params)
        finally:
            _builders.pop()
        results = [getattr(r, "result", r) for r in (result if isinstance(result, (tuple, list)) else [result])]
        made = [v.type for v in results]
        if [(t.shape, t.dtype) for t in made] != [(t.shape, t.dtype) for t in promised]:
            raise errors.type_error(
                f"the lowering rule of {self.name} made {', '.join(map(str, made))}; its rule for types promised "
                f"{', '.join(map(str, promised))}", op="", fix="make the two rules agree")
        return results

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        rule = self._need(JVPS.get(self), "differentiation rule", "ad.primitive_jvps[primitive] = rule")
        outputs, dots = rule(tuple(as_array(p) for p in primals), tuple(outward(t) for t in tangents), **params)
        outputs = [value(x) for x in self._listed(outputs, "differentiation rule")]
        dots = self._listed(dots, "differentiation rule")
        return outputs, [inward(t, type_of(o), f"differentiation rule of {self.name}")
                         for o, t in zip(outputs, dots, strict=True)]

    def transpose(self, cts: Sequence[Any], *args: Any, **params: Any) -> list[Any]:
        rule = self._need(TRANSPOSES.get(self), "transpose rule, which reverse mode needs",
                          "ad.primitive_transposes[primitive] = rule")
        given = [outward(ct) for ct in cts]
        results = rule(given if self.multiple_results else given[0], *[outward(a) for a in args], **params)
        if not isinstance(results, (tuple, list)) or len(results) != len(args):
            raise errors.type_error(f"the transpose rule of {self.name} returned {results!r:.60}, a list of "
                                    f"{len(args)} cotangents is required, None for what is not linear", op="")
        return [inward(ct, arg.type, f"transpose rule of {self.name}") if isinstance(arg, Linear) else None
                for ct, arg in zip(results, args, strict=True)]

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        return self._batch(AxisData(None, size), args, batched, params)

    def _batch(self, axis: AxisData, args: Sequence[Any], batched: Sequence[bool], params: dict[str, Any]
               ) -> tuple[Outputs, list[bool]]:
        dims = tuple(0 if flag else None for flag in batched)
        args = tuple(as_array(x) for x in args)
        if self in AXIS_BATCHERS:
            outputs, out_dims = AXIS_BATCHERS[self](axis, args, dims, **params)
        elif self in SIZE_BATCHERS:
            outputs, out_dims = SIZE_BATCHERS[self](axis.size, axis.name, None, args, dims, **params)
        else:
            rule = self._need(BATCHERS.get(self), "batching rule", "batching.primitive_batchers[primitive] = rule")
            outputs, out_dims = rule(args, dims, **params)
        outputs = self._listed(outputs, "batching rule")
        out_dims = list(out_dims) if self.multiple_results and isinstance(out_dims, (tuple, list)) else \
            [out_dims] * len(outputs)
        return ([to_front(value(x), d) for x, d in zip(outputs, out_dims, strict=True)],
                [d is not None for d in out_dims])

    def effects(self, params: dict[str, Any]) -> frozenset[str]:
        return self._effects


def run_compiled(primitive: own.Primitive, args: Sequence[Any], params: dict[str, Any]) -> Outputs:
    """An operation by its lowering rule, compiled once for each types of operands and params."""
    return compiled(primitive, tuple([type_of(x) for x in args]), params)(args)  # type: ignore[no-any-return]


def _canonical(dtype: Any) -> Any:
    """The dtype that arrays have: 64-bit ones become 32-bit ones unless enable_x64 is set."""
    return dtype if isinstance(dtype, dtypes.KeyDtype) or dtype == dtypes.float0 else dtypes.canonicalize(dtype)


def to_front(x: Any, dim: int | None) -> Any:
    """`x` with its batch axis `dim` moved to the front; a value without one (None) as it is."""
    if not dim:
        return x
    ndim = type_of(x).ndim
    dim = errors.check_axis(dim, ndim)
    return own.TABLE["transpose"](x, perm=(dim, *[i for i in range(ndim) if i != dim]))


def batched_alike(args: Sequence[Any], dims: Sequence[int | None]) -> list[Any]:
    """Operands with the batch axis in front of all of them; elementwise ones of lower rank get axes of size 1."""
    size = next(type_of(x).shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
    moved = [broadcast(x, size) if d is None else to_front(x, d) for x, d in zip(args, dims, strict=True)]
    rank = max(type_of(x).ndim for x in moved)
    return [x if type_of(x).ndim == rank else own.TABLE["reshape"](
        x, shape=(size, *[1] * (rank - type_of(x).ndim), *type_of(x).shape[1:])) for x in moved]


def lowered_by(fun: Callable[..., Any], multiple_results: bool) -> Rule:
    """The lowering rule that writes out what `fun` does, staged for the types of the operands."""
    def rule(context: LoweringContext, *values: Any, **params: Any) -> list[Any]:
        def flat(*xs: Any) -> list[Any]:
            result = fun(*xs, **params)
            if multiple_results and not isinstance(result, (tuple, list)):
                raise errors.type_error(f"the function returned a {type(result).__name__}, a list is required",
                                        op="lower_fun", fix="return a list, or pass multiple_results=False")
            return [value(x) for x in (tree.leaves(result) if multiple_results else [result])]

        program, captured = stage(flat, context.avals_in, name=context.primitive.name, what="lower_fun")
        builder = context.builder
        constants = [builder.constant(np.asarray(x.numpy())) for x in captured]
        return builder.program(program, [*constants, *values])  # type: ignore[no-any-return]
    return rule


def is_value(x: Any) -> bool:
    """Whether an operation takes `x`: an array or a number."""
    return isinstance(x, (Array, ConcreteArray, np.ndarray)) or is_scalar(x)
