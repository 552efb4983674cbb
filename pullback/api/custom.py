"""Functions with derivative rules of their own: custom_jvp, custom_vjp, custom_gradient, closure_convert."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.api.flat import FlatFunction, check_callable, flatten_args, function_name, wrapping
from pullback.core import dtypes, errors, source, tree
from pullback.core.array import Array
from pullback.core.trace import bind, type_of
from pullback.core.tree import map as map_tree
from pullback.core.types import ArrayType, Zero
from pullback.core.values import value
from pullback.core.vector import add, instantiate
from pullback.interpret.evaluate import evaluate
from pullback.interpret.stage import stage
from pullback.ops.custom import custom_jvp_call, custom_linear, custom_vjp_call

__all__ = ["CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_gradient", "custom_jvp", "custom_vjp",
           "custom_vjp_primal_tree_values", "linear_call", "zero_from_primal"]


class SymbolicZero:
    """A tangent or cotangent known to be zero, as rules with symbolic_zeros=True get it."""

    def __init__(self, t: ArrayType) -> None:
        self.aval = t

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval})"


class CustomVJPPrimal:
    """An argument of a forward rule with symbolic_zeros=True: its value, and whether it is differentiated."""

    def __init__(self, value: Any, perturbed: bool) -> None:
        self.value = value
        self.perturbed = perturbed


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """The values in a tree of arguments of a forward rule with symbolic_zeros=True."""
    return map_tree(lambda x: x.value if isinstance(x, CustomVJPPrimal) else x, tree,
                    is_leaf=lambda x: isinstance(x, CustomVJPPrimal))


def _zero_tangent(t: ArrayType, symbolic: bool) -> Any:
    if symbolic:
        return SymbolicZero(t.tangent())
    if t.tangent().dtype == dtypes.float0:
        return np.zeros(t.shape, dtypes.float0)
    return instantiate(Zero(t.tangent()))


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """A zero tangent (or cotangent) for a value.

    Args:
      val: array or number.
      symbolic_zeros: give a SymbolicZero in place of an array.

    Returns:
      Zeros of the value's shape and dtype; of dtype float0 where the value has no tangents.

    Example:
      >>> zero_from_primal(jnp.ones(2))
      Array([0., 0.], dtype=float32)
    """
    return tree.map(lambda x: _zero_tangent(type_of(value(x)), symbolic_zeros), val)


def _is_zero(x: Any) -> bool:
    return x is None or isinstance(x, (Zero, SymbolicZero)) or getattr(x, "dtype", None) == dtypes.float0


class _Custom:
    """What custom_jvp and custom_vjp share: arguments, and which of them are not differentiated."""

    kind = ""

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = (),
                 nondiff_argnames: Sequence[str] = ()) -> None:
        check_callable(fun, self.kind)
        self.fun = fun
        self.nondiff_argnums = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        if nondiff_argnames:
            names = (nondiff_argnames,) if isinstance(nondiff_argnames, str) else nondiff_argnames
            parameters = list(inspect.signature(fun).parameters)
            for name in names:
                if name not in parameters:
                    raise errors.value_error(f"nondiff_argnames names {name!r}, the parameters are {parameters}",
                                             op=self.kind, fix="use a parameter's name")
            self.nondiff_argnums += tuple(parameters.index(name) for name in names)
        wrapping(self, fun)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<{self.kind} of {function_name(self.fun)}>"

    def arguments(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], tuple[int, ...]]:
        """All arguments by position, with defaults, and the numbers of those not differentiated."""
        try:
            bound = inspect.signature(self.fun).bind(*args, **kwargs)
            bound.apply_defaults()
            if bound.kwargs:
                raise errors.type_error(f"keyword-only arguments {sorted(bound.kwargs)} are not supported",
                                        op=self.kind, fix="make them positional parameters")
            args = bound.args
        except ValueError:  # no signature
            pass
        numbers = tuple(sorted(n % len(args) for n in self.nondiff_argnums)) if args else ()
        return tuple(args), numbers

    def missing(self, what: str) -> Exception:
        return errors.make(AttributeError, f"{function_name(self.fun)} has no {what}", op=self.kind,
                           fix=f"define one with {function_name(self.fun)}.{what}")


def _placed(args: Sequence[Any], numbers: Sequence[int], given: Sequence[Any]) -> list[Any]:
    """The arguments with the differentiated ones replaced by `given`."""
    rest = iter(given)
    return [x if i in numbers else next(rest) for i, x in enumerate(args)]


class custom_jvp(_Custom):
    """A function whose tangents are computed by a rule of its own.

    Args:
      fun: a function of arrays or pytrees of arrays.
      nondiff_argnums: positions of arguments that are not differentiated, and may be any Python value.

    Example:
      >>> @custom_jvp
      ... def f(x):
      ...     return jnp.sin(x)
      >>> @f.defjvp
      ... def f_jvp(primals, tangents):
      ...     (x,), (x_dot,) = primals, tangents
      ...     return f(x), jnp.cos(x) * x_dot
    """

    kind = "custom_jvp"
    rule: Callable[..., Any] | None = None
    symbolic_zeros = False

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Sets the rule: (*nondiff_args, primals, tangents) -> (output, tangent of the output)."""
        check_callable(jvp, "defjvp")
        self.rule = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Sets a rule per argument: (tangent, output, *primals) -> its part of the output's tangent, or None."""
        if self.nondiff_argnums:
            raise errors.type_error("defjvps does not go with nondiff_argnums", op="defjvps", fix="use defjvp")

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            output = self(*primals)
            parts = [f(t, output, *primals) for f, t in zip(jvps, tangents, strict=True)
                     if f is not None and not _is_zero(t)]
            total = tree.map(lambda *xs: functools.reduce(add, [value(x) for x in xs]), *parts) if parts else \
                tree.map(lambda x: instantiate(Zero(type_of(value(x)).tangent())), output)
            return output, total

        self.defjvp(rule)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.rule is None:
            raise self.missing("defjvp")
        rule_of, symbolic = self.rule, self.symbolic_zeros
        args, numbers = self.arguments(args, kwargs)
        fixed = [args[i] for i in numbers]
        leaves, in_tree = flatten_args(tuple(x for i, x in enumerate(args) if i not in numbers))
        args = tuple(x if i in numbers else None for i, x in enumerate(args))  # the rules outlive the others
        body = FlatFunction(lambda *given: self.fun(*_placed(args, numbers, given)), in_tree, op=self.kind)
        name = function_name(rule_of)

        def rule(primals: list[Any], tangents: list[Any]) -> tuple[list[Any], list[Any]]:
            dots = [_zero_tangent(type_of(p), symbolic) if isinstance(t, Zero) else t
                    for p, t in zip(primals, tangents, strict=True)]
            with source.calling(rule_of):
                result = rule_of(*fixed, tree.unflatten(in_tree, primals), tree.unflatten(in_tree, dots))
            if not isinstance(result, (tuple, list)) or len(result) != 2:
                raise errors.type_error(f"the rule {name} returned {type(result).__name__}, a pair (output, tangent) "
                                        "is required", op=self.kind, fix="return output, output_tangent")
            outputs, body.out_tree = body.outputs(result[0], "output")
            out_dots, dots_tree = tree.flatten(result[1], is_leaf=lambda x: isinstance(x, SymbolicZero))
            if dots_tree != body.out_tree:
                raise errors.type_error(
                    f"the rule {name} returned a tangent of another structure than its output: "
                    f"{tree.first_difference(result[1], result[0])}", op=self.kind,
                    fix="return a tangent with the structure of the output")
            return outputs, [_checked_tangent(t, type_of(o), name) for t, o in zip(out_dots, outputs, strict=True)]

        outputs = bind(custom_jvp_call, leaves, {"body": body, "rule": rule, "captured": 0})
        return tree.unflatten(body.out_tree, outputs)


