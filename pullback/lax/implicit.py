"""Solutions of equations, differentiated by the equation they solve: custom_root, custom_linear_solve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pullback.api.flat import FlatFunction, check_callable, flatten_args, function_name
from pullback.core import errors, tree
from pullback.core.primitive import TABLE
from pullback.core.trace import bind, type_of
from pullback.core.types import ArrayType, Zero
from pullback.interpret.evaluate import evaluate
from pullback.interpret.linearize import apply, linearize, tangent_map
from pullback.interpret.stage import stage
from pullback.interpret.transpose import transpose_program_full
from pullback.ops.custom import custom_jvp_call
from pullback.ops.linear_solve import linear_solve

__all__ = ["custom_linear_solve", "custom_root"]


def _check_like(op: str, what: str, of: str, made_tree: Any, made: Sequence[ArrayType], given_tree: Any,
                given: Sequence[ArrayType], error: type[Exception], shapes: bool = True) -> None:
    """Raises where a function's result has another structure (or other shapes) than what it must be like."""
    if made_tree != given_tree:
        raise errors.make(error, f"{what} returned {made_tree}, the structure of {of} is required: {given_tree}",
                          op=op, fix=f"return a value with the structure of {of}")
    for a, b in zip(made, given, strict=True):
        if shapes and a.shape != b.shape:
            raise errors.make(error, f"{what} returned a value of shape {list(a.shape)}, the shape of {of} is "
                              f"required: {list(b.shape)}", op=op, fix=f"return a value with the shapes of {of}")


def custom_root(f: Callable[..., Any], initial_guess: Any, solve: Callable[..., Any],
                tangent_solve: Callable[..., Any], has_aux: bool = False) -> Any:
    """A root of a function, differentiated by the equation f(x) = 0 and not through the solver.

    By the implicit function theorem dx = -(df/dx)^-1 df, where df is the change of f by the values it closes over.

    Args:
      f: x -> residual, both of the structure of `initial_guess`. The values it closes over may be differentiated.
      initial_guess: array or pytree of arrays; its derivative is zero.
      solve: (f, initial_guess) -> x; with `has_aux`, (x, aux).
      tangent_solve: (g, y) -> the z with g(z) = y, for a linear g; `lambda g, y: y / g(1.0)` serves where x is a
        number. It must be linear in y: reverse mode transposes it.
      has_aux: whether `solve` returns auxiliary values too; their derivative is zero.

    Returns:
      x, or (x, aux).

    Raises:
      TypeError: f, solve or tangent_solve returns another structure than `initial_guess`.

    Where df/dx is singular, the derivative is what `tangent_solve` makes of it (inf or NaN for a division).

    Example:
      >>> def sqrt(a):
      ...     def newton(f, x):
      ...         return lax.fori_loop(0, 6, lambda _, x: 0.5 * (x + a / x), x)
      ...     return lax.custom_root(lambda x: x * x - a, 1.0, newton, lambda g, y: y / g(1.0))
      >>> print(f"{sqrt(4.0):.3f} {grad(sqrt)(4.0):.3f}")
      2.000 0.250
    """
    op = "custom_root"
    for function in (f, solve, tangent_solve):
        check_callable(function, op)
    guess, x_tree = flatten_args(initial_guess, "initial_guess")
    types = [type_of(x) for x in guess]
    in_tree = tree.treedef_tuple([x_tree])
    flat_f = FlatFunction(f, in_tree, op=op)
    program, f_consts = stage(flat_f, types, name=function_name(f), what=op)
    _check_like(op, function_name(f), "initial_guess", flat_f.out_tree, program.output_types, x_tree, types, TypeError,
                shapes=False)
    flat_solve = FlatFunction(lambda x: solve(f, x), in_tree, has_aux=has_aux, op=op)
    solver, solve_consts = stage(flat_solve, types, name=function_name(solve), what=op)
    n = x_tree.num_leaves
    _check_like(op, function_name(solve), "initial_guess", flat_solve.out_tree, solver.output_types[:n], x_tree, types,
                TypeError, shapes=False)
    count = len(f_consts)

    def rule(primals: list[Any], tangents: list[Any]) -> tuple[list[Any], list[Any]]:
        outputs = bind(custom_jvp_call, primals, params)
        zeros: list[Any] = [Zero(type_of(o).tangent()) for o in outputs]
        if all(isinstance(t, Zero) for t in tangents[:count]):
            return outputs, zeros
        x = outputs[:n]
        _, moved = tangent_map(lambda *consts: evaluate(program, [*consts, *x]), primals[:count], tangents[:count])
        _, by_x = linearize(lambda *xs: evaluate(program, [*primals[:count], *xs]), x, wanted=[True] * n)

        def g(z: Any) -> Any:
            leaves, _ = flatten_args(z)
            return tree.unflatten(x_tree, apply(by_x, leaves))

        rhs = [TABLE["zeros"](of=m.type) if isinstance(m, Zero) else m for m in moved]
        solved = tangent_solve(g, tree.unflatten(x_tree, rhs))
        leaves, solved_tree = flatten_args(solved)
        _check_like(op, function_name(tangent_solve), "initial_guess", solved_tree, [], x_tree, [], TypeError,
                    shapes=False)
        return outputs, [*[TABLE["neg"](t) for t in leaves], *zeros[n:]]

    def body(*xs: Any) -> list[Any]:
        return evaluate(solver, xs[count:])

    params = {"body": body, "rule": rule, "captured": 0}
    outputs = bind(custom_jvp_call, [*f_consts, *solve_consts, *guess], params)
    x = tree.unflatten(x_tree, outputs[:n])
    return (x, flat_solve.auxiliary(outputs[n:])) if has_aux else x


