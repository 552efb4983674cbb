"""experimental.checkify: errors as values, through every transformation, against real jax."""

from __future__ import annotations

import inspect

import jax
import numpy as np
import pytest
from jax.experimental import checkify as theirs

import pullback
from pullback.experimental import checkify as ours

ENGINES = {pullback: ours, jax: theirs}
X = np.float32(-1)
ROW = np.arange(5, dtype=np.float32)


def found(engine, build, args, errors, compiled=True):
    """The error's text and the leaves of the result."""
    checkify = ENGINES[engine]
    run = checkify.checkify(build(engine, checkify.check), errors=getattr(checkify, errors))
    given = [engine.numpy.asarray(x) for x in args]
    error, out = (engine.jit(run) if compiled else run)(*given)
    return error, [np.asarray(x) for x in engine.tree.leaves(out)]


def agree(build, args, errors="user_checks", expect=True):
    error, out = found(pullback, build, args, errors)
    reference, expected = found(jax, build, args, errors)
    for x, y in zip(out, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6)
    text, wanted = error.get(), reference.get()
    assert (text is not None) == expect, text
    assert (wanted is None) == (text is None), (text, wanted)
    if text is not None:
        first, place = text.split("\n")
        assert first.startswith(wanted.rstrip(". ").replace("-", "_") if "primitive" in wanted else wanted.rstrip(". "))
        assert place.startswith("  at test_checkify.py:")


def checked(check, limit, name="x"):
    def function(x):
        check(x < limit, name + " is {}", x)
        return x * 2
    return function


USER = {
    "positional and named": (lambda e, check: lambda x: (
        check(x > 0, "{} and {twice:.2f}, {y.shape}", x, twice=2 * x, y=e.numpy.ones(2)), x)[1], [X]),
    "holds": (lambda e, check: lambda x: (check(x < 0, "no"), x)[1], [X]),
    "first of two": (lambda e, check: lambda x: (check(x > 0, "one"), check(x > 1, "two {}", x))[0], [X]),
    "trees": (lambda e, check: lambda x: (check(x > 0, "{} {}", x, {"a": [x]}["a"][0]), x)[1], [X]),
    "jit": (lambda e, check: lambda x: e.jit(lambda y: checked(check, 1)(y) + checked(check, 0)(y))(x + 1), [X]),
    "scan": (lambda e, check: lambda xs: e.lax.scan(lambda c, x: (checked(check, 5, "c")(c) + x, c), 1.0, xs), [ROW]),
    "two in scan": (lambda e, check: lambda xs: e.lax.scan(
        lambda c, x: (checked(check, 9)(x), checked(check, 3, "row")(x)), 0.0, xs), [ROW]),
    "while body": (lambda e, check: lambda x: e.lax.while_loop(
        lambda c: c < 9, lambda c: (check(c < 3, "c is {}", c), c + 1)[1], x), [X]),
    "while condition": (lambda e, check: lambda x: e.lax.while_loop(
        lambda c: (check(c < 3, "c is {}", c), c < 9)[1], lambda c: c + 1, x), [X]),
    "while first condition": (lambda e, check: lambda x: e.lax.while_loop(
        lambda c: (check(c > 3, "c is {}", c), c < -5)[1], lambda c: c + 1, x), [X]),
    "fori": (lambda e, check: lambda x: e.lax.fori_loop(
        0, 5, lambda i, c: (check(i < 2, "i {}", i), c + i)[1], x), [X]),
    "cond": (lambda e, check: lambda x: e.lax.cond(x < 0, checked(check, -2), lambda x: x, x), [X]),
    "switch": (lambda e, check: lambda i: e.lax.switch(i, [
        checked(check, 0, "zero"), lambda i: (check(i > 4, "{} {}", i, i + 1), i)[1], lambda i: i], i), [np.int32(1)]),
    "grad": (lambda e, check: e.grad(lambda x: checked(check, -3)(x) ** 2), [X]),
    "jvp": (lambda e, check: lambda x: e.jvp(checked(check, -3), (x,), (x,)), [X]),
    "grad of checkpoint": (lambda e, check: e.grad(e.checkpoint(lambda x: e.numpy.sin(checked(check, -3)(x)))), [X]),
    "jvp of while": (lambda e, check: lambda x: e.jvp(lambda x: e.lax.while_loop(
        lambda c: c < 9, lambda c: checked(check, 3)(c) + 1, x), (x,), (x,)), [-X]),
}


@pytest.mark.parametrize("name", USER)
def test_user_checks(name):
    agree(*USER[name], expect=name != "holds")


