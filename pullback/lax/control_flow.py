"""Control flow on values known only at run time: cond, switch, scan, while_loop, fori_loop, map, associative_scan."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.api.batch import vmap
from pullback.api.flat import FlatFunction, check_callable, flatten_args, function_name
from pullback.core import config, dtypes, errors, tree
from pullback.core.primitive import TABLE
from pullback.core.program import Literal, Program
from pullback.core.trace import Tracer, bind, concrete, type_of
from pullback.core.types import ArrayType, is_scalar
from pullback.core.values import scalar_of, value
from pullback.interpret.evaluate import evaluate
from pullback.interpret.stage import stage
from pullback.lax.operand import retype
from pullback.ops import cond as cond_ops
from pullback.ops import scan as scan_ops
from pullback.ops import while_loop as while_ops

__all__ = ["associative_scan", "cond", "fori_loop", "map", "scan", "switch", "while_loop"]

_ABSENT = object()  # an operand that is not given; None is one


def _as_arrays(tree_of: Any, what: str) -> tuple[list[Any], Any]:
    """The leaves as values, scalars typed; and their tree."""
    leaves, treedef = flatten_args(tree_of, what)
    return leaves, treedef


def _settle(given: Sequence[ArrayType], made: Sequence[ArrayType]) -> list[ArrayType]:
    """Carry types after weak ones have given way to what the body returns."""
    settled = []
    for t, out in zip(given, made, strict=True):
        joined = t.dtype if t.dtype == out.dtype else dtypes.promote([(t.dtype, t.weak), (out.dtype, out.weak)])[0]
        if t.weak and t.dtype != out.dtype == joined and t.shape == out.shape:
            settled.append(ArrayType(t.shape, out.dtype))
        elif t.weak and not out.weak and t == ArrayType(out.shape, out.dtype, True):
            settled.append(out)
        else:
            settled.append(t)
    return settled


def _fit_outputs(program: Program, start: int, types: Sequence[ArrayType]) -> Program:
    """The program with its carry outputs strong or weak as the carry is."""
    if all(a.type.weak == t.weak for a, t in zip(program.outputs[start:], types, strict=False)):
        return program

    def run(*xs: Any) -> list[Any]:
        outputs = evaluate(program, xs)
        for i, t in enumerate(types):
            own = type_of(outputs[start + i])
            if own.weak != t.weak or is_scalar(outputs[start + i]):
                outputs[start + i] = TABLE["convert_element_type"](outputs[start + i], dtype=t.dtype, weak=t.weak)
        return outputs
    return stage(run, program.input_types, name=program.name)[0]


def _check_carry(op: str, name: str, init: Any, before: Sequence[ArrayType], after: Sequence[ArrayType],
                 before_tree: Any, after_tree: Any) -> None:
    """Raises where a carry comes back with another structure, shape or dtype than it went in with."""
    if before_tree != after_tree:
        difference = tree.first_difference(tree.unflatten(before_tree, list(before)),
                                           tree.unflatten(after_tree, list(after)))
        raise errors.type_error(f"{name} returned a carry of another structure than it was given: {difference}", op=op,
                                fix="return the carry with the structure of the initial one")
    names = tree.leaf_names(init, "carry")
    for path, a, b in zip(names, before, after, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            raise errors.type_error(
                f"{name} changed the type of {path}: {a} before, {b} after; a carry keeps its type from step to step",
                op=op, fix=f"convert the initial value or the result (.astype({a.dtype})), or reshape it")


def _stage_step(op: str, fun: Callable[..., Any], init: Any, leaves: list[Any], init_tree: Any,
                rows: Sequence[ArrayType], make: Callable[[], Any]) -> tuple[Program, list[Any], Any, list[Any]]:
    """Stages a loop body whose first outputs are the carry; settles weak types of the initial carry.

    `make` gives a flat function of the carry and of `rows`, with a `carry_tree` once it has run. Returns the program,
    its captured values, the flat function, and the initial carry.
    """
    types = [type_of(x) for x in leaves]
    for _ in range(3):
        flat = make()
        program, captured = stage(flat, [*types, *rows], name=function_name(fun), what=op)
        made = program.output_types[:flat.carry_tree.num_leaves]
        if flat.carry_tree == init_tree:
            settled = _settle(types, made)
            if settled != types:
                types = settled
                continue
        break
    _check_carry(op, function_name(fun), init, types, made, init_tree, flat.carry_tree)
    leaves = [retype(x, t.dtype, t.weak) if type_of(x) != t else x for x, t in zip(leaves, types, strict=True)]
    return _fit_outputs(program, 0, types), captured, flat, leaves


class _LoopStep(FlatFunction):
    """The body of a while_loop as a flat function."""

    @property
    def carry_tree(self) -> Any:
        return self.out_tree


class _ScanStep:
    """The user's step as a flat function: carry leaves and x leaves in, new carry leaves and y leaves out."""

    def __init__(self, fun: Callable[..., Any], init_tree: Any, xs_tree: Any) -> None:
        self.fun = fun
        self.init_tree = init_tree
        self.xs_tree = xs_tree
        self.n_carry = init_tree.num_leaves
        self.out_tree: Any = None
        self.carry_tree: Any = None
        self._outputs = FlatFunction(fun, None, op="scan").outputs

    def __call__(self, *leaves: Any) -> list[Any]:
        carry = tree.unflatten(self.init_tree, leaves[: self.n_carry])
        x = tree.unflatten(self.xs_tree, leaves[self.n_carry:])
        result = self.fun(carry, x)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise errors.type_error(
                f"{function_name(self.fun)} returned a {type(result).__name__}, a pair (carry, y) is required",
                op="scan", fix="return carry, None where there is nothing to stack")
        carry_out, self.carry_tree = self._outputs(result[0], "carry")
        ys, self.out_tree = self._outputs(result[1], "y")
        return carry_out + ys


