"""Convolutions, trends and spectra against real jax, and against SciPy where that does more."""

import doctest
import importlib
import inspect

import jax
import jax.scipy.signal
import numpy as np
import pytest
import scipy.signal

import pullback
from tests.same import refused_expressions, same_expressions

jnp, signal = pullback.numpy, pullback.scipy.signal
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=7).astype(np.float32), RNG.normal(size=4).astype(np.float32)
A, B = RNG.normal(size=(5, 6)).astype(np.float32), RNG.normal(size=(3, 4)).astype(np.float32)
T = RNG.normal(size=(2, 60)).astype(np.float32)


def shown(text):
    return text.replace("s.", "scipy.signal.")


def test_signatures():
    for name in signal.__all__:
        found, expected = (inspect.signature(getattr(m, name)).parameters.values() for m in (signal, jax.scipy.signal))
        assert [(p.name, p.default) for p in found] == [(p.name, p.default) for p in expected], name
    assert set(signal.__all__) == {n for n in dir(jax.scipy.signal) if n[0] != "_"}


def test_convolutions():
    same_expressions(shown("""
        s.convolve(x, y)
        s.convolve(y, x, 'same')
        s.convolve(y, x, 'valid')
        s.convolve(x, y, 'same', method='fft')
        s.convolve(x.astype(int), y.astype(int))
        s.convolve(x + 1j, y, method='fft')
        s.convolve(z, w)
        s.convolve(z, w, 'same')
        s.convolve(w, z, 'valid')
        s.convolve(z[None], w[None])
        s.convolve(x.astype('bfloat16'), y.astype('bfloat16'))
        s.correlate(x, y)
        s.correlate(y, x, 'same')
        s.correlate(y, x, 'valid')
        s.correlate((x + 1j * x[::-1])[:3], x + 1j)
        s.correlate(z, w * 1j, method='fft')
        s.convolve2d(z, w, 'same')
        s.correlate2d(z, w * 1j)
        s.correlate2d(w, z, 'same')
        s.correlate2d(z, w, 'valid')
        s.fftconvolve(x, y, 'same')
        s.fftconvolve(w, z, 'valid')
        s.fftconvolve(z, z[:, :4], axes=(1,))
        s.fftconvolve(x.astype(int), y.astype(int))
        engine.grad(lambda z: (s.convolve(z, w, 'same') ** 2).sum())(z)
        engine.grad(lambda w: (s.fftconvolve(z, w) ** 2).sum())(w)"""), X, Y, A, B, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("function", ["convolve2d", "correlate2d"])
def test_boundaries_against_scipy(function):
    for x, y in ((A, B), (B, A), (A, B.T), (B, B[:2, :2])):
        for mode in ("full", "same"):
            for options in ({"boundary": "wrap"}, {"boundary": "symm"}, {"fillvalue": 2.0}, {}):
                expected = getattr(scipy.signal, function)(x, y, mode, **options)
                ours = getattr(signal, function)(x, y, mode, **options)
                np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-4)


def test_trends():
    same_expressions(shown("""
        s.detrend(x)
        s.detrend(x, axis=0)
        s.detrend(x, type='constant')
        s.detrend(x, bp=[10, 30])
        s.detrend((x * 5).astype(int), bp=30)
        s.detrend(x + 1j * x[::-1])
        engine.grad(lambda x: (s.detrend(x) ** 3).sum())(x)"""), T, rtol=1e-4, atol=1e-4)
    assert np.allclose(signal.detrend(T, bp=np.array([10])), scipy.signal.detrend(T, bp=np.array([10])), atol=1e-5)


