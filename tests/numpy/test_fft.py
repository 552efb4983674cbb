"""Fourier transforms against real jax."""

import doctest
import importlib

import numpy as np
import pytest

import pullback
from tests.same import refused_alike, same_at_once

RNG = np.random.default_rng(0)
REAL = RNG.normal(size=(3, 4, 5)).astype(np.float32)
COMPLEX = (REAL + 1j * RNG.normal(size=REAL.shape)).astype(np.complex64)
FOUR = RNG.normal(size=(2, 3, 2, 4)).astype(np.float32)

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
MANY = ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")


def operands(name):
    return (REAL,) if name in ("rfft", "ihfft", "rfft2", "rfftn") else (REAL, COMPLEX)


@pytest.mark.parametrize("name", ONE)
def test_one_axis(name):
    def build(engine):
        f = getattr(engine.numpy.fft, name)

        def calls(*xs):
            return [f(x, **kwargs) for x in xs for kwargs in (
                {}, {"n": 3}, {"n": 8}, {"n": 1}, {"axis": 0}, {"axis": -2, "n": 6}, {"norm": "ortho"},
                {"norm": "forward", "axis": 1}, {"norm": "backward"})]
        return calls
    same_at_once(build, *operands(name))


@pytest.mark.parametrize("name", MANY)
def test_several_axes(name):
    def build(engine):
        f = getattr(engine.numpy.fft, name)
        two = [{}, {"s": (2, 7)}, {"s": (4, 3), "axes": (2, 0)}, {"axes": (-1, -2)}, {"norm": "ortho"},
               {"norm": "forward", "s": (5, 5)}]
        more = [{"axes": (0, 1, 2)}, {"axes": (1,)}, {"axes": ()}, {"s": (2, 3, 4)}, {"s": (3,)}]
        return lambda *xs: [f(x, **kwargs) for x in xs for kwargs in two + (more if name[-1] == "n" else [])]
    same_at_once(build, *operands(name))


def test_more_axes_than_xla_transforms_at_once():
    def build(engine):
        fft = engine.numpy.fft
        return lambda x: [fft.fftn(x), fft.ifftn(x), fft.rfftn(x), fft.irfftn(x), fft.fftn(x, axes=(3, 0, 2, 1))]
    same_at_once(build, FOUR)
    np.testing.assert_allclose(pullback.numpy.fft.rfftn(FOUR), np.fft.rfftn(FOUR), atol=1e-5)


def test_dtypes_and_shapes():
    def build(engine):
        fft, jnp = engine.numpy.fft, engine.numpy
        wholes = [jnp.ones(4, d) for d in ("int32", "bool", "uint8")]
        halves = [jnp.ones(4, d) for d in ("bfloat16", "float16")]
        empty = [jnp.zeros((0, 3)), jnp.zeros((0, 3), jnp.complex64)]
        return lambda: [
            *[f(x) for x in wholes for f in (fft.fft, fft.ifft, fft.rfft, fft.irfft, fft.hfft, fft.ihfft)],
            *[f(x) for x in halves for f in (fft.fft, fft.ifft, fft.irfft, fft.hfft, fft.fftn)],
            *[f(x) for x in empty for f in (fft.fft, fft.ifft, fft.irfft, fft.fft2 if x.size else fft.fft)],
            fft.fft(jnp.zeros(0)), fft.irfft(jnp.zeros((3, 1))), fft.irfft(jnp.zeros(0)), fft.rfft(empty[0]),
            fft.fftn(jnp.float32(2)), fft.rfftn(jnp.float32(2)), fft.irfftn(jnp.float32(2)), fft.fft(jnp.ones((3, 1)))]
    same_at_once(build)


def test_frequencies_and_shifts():
    def build(engine):
        fft, jnp = engine.numpy.fft, engine.numpy
        x, empty = jnp.arange(24).reshape(4, 6), jnp.zeros((0, 2))
        return lambda d: [
            *[f(*a) for f in (fft.fftfreq, fft.rfftfreq) for a in ((5,), (4,), (0,), (-2,), (1,), (4, 2.0), (5, d))],
            *[f(5, 0.25, dtype=t) for f in (fft.fftfreq, fft.rfftfreq) for t in ("bfloat16", "complex64")],
            fft.fftfreq(5, 0.25, dtype="int32"),
            *[f(x, a) for f in (fft.fftshift, fft.ifftshift) for a in (None, 0, (0,), (0, 0), (), (0, 1), -1, (-1, 1))],
            fft.fftshift(empty), fft.ifftshift(empty), fft.fftshift(jnp.float32(1))]
    same_at_once(build, np.float32(0.3))


