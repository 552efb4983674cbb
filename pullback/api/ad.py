"""Derivatives: jvp, vjp, grad, value_and_grad, linearize, linear_transpose, jacobians, hessian."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from pullback.api.flat import FlatFunction, argument_names, check_callable, flatten_args, function_name, wrapping, wraps
from pullback.api.jit import jit
from pullback.core import config, dtypes, errors, tree
from pullback.core.array import Array, ConcreteArray
from pullback.core.primitive import TABLE
from pullback.core.trace import type_of
from pullback.core.types import ArrayType, Zero, is_scalar
from pullback.core.values import scalar_of, value
from pullback.core.vector import instantiate
from pullback.interpret import jvp as forward
from pullback.interpret.evaluate import evaluate
from pullback.interpret.linearize import linearize as linearize_flat
from pullback.interpret.stage import stage
from pullback.interpret.transpose import backward
from pullback.interpret.vmap import vmap as batch_flat
from pullback.runtime.device import as_array

__all__ = ["fwd_and_bwd", "grad", "hessian", "jacfwd", "jacobian", "jacrev", "jvp", "linear_transpose", "linearize",
           "value_and_grad", "vjp"]


def _strongly(strong_zeros: bool) -> AbstractContextManager[None]:
    """Strong zeros where an argument asks for them; otherwise what the setting says."""
    return config.strong_zeros(True) if strong_zeros else nullcontext()


def _zeros(t: ArrayType) -> Any:
    """The zero tangent or cotangent that users see: an array, or float0 zeros for integers."""
    tangent = t.tangent()
    if tangent.dtype == dtypes.float0:
        return np.zeros(tangent.shape, dtypes.float0)
    return instantiate(Zero(t))


def _given(tangent: Any, t: ArrayType) -> Any:
    """A user's tangent or cotangent for a value of type `t`, as rules take it."""
    return Zero(t.tangent()) if t.tangent().dtype == dtypes.float0 else tangent


def _materialize(tangents: Sequence[Any], types: Sequence[ArrayType]) -> list[Any]:
    return [_zeros(t) if isinstance(dot, Zero) or dot is None else as_array(dot) if is_scalar(dot) else dot
            for dot, t in zip(tangents, types, strict=True)]


def _cotangents(given: Sequence[Any], types: Sequence[ArrayType]) -> list[Any]:
    """Cotangents as arrays, of a weak type where their primals are."""
    def weak(ct: Any, t: ArrayType) -> bool:  # of an integer it is an ndarray of float0
        return t.weak and isinstance(ct, Array) and not ct.type.weak

    return [TABLE["convert_element_type"](ct, dtype=t.dtype, weak=True) if weak(ct, t) else ct
            for ct, t in zip(_materialize(given, types), types, strict=True)]


def _vector(given: Any, wanted: ArrayType) -> Any:
    """A user's tangent or cotangent as a value of type `wanted`; None if it is of another type."""
    if getattr(given, "dtype", None) == dtypes.float0:
        return given if wanted.dtype == dtypes.float0 and given.shape == wanted.shape else None
    given = value(given)
    t = type_of(given)
    if is_scalar(given) and t.weak and dtypes.is_inexact(wanted.dtype) and (
            dtypes.is_complex(wanted.dtype) or not dtypes.is_complex(t.dtype)):
        given = scalar_of(given, wanted.dtype, wanted.weak)  # a Python number takes the dtype that is wanted
        t = type_of(given)
    return given if t.shape == wanted.shape and t.dtype == wanted.dtype else None