def _checked_tangent(given: Any, of: ArrayType, name: str) -> Any:
    wanted = of.tangent()
    if _is_zero(given) or wanted.dtype == dtypes.float0:
        return Zero(wanted)
    given = value(given)
    t = type_of(given)
    if t.shape != wanted.shape or (t.dtype != wanted.dtype and not t.weak):
        raise errors.type_error(f"the rule {name} returned a tangent of type {t} for an output of type {of}; "
                                f"{wanted} is required", op="custom_jvp", fix="give it the output's shape and dtype")
    return given if isinstance(given, Array) else np.dtype(wanted.dtype).type(given)


class custom_vjp(_Custom):
    """A function whose cotangents are computed by rules of its own.

    Forward mode works too: the tangent map is the transpose of the backward rule.

    Args:
      fun: a function of arrays or pytrees of arrays.
      nondiff_argnums, nondiff_argnames: arguments that are not differentiated, and may be any Python value.

    Example:
      >>> @custom_vjp
      ... def f(x):
      ...     return jnp.sin(x)
      >>> f.defvjp(lambda x: (jnp.sin(x), jnp.cos(x)), lambda res, ct: (res * ct,))
    """

    kind = "custom_vjp"
    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None
    symbolic_zeros = False

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any], symbolic_zeros: bool = False,
               optimize_remat: bool = False) -> None:
        """Sets the rules.

        Args:
          fwd: with the arguments of the function, returns (output, residuals).
          bwd: (*nondiff_args, residuals, cotangent of the output) -> a tuple with a cotangent per
            differentiated argument; None stands for zero.
        """
        check_callable(fwd, "defvjp")
        check_callable(bwd, "defvjp")
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, symbolic_zeros

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.fwd is None or self.bwd is None:
            raise self.missing("defvjp")
        fwd, bwd, symbolic = self.fwd, self.bwd, self.symbolic_zeros
        args, numbers = self.arguments(args, kwargs)
        fixed = [args[i] for i in numbers]
        leaves, in_tree = flatten_args(tuple(x for i, x in enumerate(args) if i not in numbers))
        args = tuple(x if i in numbers else None for i, x in enumerate(args))  # the rules outlive the others
        body = FlatFunction(lambda *given: self.fun(*_placed(args, numbers, given)), in_tree, op=self.kind)
        types = [type_of(x) for x in leaves]
        state: dict[str, Any] = {}

        def forward(*inputs: Any, nonzero: list[bool]) -> tuple[list[Any], list[Any]]:
            given = [CustomVJPPrimal(x, flag) for x, flag in zip(inputs, nonzero, strict=True)] if symbolic else inputs
            with source.calling(fwd):
                result = fwd(*_placed(args, numbers, tree.unflatten(in_tree, given)))
            if not isinstance(result, (tuple, list)) or len(result) != 2:
                raise errors.type_error(
                    f"the forward rule {function_name(fwd)} returned {type(result).__name__}, a pair (output, "
                    "residuals) is required", op=self.kind, fix="return output, residuals")
            outputs, body.out_tree = body.outputs(result[0], "output")
            state["out_types"] = [type_of(o) for o in outputs]
            residuals, state["tree"] = tree.flatten(result[1])
            # What is no array stays where it is; the arrays travel as operands.
            state["static"] = [None if _is_array(r) else (r,) for r in residuals]
            return outputs, [value(r) for r in residuals if _is_array(r)]

        def backward(residuals: list[Any], cts: list[Any]) -> list[Any]:
            arrays = iter(residuals)
            restored = tree.unflatten(state["tree"], [next(arrays) if s is None else s[0] for s in state["static"]])
            given = [_zero_tangent(t, symbolic) if isinstance(ct, Zero) else ct
                     for ct, t in zip(cts, state["out_types"], strict=True)]
            with source.calling(bwd):
                result = bwd(*fixed, restored, tree.unflatten(body.out_tree, given))
            return self._cotangents(result, in_tree, types, function_name(bwd))

        outputs = bind(custom_vjp_call, leaves, {"body": body, "forward": forward, "backward": backward,
                                                 "captured": 0})
        return tree.unflatten(body.out_tree, outputs)

    def _cotangents(self, result: Any, in_tree: Any, types: Sequence[ArrayType], name: str) -> list[Any]:
        """The backward rule's result as one cotangent per input leaf."""
        template = tree.unflatten(in_tree, types)
        if isinstance(result, list):
            result = tuple(result)
        if not isinstance(result, tuple) or len(result) != len(template):
            raise errors.type_error(
                f"the backward rule {name} returned {_length(result)}, a tuple of {len(template)} cotangents is "
                "required: one per differentiated argument", op=self.kind,
                fix="return (ct,) for one argument; None stands for a zero cotangent")
        leaves: list[Any] = []
        for i, (part, arg) in enumerate(zip(result, template, strict=True)):
            found, part_tree = tree.flatten(part, is_leaf=lambda x: x is None or isinstance(x, SymbolicZero))
            try:
                below = tree.flatten_up_to(part_tree, arg)
            except ValueError:
                below = None
            if below is None or any(ct is not None and not isinstance(x, ArrayType)
                                    for ct, x in zip(found, below, strict=True)):
                raise errors.type_error(
                    f"the backward rule {name} returned for argument {i} a cotangent of another structure: "
                    f"{tree.first_difference(part, arg)}", op=self.kind,
                    fix="return a cotangent with the argument's structure")
            # None stands for zeros of everything below it, and for itself where the argument has a None.
            leaves += [ct for ct, x in zip(found, below, strict=True) for _ in tree.leaves(x)]
        checked = []
        for given, t in zip(leaves, types, strict=True):
            wanted = t.tangent()
            if _is_zero(given) or wanted.dtype == dtypes.float0:
                checked.append(Zero(wanted))
                continue
            given = value(given)
            own = type_of(given)
            if own.shape != wanted.shape or (own.dtype != wanted.dtype and not own.weak):
                raise errors.value_error(
                    f"the backward rule {name} returned a cotangent of type {own} for an input of type {t}",
                    op=self.kind, fix="give it the input's shape and dtype (jnp.sum over broadcast axes, astype)")
            checked.append(given if isinstance(given, Array) else np.dtype(wanted.dtype).type(given))
        return checked