AUTOMATIC = {
    "sin": ("nan_checks", lambda e, check: lambda x: e.numpy.sin(x / 0), [-X], True),
    "in a loop": ("nan_checks", lambda e, check: lambda x: e.lax.fori_loop(
        0, 3, lambda i, c: e.numpy.log(c), x), [-X], True),
    "one that passes through": ("nan_checks", lambda e, check: lambda x: e.numpy.where(
        x > 0, e.numpy.full((2,), e.numpy.nan), x)[:1], [X], False),
    "divisor": ("div_checks", lambda e, check: lambda x: (x / (x + 1), x // 1), [X], True),
    "int divisor": ("div_checks", lambda e, check: lambda x: x // (x - 3), [np.int32(3)], True),
    "both": ("float_checks", lambda e, check: lambda x: (x + 1) / (x + 1), [X], True),
    "not asked for": ("user_checks", lambda e, check: lambda x: e.numpy.log(x), [X], False),
    "user's not asked for": ("nan_checks", lambda e, check: lambda x: (check(x > 0, "no"), x)[1], [X], False),
    "all, in order": ("all_checks", lambda e, check: lambda x: (e.numpy.log(x), check(x > 0, "no"))[0], [X], True),
    "index": ("index_checks", lambda e, check: lambda x, i: x[i], [ROW, np.int32(7)], True),
    "negative": ("index_checks", lambda e, check: lambda x, i: x[i], [ROW, np.int32(-7)], True),
    "in bounds": ("automatic_checks", lambda e, check: lambda x, i: x[i] + x.at[i].set(0)[0], [ROW, np.int32(-5)],
                  False),
    "two axes": ("index_checks", lambda e, check: lambda x, i: x[i, i + 1],
                 [np.ones((4, 3), np.float32), np.array([0, 2], np.int32)], True),
    "set": ("index_checks", lambda e, check: lambda x, i: x.at[i].set(1), [ROW, np.int32(5)], True),
    "add, dropped": ("index_checks", lambda e, check: lambda x, i: x.at[i].add(1, mode="drop"),
                     [ROW, np.array([1, 5], np.int32)], True),
    "dynamic_slice": ("index_checks", lambda e, check: lambda x, i: e.lax.dynamic_slice(x, (i,), (3,)),
                      [ROW, np.int32(3)], True),
    "dynamic_update_slice": ("index_checks", lambda e, check: lambda x, i: e.lax.dynamic_update_slice(x, x[:2], (i,)),
                             [ROW, np.int32(4)], True),
    "take": ("index_checks", lambda e, check: lambda x, i: e.numpy.take(x, i), [ROW, np.int32(5)], True),
    "vmap": ("index_checks", lambda e, check: lambda x, i: e.vmap(lambda j: x[j])(i),
             [ROW, np.array([1, 9, 8], np.int32)], None),
}


@pytest.mark.parametrize("name", AUTOMATIC)
def test_automatic_checks(name):
    errors, build, args, expect = AUTOMATIC[name]
    if name == "all, in order" and jax.__version_info__ < (0, 11):
        pytest.skip("told in another order by jax 0.10")
    if expect is None:  # of several in a batch we tell the first
        text = found(pullback, build, args, errors)[0].get()
        assert "index 9 is out of bounds for axis 0 with size 5" in text and found(jax, build, args, errors)[0].get()
    else:
        agree(build, args, errors, expect)


def test_names_and_signatures_are_those_of_jax():
    names = [name for name in dir(theirs) if not name.startswith("_")]
    assert set(names) == set(ours.__all__)
    for name in ("check", "debug_check", "check_error", "checkify"):
        mine, wanted = (list(inspect.signature(getattr(m, name)).parameters.values()) for m in (ours, theirs))
        assert [(p.name, p.kind) for p in mine] == [(p.name, p.kind) for p in wanted]
    assert ours.all_checks == ours.automatic_checks | ours.user_checks and len(ours.all_checks) == 4
    assert ours.float_checks == ours.nan_checks | ours.div_checks
    with pytest.raises(AttributeError, match="checkify.nothing"):
        ours.nothing  # noqa: B018


def test_a_batch_of_errors():
    def build(e, check):
        return e.vmap(ENGINES[e].checkify(checked(check, 3)))
    error, _ = pullback.jit(build(pullback, ours.check))(ROW)
    reference, _ = jax.jit(build(jax, theirs.check))(ROW)
    mine = [line for line in error.get().split("\n") if not line.startswith("  at")]
    assert mine == reference.get().split("\n") == [f"at mapped index {i}: x is {i}.0 (`check` failed)" for i in (3, 4)]
    with pytest.raises(ours.JaxRuntimeError, match="mapped index 3"):
        error.throw()
    nested = pullback.vmap(pullback.vmap(ours.checkify(checked(ours.check, 3))))(ROW[1:].reshape(2, 2))[0]
    assert "at mapped index 1, 0: x is 3.0" in nested.get()


def test_inside_vmap_only_elements_that_take_part_count():
    cond = pullback.vmap(lambda x: pullback.lax.cond(x < 2, checked(ours.check, 2, "low"), lambda x: pullback.lax.cond(
        x < 4, checked(ours.check, 4, "middle"), lambda x: pullback.lax.fori_loop(
            0, 2, lambda i, c: (ours.check(x > 3, "high {}", x), c)[1], x), x), x))
    loop = pullback.vmap(lambda n: pullback.lax.while_loop(
        lambda c: c < n, lambda c: (ours.check(c < n, "over {}", c), ours.check(c < 3, "at {}", c), c + 1)[2], 0.0))
    run = pullback.jit(ours.checkify(lambda xs: (cond(xs), loop(xs))))
    error, (out, _) = run(ROW)
    assert error.get().startswith("at 3.0 (`check` failed)")  # of the last loop alone; no branch failed
    np.testing.assert_array_equal(out, [0, 2, 4, 6, 4])
    assert run(ROW - 1)[0].get() is None


def test_the_error_is_a_value():
    error, _ = pullback.jit(ours.checkify(checked(ours.check, -2)))(X)
    leaves, tree = pullback.tree.flatten(error)
    assert pullback.tree.unflatten(tree, leaves).get() == error.get()
    assert repr(error).startswith("Error(x is -1.0")
    with pytest.raises(ours.JaxRuntimeError, match="x is -1.0"):
        error.throw()
    assert isinstance(error.get_exception(), ValueError)
    assert pullback.tree.structure(pullback.jit(ours.checkify(checked(ours.check, -2)))(X)[0]) == tree
    assert ours.init_error.get() is None and ours.init_error.throw() is None
    assert not pullback.tree.leaves(ours.checkify(lambda x: x)(X)[0])
    with pytest.raises(pullback.errors.ConcretizationTypeError, match="the error of a traced value"):
        pullback.jit(lambda e: e.get())(error)


def test_nested_and_check_error():
    inner = ours.checkify(checked(ours.check, -2))
    kept, _ = ours.checkify(lambda x: inner(x)[0])(X)
    assert kept.get() is None  # the inner one has it
    again, _ = pullback.jit(ours.checkify(lambda x: ours.check_error(inner(x)[0])))(X)
    assert again.get() == inner(X)[0].get()
    batch, _ = pullback.jit(ours.checkify(lambda xs: ours.check_error(pullback.vmap(inner)(xs)[0])))(ROW - 4)
    assert batch.get().startswith("at mapped index 2: x is -2.0")
    with pytest.raises(ours.JaxRuntimeError, match="x is -1.0"):
        ours.check_error(inner(X)[0])
    ours.check_error(inner(-3.0)[0])
    ours.check_error(ours.init_error)
    with pytest.raises(TypeError, match="got a int, an Error is required"):
        ours.check_error(3)


def test_custom_rules():
    def build(e, check):
        @e.custom_jvp
        def f(x):
            check(x > 0, "body {}", x)
            return x * 2
        f.defjvps(lambda t, out, x: t * 3)

        @e.custom_vjp
        def g(x):
            check(x > 0, "body {}", x)
            return x * 2
        g.defvjp(lambda x: (check(x > 1, "fwd {}", x), (x * 2, x))[1], lambda r, ct: (ct * 5,))
        return f, g

    for pick in (0, 1):
        error, out = found(pullback, lambda e, check, pick=pick: build(e, check)[pick], [X], "user_checks")
        reference, expected = found(jax, lambda e, check, pick=pick: build(e, check)[pick], [X], "user_checks")
        assert error.get().startswith(reference.get()) and out == expected
    agree(lambda e, check: lambda x: e.grad(build(e, check)[1])(x), [X])  # forward rule
    for pick, factor in ((0, 3), (1, 5)):  # the derivative of a checked function is that of its rule
        function = build(pullback, lambda ok, text, x: "body" in text and ours.check(ok, text, x))[pick]
        loss = pullback.grad(lambda x, f=function: ours.checkify(f)(x)[::-1], has_aux=True)
        for run in (loss, pullback.jit(loss)):
            slope, error = run(X)
            assert slope == factor and error.get().startswith("body -1.0")
        slopes, errors = pullback.jit(pullback.vmap(loss))(ROW)
        np.testing.assert_array_equal(slopes, [factor] * 5)
        assert errors.get().startswith("at mapped index 0: body 0.0") and "index 1" not in errors.get()
    own = pullback.grad(lambda x: ours.checkify(build(pullback, ours.check)[1])(x)[::-1], has_aux=True)
    with pytest.raises(ours.JaxRuntimeError, match="fwd -1.0"):  # a check of the rule alone raises, as it does in jax
        own(X)


def test_a_batching_rule_stays():
    function = pullback.custom_batching.custom_vmap(lambda x: checked(ours.check, 2)(x))
    function.def_vmap(lambda size, batched, x: (function(x[0]) + x, True))
    error, out = pullback.jit(pullback.vmap(ours.checkify(function)))(ROW)
    np.testing.assert_array_equal(out, ROW)
    assert error.get().startswith("at mapped index 2: x is 2.0")
    error, out = pullback.jit(ours.checkify(pullback.vmap(function)))(ROW)  # checks what the rule does
    np.testing.assert_array_equal(out, ROW)
    assert error.get() is None


def test_reverse_mode_of_what_is_checked():
    def loss(e, check):
        def run(x):
            error, out = ENGINES[e].checkify(lambda x: e.lax.scan(
                lambda c, y: (checked(check, 2, "c")(c) * y, c), x, ROW + 1)[0])(x)
            return out, error
        return e.jit(e.grad(run, has_aux=True))
    slope, error = loss(pullback, ours.check)(-X)
    expected, reference = loss(jax, theirs.check)(-X)
    assert float(slope) == float(expected) and error.get().startswith(reference.get())
    error, slope = pullback.jit(ours.checkify(pullback.grad(lambda x: pullback.lax.scan(
        lambda c, y: (checked(ours.check, 2, "c")(c) * y, c), x, ROW + 1)[0])))(-X)  # jax does not see this one
    assert error.get().startswith("c is 2.0") and slope == 3840
    looped = pullback.grad(lambda x: pullback.lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, checked(ours.check, 3)(c[1])), (0, x))[1])
    error, slope = pullback.jit(ours.checkify(looped))(-X)
    assert error.get().startswith("x is 4.0") and slope == 8


def test_outside_of_checkify():
    function = checked(ours.check, -2)
    for run, x in ((function, X), (pullback.grad(function), X), (pullback.vmap(function), ROW - 3)):
        with pytest.raises(ours.JaxRuntimeError, match=r"x is -[12].0 \(`check` failed\)\n  at test_checkify.py"):
            run(x)
    for run in (pullback.jit(checked(ours.check, 0)), lambda x: pullback.lax.fori_loop(
            0, 2, lambda i, c: checked(ours.check, 0)(c), x)):
        with pytest.raises(ValueError, match="inside compiled code, which cannot raise, and not inside") as error:
            run(X)
        assert "check(x < limit" in str(error.value) and "fix: call err, out = jit(checkify(f))" in str(error.value)


def test_debug_checks_count_inside_checkify_alone():
    def f(x):
        ours.debug_check(x > 0, "x is {}", x)
        return pullback.lax.fori_loop(0, 2, lambda i, c: (ours.debug_check(c > 0, "c is {}", c), c)[1], x)
    assert f(X) == X and pullback.jit(f)(X) == X
    assert pullback.jit(ours.checkify(f))(X)[0].get().startswith("x is -1.0")


def test_bad_arguments():
    for pred, found_type in ((np.zeros(2, bool), r"bool\[2\]"), (0, r"i32\[\]"), ("a", "str")):
        with pytest.raises(TypeError, match=f"of type {found_type}, a bool without axes is required"):
            ours.check(pred, "a")
    with pytest.raises(TypeError, match="the message is 1, a string is required"):
        ours.check(True, 1)
    with pytest.raises(TypeError, match="the format is given 'a' of type str, arrays are required"):
        ours.check(True, "{}", "a")
    with pytest.raises(IndexError, match="checkify.check: the message '{} {}' asks for"):
        ours.check(True, "{} {}", X)
    with pytest.raises(KeyError, match="asks for 'y', which is not among the arguments"):
        ours.check(True, "{y}", x=X)
    with pytest.raises(TypeError, match="errors holds .*sets of checks are required"):
        ours.checkify(lambda x: x, errors={1})
    with pytest.raises(TypeError, match="a function is required"):
        ours.checkify(3)
    ours.check(np.True_, "{}", 3)


def test_an_error_brought_to_the_host():
    def f(x):
        ours.check(x > 0, "x is not positive")
        return x
    run = pullback.jit(ours.checkify(f))
    ours.check_error(pullback.device_get(run(1.0)[0]))
    with pytest.raises(ours.JaxRuntimeError, match="x is not positive"):
        ours.check_error(pullback.device_get(run(-1.0)[0]))
