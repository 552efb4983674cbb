"""Primitives that users define: the same definitions on pullback and on real jax."""

from __future__ import annotations

import doctest
import functools
import importlib

import jax
import numpy as np
import pytest

import pullback
from pullback import errors

X = np.array([0.5, -1.5, 2.0], np.float32)
Y = np.array([2.0, 0.3, -0.7], np.float32)


class Engine:
    """The modules a definition needs, of pullback or of jax."""

    def __init__(self, root):
        self.jax = importlib.import_module(root)
        self.jnp = importlib.import_module(f"{root}.numpy")
        self.core = importlib.import_module("jax.core" if root == "jax" else "pullback.compat.core")
        self.extend = importlib.import_module(f"{root}.extend.core")
        self.ad, self.batching, self.mlir, self.xla, self.pe = (
            importlib.import_module(f"{root}.interpreters.{name}")
            for name in ("ad", "batching", "mlir", "xla", "partial_eval"))

    def given(self, *args):
        return [self.jnp.asarray(x) if isinstance(x, np.ndarray) else x for x in args]


OURS, THEIRS = Engine("pullback"), Engine("jax")


def both(function, *args):
    """function(engine, *args) gives the same under both engines."""
    found = pullback.tree.leaves(function(OURS, *OURS.given(*args)))
    expected = jax.tree.leaves(function(THEIRS, *THEIRS.given(*args)))
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-5, atol=1e-6)


@functools.cache
def product(e):
    """x * y * scale, bilinear."""
    p = e.extend.Primitive("scaled_product")
    p.def_impl(lambda x, y, *, scale: x * y * scale)
    p.def_abstract_eval(lambda x, y, *, scale: e.core.ShapedArray(x.shape, x.dtype))
    e.mlir.register_lowering(p, e.mlir.lower_fun(lambda x, y, *, scale: x * y * scale, multiple_results=False))
    e.ad.defbilinear(p, lambda ct, x, y, *, scale: p.bind(ct, y, scale=scale),
                     lambda ct, x, y, *, scale: p.bind(x, ct, scale=scale))
    e.batching.defvectorized(p)
    return p


@functools.cache
def split(e):
    """(sin x, x + 1): two results."""
    p = e.extend.Primitive("split")
    p.multiple_results = True

    def both_parts(x):
        return [e.jnp.sin(x), x + 1]
    p.def_impl(both_parts)
    p.def_abstract_eval(lambda x: [x, x])
    e.mlir.register_lowering(p, e.mlir.lower_fun(both_parts, multiple_results=True))

    def jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        return p.bind(x), [e.jnp.cos(x) * t, t]
    e.ad.primitive_jvps[p] = jvp
    e.batching.primitive_batchers[p] = lambda args, dims: (p.bind(*args), [dims[0], dims[0]])
    return p


def test_bilinear_primitive_in_every_transformation():
    def run(e, x, y):
        f = functools.partial(product(e).bind, scale=3.0)
        grad = e.jax.grad(lambda x, y: f(x, y).sum() ** 2, (0, 1))
        return (f(x, y), e.jax.jit(f)(x, y), e.jax.jvp(f, (x, y), (y, x)), grad(x, y), e.jax.jit(grad)(x, y),
                e.jax.vmap(f)(x, y), e.jax.grad(lambda x: (grad(x, y)[0] ** 2).sum())(x),
                e.jax.lax.scan(lambda c, r: (f(c, r), f(c, c)), x[0], y))
    both(run, X, Y)


def test_two_results():
    def run(e, x):
        f = split(e).bind
        return f(x), e.jax.jit(f)(x), e.jax.jvp(f, (x,), (x,)), e.jax.jit(e.jax.vmap(f))(x), \
            e.jax.grad(lambda x: (f(x)[0] * f(x)[1]).sum())(x)
    both(run, X)


