"""Gamma distributed numbers, counts and the other generators, against real jax: the same numbers, and their slopes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import pullback
from pullback import lax, random
from tests.random.test_random import f32, same

APPROXIMATE = jax.__version_info__ >= (0, 11)


def test_gamma_and_its_kin():
    few, tiny, alpha = f32(0.3, 50, 0, -1), f32(1e-3, 0.5, 3, np.inf), f32(1, 0.2, 3, 2)

    def values(random, key):
        return {"gamma": random.gamma(key, few), "loggamma": random.loggamma(key, tiny),
                "beta": random.beta(key, 2.0, 0.3, (4,)), "chisquare": random.chisquare(key, 3.0, (4,)),
                "f": random.f(key, 3.0, 4.0, (4,)), "t": random.t(key, 3.0, (4,)), "ball": random.ball(key, 2, 2, (2,)),
                "generalized_normal": random.generalized_normal(key, 1.5, (4,)), "no ball": random.ball(key, 0),
                "dirichlet": random.dirichlet(key, alpha)}

    wanted = jax.jit(lambda: values(jax.random, jax.random.key(3)))()
    for name, x in values(random, random.key(3)).items():
        assert x.dtype == wanted[name].dtype and x.shape == wanted[name].shape, name
        np.testing.assert_allclose(x, wanted[name], rtol=1e-5, err_msg=name)


@pytest.mark.skipif(not APPROXIMATE, reason="real jax has no such method before 0.11")
def test_without_refusals():
    for name in ("gamma", "loggamma", "chisquare"):
        same(name, 2.5, (4,), method="approximate", ulps=64)
    same("beta", 2.0, 3.0, (4,), method="approximate", ulps=64)
    x = np.asarray(random.gamma(random.key(5), 3.0, (4000,), method="approximate"))
    assert scipy.stats.kstest(x, scipy.stats.gamma(3).cdf).pvalue > 1e-3


def test_the_cube():
    """Real jax gives its corners alone."""
    x = random.ball(random.key(0), 2, np.inf, (500,))
    assert abs(x).max() <= 1 and abs(x.mean()) < 0.1 and 0.25 < (x ** 2).mean() < 0.4


def test_slopes_keep_the_probability():
    """dx/da of a number x of the gamma distribution is -dP/da over the density."""
    key = random.key(1)
    a = f32(0.5, 3, 40, 0.001)
    given = pullback.numpy.asarray(a)
    x, y = (np.float64(f(key, given)) for f in (random.gamma, random.loggamma))
    step = 1e-4 * a
    ends = [scipy.stats.gamma.ppf(scipy.stats.gamma.cdf(x, a), a + s) for s in (step, -step)]
    wanted = (ends[0] - ends[1])[:3] / (2 * step)[:3]
    slopes = pullback.grad(lambda a: random.gamma(key, a).sum())(given)
    np.testing.assert_allclose(slopes[:3], wanted, rtol=1e-3)
    slopes = pullback.grad(lambda a: random.loggamma(key, a).sum())(given)
    np.testing.assert_allclose(slopes[:3], wanted / x[:3], rtol=1e-3)
    # Of a number too small for a float, where real jax takes the smallest instead.
    np.testing.assert_allclose(slopes[3], (scipy.special.digamma(1.001) - y[3]) / 0.001, rtol=1e-4)


RATES = f32(0, 0.5, 3, 9.9, 10, 50, 1e4, -1, np.nan)


def test_poisson():
    same("poisson", RATES)
    if APPROXIMATE:
        same("poisson", RATES[:-2], method="approximate")


def test_binomial_and_multinomial():
    n = f32(5, -1, np.nan, np.inf, 5, 5, 5.5, 100, 1000, 60)
    p = f32(0.5, 0.5, 0.5, 0.5, -0.1, 1.2, 0.5, 0.9, 0.3, 0.25)
    same("binomial", n, p)
    same("multinomial", 500, f32(0.3, 0.7, 1, 0.01), shape=(3, 4))


# -- generators ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("impl", ["rbg", "unsafe_rbg"])
def test_keys_of_other_generators(impl):
    mine = random.key(7, impl=impl)
    assert random.key_impl(mine) == impl and str(mine.dtype) == {"rbg": "key<rbg>", "unsafe_rbg": "key<urbg>"}[impl]

    def values(random, key):
        data = random.key_data
        return [data(key), random.PRNGKey(7, impl=impl), data(random.split(key, 3)), data(random.split(key, (2, 2))),
                data(random.fold_in(key, 3)), *(random.bits(key, (3, 3), f"uint{n}") for n in (8, 16, 32)),
                random.uniform(key, (5,)), random.randint(key, (5,), 0, 1000), random.permutation(key, 7)]

    real = jax.jit(lambda: values(jax.random, jax.random.key(7, impl=impl)))()
    for ours in (values(random, mine), pullback.jit(lambda key: values(random, key))(mine)):
        for x, y in zip(ours, real):
            assert x.dtype == y.dtype
            np.testing.assert_array_equal(x, y)
    keys = random.split(mine, 3)
    each = np.stack([random.bits(keys[i], (4,)) for i in range(3)])
    np.testing.assert_array_equal(pullback.vmap(lambda k: random.bits(k, (4,)))(keys), each)
    with pullback.default_prng_impl(impl):
        raw = random.PRNGKey(7)
        np.testing.assert_array_equal(random.uniform(raw, (5,)), real[8])
        assert raw.shape == (4,) and str(random.key(5).dtype) == str(mine.dtype)


def test_bit_generator_of_lax():
    state = np.uint32([1, 2, 2**32 - 1, 4])  # the counter carries over
    for kind in lax.RandomAlgorithm:
        theirs = jax.lax.rng_bit_generator(jnp.asarray(state), (5,), algorithm=jax.lax.RandomAlgorithm(int(kind)))
        for mine, real in zip(lax.rng_bit_generator(state, (5,), algorithm=kind), theirs):
            np.testing.assert_array_equal(mine, real)
    with jax.enable_x64(True), pullback.enable_x64(True):
        theirs = jax.lax.rng_bit_generator(np.uint64([1, 2]), (3,), np.uint64)
        for mine, real in zip(lax.rng_bit_generator(np.uint64([1, 2]), (3,), np.uint64), theirs):
            np.testing.assert_array_equal(mine, real)
    for draw in (lax.rng_uniform, pullback.jit(lax.rng_uniform, static_argnums=2)):
        x = draw(2.0, 3.0, (500,))
        assert 2 <= x.min() and x.max() <= 3 and 2.4 < x.mean() < 2.6
        assert set(np.asarray(draw(0, 3, (200,))).tolist()) == {0, 1, 2}


@pytest.mark.parametrize("call, message", [
    (lambda k: random.gamma(k, 2.0, method="fast"), "method is 'fast', 'exact' or 'approximate'"),
    (lambda k: random.poisson(k, 2.0, method="fast"), "method is 'fast'"),
    (lambda k: random.gamma(k, 2.0, dtype="int32"), "dtype is int32, a float dtype is required"),
    (lambda k: random.poisson(k, 2.0, dtype="float32"), "an integer dtype is required"),
    (lambda k: random.gamma(k, np.ones(3, np.float32), (2,)), "do not broadcast"),
    (lambda k: random.dirichlet(k, 1.0), "alpha has no axes"),
    (lambda k: random.multinomial(k, 3, 0.5), "p has no axes"),
    (lambda k: random.ball(k, -1), "d is -1"),
    (lambda k: random.key(0, impl="nope"), "no PRNG is called 'nope'"),
    (lambda k: lax.rng_bit_generator(np.uint32([1, 2]), (2,)), r"u32\[4\] or u64\[2\] is required"),
    (lambda k: lax.rng_bit_generator(np.uint32([1, 2, 3, 4]), (2,), np.int32), "uint8, uint16, uint32 or uint64"),
    (lambda k: lax.rng_bit_generator(np.uint32([1, 2, 3, 4]), (2,), algorithm=7), "algorithm is 7"),
    (lambda k: lax.rng_uniform(0.0, 1, (2,)), "real numbers of one dtype are required"),
    (lambda k: lax.rng_uniform(np.zeros(2), 1.0, (2,)), "without axes"),
])
def test_errors(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(random.key(0))


@pytest.mark.skipif(not APPROXIMATE, reason="the dtypes are those of jax 0.11")
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_parameters_wider_than_the_result(dtype):
    """Some distributions round their parameters, some give a wider result, the others refuse."""
    p, cov = f32(0.3, 0.5, 0.7), np.eye(3, dtype=np.float32) * 2
    calls = {"gamma": (p,), "loggamma": (p,), "dirichlet": (p,), "generalized_normal": (p, (3,)), "pareto": (p,),
             "multivariate_normal": (p, cov), "beta": (p, p), "chisquare": (p,), "t": (p,), "f": (p, p), "wald": (p,)}
    for name, args in calls.items():
        more = {"shape": ()} if name == "multivariate_normal" else {}
        try:
            wanted = getattr(jax.random, name)(jax.random.key(0), *args, dtype=dtype, **more)
        except jax.dtypes.TypePromotionError:
            with pytest.raises(pullback.dtypes.TypePromotionError, match="cannot hold"):
                getattr(random, name)(random.key(0), *args, dtype=dtype, **more)
            continue
        found = getattr(random, name)(random.key(0), *args, dtype=dtype, **more)
        assert found.dtype == wanted.dtype, name
        np.testing.assert_allclose(np.float32(found), np.float32(wanted), rtol=5e-2, err_msg=name)
    with pytest.raises(ValueError, match="a number is required"):
        random.ball(random.key(0), 2, p)
    assert pullback.jit(lambda p: random.ball(random.key(0), 2, p))(1.5).shape == (2,)