def _is_array(x: Any) -> bool:
    return isinstance(x, (Array, np.ndarray, np.generic)) or type(x) in (bool, int, float, complex)


def _length(result: Any) -> str:
    return f"a tuple of {len(result)}" if isinstance(result, tuple) else f"a {type(result).__name__}"


def custom_gradient(fun: Callable[..., Any] | None = None, *, with_logs: bool = False) -> Callable[..., Any]:
    """A function that returns its value and its own vjp: fun(*args) -> (output, ct -> cotangents).

    The vjp may return one cotangent (not in a tuple) where there is one argument.

    Args:
      fun: None: the decorator for it.
      with_logs: has to be False: pullbacks carry cotangents and nothing else.

    Raises:
      NotImplementedError: with_logs is set.

    Example:
      >>> cube = custom_gradient(lambda x: (x ** 3, lambda ct: ct * 3 * x ** 2))
      >>> grad(cube)(2.0).item()
      12.0
    """
    if with_logs:
        raise errors.make(NotImplementedError, "with_logs is not supported", op="custom_gradient",
                          fix="record values in the backward rule with debug.callback")
    if fun is None:
        return custom_gradient
    check_callable(fun, "custom_gradient")

    @custom_vjp
    def wrapped(*args: Any) -> Any:
        return fun(*args)[0]

    def forward(*args: Any) -> tuple[Any, Any]:
        output, pull = fun(*args)
        types = [type_of(o) for o in body_leaves(output)]
        out_tree = tree.structure(output)
        flat = FlatFunction(lambda ct: pull(ct), tree.structure((output,)), op="custom_gradient")
        program, captured = stage(flat, types, name=function_name(fun), what="custom_gradient")
        return output, (captured, _Static(program, flat.out_tree, out_tree, len(args)))

    def backward(residuals: Any, ct: Any) -> Any:
        captured, static = residuals
        program, result_tree, out_tree, count = static.parts
        results = tree.unflatten(result_tree, evaluate(program, [*captured, *tree.leaves(ct)]))
        return results if isinstance(results, tuple) and len(results) == count else (results,)

    wrapped.defvjp(forward, backward)
    wrapping(wrapped, fun)
    return wrapped


