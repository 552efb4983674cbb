"""The door to jaxlib: buffers, compiled programs, devices."""

import gc
import sys
import threading

import ml_dtypes
import numpy as np
import pytest

from pullback.runtime import callbacks, layout, machine, pjrt
from tests.runtime.interpreter import run

JAXLIB = tuple(int(part) for part in pjrt.versions()["jaxlib"].split(".")[:2])

NATIVE = [np.dtype(name) for name in (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "float64", "complex64", "complex128")]
SMALL = [np.dtype(getattr(ml_dtypes, name)) for name in (
    "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz",
    "float8_e3m4", "float8_e4m3", "float8_e8m0fnu")]
PACKED = [np.dtype(getattr(ml_dtypes, name)) for name in ("int4", "uint4", "int2", "uint2", "float4_e2m1fn")]

MLIR = {"bool": "i1", "bfloat16": "bf16", "complex64": "complex<f32>", "complex128": "complex<f64>"}


def element(dtype):
    name = np.dtype(dtype).name
    if name in MLIR:
        return MLIR[name]
    kind, _, rest = name.partition("_")
    short = kind.replace("uint", "ui").replace("float", "f").replace("int", "i")
    return short + rest.upper()


def tensor(shape, dtype):
    return "tensor<" + "x".join([*map(str, shape), element(dtype)]) + ">"


def unary(operation, shape, dtype, attribute="", **options):
    """A compiled `main(x) = operation x`."""
    t = tensor(shape, dtype)
    text = f"""module @unary {{ func.func public @main(%x: {t} {attribute}) -> {t} {{
      %0 = {operation.format(t=t)} : {t}  return %0 : {t} }} }}"""
    return pjrt.compile(text, [(shape, dtype)], **options)


def sample(dtype, shape=(5,), rng=None):
    rng = rng or np.random.default_rng(0)
    return rng.integers(0, 2, shape).astype(dtype)


def same(x, y):
    assert isinstance(x, np.ndarray)
    assert (x.dtype, x.shape) == (y.dtype, y.shape)
    assert x.tobytes() == y.tobytes()


# -- buffers ----------------------------------------------------------------------------------------


def test_loading_the_module_loads_no_compiler():
    assert run("""
import sys
from pullback.runtime import cache, pjrt
pjrt.default_backend(), pjrt.aligned_empty((3,), "float32")
print(any(name.split(".")[0] in ("jax", "jaxlib") for name in sys.modules))
pjrt.devices()
print(*[name in sys.modules for name in ("jaxlib._jax", "jaxlib.mlir", "scipy", "jax")])
""") == ["False", "True", "False", "False", "False"]


@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize("dtype", [*NATIVE, *SMALL, *PACKED], ids=str)
def test_round_trip(dtype, copy):
    for shape in [(5,), (), (0, 3), (2, 3, 4)]:
        x = sample(dtype, shape)
        back = pjrt.to_numpy(pjrt.put(x, copy=copy))
        same(back, x)
        assert not back.flags.writeable
        if x.size and dtype in NATIVE:  # the others may be copies
            with pytest.raises(ValueError):
                back.setflags(write=True)


@pytest.mark.parametrize("dtype", [*NATIVE, *SMALL, *PACKED[:2]], ids=str)
def test_through_a_program(dtype):
    x = np.arange(6).reshape(2, 3).astype(dtype)
    program = unary("stablehlo.reverse %x, dims = [1]", (2, 3), dtype)
    result, = program([pjrt.put(x, copy=True)])
    same(pjrt.to_numpy(result), np.ascontiguousarray(x[:, ::-1]))


def test_negative_packed_integers():
    x = np.array([-8, -1, 0, 3, 2], ml_dtypes.int4)
    assert pjrt.to_numpy(pjrt.put(x, copy=True)).astype(int).tolist() == [-8, -1, 0, 3, 2]
    program = unary("stablehlo.add %x, %x", (5,), ml_dtypes.int4)
    result = pjrt.to_numpy(program([pjrt.put(x, copy=True)])[0])
    assert result.astype(int).tolist() == [0, -2, 0, 6, 4]


