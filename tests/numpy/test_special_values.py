"""Signs of zeros, bits of NaNs, and dtypes of few bits, as real jax has them; rank promotion."""

import warnings

import jax
import jax.scipy.fft
import numpy as np
import pytest

import pullback
from tests.same import same_expressions

jnp = pullback.numpy
INF, NAN = np.inf, np.nan
Z = np.float32([0.0, -0.0, 1, -1, NAN, INF, -INF])
PAYLOAD = np.array([0x7FC00001, 0x3F800000, 0xFFC00002, 0x80000000, 0, 0xFF800000, 0x7F800000], np.uint32).view(
    np.float32)


def bits(text):
    """Each expression as the bits of its value."""
    return "\n".join(f"lax.bitcast_convert_type({line.strip()}, jnp.uint32)" for line in text.strip().splitlines())


def test_signs_of_zeros():
    # The sign of a NaN that max returns is not even the same in jax's eager and jitted code.
    same_expressions(bits("""
        jnp.max(x[:2])
        jnp.max(x[1::-1])
        jnp.min(x[:2])
        jnp.min(x[1::-1])
        jnp.max(jnp.stack([x[:2], x[1::-1], -x[:2]]), axis=0)
        jnp.maximum(x[0], x[1])
        jnp.maximum(x[1], x[0])
        jnp.minimum(x[0], x[1])
        jnp.minimum(x[1], x[0])
        jnp.abs(lax.max(y, y[::-1]))
        jnp.abs(lax.min(y, y[::-1]))
        jnp.clip(x, 0., 0.)
        jnp.clip(x, -0., 0.)
        jnp.sum(x[1:2])
        jnp.mean(x[1:2])
        jnp.prod(x[:2])
        jnp.sign(x)
        jnp.round(x * .4)
        jnp.trunc(x * .4)
        jnp.power(x, -1.)
        jnp.sqrt(x)
        jnp.nextafter(x, 0.)"""), Z, PAYLOAD, rtol=0, atol=0)


def test_order_of_nans_and_zeros():
    same_expressions(bits("""
        jnp.sort(x)
        jnp.sort(y)
        jnp.sort(y[:3])
        jnp.sort(x[:2])
        jnp.sort(x[1::-1])
        jnp.sort(x, descending=True)
        lax.sort(y)"""), Z, PAYLOAD, rtol=0, atol=0)
    same_expressions("""
        jnp.argsort(x)
        jnp.argsort(y)
        jnp.argsort(x, descending=True)
        jnp.sort(x + 1j * x[::-1])
        jnp.argsort(x + 1j * x[::-1])
        lax.sort_key_val(x, jnp.arange(7))[1]
        jnp.argmax(x)
        jnp.argmax(x[:2])
        jnp.argmin(x[:2])
        jnp.searchsorted(jnp.sort(x), x)""", Z, PAYLOAD)
    same_expressions("jnp.unique(x)\njnp.unique(x, equal_nan=False)", Z, known=True)


COMPLEX = np.array([complex(a, b) for a in (0.0, -0.0, 1.0, -1.0, INF, -INF, NAN) for b in (0.0, -1.0, INF, NAN)],
                   np.complex64)


def test_complex_infinities():
    """Eager evaluation gives what compiled code gives, not what NumPy gives."""
    unary = ("sign square sqrt reciprocal exp expm1 exp2 log log2 log10 log1p sin cos tan arctan sinh cosh "
             "tanh isfinite isnan angle").split() + ["sinc"] * (jax.__version_info__ >= (0, 11))
    unary += ["abs"] * (jax.__version_info__ < (0, 12))  # jax 0.12: inf beside a NaN
    same_expressions("\n".join([*(f"jnp.{name}(x)" for name in unary), "lax.rsqrt(x)", "lax.logistic(x)", "x / x[::-1]",
                                "1 / x", "x * x[::-1]", "x ** x[::-1]", "x ** 2"]), COMPLEX)


def test_a_nan_stays_in_running_sums():
    same_expressions("\n".join(f"lax.{name}(x)" for name in ("cumsum", "cumprod", "cumlogsumexp")),
                     np.complex64([0, 1, NAN, 1, -INF, 2]))