def _vectors(given: Any, in_tree: Any, types: Sequence[ArrayType], like: Any, what: str, of: str, op: str
             ) -> list[Any]:
    """A tree of tangents or cotangents, checked leaf by leaf against a tree of types."""
    kind: type[Exception] = TypeError if what == "tangent" else ValueError
    leaves, given_tree = tree.flatten(given)
    if given_tree != in_tree:
        difference = tree.first_difference(given, tree.unflatten(in_tree, like))
        raise errors.make(kind, f"the {what} has another structure than {of}: {difference or (given_tree, in_tree)}",
                          op=op, fix=f"pass a {what} with the structure of {of}: {in_tree}")
    vectors = [_vector(leaf, t.tangent()) for leaf, t in zip(leaves, types, strict=True)]
    for i, vector in enumerate(vectors):
        if vector is None:
            wanted, leaf = types[i].tangent(), leaves[i]
            name = tree.leaf_names(given, what)[i] if len(leaves) > 1 else what
            got = ArrayType(leaf.shape, leaf.dtype) if hasattr(leaf, "shape") else type_of(value(leaf))
            raise errors.make(
                errors.OperandError if got.shape != wanted.shape else kind,
                f"the {name} is {got}, {wanted} is required: the shape and the tangent dtype of {of}", op=op,
                fix="use float0 zeros (np.zeros(shape, dtypes.float0)) for integers" if wanted.dtype == dtypes.float0
                else f"pass an array like jnp.ones({wanted.shape}, {wanted.dtype})")
    return vectors


def jvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False, *,
        strong_zeros: bool = False) -> Any:
    """The value of a function and its derivative along a direction (forward mode).

    Args:
      fun: a function of arrays or pytrees of arrays.
      primals: tuple of its arguments.
      tangents: tuple of directions, each with the structure, shapes and dtypes of its primal (float0
        for integers).
      has_aux: whether `fun` returns (output, aux); aux is passed through.
      strong_zeros: as of value_and_grad.

    Returns:
      (output, tangent of the output), and aux with has_aux.

    Raises:
      TypeError: the tangents do not match the primals.

    Example:
      >>> y, y_dot = jvp(jnp.sin, (0.0,), (1.0,))
    """
    check_callable(fun, "jvp")
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise errors.type_error(f"{name} is a {type(given).__name__}, a tuple or list is required", op="jvp",
                                    fix=f"pass {name} as a tuple, one entry per argument: ({name[:-1]},)")
    leaves, in_tree = flatten_args(tuple(primals), names=lambda: argument_names(fun, primals))
    types = [type_of(leaf) for leaf in leaves]
    dots = _vectors(tuple(tangents), in_tree, types, leaves, "tangent", "the primals", "jvp")
    flat = FlatFunction(fun, in_tree, has_aux=has_aux, op="jvp")
    with _strongly(strong_zeros):
        outputs, out_dots = forward.jvp(flat, leaves, [_given(dot, t) for dot, t in zip(dots, types, strict=True)])
    out_dots = _materialize(out_dots[: flat.count], [type_of(o) for o in outputs[: flat.count]])
    result = tree.unflatten(flat.out_tree, outputs[: flat.count]), tree.unflatten(flat.out_tree, out_dots)
    return (*result, flat.auxiliary(outputs[flat.count:])) if has_aux else result


class Pullback:
    """Carries a cotangent of a function's output back to its arguments; made by `vjp`, callable again and again.

    It is a pytree whose leaves are the residuals, so it may be returned from a jitted function.
    """

    def __init__(self, residuals: Sequence[Any], static: tuple[Any, ...]) -> None:
        self.residuals = list(residuals)
        self.static = static

    @property
    def out_nzs(self) -> tuple[bool, ...]:
        """Of each leaf of the output, whether it has a derivative by an argument."""
        return tuple(self.static[2])

    def __call__(self, cotangent: Any) -> Any:
        """The cotangents of the arguments, one per argument.

        Args:
          cotangent: with the structure, shapes and dtypes of the output.

        Raises:
          ValueError: it has another structure, shape or dtype.
        """
        program, mask, outputs, in_types, in_tree, out_types, out_tree, strong_zeros = self.static
        cts = _vectors(cotangent, out_tree, out_types, out_types, "cotangent", "the function's output",
                       "pullback from vjp")
        known = [_given(ct, t) for ct, t, flag in zip(cts, out_types, outputs, strict=True) if flag]
        linear = (False,) * len(self.residuals) + (True,) * sum(mask)
        with _strongly(strong_zeros):
            results = iter(backward(program, linear, self.residuals, known))
        leaves = [next(results) if flag else Zero(t.tangent()) for flag, t in zip(mask, in_types, strict=True)]
        return tree.unflatten(in_tree, _cotangents(leaves, in_types))

    def __repr__(self) -> str:
        return f"<pullback: {self.static[6]} -> {self.static[4]}, {len(self.residuals)} residuals>"


