"""Every primitive, every rule: one table drives the tests.

For each example of each primitive: types match values, NumPy equals XLA, the numeric derivative agrees with
jvp, linearize equals jvp, transposes pass the dot test, batching equals a loop for every mask, second
order, and real jax agrees in value, dtype, weak type and shape.
"""

from __future__ import annotations

import functools
import itertools
import zlib

import jax
import numpy as np
import pytest

import pullback
from pullback.core import dtypes
from pullback.core.array import ConcreteArray
from pullback.core.check import check_program
from pullback.core.primitive import TABLE
from pullback.core.program import Program, single
from pullback.core.trace import bind, type_of
from pullback.core.types import ArrayType, Linear, Zero, is_scalar
from pullback.core.values import value
from pullback.interpret.evaluate import evaluate
from pullback.interpret.jvp import jvp, jvp_program
from pullback.interpret.linearize import apply, linearize
from pullback.interpret.stage import stage
from pullback.interpret.transpose import backward
from pullback.interpret.vmap import vmap
from pullback.ops.dependence import follow, same
from pullback.runtime import schedule
from pullback.runtime.executable import Executable

pullback.jit, pullback.random, pullback.scipy  # noqa: B018  # loads the engine, so that TABLE is complete


def _rng(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


@functools.cache
def examples(name):
    return list(TABLE[name].examples(_rng(name)))


def _cases():
    for name in sorted(TABLE):
        try:
            count = len(examples(name))
        except Exception as error:  # the test of this primitive shows it
            count = 0
            examples_errors[name] = error
        yield from ((name, i) for i in range(max(count, 1)))


examples_errors: dict[str, Exception] = {}
CASES = list(_cases())


def case(name, i):
    if name in examples_errors:
        raise examples_errors[name]
    assert examples(name), f"primitive {name} has no examples"
    example = examples(name)[i]
    return TABLE[name], example, [arg if is_scalar(arg) else value(arg) for arg in example.args]


def numbers(x):
    """An array's numbers in a dtype that NumPy computes with."""
    x = x.numpy() if isinstance(x, ConcreteArray) else np.asarray(x)
    if x.dtype.kind == "V" and x.dtype != dtypes.float0:
        return x.astype(np.float32) if dtypes.kind(x.dtype) == "f" else x.astype(np.int32)
    return x


def tolerance(t, example):
    if example.rtol is not None:
        return example.rtol
    if not dtypes.is_inexact(t.dtype):
        return 0
    return {2: 2e-2, 4: 2e-5, 8: 1e-10}.get(np.dtype(dtypes.to_real(t.dtype)).itemsize, 2e-1)


def close(x, y, rtol, what):
    x, y = numbers(x), numbers(y)
    assert x.shape == y.shape, f"{what}: {x.shape} against {y.shape}"
    if x.size:
        finite = np.abs(np.where(np.isfinite(y), y, 0)) if y.dtype.kind in "fc" else np.abs(y.astype(np.float64))
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * max(1.0, float(np.max(finite))), err_msg=what)


def for_jax(a):
    if isinstance(a, ConcreteArray) and a.type.is_key:
        return jax.random.wrap_key_data(a.numpy(), impl=a.type.dtype.impl)
    return a.numpy() if isinstance(a, ConcreteArray) else a


def differentiable(example, args):
    return [i for i, a in enumerate(args) if dtypes.is_inexact(type_of(a).dtype) and i not in example.fixed
            and not is_scalar(a)]


def direction(rng, t):
    v = rng.normal(size=t.shape)
    if dtypes.is_complex(t.dtype):
        v = v + 1j * rng.normal(size=t.shape)
    return ConcreteArray(ArrayType(t.shape, t.dtype), np.asarray(v, t.dtype))


def with_args(primitive, example, args, free):
    """The call as a function of the operands in `free`."""
    def call(*given):
        full = list(args)
        for i, x in zip(free, given, strict=True):
            full[i] = x
        return bind(primitive, full, example.params)
    return call


@pytest.mark.parametrize("name, i", CASES)
def test_type_is_value_and_numpy_is_xla(name, i):
    primitive, example, args = case(name, i)
    types = tuple(type_of(a) for a in args)
    program = single(primitive, types, example.params)
    check_program(program)
    eager = bind(primitive, args, example.params)
    assert [type_of(o) for o in eager] == primitive.infer(types, example.params)
    compiled = Executable(program)(args)
    for t, a, b in zip(program.output_types, eager, compiled, strict=True):
        assert numbers(a).shape == numbers(b).shape == t.physical().shape
        assert numpy_dtype(a) == numpy_dtype(b) == t.physical().dtype
        close(a, b, tolerance(t, example), f"{name}({example}): NumPy against XLA")
    alone = primitive.alone(types, example.params) if len(types) and len(program.output_types) == 1 else None
    if alone is not None:
        arrays = [schedule.ndarray(a) for a in args]
        with np.errstate(all="ignore"):
            quick, (careful,) = np.asarray(alone(*arrays)), primitive.numpy(*arrays, **example.params)
        assert quick.dtype == careful.dtype and quick.shape == careful.shape
        assert quick.tobytes() == np.asarray(careful).tobytes(), f"{name}({example}): alone against numpy"