def scan(f: Callable[..., Any], init: Any, xs: Any = None, length: int | None = None, reverse: bool = False,
         unroll: int | bool = 1, _split_transpose: bool = False) -> Any:
    """A loop over the rows of arrays, carrying a value from step to step.

    Args:
      f: (carry, x) -> (new carry, y); the carry keeps its structure, shapes and dtypes.
      init: the first carry.
      xs: array [n, ...] or pytree of them, whose rows are the x; None for none.
      length: the number of steps, where xs does not tell it.
      reverse: run from the last row to the first.
      unroll: how many steps to write out per turn of the loop; True for all.

    Returns:
      (final carry, ys), the y stacked along a new leading axis.

    Raises:
      TypeError: the carry changes its type (the path of the leaf is named). ValueError: unequal lengths.

    Example:
      >>> total, partial = lax.scan(lambda c, x: (c + x, c + x), 0.0, jnp.arange(3.0))
    """
    check_callable(f, "scan")
    x_leaves, xs_tree = _as_arrays(xs, "xs")
    names = tree.leaf_names(xs, "xs")
    for x, name in zip(x_leaves, names, strict=True):
        if not type_of(x).ndim:
            raise errors.value_error(f"{name} is a scalar, an array with a leading axis to loop over is required",
                                     op="scan", fix="put what is the same at every step into the carry or a closure")
    lengths = [type_of(x).shape[0] for x in x_leaves]
    if length is not None:
        try:
            length = operator.index(length)
        except TypeError:
            raise errors.type_error(f"length is {length!r}, an int is required", op="scan") from None
    elif not lengths:
        raise errors.value_error("neither xs nor length tells the number of steps", op="scan",
                                 fix="pass length=")
    n = lengths[0] if length is None else length
    if any(m != n for m in lengths):
        listing = ", ".join(f"{name} has {m}" for name, m in zip(names, lengths, strict=True))
        if length is not None:
            listing += f", length is {length}"
        raise errors.value_error(f"unequal lengths: {listing}", op="scan", fix="give every array the same leading size")
    leaves, init_tree = _as_arrays(init, "init")
    if config.disable_jit.value:
        return _python_scan(f, init, xs, x_leaves, xs_tree, n, reverse)
    row_types = [type_of(x).unbatched() for x in x_leaves]
    program, captured, flat, leaves = _stage_step("scan", f, init, leaves, init_tree, row_types,
                                                  lambda: _ScanStep(f, init_tree, xs_tree))
    turns = n if unroll is True else 1 if unroll is False else int(unroll)
    if turns < 1 and n:
        raise errors.value_error(f"unroll is {unroll!r}, a positive int or a bool is required", op="scan")
    results = bind(scan_ops.scan, [*captured, *leaves, *x_leaves], {
        "program": program, "n_consts": len(captured), "n_carry": len(leaves), "length": n, "reverse": bool(reverse),
        "unroll": max(turns, 1)})
    return (tree.unflatten(init_tree, results[:len(leaves)]),
            tree.unflatten(flat.out_tree, results[len(leaves):]))