def test_linear_and_unary_rules():
    def run(e, x):
        double, square = e.extend.Primitive("double"), e.extend.Primitive("square_of")
        for p, f in ((double, lambda x: x + x), (square, lambda x: x * x)):
            p.def_abstract_eval(lambda x: x)
            e.mlir.register_lowering(p, e.mlir.lower_fun(f, multiple_results=False))
            p.def_impl(functools.partial(e.xla.apply_primitive, p))
        e.ad.deflinear(double, lambda ct: [double.bind(ct)])
        e.ad.defjvp2(square, lambda t, out, x: 2 * t * x)
        first = e.jax.grad(lambda x: double.bind(square.bind(x)))(x)
        e.ad.deflinear2(double, lambda ct, x: [2 * ct])
        e.ad.defjvp(square, lambda t, x: t * (x + x))
        return double.bind(x), first, e.jax.grad(lambda x: double.bind(square.bind(x)))(x), \
            e.ad.get_primitive_transpose(double)(1.0, x)
    both(run, np.float32(1.5))
    assert OURS.xla.apply_primitive(pullback.lax.neg_p, 2.0) == -2.0


def test_batching_rules_of_several_kinds():
    def run(e, x):
        p, total = e.extend.Primitive("row_scaled"), e.extend.Primitive("total")
        p.def_impl(lambda x, y: x * y)
        total.def_impl(lambda x, *, axes: e.jnp.sum(x, axes))
        e.batching.defbroadcasting(p)
        e.batching.defreducer(total)
        found = [e.jax.vmap(p.bind)(x, x), e.jax.vmap(lambda r: total.bind(r, axes=(0,)))(x)]
        e.batching.fancy_primitive_batchers[p] = lambda axis, args, dims: (args[0] * axis.size, dims[0])
        return [*found, e.jax.vmap(p.bind)(x, x), e.batching.broadcast(x, 2, 1, None),
                e.batching.bdim_at_front(x, 1, 3), e.batching.bdim_at_front(x, None, 3)]
    both(run, np.arange(6.0, dtype=np.float32).reshape(2, 3))


def test_vectorized_rule_repeats_what_is_not_batched():
    f = functools.partial(product(OURS).bind, scale=1.0)
    np.testing.assert_allclose(pullback.vmap(f, (0, None))(X, 2.0), 2 * X)
    np.testing.assert_allclose(pullback.vmap(f, (0, 1))(np.ones((2, 3), np.float32), np.ones((3, 2), np.float32)),
                               np.ones((2, 3)))


def test_zeros_and_tangents():
    def run(e, x):
        zero = e.ad.Zero(x.aval)
        assert type(zero) is e.ad.Zero and zero.aval.shape == x.shape
        return (e.ad.instantiate_zeros(zero), e.ad.instantiate_zeros(x), e.ad.add_tangents(zero, x),
                e.ad.add_tangents(x, x), e.ad.add_jaxvals(x, x), e.ad.zeros_like_aval(e.core.ShapedArray((2,), "f4")))
    both(run, X)


def test_lowering_by_operations_of_the_dialect():
    def run(e, x, y):
        hlo = importlib.import_module(f"{e.jax.__name__}.extend.mlir.dialects.stablehlo")
        p = e.extend.Primitive("mixed")
        p.def_abstract_eval(lambda x, y: x)
        e.mlir.register_lowering(p, lambda ctx, x, y: [hlo.subtract(hlo.MulOp(x, y).result, hlo.sine(y))], "cpu")
        e.mlir.register_lowering(p, lambda ctx, x, y: 1 / 0, "rocm")
        return e.jax.jit(p.bind)(x, y)
    both(run, X, Y)