tree.register_pytree_node(Pullback, lambda p: (p.residuals, p.static), lambda static, leaves: Pullback(leaves, static))


def _flags(given: Any, of: Any, op: str) -> list[bool]:
    """A bool for each leaf of `of`, from `in_nzs`: bools, and tuples or `of`'s own containers of them."""
    if isinstance(given, bool):
        return [given] * len(tree.leaves(of))
    parts, whole = None if given is None else tree.one_level(given), tree.one_level(of)
    wanted = None if whole is None else list(whole[0])
    if parts is None or wanted is None or not isinstance(given, (tuple, type(of))) or len(wanted) != len(given):
        raise errors.value_error(f"in_nzs holds {given!r:.60} for {of!r:.60}; a bool is required, or a tuple with an "
                                 "entry for each part", op=op, fix="pass a tuple with True or False for each argument")
    return [flag for part, x in zip(parts[0], wanted, strict=True) for flag in _flags(part, x, op)]


def _no_reduce_axes(given: Any, op: str) -> None:
    if given:
        raise errors.make(NotImplementedError, f"reduce_axes is {given!r}, which is not supported", op=op,
                          fix="sum the cotangents with lax.psum")


def _linearized(flat: FlatFunction, leaves: Sequence[Any], flags: Sequence[bool]) -> tuple[list[Any], Any, Any]:
    """Outputs, the linear program, and which of the leaves it takes tangents of: none where the flag is False."""
    def some(*given: Any) -> Any:
        rest = iter(given)
        return flat(*[next(rest) if flag else leaf for leaf, flag in zip(leaves, flags, strict=True)])

    outputs, linearized = linearize_flat(some, [leaf for leaf, flag in zip(leaves, flags, strict=True) if flag])
    taken = iter(linearized.inputs)
    return outputs, linearized, tuple([flag and next(taken) for flag in flags])


def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Any] = (),
        saveable_args: Any = True, in_nzs: Any = None, strong_zeros: bool = False) -> Any:
    """The value of a function and its pullback (reverse mode).

    Args:
      fun: a function of arrays or pytrees of arrays.
      *primals: its arguments.
      has_aux: whether `fun` returns (output, aux); aux is passed through.
      saveable_args: has to be True: arguments are kept for the backward pass where it needs them.
      in_nzs: which arguments are differentiated: a bool, or a tuple of them for the arguments, and for parts of an
        argument in turn. The cotangents of the others are zero. None: all. `pullback.out_nzs` says of each output
        whether it has a derivative.
      strong_zeros: as of value_and_grad.

    Returns:
      (output, pullback), and aux with has_aux. `pullback(cotangent)` takes a cotangent with the structure of
      the output and returns a tuple with one cotangent per argument: c^T J.

    Raises:
      TypeError: an argument or output is no array.

    Example:
      >>> y, pullback = vjp(jnp.sin, 0.0)
      >>> (x_ct,) = pullback(1.0)
    """
    check_callable(fun, "vjp")
    _no_reduce_axes(reduce_axes, "vjp")
    if not all(tree.leaves(saveable_args)):
        raise errors.make(NotImplementedError, f"saveable_args is {saveable_args!r}, True is required", op="vjp",
                          fix="checkpoint the function where the arguments are too large to keep")
    with _strongly(strong_zeros):
        return _vjp(fun, primals, has_aux, "vjp", in_nzs)