@pytest.mark.parametrize("make", [
    lambda: np.arange(6.0)[::-1], lambda: np.arange(6.0).reshape(2, 3).T, lambda: np.arange(12.0)[::3],
    lambda: np.broadcast_to(np.float32(2), (3, 4)), lambda: np.arange(3, dtype=">f4"),
    lambda: np.arange(3, dtype=">i8")[::2], lambda: np.float32(3), lambda: np.frombuffer(b"\0" * 8, "f4"),
    lambda: np.frombuffer(b"\1" * 9, "u1")[1:].view("f4"),
], ids=["reversed", "transposed", "strided", "broadcast", "big-endian", "big-endian strided", "scalar",
        "read-only", "unaligned"])
@pytest.mark.parametrize("copy", [False, True])
def test_layouts(make, copy):
    x = make()
    back = pjrt.to_numpy(pjrt.put(x, copy=copy))
    assert back.dtype == x.dtype.newbyteorder("=") and np.array_equal(back, x)


@pytest.mark.parametrize("dtype", ["M8[s]", "U3", "O", "V4", "S2", np.longdouble, [("a", "f4")]], ids=str)
def test_a_dtype_that_xla_lacks(dtype):
    with pytest.raises(TypeError, match="a boolean or numeric dtype that XLA has is required"):
        pjrt.put(np.zeros(2, dtype), copy=True)


@pytest.mark.parametrize("dtype", ["float32", "bool", "complex128", ml_dtypes.bfloat16], ids=str)
def test_aligned_memory_is_shared(dtype):
    for shape in [(), (0,), (1000,), (3, 5)]:
        x = pjrt.aligned_empty(shape, dtype)
        assert (x.shape, x.dtype) == (shape, np.dtype(dtype))
        assert x.size == 0 or x.ctypes.data % 64 == 0
        assert x.flags.c_contiguous and x.flags.writeable
        x[...] = 1
        back = pjrt.to_numpy(pjrt.put(x, copy=False))
        if x.size and (JAXLIB >= (0, 11) or x.dtype.isbuiltin == 1):
            assert back.ctypes.data == x.ctypes.data


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x.T], ids=["contiguous", "strided"])
def test_a_copy_is_private(make):
    x = pjrt.aligned_empty((1500, 1500), "float64")
    x[...] = 0
    buffer = pjrt.put(make(x), copy=True)
    x[...] = 1
    assert pjrt.to_numpy(buffer).sum() == 0


def test_shared_memory_lives_as_long_as_its_buffer():
    x = pjrt.aligned_empty((1000,), "float32")
    x[...] = 7
    count = sys.getrefcount(x)
    buffer = pjrt.put(x, copy=False)
    assert sys.getrefcount(x) > count
    view = pjrt.to_numpy(buffer)
    del x, buffer
    gc.collect()
    assert (view == 7).all()


@pytest.mark.parametrize("dtype", ["float32", ml_dtypes.bfloat16], ids=str)
@pytest.mark.parametrize("shared", [False, True])
def test_a_view_outlives_deletion_and_donation(dtype, shared):
    x = pjrt.aligned_empty((1000,), dtype)
    x[...] = 2
    donating = unary("stablehlo.add %x, %x", (1000,), dtype, "{tf.aliasing_output = 0 : i32}")
    deleted, donated = pjrt.put(x, copy=not shared), pjrt.put(x, copy=not shared)
    views = [pjrt.to_numpy(deleted), pjrt.to_numpy(donated)]
    pjrt.delete(deleted)
    result, = donating([donated])
    assert (pjrt.to_numpy(result).astype(int) == 4).all()
    others = [pjrt.put(np.full(1000, 9, dtype), copy=True) for _ in range(50)]
    for view in views:
        assert (view.astype(int) == 2).all()
    assert len(others) == 50


def test_donation_reuses_the_memory():
    program = unary("stablehlo.add %x, %x", (1000,), "float32", "{tf.aliasing_output = 0 : i32}")
    start, = unary("stablehlo.sine %x", (1000,), "float32")([pjrt.put(np.ones(1000, "f4"), copy=True)])
    result, = program([start])
    assert pjrt.is_deleted(start) and not pjrt.is_deleted(result)
    with pytest.raises(pjrt.ExecutionError, match=r"buffer 0, float32\[1000\], was donated to an earlier"):
        program([start])
    assert np.allclose(pjrt.to_numpy(result), 2 * np.sin(1))