def test_spectra():
    same_expressions(shown("""
        s.stft(x, 2., nperseg=16, noverlap=4)
        s.stft(x, nperseg=16, nfft=20, boundary=None, detrend='linear')
        s.stft(x, nperseg=16, boundary='odd', padded=False)
        s.stft(x + 1j * x[::-1], nperseg=16, return_onesided=False, boundary='constant')
        s.stft(x.T, nperseg=7, axis=0, boundary='even')
        s.stft((x * 5).astype(int), window=('kaiser', 4.), nperseg=16)
        s.csd(x, x[::-1], 2., nperseg=16, scaling='spectrum')
        s.csd(x, x[:1, :40], nperseg=16, detrend=False)
        s.csd(x[0, :12], x[0])
        s.csd(x, x[::-1], nperseg=16, average='median')
        s.csd(x, None, nperseg=60)
        s.welch(x, nperseg=15, nfft=20)
        s.welch(x.T, nperseg=16, axis=0, average='median')
        s.welch(x + 1j, nperseg=16, return_onesided=False, window='hamming')
        engine.grad(lambda x: s.welch(x, nperseg=16)[1].sum())(x)
        engine.grad(lambda x: (jnp.abs(s.stft(x, nperseg=16)[2]) ** 2).sum())(x)"""), T, compiled=False, rtol=1e-4,
                     atol=1e-4)


@pytest.mark.filterwarnings("ignore:NOLA condition failed")
def test_back_from_spectra():
    w = np.hanning(16).astype(np.float32)
    for x, there, back in ((T, {}, {}), (T, {"noverlap": 12}, {"noverlap": 12}), (T, {"window": w}, {"window": w}),
                           (T, {"boundary": None}, {"boundary": False}), (T, {"nfft": 20}, {"nfft": 20}),
                           (T + 1j, {"return_onesided": False}, {"input_onesided": False})):
        spectrum = signal.stft(x, 3.0, nperseg=16, **there)[2]
        times, ours = signal.istft(spectrum, 3.0, nperseg=16, **back)
        _, expected = scipy.signal.istft(np.asarray(spectrum), 3.0, nperseg=16, **back)
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(times, np.arange(ours.shape[-1]) / 3, rtol=1e-6)
    z = signal.stft(T, nperseg=16)[2]
    again = signal.istft(jnp.moveaxis(z, -1, 0), time_axis=0, freq_axis=-1)[1]
    expected = scipy.signal.istft(np.moveaxis(np.asarray(z), -1, 0), time_axis=0, freq_axis=-1)[1]
    np.testing.assert_allclose(again, expected, rtol=1e-4, atol=1e-4)


def test_refused():
    refused_expressions(shown("""
        s.convolve(x, y, 'xx') -> 'full', 'same' or 'valid'
        s.convolve(x, y, method='xx') -> 'auto', 'direct' or 'fft'
        s.convolve(z, y) -> equally many axes
        s.convolve(z, w[:2].repeat(2, 1), 'valid') -> one array must be at least as large
        s.convolve2d(x, y) -> matrices are required
        s.convolve2d(z, w, boundary='xx') -> 'fill', 'wrap' or 'symm'
        s.fftconvolve(z, w, axes=(1,)) -> neither equal nor 1
        s.detrend(z, type='xx') -> 'linear' or 'constant'
        s.detrend(z, bp=[70]) -> places from 0 to 6
        s.stft(x, nperseg=4, noverlap=4) -> noverlap is 4, less than nperseg
        s.stft(x, nperseg=4, nfft=2) -> nfft is 2, at least nperseg
        s.stft(x, nperseg=4, boundary='xx') -> one of
        s.stft(x, nperseg=0) -> nperseg is 0
        s.csd(x, None, nperseg=4, scaling='xx') -> 'density' or 'spectrum'
        s.welch(x, nperseg=4, average='xx') -> 'mean' or 'median'
        s.istft(x) -> an axis of frequencies
        s.istft(z, time_axis=0, freq_axis=0) -> are both 0"""), X, Y, A, B)
    with pytest.warns(UserWarning, match="nperseg = 7 is taken"):
        signal.stft(X, nperseg=16)
    with pytest.raises(TypeError, match="overwrite_data is True"):
        signal.detrend(X, overwrite_data=True)


def test_examples_in_docstrings():
    for name in ("convolution", "spectra", "trend"):
        module = importlib.import_module(f"pullback.scipy.signal.{name}")
        failed, attempted = doctest.testmod(module, extraglobs={"jnp": jnp, "scipy": pullback.scipy})
        assert attempted and not failed