def _vjp(fun: Callable[..., Any], primals: Sequence[Any], has_aux: bool, op: str, in_nzs: Any = None) -> Any:
    leaves, in_tree = flatten_args(tuple(primals), names=lambda: argument_names(fun, primals))
    flat = FlatFunction(fun, in_tree, has_aux=has_aux, op=op)
    outputs, linearized, taken = _linearized(
        flat, leaves, [True] * len(leaves) if in_nzs is None else _flags(in_nzs, tuple(primals), op))
    count = flat.count
    program = linearized.program
    if any(linearized.outputs[count:]):  # tangents of aux are not wanted
        program = _first_outputs(program, sum(linearized.outputs[:count]))
    out_types = tuple(type_of(o) for o in outputs[:count])
    static = (program, taken, linearized.outputs[:count], tuple(type_of(x) for x in leaves), in_tree,
              out_types, flat.out_tree, config.strong_zeros.value)
    result = tree.unflatten(flat.out_tree, outputs[:count]), Pullback(linearized.residuals, static)
    return (*result, flat.auxiliary(outputs[count:])) if has_aux else result


def _first_outputs(program: Any, count: int) -> Any:
    return type(program)(program.inputs, program.equations, program.outputs[:count], program.name)


def fwd_and_bwd(fun: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool = False, jitted: bool = True
                ) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The forward and the backward pass of a function, as two functions.

    Args:
      fun: a function of arrays or pytrees of arrays.
      argnums: the positional arguments to differentiate by.
      has_aux: whether `fun` returns (output, aux).
      jitted: compile both.

    Returns:
      fwd: (*args) -> (output, residuals), and aux with has_aux.
      bwd: (residuals, cotangent of the output) -> the cotangent of the argument, or a tuple of them where `argnums`
      is a sequence.

    Raises:
      ValueError: argnums is out of range (when `fwd` is called).

    Example:
      >>> fwd, bwd = fwd_and_bwd(lambda x, y: x * y, argnums=(0, 1))
      >>> y, residuals = fwd(2.0, 3.0)
      >>> print(*bwd(residuals, 1.0))
      3.0 2.0
    """
    check_callable(fun, "fwd_and_bwd")
    checked_argnums(argnums, 1 << 30, "fwd_and_bwd")  # the number of arguments is not known yet

    def forward_pass(*args: Any) -> Any:
        numbers = checked_argnums(argnums, len(args), "fwd_and_bwd")
        return _vjp(chosen_arguments(fun, args, {}, numbers), [args[n] for n in numbers], has_aux, "fwd_and_bwd")

    def backward_pass(residuals: Pullback, cotangent: Any) -> Any:
        cts = residuals(cotangent)
        return cts[0] if isinstance(argnums, int) else cts

    return (jit(forward_pass), jit(backward_pass)) if jitted else (forward_pass, backward_pass)


def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False, in_nzs: Any = None,
              strong_zeros: bool = False) -> Any:
    """The value of a function and its derivative at a point as a linear function.

    Args:
      fun: a function of arrays or pytrees of arrays.
      *primals: its arguments.
      has_aux: whether `fun` returns (output, aux).
      in_nzs: as of vjp; tangents of the arguments that are not differentiated count as zero.
      strong_zeros: as of value_and_grad.

    Returns:
      (output, f_jvp), and aux with has_aux. f_jvp takes tangents of the arguments and returns the tangent
      of the output; it can be called again and again without evaluating `fun`.

    Example:
      >>> y, f_jvp = linearize(jnp.sin, 0.0)
      >>> y_dot = f_jvp(1.0)
    """
    check_callable(fun, "linearize")
    leaves, in_tree = flatten_args(primals, names=lambda: argument_names(fun, primals))
    types = [type_of(leaf) for leaf in leaves]
    flat = FlatFunction(fun, in_tree, has_aux=has_aux, op="linearize")
    strong_zeros = strong_zeros or config.strong_zeros.value
    flags = [True] * len(leaves) if in_nzs is None else _flags(in_nzs, primals, "linearize")
    with _strongly(strong_zeros):
        outputs, linearized, taken = _linearized(flat, leaves, flags)
    out_types = [type_of(o) for o in outputs[: flat.count]]

    def f_jvp(*tangents: Any) -> Any:
        dots = _vectors(tangents, in_tree, types, leaves, "tangent", "the primals", "linearize")
        known = [instantiate(_given(dot, t)) for dot, t, flag in zip(dots, types, taken, strict=True) if flag]
        with _strongly(strong_zeros):
            results = iter(evaluate(linearized.program, [*linearized.residuals, *known]))
        out_dots = [next(results) if flag else None for flag in linearized.outputs[: flat.count]]
        return tree.unflatten(flat.out_tree, _materialize(out_dots, out_types))

    f_jvp.out_nzs = tuple(linearized.outputs[: flat.count])  # type: ignore[attr-defined]
    result = tree.unflatten(flat.out_tree, outputs[: flat.count]), f_jvp
    return (*result, flat.auxiliary(outputs[flat.count:])) if has_aux else result


def linear_transpose(fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Any] = ()) -> Callable[[Any], Any]:
    """The transpose of a function that is linear in its arguments.

    Args:
      fun: a linear function.
      *primals: arrays or ShapeDtypeStructs with the shapes and dtypes of its arguments; their numbers are
        not used.

    Returns:
      A function from a cotangent of the output to a tuple of cotangents of the arguments.

    Raises:
      TypeError: `fun` is not linear, or has integer arguments.

    Example:
      >>> linear_transpose(lambda x: 3 * x, 1.0)(2.0)[0].item()
      6.0
    """
    check_callable(fun, "linear_transpose")
    _no_reduce_axes(reduce_axes, "linear_transpose")
    leaves, in_tree = tree.flatten(primals)
    types = [ArrayType(tuple(x.shape), dtypes.canonicalize(x.dtype)) if hasattr(x, "dtype") else type_of(value(x))
             for x in leaves]
    flat = FlatFunction(fun, in_tree, op="linear_transpose")
    program, captured = stage(flat, types, name=function_name(fun), what="linear_transpose",
                              input_names=argument_names(fun, primals))
    out_types = program.output_types
    for t in (*types, *out_types):
        if not dtypes.is_inexact(t.dtype):
            raise errors.type_error(f"linear_transpose needs float or complex arguments and outputs, got {t}",
                                    op="linear_transpose", fix="close over what is not linear")

    def transposed(cotangent: Any) -> Any:
        cts = _vectors(cotangent, flat.out_tree, out_types, out_types, "cotangent", "the function's output",
                       "linear_transpose")
        results = backward(program, [False] * len(captured) + [True] * len(types), captured, cts)
        return tree.unflatten(in_tree, _cotangents(results, types))

    return transposed


def checked_argnums(argnums: Any, count: int, op: str) -> tuple[int, ...]:
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not isinstance(numbers, (tuple, list)) or not all(hasattr(n, "__index__") for n in numbers):
        raise errors.type_error(f"argnums is {argnums!r}, an int or a tuple of ints is required", op=op)
    result = []
    for n in numbers:
        if not -count <= n < count:
            raise errors.make(errors.OperandError, f"argnums {n} is out of range: the function was called with "
                              f"{count} positional argument{'s' * (count != 1)}", op=op,
                              fix="count positional arguments from 0, and pass what is differentiated by position")
        result.append(int(n) % count)
    return tuple(result)


def chosen_arguments(fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], numbers: Sequence[int]
                     ) -> Callable[..., Any]:
    """`fun` as a function of the chosen positional arguments alone."""
    def partial(*given: Any) -> Any:
        full = list(args)
        for n, x in zip(numbers, given, strict=True):
            full[n] = x
        return fun(*full, **kwargs)
    wrapping(partial, fun)
    return partial


def _check_inputs(fun: Any, args: Sequence[Any], numbers: Sequence[int], holomorphic: bool, allow_int: bool,
                  op: str, forward_mode: bool = False) -> None:
    for n in numbers:
        for i, leaf in enumerate(tree.leaves(args[n])):
            try:
                t = type_of(value(leaf))
            except TypeError:
                continue  # flatten_args names it
            problem = None
            if holomorphic and not dtypes.is_complex(t.dtype):
                problem = (f"a complex dtype with holomorphic=True, but it is {t}",
                           "pass complex inputs, or drop holomorphic=True")
            elif not holomorphic and dtypes.is_complex(t.dtype) and forward_mode:
                problem = (f"a real dtype, but it is {t}", "pass holomorphic=True for a holomorphic function")
            elif not dtypes.is_inexact(t.dtype) and not allow_int:
                problem = (f"a float or complex dtype, but it is {t}",
                           "convert it to float (x.astype(float)), differentiate by another argument "
                           "(argnums), or pass allow_int=True for float0 zeros" if not forward_mode else
                           "convert it to float (x.astype(float))")
            if problem:
                name = tree.leaf_names(args[n], argument_names(fun, [0] * (n + 1))[n])[i]
                raise errors.type_error(f"the input {name} requires {problem[0]}", op=op, fix=problem[1])


def value_and_grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False,
                   holomorphic: bool = False, allow_int: bool = False, reduce_axes: Sequence[Any] = (), *,
                   strong_zeros: bool = False) -> Callable[..., Any]:
    """A function that returns the value of `fun` and its gradient.

    Args:
      fun: returns a scalar, or (scalar, aux) with has_aux.
      argnums: the positional arguments to differentiate by: an int, or a tuple of ints.
      has_aux: whether `fun` returns (scalar, aux).
      holomorphic: promise that a complex function is holomorphic.
      allow_int: accept integer arguments; their gradient is float0 zeros.
      strong_zeros: a factor of a derivative that is exactly 0 makes the product 0, where the other is infinite or
        NaN too (see `pullback.strong_zeros`).

    Returns:
      A function with the arguments of `fun`, returning (value, gradient), or ((value, aux), gradient). The
      gradient has the structure of the argument (a tuple of them for a tuple of argnums).

    Raises:
      TypeError: the output is no real scalar, or an input is an integer.

    Example:
      >>> loss, g = value_and_grad(lambda w: jnp.sum(w ** 2))(jnp.ones(3))
    """
    check_callable(fun, "value_and_grad")
    _no_reduce_axes(reduce_axes, "value_and_grad")
    return _value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, strong_zeros, "value_and_grad")


def _value_and_grad(fun: Callable[..., Any], argnums: Any, has_aux: bool, holomorphic: bool, allow_int: bool,
                    strong_zeros: bool, op: str) -> Callable[..., Any]:
    @wraps(fun)
    def value_and_grad_of(*args: Any, **kwargs: Any) -> Any:
        numbers = checked_argnums(argnums, len(args), op)
        _check_inputs(fun, args, numbers, holomorphic, allow_int, op)
        chosen = chosen_arguments(fun, args, kwargs, numbers)
        with _strongly(strong_zeros):
            result = _vjp(chosen, [args[n] for n in numbers], has_aux, op)
        output, pullback = result[0], result[1]
        _check_scalar(fun, output, holomorphic, op)
        t = type_of(output)
        gradients = pullback(ConcreteArray(t, np.ones((), t.dtype)))
        gradient = gradients[0] if isinstance(argnums, int) else tuple(gradients)
        return ((output, result[2]) if has_aux else output), gradient

    return value_and_grad_of


def _check_scalar(fun: Any, output: Any, holomorphic: bool, op: str) -> None:
    name = function_name(fun)
    leaves, out_tree = tree.flatten(output)
    if len(leaves) != 1 or not hasattr(output, "dtype") and not isinstance(output, (int, float, complex)):
        raise errors.type_error(f"{name} must return a scalar, but returned a pytree {out_tree}", op=op,
                                fix="return one number; other results go through has_aux=True")
    t = type_of(output)
    if t.shape:
        raise errors.type_error(f"gradients need a function that returns a scalar, but {name} returned {t} of shape "
                                f"{t.shape}", op=op,
                                fix="reduce it (jnp.sum, jnp.mean), or use vjp with a cotangent, or jacrev")
    if holomorphic and not dtypes.is_complex(t.dtype):
        raise errors.type_error(f"with holomorphic=True {name} must return a complex scalar, but returned {t}", op=op,
                                fix="drop holomorphic=True")
    if not holomorphic and dtypes.is_complex(t.dtype):
        raise errors.type_error(f"gradients need a function that returns a real scalar, but {name} returned {t}",
                                op=op, fix="take the real part or the absolute value, pass holomorphic=True for a "
                                           "holomorphic function, or use vjp")
    if not dtypes.is_inexact(t.dtype):
        raise errors.type_error(f"gradients need a function that returns a float scalar, but {name} returned {t}",
                                op=op, fix="convert the output to float, or check that the function does not round "
                                           "or compare")


def grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False,
         holomorphic: bool = False, allow_int: bool = False, reduce_axes: Sequence[Any] = (), *,
         strong_zeros: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of `fun`.

    Args and errors as of value_and_grad.

    Returns:
      A function with the arguments of `fun`, returning the gradient, or (gradient, aux) with has_aux.

    Example:
      >>> grad(jnp.tanh)(0.0)
    """
    check_callable(fun, "grad")
    _no_reduce_axes(reduce_axes, "grad")
    with_value = _value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, strong_zeros, "grad")

    @wraps(fun)
    def grad_of(*args: Any, **kwargs: Any) -> Any:
        output, gradient = with_value(*args, **kwargs)
        return (gradient, output[1]) if has_aux else gradient

    return grad_of