def custom_linear_solve(matvec: Callable[..., Any], b: Any, solve: Callable[..., Any],
                        transpose_solve: Callable[..., Any] | None = None, symmetric: bool = False,
                        has_aux: bool = False) -> Any:
    """The x with matvec(x) = b, differentiated by that equation and not through the solver.

    Forward mode solves the same system for another right-hand side, reverse mode the transposed one.

    Args:
      matvec: x -> A x, linear. The values it closes over may be differentiated.
      b: array or pytree of arrays.
      solve: (matvec, b) -> x with the structure and shapes of b; with `has_aux`, (x, aux).
      transpose_solve: (vecmat, b) -> x with vecmat(x) = b, for reverse mode; vecmat is the transpose of matvec.
      symmetric: A is its own transpose, so that `solve` serves in reverse mode too.
      has_aux: whether the solvers return auxiliary values too; their derivative is zero.

    Returns:
      x, or (x, aux).

    Raises:
      ValueError: matvec or a solver returns another structure or shape than b. MissingRuleError: reverse mode with
      neither `transpose_solve` nor `symmetric`.

    Example:
      >>> d = jnp.array([2.0, 4.0])
      >>> lax.custom_linear_solve(lambda x: d * x, jnp.array([2.0, 2.0]), lambda _, b: b / d, symmetric=True)
      Array([1. , 0.5], dtype=float32)
    """
    op = "custom_linear_solve"
    for function in (matvec, solve, *([] if transpose_solve is None else [transpose_solve])):
        check_callable(function, op)
    leaves, b_tree = flatten_args(b, "b")
    types = [type_of(x) for x in leaves]
    n = b_tree.num_leaves
    in_tree = tree.treedef_tuple([b_tree])
    flat = FlatFunction(matvec, in_tree, op=op)
    product, consts = stage(flat, types, name=function_name(matvec), what=op)
    _check_like(op, function_name(matvec), "b", flat.out_tree, product.output_types, b_tree, types, ValueError)
    solvers: list[FlatFunction] = []

    def solver(function: Callable[..., Any], multiply: Callable[..., Any]) -> tuple[Any, list[Any]]:
        flat = FlatFunction(lambda given: function(multiply, given), in_tree, has_aux=has_aux, op=op)
        program, captured = stage(flat, types, name=function_name(function), what=op)
        _check_like(op, function_name(function), "b", flat.out_tree, program.output_types[:n], b_tree, types,
                    ValueError)
        solvers.append(flat)
        return program, captured

    parts = [(product, consts), solver(solve, matvec)]
    if symmetric:
        parts += [parts[0], parts[1] if transpose_solve is None else solver(transpose_solve, matvec)]
    elif transpose_solve is not None:
        linear = (False,) * len(consts) + (True,) * n
        transposed = product.memo(transpose_program_full, linear, (True,) * n)

        def vecmat(x: Any) -> Any:
            return tree.unflatten(b_tree, evaluate(transposed, [*consts, *flatten_args(x)[0]]))
        parts += [(transposed, consts), solver(transpose_solve, vecmat)]
    operands = [c for _, captured in parts for c in captured]
    outputs = bind(linear_solve, [*operands, *leaves], {"programs": tuple(program for program, _ in parts)})
    x = tree.unflatten(b_tree, outputs[:n])
    return (x, solvers[0].auxiliary(outputs[n:])) if has_aux else x