def test_deletion():
    live, buffer = pjrt.put(np.ones(3), copy=True), pjrt.put(np.ones(4), copy=True)
    assert not pjrt.is_deleted(buffer)
    pjrt.delete(buffer)
    pjrt.delete(buffer)
    assert pjrt.is_deleted(buffer)
    program = pjrt.compile("""module { func.func public @main(%x: tensor<3xf64>, %y: tensor<4xf64>)
      -> tensor<4xf64> { return %y : tensor<4xf64> } }""", [((4,), "float64")])
    for use in (pjrt.to_numpy, pjrt.is_ready, pjrt.block_until_ready,
                lambda b: pjrt.copy_to_device(b, pjrt.devices()[0])):
        with pytest.raises(pjrt.ExecutionError, match=r"Array has been deleted: buffer 0, float64\[4\]"):
            use(buffer)
    with pytest.raises(pjrt.ExecutionError, match=r"Array has been deleted: buffer 1, float64\[4\]"):
        program([live, buffer])


def test_waiting():
    buffer = pjrt.put(np.ones(3), copy=True)
    assert pjrt.block_until_ready(buffer) is buffer
    assert pjrt.is_ready(buffer)


# -- programs ---------------------------------------------------------------------------------------


def test_several_arguments_and_results():
    program = pjrt.compile("""module { func.func public @main(%x: tensor<3xf32>, %n: tensor<i32>)
      -> (tensor<i32>, tensor<3xf32>, tensor<0xbf16>) {
      %0 = stablehlo.add %x, %x : tensor<3xf32>  %1 = stablehlo.negate %n : tensor<i32>
      %2 = stablehlo.constant dense<> : tensor<0xbf16>
      return %1, %0, %2 : tensor<i32>, tensor<3xf32>, tensor<0xbf16> } }""",
                           [((), "int32"), ((3,), "float32"), ((0,), ml_dtypes.bfloat16)])
    results = program([pjrt.put(np.arange(3, dtype="f4"), copy=True), pjrt.put(np.int32(5), copy=True)])
    assert isinstance(results, list)
    for result, expected in zip(results, [np.array(-5, "i4"), np.array([0, 2, 4], "f4"),
                                          np.zeros(0, ml_dtypes.bfloat16)], strict=True):
        same(pjrt.to_numpy(result), expected)


def test_no_results():
    program = pjrt.compile("module { func.func public @main(%x: tensor<3xf32>) { return } }", [])
    assert program([pjrt.put(np.zeros(3, "f4"), copy=True)]) == []


@pytest.mark.parametrize("text, message", [
    ("garbage", "garbage"),
    ("module { func.func public @main(%x: tensor<4xf32>) -> tensor<5xf32> { return %x : tensor<4xf32> } }",
     "doesn't match function result type"),
    ("""module { func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.custom_call @nowhere(%x) {api_version = 4 : i32} : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32> } }""", "nowhere"),
])
def test_a_program_that_xla_refuses(text, message):
    for functions in (None, [lambda x: (x,)]):
        with pytest.raises(pjrt.CompileError, match=message):
            pjrt.compile(text, [((4,), "float32")], host_callbacks=functions)


def test_the_number_of_results_must_fit():
    with pytest.raises(ValueError, match="got 2 result types for a program with 1 results"):
        pjrt.compile("module { func.func public @main() -> tensor<f32> { "
                     "%0 = stablehlo.constant dense<1.0> : tensor<f32> return %0 : tensor<f32> } }",
                     [((), "float32")] * 2)


@pytest.mark.parametrize("options, message", [
    ({"nowhere": 1}, "No such compile option: 'nowhere'"),
    ({"xla_cpu_enable_fast_math": "maybe"}, "'maybe' is not a valid bool value"),
    ({"use_spmd_partitioning": "maybe"}, "."),
])
def test_an_option_that_xla_refuses(options, message):
    with pytest.raises(pjrt.CompileError, match=message):
        unary("stablehlo.sine %x", (4,), "float32", options=options)