def _basis(types: Sequence[ArrayType]) -> list[list[Any]]:
    """The standard basis of the space of `types`, per type an array [dimension, *shape]."""
    total = sum(t.size for t in types)
    start = 0
    result = []
    for t in types:
        block = np.zeros((total, t.size), t.dtype)
        block[start:start + t.size] = np.eye(t.size, dtype=t.dtype)
        start += t.size
        result.append(ConcreteArray(ArrayType((total, *t.shape), t.dtype), block.reshape(total, *t.shape)))
    return result


def _split_rows(x: Any, types: Sequence[ArrayType], last: bool) -> list[Any]:
    """The rows of x: [dimension, *shape] cut into blocks per type: [*type.shape, *shape], or axes last."""
    t = type_of(x)
    rest = t.shape[1:]
    start, result = 0, []
    for part in types:
        block = TABLE["slice"](x, start=(start, *[0] * len(rest)), limit=(start + part.size, *rest),
                               strides=(1,) * t.ndim)
        block = TABLE["reshape"](block, shape=(*part.shape, *rest))
        if last and part.shape:
            n, m = part.ndim, len(rest)
            block = TABLE["transpose"](block, perm=(*range(n, n + m), *range(n)))
        result.append(block)
        start += part.size
    return result


def jacfwd(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False,
           holomorphic: bool = False, *, strong_zeros: bool = False) -> Callable[..., Any]:
    """A function that returns the Jacobian of `fun`, by forward mode: one pass per input element.

    Args and errors as of value_and_grad; the output may have any structure.

    Returns:
      A function returning a tree of outputs, each holding a tree of inputs, with leaves
      [*output.shape, *input.shape].

    Example:
      >>> jacfwd(lambda x: x ** 2)(jnp.array([1.0, 2.0]))
      Array([[2., 0.],
             [0., 4.]], dtype=float32)
    """
    check_callable(fun, "jacfwd")

    @wraps(fun)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        numbers = checked_argnums(argnums, len(args), "jacfwd")
        _check_inputs(fun, args, numbers, holomorphic, False, "jacfwd", True)
        chosen = chosen_arguments(fun, args, kwargs, numbers)
        primals = args[numbers[0]] if isinstance(argnums, int) else tuple(args[n] for n in numbers)
        in_tree = tree.structure(primals)
        leaves, args_tree = flatten_args((primals,) if isinstance(argnums, int) else primals)
        flat = FlatFunction(chosen, args_tree, has_aux=has_aux, op="jacfwd")
        types = [type_of(leaf) for leaf in leaves]
        kept: list[Any] = []

        def push(*tangents: Any) -> list[Any]:
            outputs, dots = forward.jvp(flat, leaves, tangents)
            kept[:] = outputs
            return _materialize(dots[: flat.count], [type_of(o) for o in outputs[: flat.count]])

        basis = _basis(types)
        size = sum(t.size for t in types)
        with _strongly(strong_zeros):
            columns, flags = batch_flat(push, size, basis, [True] * len(basis))
        blocks = []
        for column, flag, output in zip(columns, flags, kept[: flat.count], strict=True):
            if getattr(column, "dtype", None) == dtypes.float0 or not flag:
                column = instantiate(Zero(type_of(output).with_shape((size, *type_of(output).shape))))
            blocks.append(tree.unflatten(in_tree, _split_rows(column, types, True)))
        result = tree.unflatten(flat.out_tree, blocks)
        return (result, flat.auxiliary(kept[flat.count:])) if has_aux else result

    return jacobian_of