def test_floats_beyond_the_range_of_integers():
    """As compiled code has them; jax, too, where it does not leave them to NumPy."""
    x, last = jnp.arange(3), 2 ** 31 - 1
    for got, wanted in ((jnp.full(2, INF, "int8"), [127, 127]), (jnp.full_like(x, -INF), [-last - 1] * 3),
                        (jnp.full_like(x, NAN), [0, 0, 0]), (jnp.max(x, initial=-INF), 2), (jnp.min(x, initial=INF), 0),
                        (jnp.insert(x, 1, 1e20), [0, last, 1, 2]), (jnp.full(2, 300.7, "uint8"), [255, 255]),
                        (jnp.pad(x, (0, 1), constant_values=-1e20)[-1], -last - 1)):
        assert got.tolist() == wanted


def test_ends_of_linspace():
    same_expressions("""
        jnp.linspace(x[0], x[1], 11)[-1]
        jnp.linspace(x[0], x[1], 11, dtype='float16')[-1]
        jnp.linspace(x, x[::-1], 7)[-1]""", np.float16([0.0721, 0.4739]), rtol=0, atol=0)


NARROW_FLOATS = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz")


def test_narrow_floats():
    v = np.float32([0, 0.5, -1.5, 2, 3.3, 448, 500, 1e9, -1e9, NAN, INF, 1e-9])
    lines = ["x.astype(T)", "x.astype(T).astype('float32')", "x.astype(T) * 2", "jnp.sum(x.astype(T)[:4])",
             "jnp.max(x.astype(T)[:4])", "-x.astype(T)", "jnp.isnan(x.astype(T))",
             "x.astype(T) > 1", "jnp.dot(x[:4].astype(T), x[:4].astype(T))"]
    text = "\n".join(line.replace("T", repr(name)) for name in NARROW_FLOATS for line in lines)
    text += "".join(f"\njnp.sort(x.astype({name!r}))" for name in NARROW_FLOATS[:2])
    same_expressions(text, v, compiled=False)


def test_narrow_integers():
    same_expressions("""
        x.astype('int4')
        x.astype('uint4')
        x.astype('int2')
        x.astype('int4') + x.astype('int4')
        x.astype('int4') * 2
        jnp.sort(x.astype('int4'))
        jnp.max(x.astype('int4'))
        jnp.dot(x.astype('int4'), x.astype('int4'))
        x.astype('int4') << 1
        ~x.astype('int4')
        x.astype('int4') // 2
        x.astype('int4') / 2
        x.astype('uint4') - 1
        x.astype('int4') == 3
        jnp.cumsum(x.astype('int4'))
        jnp.take(x.astype('int4'), jnp.array([1, 99]))
        x.astype('int4')[jnp.array([1, 99])]
        jnp.argmax(x.astype('int4'))
        x.astype('int4') ** 2
        jnp.arange(5, dtype='int4')""", np.int32([-9, -8, -1, 0, 3, 7, 8, 100]))


A, B, S = np.ones((2, 3), np.float32), np.ones(3, np.float32), np.float32(1)
RANKS = """
    e.numpy.add(a, b)
    a + s
    e.numpy.where(a > 0, a, b)
    e.numpy.select([a > 0], [b], 0.0)
    e.numpy.matmul(a, b)
    e.numpy.broadcast_to(b, (2, 3))
    a.at[:].set(b)
    e.numpy.clip(a, b, b)
    a < b
    e.numpy.arctan2(a, b)
    e.numpy.sum(a, where=b > 0)
    e.numpy.isclose(a, b)
    e.numpy.add.outer(a, b)
    e.numpy.median(a, axis=1)
    e.nn.softmax(a)
    e.numpy.fft.fft(a)
    e.scipy.fft.dct(a)
"""


@pytest.mark.parametrize("expression", [line.strip() for line in RANKS.strip().splitlines()])
def test_rank_promotion(expression):
    def outcome(engine, mode):
        names = {"e": engine, **{k: engine.numpy.asarray(v) for k, v in (("a", A), ("b", B), ("s", S))}}
        with engine.numpy_rank_promotion(mode), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                eval(expression, names)
            except ValueError:
                return "refused"
        return sum("rank" in str(w.message).lower() for w in caught) > 0

    for mode in ("allow", "warn", "raise"):
        assert outcome(pullback, mode) == outcome(jax, mode), mode