def _python_scan(f: Callable[..., Any], carry: Any, xs: Any, x_leaves: list[Any], xs_tree: Any, n: int, reverse: bool
                 ) -> Any:
    """scan, one step at a time, as disable_jit asks for."""
    rows = []
    for i in range(n)[::-1 if reverse else 1]:
        carry, y = f(carry, tree.unflatten(xs_tree, [x[i] for x in x_leaves]))
        rows.append(y)
    if not rows:
        raise errors.value_error("a scan of no steps cannot run under disable_jit: its outputs' shapes are not known",
                                 op="scan", fix="run it without disable_jit")

    def stack(*ys: Any) -> Any:
        return TABLE["concatenate"](*[TABLE["reshape"](_array(y), shape=(1, *type_of(y).shape)) for y in ys], axis=0)
    return carry, tree.map(stack, *rows[::-1 if reverse else 1])


def _array(x: Any) -> Any:
    x = value(x)
    return TABLE["broadcast_in_dim"](x, shape=(), dims=()) if is_scalar(x) else x


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    """Repeats body_fun on a value as long as cond_fun of it holds.

    Reverse mode keeps the values of 64 steps at once and computes the others again; `pullback.while_loop` takes another
    number, or a bound on the steps.

    Args:
      cond_fun: value -> bool scalar.
      body_fun: value -> value of the same structure, shapes and dtypes.
      init_val: the first value.

    Returns:
      The value for which cond_fun does not hold.

    Raises:
      TypeError: cond_fun gives no bool scalar, or the value changes its type.

    Example:
      >>> lax.while_loop(lambda x: x < 100, lambda x: x * 2, 1)
    """
    return repeated(cond_fun, body_fun, init_val, while_ops.SLOTS)


def repeated(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any, slots: int) -> Any:
    """while_loop whose reverse mode keeps the values of `slots` steps."""
    check_callable(cond_fun, "while_loop")
    check_callable(body_fun, "while_loop")
    leaves, init_tree = _as_arrays(init_val, "init_val")
    if config.disable_jit.value:
        state = init_val
        while bool(concrete(value(cond_fun(state)))):
            state = body_fun(state)
        return state
    body, body_captured, _, leaves = _stage_step(
        "while_loop", body_fun, init_val, leaves, init_tree, [],
        lambda: _LoopStep(body_fun, tree.treedef_tuple([init_tree]), op="while_loop"))
    test = FlatFunction(cond_fun, tree.treedef_tuple([init_tree]), op="while_loop")
    cond_program, cond_captured = stage(test, [type_of(x) for x in leaves], name=function_name(cond_fun),
                                        what="while_loop")
    types = cond_program.output_types
    if len(types) != 1 or types[0].shape or types[0].dtype != dtypes.bool_:
        raise errors.type_error(
            f"{function_name(cond_fun)} returned {', '.join([str(t) for t in types]) or 'nothing'}, a bool scalar is "
            "required", op="while_loop", fix="return one comparison; reduce arrays with jnp.any or jnp.all")
    results = bind(while_ops.while_loop, [*cond_captured, *body_captured, *leaves], {
        "cond": cond_program, "body": body, "n_cond": len(cond_captured), "n_body": len(body_captured),
        "slots": slots})
    return tree.unflatten(init_tree, results)


def _static_int(x: Any) -> int | None:
    if isinstance(x, Tracer):
        x = concrete(x)
    try:
        return None if x is None else operator.index(x)
    except TypeError:
        return None


_INDICES = 1 << 16  # more turns count themselves, in place of an array of their numbers