def test_an_option_takes_effect():
    text = """module { func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.sine %x : tensor<4xf32>  %1 = stablehlo.add %0, %x : tensor<4xf32>
      return %1 : tensor<4xf32> } }"""
    def kernels(**options):
        return pjrt.compile(text, [((4,), "float32")], options=options).hlo_text().count("_computation (")
    assert (kernels(), kernels(xla_disable_hlo_passes="fusion")) == (1, 2)


def test_wrong_arguments():
    program = unary("stablehlo.sine %x", (4,), "float32")
    for arguments in ([], [pjrt.put(np.ones(5, "f4"), copy=True)], [np.ones(4, "f4")], [None]):
        with pytest.raises(pjrt.ExecutionError):
            program(arguments)


def test_serialisation():
    x = pjrt.put(np.arange(4, dtype="f4"), copy=True)
    program = unary("stablehlo.sine %x", (4,), "float32")
    blob = program.serialize()
    assert isinstance(blob, bytes)
    again = pjrt.deserialize(blob, [((4,), "float32")])
    same(pjrt.to_numpy(again([x])[0]), pjrt.to_numpy(program([x])[0]))
    assert again.fingerprint == program.fingerprint and program.fingerprint
    assert again.fingerprint != unary("stablehlo.cosine %x", (4,), "float32").fingerprint
    assert again.hlo_text() and again.cost_analysis() == program.cost_analysis()
    for damaged in (b"", b"abc", blob[:len(blob) // 2]):
        with pytest.raises(pjrt.CompileError):
            pjrt.deserialize(damaged, [((4,), "float32")])


def test_analyses():
    program = unary("stablehlo.sine %x", (4,), "float32")
    assert program.cost_analysis()["transcendentals"] == 4 and program.cost_analysis()["bytes accessed"] == 32
    memory = program.memory_analysis()
    assert (memory.argument_size_in_bytes, memory.output_size_in_bytes) == (16, 16)
    assert memory.temp_size_in_bytes == 0 and memory.alias_size_in_bytes == 0
    assert "HloModule unary" in program.hlo_text() and "sine" in program.hlo_text()
    assert program.devices == (pjrt.devices()[0],)


def test_threads():
    program = unary("stablehlo.add %x, %x", (100,), "float32")
    wrong = []

    def work(i):
        buffer = pjrt.put(np.full(100, i, "f4"), copy=True)
        for _ in range(50):
            if not (pjrt.to_numpy(program([buffer])[0]) == 2 * i).all():
                wrong.append(i)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# -- host callbacks ---------------------------------------------------------------------------------


def calling(function, shape=(4,), dtype="float64", result=None, before="%x", index=0):
    """A compiled `main(x) = function(before)`."""
    t, r = tensor(shape, dtype), tensor(*(result or (shape, dtype)))
    text = f"""module {{ func.func public @main(%x: {t}) -> {r} {{
      {"" if before == "%x" else f"%b = {before} : {t}"}
      %0 = "stablehlo.custom_call"({"%x" if before == "%x" else "%b"}) {{
        call_target_name = "xla_ffi_python_cpu_callback", has_side_effect = false, api_version = 4 : i32,
        backend_config = {{index = {index} : ui64}}}} : ({t}) -> {r}
      return %0 : {r} }} }}"""
    return pjrt.compile(text, [result or (shape, dtype)], host_callbacks=[function])


def outcome(program, x):
    return pjrt.to_numpy(program([pjrt.put(x, copy=True)])[0])


@pytest.mark.parametrize("dtype", [*NATIVE, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn], ids=str)
def test_callback(dtype):
    seen = []

    def function(x):
        seen.append((type(x), x.dtype, x.shape, x.flags.writeable))
        return [x[::-1]]
    x = np.arange(4).astype(dtype)
    same(outcome(calling(function, dtype=dtype), x), np.ascontiguousarray(x[::-1]))
    assert seen == [(np.ndarray, np.dtype(dtype), (4,), False)]


def test_callback_of_another_shape():
    program = calling(lambda x: (np.float32(x.sum()),), result=((), "float32"))
    assert outcome(program, np.arange(4.0)) == 6


@pytest.mark.parametrize("result, given", [
    (lambda x: (x[:2],), r"got results \(float64\[2\]\), \(float64\[4\]\) are required"),
    (lambda x: (x.astype("f4"),), r"got results \(float32\[4\]\)"),
    (lambda x: (x.astype(">f8"),), r"got results \(>f8\[4\]\)"),
    (lambda x: (x, x), r"got results \(float64\[4\], float64\[4\]\)"),
    (lambda x: (), r"got results \(\)"),
    (lambda x: x, "got a ndarray, a tuple of arrays is required"),
    (lambda x: None, "got a NoneType"),
])
def test_a_callback_that_returns_something_else(result, given):
    with pytest.raises(TypeError, match=given):
        outcome(calling(result), np.arange(4.0))


@pytest.mark.parametrize("error", [KeyError("lost"), KeyboardInterrupt(), ZeroDivisionError("é")], ids=repr)
@pytest.mark.parametrize("before", ["%x", "stablehlo.sine %x"])
def test_what_a_callback_raises_comes_back(error, before):
    def function(x):
        try:
            raise ValueError("first")
        except ValueError as cause:
            raise error from cause
    program = calling(function, (200_000,), before=before)
    for _ in range(2):
        with pytest.raises(type(error)) as caught:
            outcome(program, np.arange(200_000.0))
        assert caught.value is error and str(caught.value.__cause__) == "first"


def test_a_failed_result_fails_where_it_is_used():
    def function(x):
        raise KeyError("lost")
    t = tensor((400, 400), "float64")
    program = calling(function, (400, 400), before=f"stablehlo.dot_general %x, %x, "
                      f"contracting_dims = [1] x [0] : ({t}, {t}) -> {t} %c = stablehlo.add %b, %b")
    after = unary("stablehlo.sine %x", (400, 400), "float64")
    for use in (pjrt.block_until_ready, pjrt.to_numpy, lambda b: pjrt.to_numpy(after([b])[0])):
        with pytest.raises(KeyError, match="lost"):
            use(program([pjrt.put(np.ones((400, 400)), copy=True)])[0])


def test_a_call_of_a_function_that_is_not_there():
    with pytest.raises(pjrt.CompileError, match="got a call of number 1, but 1 functions"):
        calling(lambda x: (x,), index=1)


def test_one_number_has_one_type():
    calls = [(0, [((), np.dtype("int8"))]), (0, [((3,), np.dtype("f4"))])]
    with pytest.raises(ValueError, match=r"number 0 is called with .* \(float32\[3\]\) and \(int8\[\]\)"):
        callbacks.guarded_by_calls([lambda: ()], calls)


def test_a_program_with_callbacks_is_not_serialised():
    program = calling(lambda x: (x,))
    assert program.has_callbacks
    with pytest.raises(ValueError, match="host callbacks"):
        program.serialize()


def test_failures_are_not_kept_for_ever():
    errors = []

    def function(x):
        errors.append(KeyError(len(errors)))
        raise errors[-1]
    guarded = callbacks.guarded(function, ())
    messages = []
    for _ in range(200):
        with pytest.raises(RuntimeError) as caught:
            guarded(None)
        messages.append(caught.value)
    explained = [pjrt.explained(message, ()) for message in messages]
    assert explained[-1] is errors[-1]
    assert isinstance(explained[0], pjrt.ExecutionError)


@pytest.mark.parametrize("dtype", [*NATIVE, *SMALL, *PACKED], ids=str)
def test_element_types(dtype):
    assert callbacks.element_dtype(element(dtype)) == dtype


# -- devices ----------------------------------------------------------------------------------------


def test_devices():
    first, *_ = found = pjrt.devices()
    assert found == pjrt.devices("cpu") == pjrt.devices(backend=None) and found is not pjrt.devices()
    assert repr(first) == "CpuDevice(id=0)" and str(first) == "cpu:0"
    assert (first.id, first.platform, first.device_kind, first.process_index) == (0, "cpu", "cpu", 0)
    assert first.client is pjrt.client() and first.memory_stats() is None
    assert {first: 1}[pjrt.devices()[0]] == 1
    assert pjrt.default_backend() == "cpu"
    with pytest.raises(AttributeError):
        first.nowhere  # noqa: B018
    buffer = pjrt.put(np.ones(3), first, copy=True)
    assert pjrt.buffer_device(buffer) is first and pjrt.copy_to_device(buffer, first) is buffer


@pytest.mark.parametrize("backend", ["gpu", "tpu", "nowhere", "CPU"])
def test_an_unknown_backend(backend):
    with pytest.raises(RuntimeError, match=f"Unknown backend {backend}"):
        pjrt.devices(backend)


@pytest.mark.parametrize("environment, count", [
    ({}, 1), ({"PULLBACK_NUM_CPU_DEVICES": "3"}, 3), ({"JAX_NUM_CPU_DEVICES": "2"}, 2),
    ({"PULLBACK_NUM_CPU_DEVICES": "3", "JAX_NUM_CPU_DEVICES": "2"}, 3), ({"JAX_NUM_CPU_DEVICES": "-1"}, 1),
    ({"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}, 4),
    ({"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "PULLBACK_NUM_CPU_DEVICES": "2"}, 2),
])
def test_the_environment_sets_the_number_of_devices(environment, count):
    assert run("from pullback.runtime import pjrt; print(len(pjrt.devices()))", **environment) == [str(count)]


@pytest.mark.parametrize("text", ["0", "two", "-3", "1.5"])
def test_a_wrong_number_of_devices(monkeypatch, text):
    monkeypatch.setenv("PULLBACK_NUM_CPU_DEVICES", text)
    with pytest.raises(ValueError, match=f"PULLBACK_NUM_CPU_DEVICES: got '{text}', a count of at least 1"):
        machine.requested_devices()


def test_setting_the_number_of_devices():
    assert run("""
from pullback.runtime import pjrt
pjrt.set_device_count(3)
print(len(pjrt.devices()))
pjrt.set_device_count(3)
for count in (2, 0):
    try:
        pjrt.set_device_count(count)
    except (RuntimeError, ValueError) as error:
        print(type(error).__name__)
""", PULLBACK_NUM_CPU_DEVICES="2") == ["3", "RuntimeError", "ValueError"]


@pytest.mark.parametrize("without_jax", [False, True])
def test_several_devices(without_jax):
    assert run("""
import sys
import ml_dtypes
import numpy as np
from pullback.runtime import pjrt

places = pjrt.devices()
x = np.arange(32, dtype="f4").reshape(8, 4)
for dtype in ("float32", ml_dtypes.bfloat16):
    moved = pjrt.copy_to_device(pjrt.put(x.astype(dtype), copy=True), places[2])
    assert pjrt.buffer_device(moved) is places[2]
    assert (pjrt.to_numpy(moved) == x).all() and pjrt.to_numpy(moved).dtype == dtype
text = '''module { func.func public @main(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.add %x, %x : tensor<8x4xf32>  return %0 : tensor<8x4xf32> } }'''
there = pjrt.compile(text, [((8, 4), "float32")], devices=[places[3]])
there_too = pjrt.deserialize(there.serialize(), [((8, 4), "float32")], devices=[places[1]])
for program, place in ((there, places[3]), (there_too, places[1])):
    result, = program([pjrt.put(x, place, copy=True)])
    assert pjrt.buffer_device(result) is place and (pjrt.to_numpy(result) == 2 * x).all()

for sharding in ("{devices=[4,1]<=[4]}", "{devices=[2,2]<=[4]}", "{devices=[1,4]<=[2,2]T(1,0)}",
                 "{devices=[2,1,2]<=[4] last_tile_dim_replicate}", "{replicated}"):
    for dtype in ("float32", ml_dtypes.bfloat16):
        buffer = pjrt.put_sharded(x.astype(dtype), places, sharding, copy=True)
        assert pjrt.buffer_devices(buffer) == places and pjrt.buffer_sharding(buffer) == sharding
        back = pjrt.to_numpy(buffer)
        assert (back == x).all() and back.dtype == dtype and not back.flags.writeable
        parts = pjrt.shard_slices(buffer)
        assert len(parts) == 4
        covered = np.zeros((8, 4), int)
        for part in parts:
            covered[part] += 1
        assert (covered == covered[0, 0]).all() and covered.sum() == sum(x[part].size for part in parts)
try:
    pjrt.buffer_device(buffer)
except ValueError as error:
    assert "4 devices" in str(error)
else:
    raise AssertionError
few = (x % 8).astype(ml_dtypes.int4)
small = pjrt.put_sharded(few, places, "{devices=[4,1]<=[4]}", copy=True)
try:
    assert (pjrt.to_numpy(small) == few).all()
except TypeError as error:
    assert pjrt.versions()["jaxlib"].startswith("0.10.") and "jaxlib 0.10 cannot read it" in str(error)
spmd = '''module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
 sdy.mesh @mesh = <["i"=4]>
 func.func public @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>})
   -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>}, tensor<f32>) {
  %0 = stablehlo.add %x, %x : tensor<8x4xf32>  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0, 1]
    : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1 : tensor<8x4xf32>, tensor<f32> } }'''
types = [((8, 4), "float32"), ((), "float32")]
program = pjrt.compile(spmd, types, devices=places)
for program in (program, pjrt.deserialize(program.serialize(), types, devices=places)):
    double, total = program([pjrt.put_sharded(x, places, "{devices=[4,1]<=[4]}", copy=True)])
    assert pjrt.buffer_sharding(double) == "{devices=[4,1]<=[4]}"
    assert pjrt.buffer_sharding(total) == "{replicated}"
    assert (pjrt.to_numpy(double) == 2 * x).all() and pjrt.to_numpy(total) == x.sum()
pjrt.delete(double)
print(sys.modules.get("jax"))
""", without_jax=without_jax, PULLBACK_NUM_CPU_DEVICES="4") == ["None"]


def test_a_part_of_the_array_for_each_tile():
    whole = slice(0, 4)
    assert layout.tile_slices((4, 4), (2, 1), (1, 0), 2) == [(slice(2, 4), whole), (slice(0, 2), whole)]
    assert layout.tile_slices((), (2,), (0, 1), 2) == [(), ()]
    for shape, tiles, owners in [((5,), (2,), (0, 1)), ((4, 4), (2,), (0, 1)), ((4,), (4,), (0, 1, 2, 3))]:
        with pytest.raises(ValueError, match="every axis must be a multiple of its number of tiles"):
            layout.tile_slices(shape, tiles, owners, 2)


# -- the installation -------------------------------------------------------------------------------


def test_versions_and_key():
    found = pjrt.versions()
    assert found["numpy"] == np.__version__ and found["jaxlib"][0].isdigit()
    parts = pjrt.cache_key_parts()
    assert isinstance(parts, tuple) and all(isinstance(part, str) for part in parts)
    for name in ("jaxlib", "xla_client"):
        assert any(found[name] in part for part in parts)


def test_the_key_holds_the_flags_of_xla():
    code = "from pullback.runtime import pjrt; print(hash(pjrt.cache_key_parts()))"
    plain, again = (run(code, PYTHONHASHSEED="0") for _ in range(2))
    assert plain == again != run(code, PYTHONHASHSEED="0", XLA_FLAGS="--xla_cpu_enable_fast_math=true")


def test_the_processor_is_read_from_a_compiled_program_elsewhere(tmp_path):
    blob = unary("stablehlo.sine %x", (4,), "float32").serialize()
    features = machine.processor(lambda: blob, str(tmp_path / "nowhere"))
    assert features.startswith("features ") and len(features.split()[1].split(",")) > 3

    info = tmp_path / "cpuinfo"
    info.write_text("processor : 0\nflags : sse avx\nmodel : 7\ncpu MHz : 9\n\nprocessor : 1\nflags : no\n")
    assert machine.processor(bytes, str(info)) == "model 7; flags avx sse"
    info.write_text("processor : 0\nFeatures\t: fp asimd\nCPU part\t: 0xd0c\n")
    assert machine.processor(bytes, str(info)) == "CPU part 0xd0c; Features asimd fp"
