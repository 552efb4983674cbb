"""Messages of errors: what was given, what was required, the user's line, one fix."""

from __future__ import annotations

import numpy as np
import pytest

import pullback

jnp, lax = pullback.numpy, pullback.lax
X = np.arange(6, dtype=np.float32).reshape(2, 3)
E = pullback.errors

stored = []


def leak():
    pullback.jit(lambda x: stored.append(x) or x)(1.0)
    return stored.pop() + 1


CASES = {
    "cotangent of the wrong shape": (
        lambda: pullback.vjp(jnp.sin, jnp.ones(2))[1](jnp.ones(3)), ValueError,
        ["pullback from vjp", "f32[3]", "f32[2] is required", "fix:"]),
    "cotangent of the wrong dtype": (
        lambda: pullback.vjp(jnp.sin, jnp.ones(2))[1](jnp.ones(2, jnp.int32)), ValueError,
        ["i32[2]", "f32[2] is required"]),
    "cotangent of the wrong structure": (
        lambda: pullback.vjp(lambda x: {"a": x}, 1.0)[1]({"b": 1.0}), ValueError, ["structure", "'a'", "'b'"]),
    "tangent of the wrong shape": (
        lambda: pullback.jvp(jnp.sin, (jnp.ones(2),), (jnp.ones(3),)), TypeError, ["jvp", "f32[3]", "f32[2]"]),
    "grad of a vector": (
        lambda: pullback.grad(lambda x: x * 2)(X), TypeError, ["scalar", "f32[2,3]", "(2, 3)", "jnp.sum"]),
    "grad of a tree": (lambda: pullback.grad(lambda x: {"a": x})(1.0), TypeError, ["scalar", "pytree"]),
    "grad by an integer": (
        lambda: pullback.grad(lambda params: params["n"] * 2.0)({"n": 3}), TypeError,
        ["params['n']", "i32[]", "allow_int"]),
    "grad of a string": (lambda: pullback.grad(lambda x: "loss")(1.0), TypeError, ["returned a str"]),
    "grad of an integer output": (lambda: pullback.grad(lambda x: jnp.int32(x))(1.0), TypeError, ["i32[]", "float"]),
    "grad of a complex output": (lambda: pullback.grad(lambda x: x * 1j)(1.0), TypeError, ["c64[]", "real"]),
    "argnums out of range": (lambda: pullback.grad(lambda x: x, 1)(1.0), ValueError, ["argnums 1", "1 positional"]),
    "differentiating by a string": (lambda: pullback.grad(lambda s: 1.0)("s"), TypeError, ["'s'", "str"]),
    "jit of a string": (lambda: pullback.jit(lambda name: name)("a"), TypeError, ["argument name", "str", "static"]),
    "not a function": (lambda: pullback.grad(3), TypeError, ["grad", "a function is required"]),
    "matmul": (lambda: X @ jnp.ones((2, 4)), TypeError, ["matmul", "f32[2,3]", "f32[2,4]", "3", "2"]),
    "matmul function": (lambda: jnp.matmul(X, jnp.ones(5)), TypeError, ["matmul", "f32[2,3]", "f32[5]"]),
    "add": (lambda: jnp.ones(3) + jnp.ones(4), (TypeError, ValueError), ["add", "(3,)", "(4,)"]),
    "add function": (
        lambda: jnp.add(jnp.ones((2, 3)), jnp.ones(2)), (TypeError, ValueError), ["add", "(2, 3)", "(2,)"]),
    "lax shapes": (lambda: lax.mul(jnp.ones(3), jnp.ones(4)), TypeError, ["mul", "f32[3]", "f32[4]"]),
    "lax dtypes": (lambda: lax.add(jnp.ones(3), jnp.ones(3, jnp.int32)), TypeError, ["add", "f32[3]", "i32[3]"]),
    "reshape": (lambda: jnp.ones(6).reshape(4, 2), TypeError, ["reshape", "6", "(4, 2)"]),
    "concatenate": (
        lambda: jnp.concatenate([jnp.ones((2, 3)), jnp.ones((2, 4))]), TypeError, ["concatenate", "3", "4"]),
    "axis out of range": (lambda: jnp.sum(X, axis=2), ValueError, ["sum", "axis 2", "2 dimensions", "-2 to 1"]),
    "axis of a method": (lambda: jnp.asarray(X).mean(axis=-3), ValueError, ["mean", "axis -3"]),
    "list as array": (lambda: jnp.sin([1.0]), TypeError, ["sin", "list", "jnp.array"]),
    "branch under jit": (
        lambda: pullback.jit(lambda x, flag: x if flag else -x)(1.0, True), E.TracerBoolConversionError,
        ["bool[]", "argument flag", "jnp.where", "lax.cond", "static_argnums", "test_messages.py"]),
    "branch on a derived value": (
        lambda: pullback.jit(lambda x, y: y if jnp.sum(x) > 0 else x)(X, X), E.TracerBoolConversionError,
        ["depends on the argument x"]),
    "float under jit": (lambda: pullback.jit(lambda x: float(x))(1.0), E.ConcretizationTypeError, ["float()", "x"]),
    "range under jit": (
        lambda: pullback.jit(lambda n: [0 for _ in range(n)])(3), E.TracerIntegerConversionError, ["static_argnums"]),
    "numpy under jit": (
        lambda: pullback.jit(lambda x: np.sin(x))(1.0), E.TracerArrayConversionError, ["jnp", "argument x"]),
    "leaked tracer": (
        leak, E.UnexpectedTracerError, ["leaked tracer", "it was made at test_messages.py", "stored.append",
                                        "test_messages.py", "in leak"]),
    "vmap sizes": (lambda: pullback.vmap(jnp.add)(jnp.ones(3), jnp.ones(4)), ValueError, ["has 3", "has 4"]),
    "key as array": (lambda: jnp.sin(pullback.random.key(0)), TypeError, ["sin", "key<fry>", "key_data"]),
    "key in arithmetic": (lambda: pullback.random.key(0) + 1, TypeError, ["add", "key<fry>"]),
    "array as key": (lambda: pullback.random.normal(jnp.ones(3)), TypeError, ["normal", "f32[3]", "key"]),
    "tree mismatch": (
        lambda: pullback.tree.map(lambda a, b: a, {"w": [1, 2]}, {"w": [1, 2, 3]}), ValueError, ["['w']"]),
    "item assignment": (lambda: jnp.ones(3).__setitem__(0, 1.0), TypeError, ["immutable", ".at[index].set"]),
    "mask under jit": (
        lambda: pullback.jit(lambda x: x[x > 0])(X), E.NonConcreteBooleanIndexError, ["jnp.where"]),
    "truth of an array": (lambda: bool(jnp.ones(3)), ValueError, ["ambiguous", "any()"]),
    "hash": (lambda: hash(jnp.ones(3)), TypeError, ["unhashable"]),
    "setting": (lambda: pullback.config.update("jax_enable_x65", True), AttributeError, ["enable_x64"]),
    "setting value": (lambda: pullback.config.update("jax_numpy_rank_promotion", "sometimes"), ValueError, ["allow"]),
    "strict promotion": (lambda: _strict(), Exception, ["add", "f32 and i32", "astype"]),
    "conv": (lambda: lax.conv(jnp.ones((1, 3, 5, 5)), jnp.ones((4, 2, 3, 3)), (1, 1), "SAME"),
             (TypeError, ValueError), ["conv", "3", "2"]),
    "einsum": (lambda: jnp.einsum("ij,jk->ik", jnp.ones((2, 3)), jnp.ones((4, 5))), (TypeError, ValueError),
               ["einsum", "j", "3", "4"]),
    "unknown name": (lambda: pullback.numpy.no_such_function, AttributeError, ["no_such_function", "jax_compat.md"]),
    "debug_nans": (lambda: _nan(lambda x: jnp.log(x)), FloatingPointError, ["nan", "log", "test_messages.py"]),
    "debug_nans in jit": (lambda: _nan(pullback.jit(lambda x: jnp.sqrt(x) + 1)), FloatingPointError,
                          ["sqrt", "test_messages.py"]),
}