def body_leaves(output: Any) -> list[Any]:
    return [value(x) for x in tree.leaves(output)]


class _Static:
    """Values beside the residuals that are no arrays."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts


def closure_convert(fun: Callable[..., Any], *example_args: Any) -> tuple[Callable[..., Any], list[Any]]:
    """`fun` without its closure: a function that takes the closed-over values as further arguments, and those.

    Args:
      fun: a function of arrays or pytrees of arrays.
      *example_args: arguments with the shapes and dtypes it will be called with.

    Example:
      >>> scale = 2.0
      >>> convert, captured = closure_convert(lambda x: scale * x, 1.0)
      >>> convert(3.0, *captured).item()
      6.0
    """
    leaves, in_tree = flatten_args(example_args)
    flat = FlatFunction(fun, in_tree, op="closure_convert")
    program, captured = stage(flat, [type_of(x) for x in leaves], name=function_name(fun), what="closure_convert")
    kept = [i for i, x in enumerate(captured) if dtypes.is_inexact(type_of(x).dtype)]

    def converted(*args: Any) -> Any:
        count = len(args) - len(kept)
        given = tree.leaves(args[:count])
        closed = list(captured)
        for i, x in zip(kept, args[count:], strict=True):
            closed[i] = x
        return tree.unflatten(flat.out_tree, evaluate(program, [*closed, *[value(x) for x in given]]))

    return converted, [captured[i] for i in kept]


def linear_call(fun: Callable[..., Any], fun_transpose: Callable[..., Any], residual_args: Any, linear_args: Any
                ) -> Any:
    """fun(residual_args, linear_args), a linear map whose transpose is given.

    Args:
      fun: (residuals, x) -> y, linear in x.
      fun_transpose: (residuals, ct of y) -> ct of x, linear in ct; it is taken at its word.
      residual_args, linear_args: arrays or pytrees of arrays. By the residuals, the derivative is that of `fun`.

    Returns:
      y.

    Raises:
      TypeError: fun_transpose returns another structure or shape than linear_args have.

    Example:
      >>> def scaled(r, x):
      ...     return linear_call(lambda r, x: r * x, lambda r, ct: r * ct, r, x)
      >>> print(grad(scaled, 1)(3.0, 5.0))
      3.0
    """
    op = "linear_call"
    check_callable(fun, op)
    check_callable(fun_transpose, op)
    residuals, r_tree = flatten_args(residual_args)
    leaves, x_tree = flatten_args(linear_args)
    count, types = len(residuals), [type_of(x) for x in leaves]
    forward = FlatFunction(fun, tree.treedef_tuple([r_tree, x_tree]), op=op)
    r_types = [type_of(r) for r in residuals]
    program, captured = stage(forward, [*r_types, *types], name=function_name(fun), what=op)
    out_types = program.output_types
    backward = FlatFunction(fun_transpose, tree.treedef_tuple([r_tree, forward.out_tree]), op=op)
    transposed, more = stage(backward, [*r_types, *out_types], name=function_name(fun_transpose), what=op)
    if backward.out_tree != x_tree or [t.shape for t in transposed.output_types] != [t.shape for t in types]:
        raise errors.type_error(
            f"{function_name(fun_transpose)} returned {', '.join(map(str, transposed.output_types))} in the structure "
            f"{backward.out_tree}; {', '.join(map(str, types))} in {x_tree} is required", op=op,
            fix="return a cotangent with the structure and shapes of linear_args")

    def run(program: Any, consts: slice) -> Callable[..., list[Any]]:
        return lambda rs, xs: evaluate(program, [*rs[consts], *rs[:count], *xs])

    n = count + len(captured)
    outputs = bind(custom_linear, [*residuals, *captured, *more, *leaves], {
        "forward": run(program, slice(count, n)), "backward": run(transposed, slice(n, n + len(more))),
        "count": n + len(more), "live": (True,) * len(leaves), "kept": (True,) * len(out_types),
        "out_types": tuple(out_types)})
    return tree.unflatten(forward.out_tree, outputs)