def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: Any, *, unroll: int | bool | None = None
              ) -> Any:
    """for i in range(lower, upper): value = body_fun(i, value).

    Args:
      lower, upper: integers. Where both are known when the function is traced, reverse mode works.
      body_fun: (i, value) -> value of the same structure, shapes and dtypes.
      init_val: the first value.

    Example:
      >>> lax.fori_loop(0, 10, lambda i, x: x + i, 0)
    """
    check_callable(body_fun, "fori_loop")
    for name, bound in (("lower", lower), ("upper", upper)):
        t = type_of(value(bound))
        if t.shape or not dtypes.is_integer(t.dtype):
            raise errors.type_error(f"{name} is {t}, an integer scalar is required", op="fori_loop")
    start, end = _static_int(lower), _static_int(upper)
    if config.disable_jit.value and start is not None and end is not None:
        state = init_val
        for i in range(start, end):
            state = body_fun(np.int32(i), state)
        return state
    # Known bounds count in the default integer and are weak, like the Python ints of a range.
    if start is not None and end is not None:
        dtype = dtypes.canonicalize(int)
        first, count = scalar_of(start, dtype, False), max(end - start, 0)
        scalar_of(end, dtype, False)  # an OverflowError if it does not fit

        def step(carry: Any, i: Any) -> tuple[Any, None]:
            return body_fun(i, carry), None

        def counting(state: Any, _: None) -> tuple[Any, None]:
            i, carry = state
            at = TABLE["convert_element_type"](i, dtype=dtype, weak=True)
            return (TABLE["add"](i, scalar_of(1, dtype, False)), body_fun(at, carry)), None

        step.__name__ = counting.__name__ = function_name(body_fun)
        turns = 1 if unroll is None else unroll
        if count > _INDICES:
            return scan(counting, (_array(first), init_val), None, count, unroll=turns)[0][1]
        index = TABLE["iota"](shape=(count,), dtype=dtype, axis=0)
        index = TABLE["convert_element_type"](TABLE["add"](index, first) if start else index, dtype=dtype, weak=True)
        return scan(step, init_val, index, unroll=turns)[0]
    if unroll not in (None, 1, False):
        raise errors.value_error("unroll needs bounds that are known when the function is traced", op="fori_loop")
    types = [type_of(value(b)) for b in (lower, upper)]
    dtype = dtypes.promote([(t.dtype, t.weak) for t in types])[0]
    weak = types[0].weak and types[0].dtype == types[1].dtype
    first = retype(value(lower), dtype, weak)
    last = retype(value(upper), dtype)

    def body(state: Any) -> Any:
        i, carry = state
        return TABLE["add"](i, scalar_of(1, dtype, weak)), body_fun(i, carry)

    body.__name__ = function_name(body_fun)
    return while_loop(lambda state: TABLE["lt"](state[0], last), body, (_array(first), init_val))[1]


def _branches(op: str, functions: Sequence[Callable[..., Any]], operands: Sequence[Any]
              ) -> tuple[tuple[Program, ...], list[Any], Any]:
    leaves, in_tree = _as_arrays(tuple(operands), "operand")
    types = [type_of(x) for x in leaves]
    staged, trees = [], []
    for f in functions:
        flat = FlatFunction(f, in_tree, op=op)
        staged.append(stage(flat, types, name=function_name(f), what=op))
        trees.append(flat.out_tree)
    first = staged[0][0]
    for i, ((program, _), out_tree) in enumerate(zip(staged, trees, strict=True)):
        names = (function_name(functions[0]), function_name(functions[i]))
        if out_tree != trees[0]:
            raise errors.type_error(f"the branches return different structures: {names[0]} gives {trees[0]}, "
                                    f"{names[1]} (branch {i}) gives {out_tree}", op=op,
                                    fix="return the same structure from every branch")
        for k, (a, b) in enumerate(zip(first.output_types, program.output_types, strict=True)):
            if a.shape != b.shape or a.dtype != b.dtype:
                raise errors.type_error(f"the branches return different types at output {k}: {names[0]} gives {a}, "
                                        f"{names[1]} (branch {i}) gives {b}", op=op,
                                        fix="convert with astype, or reshape, in one branch")
    programs, captured = cond_ops.share(staged)
    wanted = [ArrayType(t.shape, t.dtype, all([p.output_types[k].weak for p in programs]))
              for k, t in enumerate(first.output_types)]
    return tuple(_convert_outputs(p, wanted) for p in programs), [*captured, *leaves], trees[0]