def test_missing_rules_name_what_is_missing():
    p = OURS.extend.Primitive("bare")
    for use, what in ((lambda: p.bind(1.0), "bare has no rule to evaluate it.*\n.*\n.*def_impl"),
                      (lambda: pullback.jit(p.bind)(1.0), "def_abstract_eval"),
                      (lambda: pullback.jvp(p.bind, (1.0,), (1.0,)), r"ad.primitive_jvps\[primitive\]"),
                      (lambda: pullback.vmap(p.bind)(X), r"batching.primitive_batchers\[primitive\]")):
        with pytest.raises(NotImplementedError, match=what):  # of which MissingRuleError is a kind, as in jax
            use()
    p.def_abstract_eval(lambda x: x)
    with pytest.raises(errors.MissingRuleError, match="mlir.register_lowering"):
        pullback.jit(p.bind)(1.0)
    OURS.ad.primitive_jvps[p] = lambda primals, tangents: (primals[0], p.bind(tangents[0]))
    with pytest.raises(NotImplementedError, match=r"ad.primitive_transposes\[primitive\]"):
        pullback.grad(p.bind)(1.0)
    with pytest.raises(NotImplementedError, match="primitive_transposes"):
        OURS.ad.get_primitive_transpose(p)


def test_wrong_rules_are_named():
    p = OURS.extend.Primitive("wrong")
    with pytest.raises(TypeError, match="operand 0 is a list"):
        p.bind([1.0])
    p.def_abstract_eval(lambda x: "f32")
    with pytest.raises(TypeError, match="'f32', a ShapedArray is required"):
        pullback.jit(p.bind)(1.0)
    p.def_abstract_eval(lambda x: OURS.core.ShapedArray((2,), np.float32))
    OURS.mlir.register_lowering(p, OURS.mlir.lower_fun(lambda x: x, multiple_results=False))
    with pytest.raises(TypeError, match=r"made f32\[\]; its rule for types promised f32\[2\]"):
        pullback.jit(p.bind)(1.0)
    with pytest.raises(TypeError, match="sin is one of pullback's own operations"):
        OURS.ad.primitive_jvps[pullback.lax.sin_p] = lambda *_: None
    p.multiple_results = True
    p.def_abstract_eval(lambda x: x)
    with pytest.raises(TypeError, match="a list is required"):
        pullback.jit(p.bind)(1.0)
    p.multiple_results = False
    p.def_impl(lambda x: x)
    OURS.ad.primitive_jvps[p] = lambda primals, tangents: (primals[0], tangents[0].sum())
    with pytest.raises(TypeError, match=r"differentiation rule of wrong returned a value of type f32\[\] for one of"):
        pullback.jvp(p.bind, (X,), (X,))
    OURS.ad.deflinear(p, lambda ct: [ct.sum()])
    with pytest.raises(TypeError, match=r"transpose rule of wrong returned a value of type f32\[\] for one of"):
        pullback.vjp(p.bind, OURS.jnp.asarray(X))[1](X)
    OURS.ad.primitive_transposes[p] = lambda ct, x: [ct, ct]
    with pytest.raises(TypeError, match="a list of 1 cotangents is required"):
        pullback.vjp(p.bind, OURS.jnp.asarray(X))[1](X)
    with pytest.raises(RuntimeError, match="outside a lowering rule"):
        importlib.import_module("pullback.extend.mlir.dialects.stablehlo").add(1, 2)


def test_effects_keep_an_operation_in_the_program():
    def program(effects):
        p = OURS.extend.Primitive("effectful")
        p.def_effectful_abstract_eval(lambda x: (x, effects))

        def unused(x):
            p.bind(x)
            return x
        OURS.mlir.register_lowering(p, OURS.mlir.lower_fun(lambda x: x, multiple_results=False))
        assert pullback.jit(unused)(1.0) == 1.0
        closed = pullback.make_jaxpr(unused)(1.0)
        return OURS.pe.dce_jaxpr(closed.jaxpr, [True])[0].eqns
    assert len(program({"writes"})) == 1 and not program(set())


def interpret(e, closed, *args):
    """Runs a program equation by equation, by the names that jax gives its parts."""
    values = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    values.update(zip(closed.jaxpr.invars, args, strict=True))

    def read(atom):
        return atom.val if isinstance(atom, e.extend.Literal) else values[atom]
    for eqn in closed.jaxpr.eqns:
        outputs = eqn.primitive.bind(*map(read, eqn.invars), **eqn.primitive.get_bind_params(eqn.params))
        outputs = outputs if eqn.primitive.multiple_results else [outputs]
        values.update(zip(eqn.outvars, outputs, strict=True))
    return [read(v) for v in closed.jaxpr.outvars]


