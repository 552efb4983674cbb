"""Sparse Jacobians: where they may not be zero, found from the program, and the numbers there, by few products.

Columns without a row in common are one product with the Jacobian: a banded Jacobian of any size takes as many products
as the band is wide. Source of the method: Curtis, Powell and Reid, "On the estimation of sparse Jacobian matrices"
(1974); colours are given greedily, column by column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.api import ad
from pullback.api.ad import chosen_arguments, grad
from pullback.api.batch import vmap
from pullback.api.flat import FlatFunction, check_callable, flatten_args, function_name, wraps
from pullback.core import dtypes, errors, tree
from pullback.core.array import from_numpy
from pullback.core.trace import Tracer, type_of
from pullback.core.types import ArrayType
from pullback.experimental.sparse import BCOO
from pullback.interpret.linearize import linearize_program
from pullback.interpret.stage import stage
from pullback.ops.dependence import Pattern, follow, learn, matrix, same
from pullback.passes.inline import inline

__all__ = ["jacobian_pattern", "sparse_hessian", "sparse_jacobian"]

_ONE = tree.structure(0)


def _function(fun: Any, args: Sequence[Any], kwargs: dict[str, Any], argnums: int, op: str
              ) -> tuple[Callable[[Any], Any], Any]:
    """`fun` as a function of one array, and that array."""
    if not isinstance(argnums, int):
        raise errors.type_error(f"argnums is {argnums!r}, an int is required", op=op,
                                fix="one argument at a time; join arrays with ravel_pytree for the Jacobian by all")
    numbers = ad.checked_argnums(argnums, len(args), op)
    leaves, structure = flatten_args(args[numbers[0]])
    if structure != _ONE or not dtypes.is_float(type_of(leaves[0]).dtype):
        given = ", ".join([str(type_of(x)) for x in leaves]) or "empty"
        raise errors.type_error(
            f"argument {numbers[0]} of {function_name(fun)} is {given}; one array of real floats is required",
            op=op, fix="flatten_util.ravel_pytree makes one array of a tree")
    return chosen_arguments(fun, args, kwargs, numbers), leaves[0]


def _pattern(fun: Callable[[Any], Any], x: Any, name: str, op: str) -> tuple[Pattern, ArrayType]:
    """The pattern of a function of one array, and the type of what it returns."""
    _, in_tree = flatten_args((x,))
    flat = FlatFunction(fun, in_tree, op=op)
    program, captured = stage(flat, [type_of(x)], name=name, what=op)
    if flat.out_tree != _ONE or not dtypes.is_float(program.output_types[0].dtype):
        raise errors.type_error(
            f"{name} returned {', '.join(map(str, program.output_types)) or 'nothing'}; one array of real floats is "
            "required", op=op, fix="return one array; jnp.concatenate joins several")
    out = program.output_types[0]
    program = inline(program)
    derived = program.memo(linearize_program, (False,) * len(captured) + (True,))
    if not derived.outputs[0]:
        none = np.zeros(0, np.int64)
        return matrix(none, none, (out.size, type_of(x).size)), out
    forward = inline(derived.forward)
    known = {v: c for v, c in zip(forward.inputs, captured) if not isinstance(c, Tracer)}
    for eqn in forward.equations:
        learn(eqn, known)
    given = [known.get(v) for v in forward.inputs]
    made = [known.get(a) for a in forward.outputs[len(program.outputs):]]
    values = [*derived.residuals(given, made), None]
    (pattern,) = follow(inline(derived.linear), [*[None] * (len(values) - 1), same(type_of(x).size)], values)
    pattern.sort_indices()
    return pattern, out


def _colours(pattern: Pattern) -> np.ndarray:
    """A colour for each column, so that no row has two columns of one colour."""
    columns = pattern.tocsc()
    colours = np.full(pattern.shape[1], -1)
    taken = np.full(pattern.shape[1] + 1, -1)  # by which column a colour was last found taken
    starts, rows = pattern.indptr, pattern.indices
    for column in range(pattern.shape[1]):
        for row in columns.indices[columns.indptr[column]:columns.indptr[column + 1]]:
            taken[colours[rows[starts[row]:starts[row + 1]]]] = column  # -1, of none yet, is the last place
        colour = 0
        while taken[colour] == column:
            colour += 1
        colours[column] = colour
    return colours


def jacobian_pattern(fun: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """A function that says where the Jacobian of `fun` may not be zero, whatever the numbers are.

    Args:
      fun: a function of arrays that returns one array of floats.
      argnums: the argument by which is differentiated, one array of floats.

    Returns:
      A function with the arguments of `fun`, returning a `sparse.BCOO` of truth values, of shape
      [*output.shape, *input.shape], in the order of rows. Where an operation has no rule of its own, each element of
      its result is taken to depend on every element that it reads.

    Raises:
      TypeError: the argument or the result is not one array of floats.
      ValueError: more than 2**27 elements may not be zero.

    Example:
      >>> pattern = jacobian_pattern(lambda x: x[1:] * x[:-1])(jnp.ones(4))
      >>> pattern.indices.tolist()
      [[0, 0], [0, 1], [1, 1], [1, 2], [2, 2], [2, 3]]
    """
    check_callable(fun, "jacobian_pattern")

    @wraps(fun)
    def pattern_of(*args: Any, **kwargs: Any) -> Any:
        chosen, x = _function(fun, args, kwargs, argnums, "jacobian_pattern")
        pattern, out = _pattern(chosen, x, function_name(fun), "jacobian_pattern")
        return _array(np.ones(pattern.nnz, np.bool_), pattern, out, type_of(x))

    return pattern_of


def _array(data: Any, pattern: Pattern, out: ArrayType, t: ArrayType) -> Any:
    rows, columns = pattern.nonzero()
    places = [*np.unravel_index(rows, out.shape)] if out.shape else []
    places += [*np.unravel_index(columns, t.shape)] if t.shape else []
    indices = np.stack(places, 1).astype(np.int32) if places else np.zeros((len(rows), 0), np.int32)
    return BCOO((data, from_numpy(indices)), shape=(*out.shape, *t.shape), indices_sorted=True, unique_indices=True)


def sparse_jacobian(fun: Callable[..., Any], argnums: int = 0, *, mode: str | None = None) -> Callable[..., Any]:
    """A function that returns the Jacobian of `fun` as a sparse array, by few products with it.

    Where it may not be zero is found from the program of `fun` at each call (under `jit`, when it is traced), as by
    `jacobian_pattern`. Columns that share no row are computed by one product forward, or rows that share no column by
    one backward: the cost is that of as many passes as there are colours, not elements.

    Args:
      fun: a function of arrays that returns one array of floats.
      argnums: the argument by which is differentiated, one array of floats.
      mode: 'forward', 'reverse', or None: the one of fewer passes.

    Returns:
      A function with the arguments of `fun`, returning a `sparse.BCOO` of shape [*output.shape, *input.shape], whose
      indices are in the order of rows. Elements that are stored may be zero at these arguments. Its `data` may be
      differentiated again.

    Raises:
      TypeError: the argument or the result is not one array of floats.
      ValueError: another mode; more than 2**27 elements may not be zero.

    Where it is not smooth: as jvp and vjp, of which it is made.

    Source: Curtis, Powell and Reid, "On the estimation of sparse Jacobian matrices" (1974).

    Example:
      >>> jacobian = sparse_jacobian(lambda x: x[1:] * x[:-1])(jnp.array([1.0, 2.0, 3.0]))
      >>> jacobian
      BCOO(float32[2, 3], nse=4)
      >>> jacobian.todense()
      Array([[2., 1., 0.],
             [0., 3., 2.]], dtype=float32)
    """
    check_callable(fun, "sparse_jacobian")
    if mode not in (None, "forward", "reverse"):
        raise errors.value_error(f"mode is {mode!r}; 'forward', 'reverse' or None is required", op="sparse_jacobian",
                                 fix="None takes the one of fewer passes")

    @wraps(fun)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        chosen, x = _function(fun, args, kwargs, argnums, "sparse_jacobian")
        pattern, out = _pattern(chosen, x, function_name(fun), "sparse_jacobian")
        t = type_of(x)
        rows, columns = pattern.nonzero()
        forward = _colours(pattern) if mode != "reverse" else None
        backward = None
        if forward is None or mode is None and forward.max(initial=0):
            backward = _colours(pattern.T.tocsr())
        if backward is not None and (forward is None or backward.max(initial=0) < forward.max(initial=0)):
            products, place, across, size = ad.vjp(chosen, x)[1], backward[rows], columns, t.size
            seeds = _seeds(backward, out)
            made = vmap(lambda seed: products(seed)[0])(seeds)
        else:
            products, place, across, size = ad.linearize(chosen, x)[1], forward[columns], rows, out.size
            seeds = _seeds(forward, t)
            made = vmap(products)(seeds)
        data = made.reshape(len(seeds), size)[from_numpy(place), from_numpy(across)]
        return _array(data, pattern, out, t)

    return jacobian_of


def _seeds(colours: np.ndarray, t: ArrayType) -> Any:
    """For each colour, 1 for the elements that have it and 0 for the others."""
    count = int(colours.max(initial=-1)) + 1
    return from_numpy((colours == np.arange(count)[:, None]).reshape(count, *t.shape).astype(t.dtype))


def sparse_hessian(fun: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """A function that returns the Hessian of a scalar function as a sparse array, by few passes over its gradient.

    Args and errors as of sparse_jacobian; `fun` returns a real scalar.

    Returns:
      A function with the arguments of `fun`, returning a `sparse.BCOO` of shape [*input.shape, *input.shape].

    Where it is not smooth: as grad, and jvp of it.

    Example:
      >>> sparse_hessian(lambda x: jnp.sum(x[1:] * x[:-1] ** 2))(jnp.array([1.0, 2.0, 3.0])).todense()
      Array([[4., 2., 0.],
             [2., 6., 4.],
             [0., 4., 0.]], dtype=float32)
    """
    check_callable(fun, "sparse_hessian")
    return sparse_jacobian(grad(fun, argnums), argnums, mode="forward")
