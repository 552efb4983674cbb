"""Arrays shared with other libraries, both ways; real jax is one of these."""

import doctest

import jax
import numpy as np
import pytest

import pullback
from pullback.core import dtypes
from pullback.runtime import dlpack

jnp = pullback.numpy
DTYPES = ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32", "complex64", "bfloat16")


@pytest.mark.parametrize("dtype", DTYPES)
def test_to_and_from_jax(dtype):
    x = jnp.asarray([[0, 1, 2], [3, 0, 5]], dtype)
    there = jax.dlpack.from_dlpack(x)
    assert there.dtype == x.dtype and np.array_equal(np.asarray(there, np.complex64), np.asarray(x, np.complex64))
    for again in (pullback.dlpack.from_dlpack(there), jnp.from_dlpack(there)):
        assert again.dtype == x.dtype and np.array_equal(np.asarray(again, np.complex64), np.asarray(x, np.complex64))


def test_memory():
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    copied, shared = pullback.dlpack.from_dlpack(numbers), pullback.dlpack.from_dlpack(numbers, copy=False)
    assert shared.unsafe_buffer_pointer() == numbers.ctypes.data != copied.unsafe_buffer_pointer()
    numbers[0, 0] = 9
    assert copied[0, 0] == 0
    view = np.from_dlpack(copied)
    assert view.ctypes.data == copied.unsafe_buffer_pointer() and not view.flags.writeable
    assert pullback.dlpack.from_dlpack(copied) is copied
    turned = pullback.dlpack.from_dlpack(numbers.T[::-1])
    assert turned.tolist() == numbers.T[::-1].tolist()
    assert copied.__dlpack_device__() == (1, 0)
    wide = pullback.dlpack.from_dlpack(np.arange(3))
    assert wide.dtype == np.int32 and pullback.dlpack.from_dlpack(2.0 * np.ones(1)).dtype == np.float32
    assert pullback.dlpack.from_dlpack(np.zeros((0, 2), np.float32)).shape == (0, 2)
    placed = pullback.dlpack.from_dlpack(numbers, pullback.devices()[0])
    assert placed.committed


def test_strides_of_bfloat16():
    class Turned:
        """An array of bfloat16 whose memory is not in the order of its elements."""

        def __init__(self, x):
            self.x = x

        def __dlpack__(self, **options):
            return pullback.runtime.pjrt.dlpack_capsule(np.asarray(self.x))

        __dlpack_device__ = staticmethod(lambda: (1, 0))

    x = jnp.arange(6, dtype=dtypes.bfloat16).reshape(2, 3)
    assert dlpack.from_dlpack(Turned(x)).tolist() == x.tolist()
    assert dlpack.from_dlpack(Turned(x[:0])).shape == (0, 3)


def test_refused():
    for call, error, words in (
            (lambda: pullback.dlpack.from_dlpack(3), TypeError, "__dlpack__ and __dlpack_device__"),
            (lambda: pullback.dlpack.from_dlpack(np.arange(3), copy=False), ValueError, "copy=False"),
            (lambda: jnp.array([1, 2], "int4").__dlpack__(), TypeError, "no arrays of dtype int4"),
            (lambda: pullback.random.key(0).__dlpack__(), TypeError, "random.key_data"),
            (lambda: jnp.ones(2).__dlpack__(dl_device=(2, 0)), BufferError, "kDLCPU"),
            (lambda: jnp.ones(2).__dlpack__(copy=False), BufferError, "leave copy out")):
        with pytest.raises(error, match=words):
            call()

    class Elsewhere:
        __dlpack__ = None

        @staticmethod
        def __dlpack_device__():
            return 2, 0

    with pytest.raises(ValueError, match=r"device \(2, 0\)"):
        pullback.dlpack.from_dlpack(Elsewhere())


def test_supported_dtypes():
    for dtype in (*DTYPES, "int4", "uint4", "float8_e4m3fn", "int64", "float64"):
        assert pullback.dlpack.is_supported_dtype(dtype) == jax.dlpack.is_supported_dtype(dtype), dtype
    for module in (dlpack, pullback.dlpack):
        failed, attempted = doctest.testmod(module, extraglobs={"np": np, "jax": pullback})
        assert attempted and not failed
