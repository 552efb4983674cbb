"""pullback's client and a real jax in one process: each has its own, neither notices the other."""

import importlib.util

import pytest

from tests.runtime.interpreter import run

needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="real jax is not installed")

# Everything this module offers, in 64 bit and the small types, on three devices.
OURS = """
import sys
import ml_dtypes
import numpy as np
def ours():
    from pullback.runtime import pjrt
    places = pjrt.devices()
    assert len(places) == 3 and [repr(place) for place in places][2] == "CpuDevice(id=2)"
    for dtype, name in (("float64", "f64"), ("int64", "i64"), (ml_dtypes.bfloat16, "bf16"),
                        ("float32", "f32"), (ml_dtypes.float8_e4m3fn, "f8E4M3FN"),
                        (ml_dtypes.int4, "i4"), ("complex128", "complex<f64>")):
        text = f'''module {{ func.func public @main(%x: tensor<3x{name}>) -> tensor<3x{name}> {{
          %0 = stablehlo.reverse %x, dims = [0] : tensor<3x{name}>  return %0 : tensor<3x{name}> }} }}'''
        x = np.arange(3).astype(dtype)
        program = pjrt.compile(text, [((3,), dtype)])
        program = pjrt.deserialize(program.serialize(), [((3,), dtype)])
        buffer = pjrt.put(x, copy=True)
        result, = program([buffer])
        assert pjrt.block_until_ready(result) is result and pjrt.is_ready(result)
        for found in (result, pjrt.copy_to_device(result, places[1]),
                      pjrt.put(x[::-1], places[2], copy=False)):
            back = pjrt.to_numpy(found)
            assert type(back) is np.ndarray and back.dtype == dtype and (back == x[::-1]).all(), back
        pjrt.delete(buffer)
        assert pjrt.is_deleted(buffer)
        try:
            pjrt.to_numpy(buffer)
        except pjrt.ExecutionError:
            pass
        else:
            raise AssertionError
    buffer = pjrt.put_sharded(np.arange(6.0), places, "{devices=[3]<=[3]}", copy=False)
    assert pjrt.to_numpy(buffer).tolist() == [0, 1, 2, 3, 4, 5] and len(pjrt.shard_slices(buffer)) == 3
    assert pjrt.to_numpy(pjrt.put(np.arange(3.0), copy=False)).dtype == "float64"
    called = '''module { func.func public @main(%x: tensor<3xf64>) -> tensor<3xf64> {
      %0 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%x) {api_version = 4 : i32,
        backend_config = {index = 0 : ui64}} : (tensor<3xf64>) -> tensor<3xf64>
      return %0 : tensor<3xf64> } }'''
    def twice(x):
        assert type(x) is np.ndarray
        return (2 * x,)
    program = pjrt.compile(called, [((3,), "float64")], host_callbacks=[twice])
    assert pjrt.to_numpy(program([pjrt.put(np.arange(3.0), copy=True)])[0]).tolist() == [0, 2, 4]
    assert program.cost_analysis() and program.memory_analysis() and program.hlo_text()
    pjrt.cache_key_parts(), pjrt.register_lapack()
    print("ours")
"""
# What jax does in its default state, the part of it that rests on process-wide state of jaxlib above all.
THEIRS = """
def theirs():
    import jax
    import jax.numpy as jnp
    assert len(jax.devices()) == 1 and not jax.config.jax_enable_x64
    assert jnp.arange(3.0).dtype == "float32" and jax.device_put(np.arange(3.0)).dtype == "float32"
    f = jax.jit(lambda x: jnp.sin(x) @ x)
    x = jnp.arange(3.0)
    assert jnp.allclose(jax.vmap(jax.grad(f))(x[None])[0], jnp.cos(x) * x + jnp.sin(x))
    assert np.asarray(jnp.ones(3, "bfloat16")).dtype == "bfloat16" and x.aval.str_short() == "float32[3]"
    assert isinstance(x + 1, jax.Array) and repr(x) == "Array([0., 1., 2.], dtype=float32)"
    assert jax.tree.leaves({"a": [1, None, (2,)]}) == [1, 2]
    assert float(jax.pure_callback(lambda v: v.sum(), jax.ShapeDtypeStruct((), "float32"), x)) == 3.0
    with jax.enable_x64(True):
        assert jnp.arange(3.0).dtype == "float64"
    try:
        jax.jit(lambda x: 1 if x > 0 else 2)(1.0)
    except jax.errors.TracerBoolConversionError:
        print("theirs")
"""
# jax, told to use one device of its own, must not see our number of devices, nor we its.
BOTH = {"PULLBACK_NUM_CPU_DEVICES": "3", "JAX_NUM_CPU_DEVICES": "1"}


def test_without_jax():
    assert run(OURS + "ours()", without_jax=True, **BOTH) == ["ours"]


@needs_jax
def test_with_jax_installed_it_is_not_imported():
    assert run(OURS + "ours(); print([name for name in sys.modules if name.split('.')[0] == 'jax'])",
               **BOTH) == ["ours", "[]"]


@needs_jax
@pytest.mark.parametrize("order", [["ours", "theirs", "ours"], ["theirs", "ours", "theirs"]], ids="-".join)
def test_beside_jax(order):
    assert run(OURS + THEIRS + "; ".join(f"{name}()" for name in order), **BOTH) == order


@needs_jax
def test_jax_imported_first_but_used_last():
    assert run("import jax\n" + OURS + THEIRS + "ours(); theirs()", **BOTH) == ["ours", "theirs"]


# -- LAPACK, which both register -------------------------------------------------------------------


CHOLESKY = """
from pullback.runtime import pjrt
import numpy as np
def cholesky():
    pjrt.register_lapack()
    pjrt.register_lapack()
    text = '''module { func.func public @main(%x: tensor<2x2xf64>) -> (tensor<2x2xf64>, tensor<i32>) {
      %0:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%x) {api_version = 4 : i32,
        backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
        result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>],
        output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0],
          operand_index = 0, operand_tuple_indices = []>]}
        : (tensor<2x2xf64>) -> (tensor<2x2xf64>, tensor<i32>)
      return %0#0, %0#1 : tensor<2x2xf64>, tensor<i32> } }'''
    x = np.array([[4.0, 2.0], [2.0, 5.0]])
    factor, info = pjrt.compile(text, [((2, 2), "float64"), ((), "int32")])([pjrt.put(x, copy=True)])
    print(np.tril(pjrt.to_numpy(factor)).ravel().tolist() == [2, 0, 1, 2], int(pjrt.to_numpy(info)))
"""
JAX_CHOLESKY = """
def of_jax():
    import jax.numpy as jnp
    print(jnp.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]])).ravel().tolist() == [2, 0, 1, 2])
"""


def test_lapack():
    assert run(CHOLESKY + "cholesky()", without_jax=True) == ["True", "0"]


@needs_jax
@pytest.mark.parametrize("order", ["of_jax(); cholesky(); of_jax()", "cholesky(); of_jax(); cholesky()"])
def test_lapack_beside_jax(order):
    words = run(CHOLESKY + JAX_CHOLESKY + order)
    assert words.count("True") == 3 and words.count("0") == len(words) - 3