def _convert_outputs(program: Program, types: Sequence[ArrayType]) -> Program:
    if program.output_types == list(types) and not any(isinstance(a, Literal) for a in program.outputs):
        return program

    def run(*xs: Any) -> list[Any]:
        return [x if type_of(x) == t and not is_scalar(x) else
                TABLE["convert_element_type"](x, dtype=t.dtype, weak=t.weak)
                for x, t in zip(evaluate(program, xs), types, strict=True)]
    return stage(run, program.input_types, name=program.name)[0]


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any,
         operand: Any = _ABSENT) -> Any:
    """true_fun(*operands) if pred else false_fun(*operands); only the one taken runs (under vmap: both).

    Args:
      pred: a bool scalar.
      true_fun, false_fun: functions with outputs of one structure, shapes and dtypes.

    Raises:
      TypeError: pred is no scalar, or the branches return different types (named with both).

    Example:
      >>> lax.cond(True, lambda x: x, lambda x: -x, 3.0).item()
      3.0
    """
    if len(operands) == 2 and callable(false_fun) and callable(operands[1]) and not callable(true_fun):
        # The older form: (pred, true_operand, true_fun, false_operand, false_fun).
        (first, true_of, (second, false_of)) = (true_fun, false_fun, operands)
        return cond(pred, lambda x, _: true_of(x), lambda _, y: false_of(y), first, second)
    check_callable(true_fun, "cond")
    check_callable(false_fun, "cond")
    if operand is not _ABSENT:
        operands = (operand,)
    pred = value(pred)
    t = type_of(pred)
    if t.shape or dtypes.kind(t.dtype) not in "biuf":
        raise errors.type_error(f"pred is {t}, a bool scalar is required", op="cond",
                                fix="reduce it with jnp.any or jnp.all, or use jnp.where for an elementwise choice")
    if config.disable_jit.value and concrete(pred) is not None:
        return (true_fun if bool(concrete(pred)) else false_fun)(*operands)
    if t.dtype != dtypes.bool_:
        pred = TABLE["ne"](pred, retype(0, t.dtype))
    index = TABLE["convert_element_type"](pred, dtype=dtypes.int32, weak=False)
    programs, args, out_tree = _branches("cond", [false_fun, true_fun], operands)
    return tree.unflatten(out_tree, bind(cond_ops.cond, [index, *args], {"branches": programs}))


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = _ABSENT) -> Any:
    """branches[index](*operands), with the index clamped into range.

    Raises:
      TypeError: the index is no integer scalar, or the branches return different types.

    Example:
      >>> lax.switch(1, [jnp.sin, lambda x: x * 10], 2.0).item()
      20.0
    """
    if operand is not _ABSENT:
        operands = (operand,)
    if not branches:
        raise errors.value_error("there are no branches", op="switch", fix="pass at least one function")
    for f in branches:
        check_callable(f, "switch")
    index = value(index)
    t = type_of(index)
    if t.shape or not dtypes.is_integer(t.dtype):
        raise errors.type_error(f"index is {t}, an integer scalar is required", op="switch")
    if len(branches) == 1:
        return branches[0](*operands)
    if config.disable_jit.value and concrete(index) is not None:
        return branches[min(max(int(concrete(index)), 0), len(branches) - 1)](*operands)
    if t.dtype != dtypes.int32:
        if t.dtype.itemsize > 4 or t.dtype == dtypes.uint32:
            index = TABLE["clamp"](retype(0, t.dtype), index, retype(len(branches) - 1, t.dtype))
        index = retype(index, dtypes.int32)
    programs, args, out_tree = _branches("switch", list(branches), operands)
    return tree.unflatten(out_tree, bind(cond_ops.cond, [_array(index), *args], {"branches": programs}))