def jacrev(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False,
           holomorphic: bool = False, allow_int: bool = False, *, strong_zeros: bool = False) -> Callable[..., Any]:
    """A function that returns the Jacobian of `fun`, by reverse mode: one pass per output element.

    Args and errors as of value_and_grad; the output may have any structure.

    Returns:
      A function returning a tree of outputs, each holding a tree of inputs, with leaves
      [*output.shape, *input.shape].

    Example:
      >>> jacrev(lambda x: x ** 2)(jnp.array([1.0, 2.0]))
      Array([[2., 0.],
             [0., 4.]], dtype=float32)
    """
    check_callable(fun, "jacrev")

    @wraps(fun)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        numbers = checked_argnums(argnums, len(args), "jacrev")
        _check_inputs(fun, args, numbers, holomorphic, allow_int, "jacrev")
        chosen = chosen_arguments(fun, args, kwargs, numbers)
        with _strongly(strong_zeros):
            result = _vjp(chosen, [args[n] for n in numbers], has_aux, "jacrev")
        output, pullback = result[0], result[1]
        out_leaves, out_tree = tree.flatten(output)
        types = [type_of(o) for o in out_leaves]
        for t in types:
            if dtypes.is_complex(t.dtype) and not holomorphic or not dtypes.is_inexact(t.dtype):
                raise errors.type_error(f"jacrev needs outputs of a float dtype, but "
                                        f"{function_name(fun)} returned {t}", op="jacrev",
                                        fix="convert the output to float" if not dtypes.is_inexact(t.dtype) else
                                            "pass holomorphic=True for a holomorphic function")
        primals = args[numbers[0]] if isinstance(argnums, int) else tuple(args[n] for n in numbers)
        in_leaves, in_tree = tree.flatten(primals)

        def pull(*cts: Any) -> list[Any]:
            gradients = pullback(tree.unflatten(out_tree, cts))
            return tree.leaves(gradients[0] if isinstance(argnums, int) else gradients)

        size = sum(t.size for t in types)
        rows, flags = batch_flat(pull, size, _basis(types), [True] * len(types))
        per_input = []
        for row, flag, x in zip(rows, flags, in_leaves, strict=True):
            if not flag:
                t = type_of(x)
                if t.tangent().dtype == dtypes.float0:
                    per_input.append([np.zeros((*o.shape, *t.shape), dtypes.float0) for o in types])
                    continue
                row = instantiate(Zero(ArrayType((size, *t.shape), t.dtype)))
            per_input.append(_split_rows(row, types, False))
        blocks = [tree.unflatten(in_tree, [blocks[i] for blocks in per_input]) for i in range(len(types))]
        jacobian_tree = tree.unflatten(out_tree, blocks)
        return (jacobian_tree, result[2]) if has_aux else jacobian_tree

    return jacobian_of


jacobian = jacrev


def hessian(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False,
            holomorphic: bool = False, *, strong_zeros: bool = False) -> Callable[..., Any]:
    """A function that returns the Hessian of `fun`: forward mode over reverse mode.

    Args and errors as of value_and_grad; the output may have any structure.

    Returns:
      A function returning a tree of outputs of trees of inputs of trees of inputs, with leaves
      [*output.shape, *input.shape, *input.shape].

    Example:
      >>> hessian(lambda x: jnp.sum(x ** 2))(jnp.ones(2))
      Array([[2., 0.],
             [0., 2.]], dtype=float32)
    """
    check_callable(fun, "hessian")
    return jacfwd(jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic, strong_zeros=strong_zeros), argnums,
                  has_aux=has_aux, holomorphic=holomorphic, strong_zeros=strong_zeros)