def numpy_dtype(x):
    return x.numpy().dtype


@pytest.mark.parametrize("name, i", CASES)
def test_equals_jax(name, i):
    if jax.__version_info__ < (0, 11) and (name, i) in (("igamma", 1), ("igammac", 1)):
        pytest.skip("real jax 0.11 has other values at the edges, and those are ours")
    primitive, example, args = case(name, i)
    given = [for_jax(a) for a in args]
    expected = jax.tree.leaves(primitive.oracle(jax, *given, **example.params))
    outputs = bind(primitive, args, example.params)
    assert len(outputs) == len(expected)
    for ours, theirs in zip(outputs, expected, strict=True):
        if jax.dtypes.issubdtype(theirs.dtype, jax.dtypes.prng_key):
            assert str(theirs.dtype) == str(ours.dtype)
            theirs = jax.random.key_data(theirs)
            close(ours, np.asarray(theirs), 0, f"{name}({example}): words against jax")
            continue
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape, f"{name}({example})"
        if all(not is_scalar(a) for a in args) and args:
            assert type_of(ours).weak == bool(getattr(theirs, "weak_type", False)), f"{name}({example}): weak type"
        close(ours, np.asarray(theirs), tolerance(type_of(ours), example), f"{name}({example}) against jax")


def of_jax(a):
    """An operand for real jax: an ndarray or a scalar, keys as its keys."""
    if is_scalar(a):
        return a
    return jax.random.wrap_key_data(a.numpy(), impl=a.type.dtype.impl) if a.type.is_key else np.asarray(a)


def derivative_cases(order):
    for name, i in CASES:
        if name in examples_errors or not examples(name):
            continue
        example = examples(name)[i]
        args = [arg if is_scalar(arg) else value(arg) for arg in example.args]
        if example.order >= order and differentiable(example, args):
            yield name, i


def step(t):
    return {2: 0.1, 4: 1e-2, 8: 1e-5}[np.dtype(dtypes.to_real(t.dtype)).itemsize]


@pytest.mark.parametrize("name, i", list(derivative_cases(1)))
def test_jvp_is_the_numeric_derivative(name, i):
    primitive, example, args = case(name, i)
    with pullback.enable_x64(True):
        wide = [widen(a) for a in args]
        params = {k: widen_param(v) for k, v in example.params.items()}
        free = differentiable(example, wide)
        rng = _rng(name)
        dots = [direction(rng, type_of(wide[j])) for j in free]

        def call(*given):
            full = list(wide)
            for j, x in zip(free, given, strict=True):
                full[j] = x
            return bind(primitive, full, params)

        outputs, out_dots = jvp(call, [wide[j] for j in free], dots)
        eps = 1e-6

        def moved(sign):
            return [ConcreteArray(type_of(wide[j]), wide[j].numpy() + sign * eps * d.numpy())
                    for j, d in zip(free, dots, strict=True)]
        plus, minus = call(*moved(+1)), call(*moved(-1))
        for o, dot, p, m in zip(outputs, out_dots, plus, minus, strict=True):
            if not dtypes.is_inexact(type_of(o).dtype):
                assert isinstance(dot, Zero)
                continue
            numeric = (numbers(p) - numbers(m)) / (2 * eps)
            given = np.zeros_like(numeric) if isinstance(dot, Zero) else numbers(dot)
            given, numeric = (np.where(np.isfinite(numbers(o)), a, 0) for a in (given, numeric))
            close(given, numeric, 1e-5, f"{name}({example}): jvp against finite differences")


def widen(a):
    if is_scalar(a):
        return a
    if dtypes.is_inexact(a.dtype):
        dtype = np.complex128 if dtypes.is_complex(a.dtype) else np.float64
        return ConcreteArray(ArrayType(a.shape, np.dtype(dtype)), a.numpy().astype(dtype))
    return a


def widen_param(v):
    if isinstance(v, np.dtype) and v in (np.float32, dtypes.bfloat16, np.float16):
        return np.dtype(np.float64)
    if isinstance(v, np.dtype) and v == np.complex64:
        return np.dtype(np.complex128)
    if isinstance(v, tuple) and v and isinstance(v[0], Program):
        return tuple(widen_param(p) for p in v)
    if isinstance(v, Program):
        types = [widen_type(t) for t in v.input_types]
        return stage(lambda *xs: evaluate(v, xs), types, name=v.name)[0]
    return v


