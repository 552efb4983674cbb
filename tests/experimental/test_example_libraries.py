"""Optimizers and layers of example_libraries give what real jax's give, step by step and bit by bit of the keys."""

import jax as real
import numpy as np
import pytest
from jax.example_libraries import optimizers as real_optimizers
from jax.example_libraries import stax as real_stax

import pullback
import pullback.numpy as jnp
from pullback.example_libraries import optimizers, stax

SCHEDULES = {
    "constant": lambda o: o.constant(0.1), "exponential": lambda o: o.exponential_decay(0.1, 10, 0.5),
    "inverse": lambda o: o.inverse_time_decay(0.1, 3, 0.5), "stairs": lambda o: o.inverse_time_decay(0.1, 3, 0.5, True),
    "polynomial": lambda o: o.polynomial_decay(0.1, 4, 0.01, 2.0),
    "pieces": lambda o: o.piecewise_constant([1, 3], [0.3, 0.2, 0.1]),
}
OPTIMIZERS = {
    "sgd": lambda o: o.sgd(0.1), "momentum": lambda o: o.momentum(0.1, 0.9),
    "nesterov": lambda o: o.nesterov(0.1, 0.9),
    "adagrad": lambda o: o.adagrad(0.1), "rmsprop": lambda o: o.rmsprop(0.1), "adam": lambda o: o.adam(0.1),
    "rmsprop_momentum": lambda o: o.rmsprop_momentum(0.1), "adamax": lambda o: o.adamax(0.1),
    "sm3": lambda o: o.sm3(0.1),
    **{f"sgd, {name}": (lambda make: lambda o: o.sgd(make(o)))(make) for name, make in SCHEDULES.items()},
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    start = {"w": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones(3, np.float32)}

    def steps(engine, library):
        init, update, params = OPTIMIZERS[name](library)
        state = init(engine.tree.map(engine.numpy.asarray, start))
        for i in range(5):
            now = params(state)
            state = update(i, engine.tree.map(lambda x: engine.numpy.sin(x) + 0.1 * x, now), state)
        packed = library.pack_optimizer_state(library.unpack_optimizer_state(state))
        return params(packed)

    ours, theirs = steps(pullback, optimizers), steps(real, real_optimizers)
    for key in start:
        np.testing.assert_allclose(np.asarray(ours[key]), np.asarray(theirs[key]), rtol=2e-5, atol=1e-6)


def test_norms_and_errors():
    grads = {"a": jnp.array([3.0, 4.0]), "b": jnp.zeros(2)}
    assert float(optimizers.l2_norm(grads)) == 5.0
    np.testing.assert_allclose(np.asarray(optimizers.clip_grads(grads, 1.0)["a"]), [0.6, 0.8], rtol=1e-6)
    init, update, params = optimizers.sgd(0.1)
    with pytest.raises(TypeError, match="one gradient for each parameter"):
        update(0, {"a": jnp.ones(2)}, init(grads))
    with pytest.raises(TypeError, match="a number or a function of the step"):
        optimizers.sgd("fast")
    with pytest.raises(ValueError, match="one value more than boundaries"):
        optimizers.piecewise_constant([1], [1.0])
    with pytest.raises(TypeError, match="no JoinPoint"):
        optimizers.pack_optimizer_state(grads)
    run = pullback.jit(lambda state: update(0, grads, state))
    np.testing.assert_allclose(np.asarray(params(run(init(grads)))["a"]), [2.7, 3.6], rtol=1e-6)


NETWORKS = {
    "dense": (lambda s: s.serial(s.Dense(8), s.Relu, s.Dense(4), s.LogSoftmax), (-1, 5), (3, 5)),
    "picture": (lambda s: s.serial(s.Conv(4, (3, 3), padding="SAME"), s.BatchNorm(), s.Relu, s.MaxPool((2, 2), (2, 2)),
                                   s.AvgPool((3, 3), padding="SAME"), s.SumPool((2, 2)), s.Flatten, s.Dense(2)),
                (2, 8, 8, 3), (2, 8, 8, 3)),
    "transposed": (lambda s: s.serial(s.ConvTranspose(2, (3, 3), (2, 2)), s.Tanh), (2, 4, 4, 3), (2, 4, 4, 3)),
    "one axis": (lambda s: s.serial(s.Conv1DTranspose(2, (3,), (2,)), s.Gelu), (2, 4, 3), (2, 4, 3)),
    "branches": (lambda s: s.serial(s.FanOut(2), s.parallel(s.Dense(3), s.Identity), s.FanInConcat(), s.Softplus,
                                    s.FanOut(2), s.FanInSum), (-1, 5), (3, 5)),
    "dropout": (lambda s: s.serial(s.Dense(6), s.Dropout(0.5), s.shape_dependent(lambda shape: s.Dense(shape[-1]))),
                (3, 5), (3, 5)),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name):
    make, declared, given = NETWORKS[name]
    x = np.random.default_rng(0).normal(size=given).astype(np.float32)
    results = []
    for engine, library in ((pullback, stax), (real, real_stax)):
        init, apply = make(library)
        shape, params = init(engine.random.PRNGKey(3), declared)
        results.append((shape, engine.tree.leaves(params), apply(params, x, rng=engine.random.PRNGKey(4))))
    (shape, params, out), (real_shape, real_params, real_out) = results
    assert tuple(shape) == tuple(real_shape)
    for one, two in zip(params, real_params, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(two), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.asarray(out), np.asarray(real_out), rtol=1e-4, atol=1e-5)


def test_dropout_needs_a_key():
    init, apply = stax.Dropout(0.5)
    with pytest.raises(ValueError, match="a random key is required"):
        apply((), jnp.ones(3))