def map(f: Callable[..., Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """f applied to each row of xs, one after the other; with batch_size, that many at a time.

    Args:
      f: a function of one row.
      xs: array [n, ...] or pytree of them.

    Returns:
      The results, stacked along a new leading axis.

    Example:
      >>> lax.map(lambda x: x ** 2, jnp.arange(3))
      Array([0, 1, 4], dtype=int32)
    """
    if not batch_size:
        return scan(lambda _, x: ((), f(x)), (), xs)[1]
    leaves, treedef = _as_arrays(xs, "xs")
    n = type_of(leaves[0]).shape[0] if leaves and type_of(leaves[0]).ndim else 0
    if not n:
        return scan(lambda _, x: ((), f(x)), (), xs)[1]
    whole = n // batch_size
    at_once = vmap(f)

    def rows(x: Any, start: int, end: int) -> Any:
        t = type_of(x)
        return TABLE["slice"](x, start=(start, *[0] * (t.ndim - 1)), limit=(end, *t.shape[1:]), strides=(1,) * t.ndim)

    parts = []
    if whole:
        blocks = [TABLE["reshape"](rows(x, 0, whole * batch_size), shape=(whole, batch_size, *type_of(x).shape[1:]))
                  for x in leaves]
        done = scan(lambda _, x: ((), at_once(x)), (), tree.unflatten(treedef, blocks))[1]
        parts.append(tree.map(lambda y: TABLE["reshape"](
            y, shape=(whole * batch_size, *type_of(y).shape[2:])), done))
    if whole * batch_size < n:
        parts.append(at_once(tree.unflatten(treedef, [rows(x, whole * batch_size, n) for x in leaves])))
    return parts[0] if len(parts) == 1 else tree.map(lambda a, b: TABLE["concatenate"](a, b, axis=0), *parts)


def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """All prefixes of a sequence under an associative operation, in a logarithmic number of steps.

    Args:
      fn: (a, b) -> a combined with b, elementwise over `axis`; associative.
      elems: array or pytree of arrays with a common size along `axis`.
      reverse: combine suffixes instead.

    Source: Blelloch, Prefix sums and their applications (1990): combine neighbours, scan the halves, interleave.

    Example:
      >>> lax.associative_scan(jnp.add, jnp.arange(4))
      Array([0, 1, 3, 6], dtype=int32)
    """
    check_callable(fn, "associative_scan")
    leaves, treedef = _as_arrays(elems, "elems")
    leaves = [_array(x) for x in leaves]
    if not leaves:
        raise errors.value_error("elems holds no arrays", op="associative_scan", fix="pass the arrays to be scanned")
    axis = errors.check_axis(axis, min(type_of(x).ndim for x in leaves))
    sizes = {type_of(x).shape[axis] for x in leaves}
    if len(sizes) != 1:
        raise errors.value_error(f"the arrays have different sizes {sorted(sizes)} along axis {axis}",
                                 op="associative_scan", fix="give them one size along the axis")

    def part(x: Any, start: int, stop: int, step: int) -> Any:
        t = type_of(x)
        low, high, stride = [0] * t.ndim, list(t.shape), [1] * t.ndim
        low[axis], high[axis], stride[axis] = start, max(stop, start), step
        return TABLE["slice"](x, start=tuple(low), limit=tuple(high), strides=tuple(stride))

    def combine(a: list[Any], b: list[Any]) -> list[Any]:
        return tree.leaves(fn(tree.unflatten(treedef, a), tree.unflatten(treedef, b)))

    def interleave(a: Any, b: Any) -> Any:
        """a[0], b[0], a[1], ...; a is as long as b, or one longer."""
        n, m = type_of(a).shape[axis], type_of(b).shape[axis]
        zero = np.dtype(type_of(a).dtype).type(0)

        def spaced(x: Any, low: int, high: int) -> Any:
            pads = [(0, 0, 0)] * type_of(x).ndim
            pads[axis] = (low, high, 1)
            return TABLE["pad"](x, zero, config=tuple(pads))
        first, second = spaced(a, 0, 1 if n == m else 0), spaced(b, 1, 0 if n == m else 1)
        join = TABLE["or"] if type_of(a).dtype == dtypes.bool_ else TABLE["add"]
        return join(first, second)

    def prefixes(xs: list[Any]) -> list[Any]:
        n = type_of(xs[0]).shape[axis]
        if n < 2:
            return xs
        pairs = combine([part(x, 0, n - 1, 2) for x in xs], [part(x, 1, n, 2) for x in xs])
        odd = prefixes(pairs)
        half = type_of(odd[0]).shape[axis]
        heads = [part(x, 0, half if n % 2 else half - 1, 1) for x in odd]
        rest = combine(heads, [part(x, 2, n, 2) for x in xs]) if n > 2 else []
        even = [TABLE["concatenate"](part(x, 0, 1, 1), r, axis=axis) if n > 2 else part(x, 0, 1, 1)
                for x, r in zip(xs, rest or xs, strict=True)]
        return [interleave(e, o) for e, o in zip(even, odd, strict=True)]

    if reverse:
        leaves = [TABLE["rev"](x, axes=(axis,)) for x in leaves]
    result = prefixes(leaves)
    if reverse:
        result = [TABLE["rev"](x, axes=(axis,)) for x in result]
    return tree.unflatten(treedef, result)