def widen_type(t):
    return ArrayType(t.shape, {np.dtype(np.float32): np.dtype(np.float64)}.get(t.dtype, t.dtype))


@pytest.mark.parametrize("name, i", list(derivative_cases(1)))
def test_linearize_is_jvp_and_vjp_is_its_transpose(name, i):
    primitive, example, args = case(name, i)
    free = differentiable(example, args)
    rng = _rng(name)
    call = with_args(primitive, example, args, free)
    primals = [args[j] for j in free]
    dots = [direction(rng, type_of(p)) for p in primals]
    outputs, out_dots = jvp(call, primals, dots)
    again, linearized = linearize(call, primals)
    applied = apply(linearized, dots)
    check_program(linearized.program)
    rtol = max(tolerance(type_of(primals[0]), example), 2e-5)
    for o, p in zip(outputs, again, strict=True):
        close(o, p, 0, f"{name}: linearize changes the value")
    cts, left = [], 0.0
    for dot, lin in zip(out_dots, applied, strict=True):
        assert isinstance(dot, Zero) == (lin is None)
        if lin is None:
            continue
        close(lin, dot, rtol, f"{name}({example}): linearize against jvp")
        ct = direction(rng, type_of(dot))
        cts.append(ct)
        left = left + np.sum(numbers(ct).astype(complex) * numbers(dot)).real
    results = backward(linearized.program, linearized.linear, linearized.residuals, cts)
    right = 0.0
    for dot, ct in zip(dots, results, strict=True):
        assert isinstance(ct, Zero) or type_of(ct).shape == dot.shape and type_of(ct).dtype == dot.dtype
        if not isinstance(ct, Zero):
            right = right + np.sum(numbers(ct).astype(complex) * numbers(dot)).real
    if np.isfinite(left):
        scale = max([1.0, abs(left)] + [float(np.abs(numbers(c)).sum()) for c in cts])
        assert abs(left - right) <= 20 * rtol * scale, f"{name}({example}): <c, J v> = {left}, <J^T c, v> = {right}"


@pytest.mark.parametrize("name, i", list(derivative_cases(2)))
def test_second_order(name, i):
    """jvp of the pullback equals its numeric derivative; also through a staged program."""
    primitive, example, args = case(name, i)
    with pullback.enable_x64(True):
        wide = [widen(a) for a in args]
        params = {k: widen_param(v) for k, v in example.params.items()}
        free = differentiable(example, wide)
        rng = _rng(name)
        outputs = bind(primitive, wide, params)
        kept = [k for k, o in enumerate(outputs) if dtypes.is_inexact(type_of(o).dtype)]
        cts = [direction(rng, type_of(outputs[k])) for k in kept]

        def pulled(*given):
            full = list(wide)
            for j, x in zip(free, given, strict=True):
                full[j] = x

            def call(*xs):
                inner = list(full)
                for j, x in zip(free, xs, strict=True):
                    inner[j] = x
                return [bind(primitive, inner, params)[k] for k in kept]
            _, linearized = linearize(call, given)
            flowing = [ct for ct, flag in zip(cts, linearized.outputs, strict=True) if flag]
            results = backward(linearized.program, linearized.linear, linearized.residuals, flowing)
            return [pullback.core.vector.instantiate(r) for r in results]

        primals = [wide[j] for j in free]
        dots = [direction(rng, type_of(p)) for p in primals]
        _, second = jvp(pulled, primals, dots)
        eps = 1e-6

        def moved(sign):
            return [ConcreteArray(type_of(p), p.numpy() + sign * eps * d.numpy())
                    for p, d in zip(primals, dots, strict=True)]
        plus, minus = pulled(*moved(+1)), pulled(*moved(-1))
        for dot, p, m in zip(second, plus, minus, strict=True):
            numeric = (numbers(p) - numbers(m)) / (2 * eps)
            given = np.zeros_like(numeric) if isinstance(dot, Zero) else numbers(dot)
            close(given, numeric, 1e-4, f"{name}({example}): second order")
        types = [type_of(p) for p in primals]
        program, captured = stage(pulled, types)
        check_program(program)
        derived, _ = jvp_program(program, (False,) * len(captured) + (True,) * len(types))
        check_program(derived)


def linear_cases():
    for name, i in CASES:
        if name not in examples_errors and examples(name) and examples(name)[i].linear:
            yield name, i