@pytest.mark.parametrize("name", ONE + MANY)
def test_derivatives(name):
    shape = getattr(pullback.numpy.fft, name)(operands(name)[-1]).shape
    ct = RNG.normal(size=shape).astype(np.float32)

    def build(engine):
        f = getattr(engine.numpy.fft, name)

        def pulled(ct, *xs):
            results = []
            for x in xs:
                out, pull = engine.vjp(lambda x: f(x, norm="ortho"), x)
                results.append(pull(ct.astype(out.dtype)))
            return results

        def calls(ct, *xs):
            mapped = engine.vmap(lambda x: f(x, axis=0) if name in ONE else f(x, axes=(0, 1)))
            return pulled(ct, *xs), engine.jvp(f, (xs[0],), (2 * xs[0],))[1], mapped(xs[-1])
        return calls
    same_at_once(build, ct, *operands(name), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("words, build", [
    (r"n|size.*at least 1", lambda e: e.numpy.fft.fft(e.numpy.ones(3), n=0)),
    ("at least 1", lambda e: e.numpy.fft.fft(e.numpy.ones(3), n=-1)),
    ("'backward', 'ortho' or 'forward' is required", lambda e: e.numpy.fft.fft(e.numpy.ones(3), norm="x")),
    ("axis -3 is out of bounds", lambda e: e.numpy.fft.rfft(e.numpy.ones((3, 3)), axis=-3)),
    ("axis -1 is out of bounds", lambda e: e.numpy.fft.ifft(e.numpy.float32(1))),
    ("real numbers are required", lambda e: e.numpy.fft.rfft(e.numpy.ones(3, e.numpy.complex64))),
    ("real type are required", lambda e: e.numpy.fft.rfft(e.numpy.ones(3, e.numpy.bfloat16))),
    ("name one axis twice", lambda e: e.numpy.fft.fftn(e.numpy.ones((3, 3)), axes=(0, -2))),
    ("two axes are required", lambda e: e.numpy.fft.fft2(e.numpy.ones((3, 3)), axes=(0,))),
    ("one size for each axis", lambda e: e.numpy.fft.fft2(e.numpy.ones((3, 3)), s=(3,))),
    ("an int is required", lambda e: e.numpy.fft.fftfreq([4])),
    ("out of bounds", lambda e: e.numpy.fft.fftshift(e.numpy.ones(3), axes=1)),
    ("one of FFT, IFFT", lambda e: e.lax.fft(e.numpy.ones(3), "Fft", (3,))),
    ("last axes must have", lambda e: e.lax.fft(e.numpy.ones(3), "FFT", (4,))),
    ("last axes must have", lambda e: e.lax.fft(e.numpy.ones(3), "IRFFT", (3,))),
    ("from 1 to 1 are required", lambda e: e.lax.fft(e.numpy.ones(3), "FFT", (1, 3))),
])
def test_refused(words, build):
    refused_alike(build, ValueError, words)


@pytest.mark.parametrize("words, build", [
    ("lax.FftType or its name", lambda e: e.lax.fft(e.numpy.ones(3), 0, (3,))),
    ("got a list", lambda e: e.numpy.fft.fft([1.0, 2.0])),
    ("a sequence of ints is required", lambda e: e.numpy.fft.fftn(e.numpy.ones(3), axes=0)),
    ("a real number is required", lambda e: e.numpy.fft.fftfreq(4, 2j)),
])
def test_wrong_types(words, build):
    refused_alike(build, TypeError, words)


def test_more_sizes_than_axes():
    with pytest.raises(ValueError, match="4 sizes, the array has 2"):
        pullback.numpy.fft.fftn(pullback.numpy.ones((3, 3)), s=(3,) * 4)


def test_lax_fft():
    def build(engine):
        lax = engine.lax
        return lambda x, z: [lax.fft(z, "fft", (5,)), lax.fft(z, lax.FftType.IFFT, (4, 5)),
                             lax.fft(x, "RFFT", (3, 4, 5)),
                             lax.fft(z, "irfft", (9,)), lax.fft(z, "irfft", (3, 4, 8)), lax.fft(x, "FFT", (5,)),
                             lax.fft(z, "FFT", ())]
    same_at_once(build, REAL, COMPLEX)
    assert list(pullback.lax.FftType) == [0, 1, 2, 3]


def test_examples_in_docstrings():
    for name in ("pullback.numpy.fft", "pullback.lax.fft"):
        module = importlib.import_module(name)
        failed, attempted = doctest.testmod(module, extraglobs={"jnp": pullback.numpy, "lax": pullback.lax})
        assert attempted and not failed