def test_programs_can_be_read_and_run_again():
    table = np.arange(3.0, dtype=np.float32)

    def run(e, x):
        def f(x):
            ordered, order = e.jax.lax.sort([x, e.jnp.cos(x)], num_keys=1)
            total, _ = e.jax.lax.scan(lambda c, r: (c * r, c), 1.0, x)
            return ordered + table, order * 2, total
        closed = e.jax.make_jaxpr(f)(x)
        assert isinstance(closed, e.extend.ClosedJaxpr) and isinstance(closed.jaxpr, e.extend.Jaxpr)
        return (f(x), interpret(e, closed, x), e.core.eval_jaxpr(closed.jaxpr, closed.consts, x),
                e.extend.jaxpr_as_fun(closed)(x))
    both(run, X)
    closed = pullback.make_jaxpr(lambda x, y: (pullback.numpy.sin(x), pullback.numpy.cos(y)))(1.0, 2.0)
    OURS.extend.check_jaxpr(closed.jaxpr)
    assert closed.eqns[0].primitive is OURS.extend.primitives.sin_p is pullback.lax.sin_p
    smaller, kept = OURS.pe.dce_jaxpr(closed.jaxpr, [False, True])
    assert kept == [False, True] and [eqn.primitive.name for eqn in smaller.eqns] == ["cos"]


def test_types():
    def run(e):
        t = e.core.ShapedArray((2, 3), np.float64)
        assert isinstance(e.jnp.ones(3).aval, e.core.ShapedArray) and isinstance(t, e.core.AbstractValue)
        return (t.shape, str(t.dtype), t.ndim, t.size, t.update(shape=(4,)).shape, t.update(dtype="int8").dtype.name,
                t == e.core.ShapedArray((2, 3), np.float32), t == e.core.ShapedArray((2, 3), np.float64),
                e.extend.mapped_aval(3, 1, t).shape, e.extend.unmapped_aval(5, 1, t).shape,
                e.extend.primal_dtype_to_tangent_dtype(np.dtype("int32")) == e.jax.float0,
                e.extend.concrete_or_error(int, 3.0), e.core.max_dim(2, 3), e.core.min_dim(2, 3))
    assert run(OURS) == run(THEIRS)
    with pytest.raises(errors.ConcretizationTypeError, match="a size"):
        pullback.jit(lambda n: OURS.extend.concrete_or_error(int, n, "a size"))(3)


@pytest.mark.parametrize("name", ["pullback.extend.backend", "pullback.extend.core.Token",
                                  "pullback.interpreters.pxla", "pullback.interpreters.ad.backward_pass",
                                  "pullback.interpreters.batching.batch_jaxpr_axes",
                                  "pullback.interpreters.mlir.ir_constant", "pullback.interpreters.xla.Backend",
                                  "pullback.interpreters.partial_eval.custom_partial_eval_rules",
                                  "pullback.extend.core.primitives.qdwh_p", "pullback.extend.mlir.ir",
                                  "pullback.extend.mlir.dialects.chlo",
                                  "pullback.extend.mlir.dialects.stablehlo.SortOp",
                                  "pullback.compat.core.Primitive"])
def test_absent_names_say_so(name):
    module, _, last = name.rpartition(".")
    with pytest.raises(errors.UnsupportedError, match=f"{last} is not supported by pullback"):
        getattr(importlib.import_module(module), last)


def test_examples():
    names = {"jnp": OURS.jnp, "np": np, "functools": functools, "Primitive": OURS.extend.Primitive,
             "register_lowering": OURS.mlir.register_lowering, "lower_fun": OURS.mlir.lower_fun}
    for module in (importlib.import_module("pullback.extend.primitive"), OURS.xla):
        assert doctest.testmod(module, extraglobs=names).failed == 0, module