@pytest.mark.parametrize("name, i", list(linear_cases()))
def test_a_pattern_has_every_place_where_a_result_depends(name, i):
    primitive, example, args = case(name, i)
    types = [type_of(a) for a in args]
    for j in example.linear:
        values = [None if k == j else a for k, a in enumerate(args)]
        unknown = [a if is_scalar(a) else None for a in values]
        for known in (values, unknown):
            given = [same(types[j].size) if k == j else None for k in range(len(args))]
            program = single(primitive, tuple(types), example.params)
            patterns = follow(program, given, known)
            zeros = value(np.zeros(types[j].shape, types[j].dtype))
            before = bind(primitive, [*args[:j], zeros, *args[j + 1:]], example.params)
            for k in range(min(types[j].size, 40)):
                unit = np.zeros(types[j].size, types[j].dtype)
                unit[k] = 1
                unit = value(unit.reshape(types[j].shape))
                after = bind(primitive, [*args[:j], unit, *args[j + 1:]], example.params)
                for pattern, a, b in zip(patterns, before, after, strict=True):
                    moved = numbers(a).ravel() != numbers(b).ravel()
                    allowed = pattern[:, [k]].toarray().ravel() if pattern is not None else np.zeros(moved.shape, bool)
                    assert allowed[moved].all(), f"{name}({example}): operand {j}, element {k}"


@pytest.mark.parametrize("name, i", list(linear_cases()))
def test_transpose_by_dot_product(name, i):
    """<c, f(v)> = <f^T(c), v>, for the transpose rule itself, in one linear operand at a time."""
    primitive, example, args = case(name, i)
    rng = _rng(name)
    for j in example.linear:
        t = type_of(args[j])
        if not dtypes.is_inexact(t.dtype):
            continue
        v = direction(rng, t)
        full = list(args)
        full[j] = v
        outputs = bind(primitive, full, example.params)
        full[j] = ConcreteArray(t.strong(), np.zeros(t.shape, t.dtype))
        others = bind(primitive, full, example.params)  # x + y is linear in x but for what y adds
        cts = [direction(rng, type_of(o)) for o in outputs]
        full[j] = Linear(t)
        back = primitive.transpose(cts, *full, **example.params)[j]
        left = sum(np.sum(numbers(c).astype(complex) * (numbers(o) - numbers(other))).real
                   for c, o, other in zip(cts, outputs, others, strict=True))
        right = 0.0 if isinstance(back, Zero) else np.sum(numbers(back).astype(complex) * numbers(v)).real
        scale = max([1.0] + [float(np.abs(numbers(c)).sum()) for c in cts])
        assert abs(left - right) <= 20 * max(tolerance(t, example), 2e-5) * scale, f"{name}({example}), operand {j}"
        assert isinstance(back, Zero) or type_of(back).shape == t.shape


@pytest.mark.parametrize("name, i", CASES)
def test_batch_is_a_loop(name, i):
    primitive, example, args = case(name, i)
    rng = _rng(name)
    size = 3
    for mask in itertools.product([False, True], repeat=len(args)):
        if not any(mask) or (len(args) > 3 and sum(mask) not in (1, len(args))):
            continue
        stacked = [stack(rng, a, size) if flag else a for a, flag in zip(args, mask, strict=True)]
        outputs, flags = vmap(lambda *xs: bind(primitive, xs, example.params), size, stacked, mask)
        for k in range(size):
            one = [element(a, k) if flag else a for a, flag in zip(stacked, mask, strict=True)]
            expected = bind(primitive, one, example.params)
            for o, flag, e in zip(outputs, flags, expected, strict=True):
                t = type_of(e)
                got = element(o, k) if flag else o
                assert type_of(got).shape == t.shape and type_of(got).dtype == t.dtype
                close(got, e, max(tolerance(t, example), 2e-5) if dtypes.is_inexact(t.dtype) else 0,
                      f"{name}({example}): batched {mask} against a loop")
    types = tuple(type_of(a).batched(size) for a in args)
    if args:
        program, _ = stage(lambda *xs: vmap(lambda *ys: bind(primitive, ys, example.params), size, xs,
                                            [True] * len(xs))[0], types)
        check_program(program)


def stack(rng, a, size):
    """`size` variations of an operand: its elements in other orders, so that they stay in its domain."""
    t = type_of(a)
    host = np.asarray(a, t.dtype) if is_scalar(a) else a.numpy()
    rows = [host]
    for _ in range(size - 1):
        flat = host.reshape(-1).copy()
        if not t.is_key and host.dtype.kind != "b":
            flat = flat[rng.permutation(flat.size)]
        rows.append(flat.reshape(host.shape))
    return ConcreteArray(ArrayType((size, *t.shape), t.dtype), np.stack(rows))


def element(a, k):
    return ConcreteArray(a.type.unbatched(), np.asarray(a.numpy()[k]))


def test_every_primitive_has_examples():
    assert not examples_errors, examples_errors
    assert len(TABLE) > 60
    for name in TABLE:
        assert examples(name), name
