"""Many cases of linear algebra in one program of each library, since every compilation costs."""

import jax
import numpy as np

import pullback

RTOL = 2e-3
# Before 0.11 the derivative of a Cholesky factor from one triangle was another, and cond of 0 was NaN.
NEW = jax.__version_info__ >= (0, 11)


def draw(rng, *shape, dtype="float32"):
    values = rng.normal(size=shape)
    return np.asarray(values + 1j * rng.normal(size=shape) if "complex" in dtype else values).astype(dtype)


def definite(rng, n, dtype="float32"):
    x = draw(rng, n, n, dtype=dtype)
    return (x @ x.conj().T + n * np.eye(n)).astype(dtype)


def floats(tree, engine):
    return [x for x in engine.tree_util.tree_leaves(tree) if np.dtype(x.dtype).kind in "fc"]


def derivatives(engine, function, args, order):
    """Value; pullback of a fixed cotangent; its derivative in a fixed direction."""
    asarray = engine.numpy.asarray
    results = [function(*args)]
    if order == 0:
        return results

    def pulled(*xs):
        outputs, pull = engine.vjp(lambda *ys: floats(function(*ys), engine), *xs)
        rng = np.random.default_rng(1)
        return pull([asarray(draw(rng, *y.shape, dtype=np.dtype(y.dtype).name)) for y in outputs])

    results.append(pulled(*args))
    if order > 1:
        rng = np.random.default_rng(2)
        dots = [asarray(draw(rng, *x.shape, dtype=np.dtype(x.dtype).name)) for x in args]
        results.append(engine.jvp(pulled, tuple(args), tuple(dots))[1])
    return results


def agree(cases, rtol=RTOL, compiled=False):
    """Checks cases {name: (engine -> function, arrays, order of derivative)} against real jax; values compiled, too."""
    arrays = {name: args for name, (_, args, _) in cases.items()}

    def run(engine, given, most=2):
        return {name: derivatives(engine, build(engine), given[name], min(order, most))
                for name, (build, _, order) in cases.items()}

    # Quick to compile, for it runs once.
    program = jax.jit(lambda given: run(jax, given)).lower(arrays).compile(
        {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True})
    theirs = program(arrays)
    mine = pullback.tree_util.tree_map(pullback.numpy.asarray, arrays)
    compare(run(pullback, mine), theirs, rtol)
    if compiled:
        compare(pullback.jit(lambda given: run(pullback, given, 0))(mine), {k: v[:1] for k, v in theirs.items()}, rtol)


def compare(mine, theirs, rtol):
    for name, expected in theirs.items():
        found = pullback.tree_util.tree_leaves(mine[name])
        leaves = jax.tree.leaves(expected)
        assert len(found) == len(leaves), name
        for x, y in zip(found, leaves):
            assert x.shape == y.shape and np.dtype(x.dtype) == np.dtype(y.dtype), (name, x.type, y.aval)
            x, y = np.asarray(x), np.asarray(y)
            scale = max(1.0, float(np.max(np.abs(np.where(np.isfinite(y), y, 0)), initial=0)))
            np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * scale, err_msg=name)