def _strict():
    with pullback.numpy_dtype_promotion("strict"):
        return jnp.ones(3, jnp.int32) + jnp.ones(3)


def _nan(f):
    with pullback.debug_nans(True):
        return f(jnp.float32(-1.0))


@pytest.mark.parametrize("name", CASES)
def test_message(name):
    call, kind, parts = CASES[name]
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value)
    for part in parts:
        assert part in text, f"{part!r} is missing from:\n{text}"


def test_the_line_is_the_users():
    with pytest.raises(TypeError) as caught:
        X @ jnp.ones((7, 2))  # this very line
    assert "this very line" in str(caught.value)


def test_a_staged_operation_names_its_line_when_evaluated_later():
    @pullback.jit
    def f(x):
        return jnp.log(x)  # the line of the logarithm
    with pullback.debug_nans(True), pytest.raises(FloatingPointError) as caught:
        pullback.vmap(f)(jnp.array([1.0, -1.0]))
    assert "the line of the logarithm" in str(caught.value)


def test_nothing_of_the_users_data_is_in_a_message():
    secret = np.full((2, 3), 1234.5, np.float32)
    with pytest.raises(TypeError) as caught:
        secret @ jnp.ones((7, 2))
    assert "1234" not in str(caught.value)


@pytest.mark.parametrize("use", [float, bool, jnp.sum, lambda key: jnp.asarray(key) * 2])
def test_keys_are_no_numbers(use):
    with pytest.raises(TypeError, match="key"):
        use(pullback.random.key(0))
