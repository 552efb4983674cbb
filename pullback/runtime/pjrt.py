"""The only door to jaxlib: its CPU client, device buffers and compiled programs.

jaxlib is loaded on first use, never on import. Its client lives beside that of a real jax in one process:
nothing here imports jax or changes a process-wide setting of jaxlib; only calls that do neither are used.
A `Buffer` is jaxlib's own array object, which jax patches once it is loaded: it never reaches users.
"""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike

from pullback.runtime import outline
from pullback.runtime.callbacks import ArrayTypes, HostCallback, callback_calls, guarded_by_calls
from pullback.runtime.failures import CompileError, ExecutionError, explained, require_live
from pullback.runtime.layout import Aval, gathered, read_only, slices_of, widening
from pullback.runtime.machine import aligned_empty, processor, requested_devices

__all__ = [
    "Buffer", "CompileError", "Compiled", "Device", "ExecutionError", "ResultType", "aligned_empty",
    "block_until_ready", "buffer_device", "buffer_devices", "buffer_sharding", "cache_key_parts", "client",
    "compile", "copy_to_device", "default_backend", "delete", "deserialize", "devices", "is_deleted",
    "is_ready", "put", "put_sharded", "putter", "register_lapack", "set_device_count", "shard_slices", "to_numpy",
    "versions", "wait",
]

Buffer = Any
ResultType = tuple[Sequence[int], DTypeLike]


@functools.cache
def _library() -> tuple[Any, Any]:
    from jaxlib import _jax, xla_client  # type: ignore[attr-defined]
    return _jax, xla_client


class Device:
    """One device of this process's client. There is one object per device, so identity is equality.

    Attributes: id, platform, device_kind, process_index, client, memory_stats() and what else jaxlib tells.
    """

    __slots__ = ("_handle", "_list", "_sharding")
    id: int
    platform: str

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._list, self._sharding = _placement([handle], _library()[1].HloSharding.replicate())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"Device has no attribute {name!r}")
        return getattr(self._handle, name)

    def __repr__(self) -> str:
        return repr(self._handle)

    def __str__(self) -> str:
        return str(self._handle)


def _placement(handles: Sequence[Any], hlo_sharding: Any) -> tuple[Any, Any]:
    xc, _ = _library()
    device_list = xc.DeviceList(tuple(handles))
    # Also for one device: the class meant for that needs methods that only jax adds to it.
    return device_list, xc.GSPMDSharding(device_list, hlo_sharding)


class _Runtime:
    """What the first use of the compiler creates: the client, its devices, the entry points used per call."""

    def __init__(self) -> None:
        xc, xla = _library()
        count = _requested_count or requested_devices()
        # Without a count it is XLA's: 1, or the --xla_force_host_platform_device_count of XLA_FLAGS.
        self.client = xla.make_cpu_client(**({"num_devices": count} if count else {}))
        self.devices = tuple([Device(handle) for handle in self.client.devices()])
        self.by_id = {device.id: device for device in self.devices}
        self.put = xc.batched_device_put
        self.copy_now = xc.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
        self.zero_copy = xc.HostBufferSemantics.ZERO_COPY


_runtime: _Runtime | None = None
_requested_count = 0
_start_lock = threading.Lock()


def _start() -> _Runtime:
    global _runtime
    with _start_lock:
        if _runtime is None:
            _runtime = _Runtime()
        return _runtime


def set_device_count(count: int) -> None:
    """Ask for `count` virtual CPU devices; must come before the first use of any device.

    Raises: ValueError if count < 1; RuntimeError if another number of devices exists already.
    """
    global _requested_count
    if count < 1:
        raise ValueError(f"set_device_count: got {count}, at least 1 is required")
    with _start_lock:
        if _runtime is not None and len(_runtime.devices) != count:
            raise RuntimeError(f"set_device_count: got {count}, but {len(_runtime.devices)} devices exist "
                               f"already; call it before any array is put on a device")
        _requested_count = count


def client() -> Any:
    """The process's XLA client, made on the first call."""
    return (_runtime or _start()).client


def default_backend() -> str:
    """The platform programs run on when none is named."""
    return "cpu"


def devices(backend: str | None = None) -> list[Device]:
    """All devices of a backend, in order of id. Raises: RuntimeError if there is no such backend."""
    if backend is not None and backend != default_backend():
        raise RuntimeError(f"Unknown backend {backend}. Available backends are ['{default_backend()}']")
    return list((_runtime or _start()).devices)


def put(array: np.ndarray[Any, Any], device: Device | None = None, *, copy: bool) -> Buffer:
    """Move a host array to a device.

    Args: array: any shape, strides and byte order, of a dtype that XLA has (bool, 2- to 64-bit integers,
        floats, complex numbers, bfloat16, the 8-bit floats). copy: False promises that nobody will write to
        `array` again; its memory is then shared where it is contiguous and 64-byte aligned.
    Raises: TypeError if XLA has no such dtype.
    """
    place = (_runtime or _start()).devices[0] if device is None else device
    return _put([array], array.shape, array.dtype, place._sharding, [place._handle], copy)


def putter(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Callable[[Any], Buffer]:
    """`put` with a copy, to the default device, for arrays of one shape and native dtype; errors are jaxlib's own."""
    runtime = _runtime or _start()
    place = runtime.devices[0]
    aval, sharding, handles = Aval(shape, dtype), place._sharding, [place._handle]
    move, how = runtime.put, runtime.copy_now
    return lambda array: move(aval, sharding, [array], handles, True, False, how, True)


def _put(pieces: list[Any], shape: Sequence[int], dtype: np.dtype[Any], sharding: Any, handles: list[Any],
         copy: bool) -> Buffer:
    runtime = _runtime or _start()
    if not dtype.isnative:  # jaxlib would read the bytes in the wrong order
        dtype = dtype.newbyteorder("=")
        pieces = [piece.astype(dtype) for piece in pieces]
    try:
        # The last argument is enable_x64: its default would be jax's process-wide flag, set or not.
        return runtime.put(Aval(shape, dtype), sharding, pieces, handles, True, False,
                           runtime.copy_now if copy else runtime.zero_copy, True)
    except Exception as error:
        failure = explained(error, ())
    if "NumPy dtype" in str(failure):
        raise TypeError(f"put: got an array of dtype {dtype}, a boolean or numeric dtype that XLA has is "
                        f"required; convert it with astype")
    raise failure


def to_numpy(buffer: Buffer) -> np.ndarray[Any, Any]:
    """The value of a buffer, waiting for it; read-only, and without a copy where the memory allows it.

    A view stays valid when the buffer is deleted or donated. Copied: numbers of less than 8 bits, buffers
    over several devices, and with jaxlib 0.10 also bfloat16 and the 8-bit floats.
    Raises: as block_until_ready.
    """
    if buffer.aval.dtype.isbuiltin == 1:
        try:
            # By memoryview, because np.asarray(buffer) answers an object array where this raises.
            return np.asarray(memoryview(buffer))
        except BufferError:
            pass  # several devices, deleted, or its computation failed: what follows tells
    block_until_ready(buffer)
    convert = getattr(buffer, "_to_np_array_did_copy", None)
    if convert is not None:
        return convert()[0]  # type: ignore[no-any-return]
    shape, dtype = buffer.aval.shape, buffer.aval.dtype  # from here on jaxlib 0.10
    if (program := _widening_program(shape, dtype, *buffer_devices(buffer))) is None:
        return gathered(_library()[0], buffer)
    return read_only(to_numpy(program([buffer])[0]).astype(dtype))


@functools.lru_cache(64)
def _widening_program(shape: tuple[int, ...], dtype: np.dtype[Any], *places: Device) -> Compiled | None:
    found = widening(shape, dtype)
    if found is None:
        return None
    if len(places) > 1:
        raise TypeError(f"to_numpy: got {dtype} over several devices, jaxlib 0.10 cannot read it; convert it")
    return compile(found[0], [(shape, found[1])], devices=places)


def dlpack_capsule(array: np.ndarray[Any, Any]) -> Any:
    """A copy of the array as a DLPack capsule, which owns it; also of bfloat16, which NumPy has no capsules of."""
    return _library()[0].buffer_to_dlpack_managed_tensor(put(array, copy=True))


def is_deleted(buffer: Buffer) -> bool:
    """Whether the buffer was deleted, or donated to a program."""
    return buffer.is_deleted()  # type: ignore[no-any-return]


def delete(buffer: Buffer) -> None:
    """Free the buffer's memory now; deleting twice is no error."""
    buffer.delete()


def is_ready(buffer: Buffer) -> bool:
    """Whether the value has been computed (or has failed), without waiting."""
    require_live(buffer)  # jaxlib 0.10 crashes on a deleted one
    return buffer.is_ready()  # type: ignore[no-any-return]


def block_until_ready(buffer: Buffer) -> Buffer:
    """Wait for the value, and return the buffer.

    Raises: what a host callback raised in computing it; ExecutionError for any other failure.
    """
    try:
        buffer.block_until_ready()
        return buffer
    except Exception as error:
        failure = explained(error, (buffer,))
    raise failure


def wait(buffers: list[Buffer]) -> None:
    """Waits for the values. Raises: as block_until_ready."""
    try:
        _library()[0].batched_block_until_ready(buffers)
    except Exception:
        for buffer in buffers:
            block_until_ready(buffer)
        raise


def buffer_devices(buffer: Buffer) -> list[Device]:
    """The devices that hold the buffer, in the order of its shards."""
    by_id = (_runtime or _start()).by_id
    return [by_id[handle.id] for handle in buffer._sharding._internal_device_list]


def buffer_device(buffer: Buffer) -> Device:
    """The one device that holds the buffer. Raises: ValueError if several do."""
    places = buffer_devices(buffer)
    if len(places) != 1:
        raise ValueError(f"buffer_device: got a buffer over {len(places)} devices, one on a single device is "
                         f"required; use buffer_devices")
    return places[0]


def copy_to_device(buffer: Buffer, device: Device) -> Buffer:
    """The same value on `device`: a copy, or the buffer itself if it is there already."""
    require_live(buffer)
    if buffer_device(buffer) is device:
        return buffer
    xc, _ = _library()
    return xc.batched_copy_array_to_devices_with_sharding(
        [buffer], [device._list], [device._sharding], [xc.ArrayCopySemantics.ALWAYS_COPY])[0]


def put_sharded(array: np.ndarray[Any, Any], places: Sequence[Device], sharding: str, *,
                copy: bool) -> Buffer:
    """Move a host array to several devices, cut as XLA writes it: "{devices=[4,1]<=[4]}", "{replicated}"."""
    handles = [place._handle for place in places]
    _, target = _placement(handles, _library()[1].HloSharding.from_string(sharding))
    source = np.array(array) if copy else array  # jaxlib's own copying fails where devices share a part
    pieces = [source[index] for index in slices_of(target, array.shape)]
    return _put(pieces, array.shape, array.dtype, target, handles, False)


def buffer_sharding(buffer: Buffer) -> str:
    """How the buffer is cut over its devices."""
    return str(buffer._sharding._hlo_sharding)


def shard_slices(buffer: Buffer) -> list[tuple[slice, ...]]:
    """For each device of the buffer, in order, the part of the whole array that it holds."""
    return slices_of(buffer._sharding, buffer.aval.shape)


class Compiled:
    """A compiled program. Calling it takes a list of buffers and returns that of results, still computing.

    Inputs must have the types the program was compiled for: XLA itself only compares sizes in bytes.
    """

    __slots__ = ("__weakref__", "_executable", "devices", "execute", "handlers", "has_callbacks")

    def __init__(self, executable: Any, result_types: Sequence[ResultType], places: Sequence[Device],
                 has_callbacks: bool) -> None:
        n_results = len(executable.get_output_layouts())
        if n_results != len(result_types):
            raise ValueError(f"compile: got {len(result_types)} result types for a program with {n_results} "
                             f"results; give (shape, dtype) of each")
        self._executable = executable
        self.execute = executable.execute_sharded
        self.devices = tuple(places)
        self.has_callbacks = has_callbacks
        shardings = [places[0]._sharding] * n_results
        if len(places) > 1:
            hlo = _library()[1].HloSharding
            protos = executable.get_output_shardings() or [hlo.replicate().to_proto()] * n_results
            handles = [place._handle for place in places]
            shardings = [_placement(handles, hlo.from_proto(proto))[1] for proto in protos]
        self.handlers = [_result_handler(Aval(shape, dtype), sharding)
                          for (shape, dtype), sharding in zip(result_types, shardings, strict=True)]

    def __call__(self, buffers: list[Buffer]) -> list[Buffer]:
        try:
            results: list[Buffer] = self.execute(buffers).consume_with_handlers(self.handlers)
            return results
        except Exception as error:
            failure = explained(error, buffers)
        raise failure

    def wrapped_handlers(self, makers: Sequence[Callable[[Buffer], Any]]) -> list[Any]:
        """Handlers for `consume_with_handlers` that make something of each result."""
        return [handler.wrap(make) for handler, make in zip(self.handlers, makers, strict=True)]

    def serialize(self) -> bytes:
        """The executable, for `deserialize`. Raises: ValueError if it calls back into this process."""
        if self.has_callbacks:
            raise ValueError("serialize: got a program with host callbacks, which live in this process only")
        return self._executable.serialize()  # type: ignore[no-any-return]

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimates by its own names: 'flops', 'bytes accessed', 'transcendentals' and others."""
        return dict(self._executable.cost_analysis())

    def memory_analysis(self) -> SimpleNamespace:
        """Bytes that one call needs: argument_size_in_bytes, temp_size_in_bytes, peak_memory_in_bytes, ..."""
        stats = self._executable.get_compiled_memory_stats()
        names = [name for name in dir(stats) if name.endswith("_in_bytes")]
        return SimpleNamespace(**{name: getattr(stats, name) for name in names})

    def hlo_text(self) -> str:
        """The optimised program, in XLA's own notation."""
        return self._executable.get_hlo_text()  # type: ignore[no-any-return]

    @property
    def fingerprint(self) -> bytes | None:
        return self._executable.fingerprint  # type: ignore[no-any-return]


def _result_handler(aval: Aval, sharding: Any) -> Any:
    make = _library()[0].array_result_handler
    try:
        return make(aval, sharding, True, _skip_checks=True)  # jaxlib 0.10 checks by methods that jax adds
    except TypeError:
        return make(aval, sharding, True)


def _compile_options(places: Sequence[Device], options: Mapping[str, Any]) -> Any:
    _, xla = _library()
    result = xla.CompileOptions()
    build = result.executable_build_options
    ids = np.array([[place.id for place in places]], np.int32)
    result.device_assignment = xla.DeviceAssignment.create(ids)
    if len(places) > 1:
        result.num_partitions = build.num_partitions = len(places)
        result.num_replicas = build.num_replicas = 1
        build.device_assignment = result.device_assignment
        build.use_spmd_partitioning = build.use_shardy_partitioner = True
    own = {name: value for name, value in options.items() if hasattr(type(build), name)}
    for name, value in own.items():
        setattr(build, name, value)
    result.env_option_overrides = [item for item in options.items() if item[0] not in own and item[0] != _EXTRA]
    if _EXTRA not in options:
        return result
    # No attribute leads to this map; but protocol buffers merge what is written behind them.
    entries = b""
    for switch in options[_EXTRA].split(","):
        name, _, value = switch.partition("=")
        entries += _field(500, _field(1, name.encode()) + _field(2, value.encode()))
    return xla.CompileOptions.ParseFromString(result.SerializeAsString() + _field(3, _field(3, entries)))


_EXTRA = "xla_backend_extra_options"  # switches of XLA's CPU compiler: name or name=value, with commas between them


def _field(number: int, content: bytes) -> bytes:
    """A field of a protocol buffer that holds bytes."""
    def varint(n: int) -> bytes:
        return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
    return varint(number << 3 | 2) + varint(len(content)) + content


def compile(text: str, result_types: Sequence[ResultType], *, devices: Sequence[Device] | None = None,
            options: Mapping[str, Any] | None = None,
            host_callbacks: Sequence[HostCallback] | None = None) -> Compiled:
    """Compile a StableHLO program.

    Args: text: a module with a public function `main`. result_types: (shape, dtype) of each result, as in the
        text. devices: the first one if None; several run one program partitioned over them. options: XLA's
        debug options by name, or attributes of its build options. host_callbacks: functions from read-only
        arrays to a tuple of arrays; a custom call in the text names one by its position, as `index`.
    Raises: CompileError with XLA's message; ValueError if the number of results differs.
    """
    if jaxlib_version() < (0, 11):
        text = outline.calls_for_barriers(text)
    ordinary = not (options or devices or host_callbacks)
    one = outline.whole(text) if ordinary else None
    if one is not None:
        with contextlib.suppress(CompileError):  # some operation in a place where XLA has no code for it
            return _loaded("compile_and_load", one.encode(), result_types, None, outline.options(one, True), ())
    if ordinary:
        options = outline.options(text, False)
    return _loaded("compile_and_load", text.encode(), result_types, devices, options, host_callbacks or ())


@functools.cache
def jaxlib_version() -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", versions()["jaxlib"])[:2]))


def deserialize(blob: bytes, result_types: Sequence[ResultType], *, devices: Sequence[Device] | None = None,
                options: Mapping[str, Any] | None = None) -> Compiled:
    """Load what `Compiled.serialize` wrote, for the same result types, options and number of devices.

    Only for bytes this user wrote under equal `cache_key_parts`: XLA checks nothing, and runs them.
    Raises: CompileError if XLA cannot read them.
    """
    return _loaded("deserialize_executable", blob, result_types, devices, options, ())


def programs_made() -> int:
    """How many programs this process has compiled, or loaded as compiled earlier."""
    return _made[0]


_made = [0]
_LAPACK = (b"lapack_", b"tridiagonal_solve_perturbed")  # how the names of targets begin


def _loaded(method: str, source: bytes, result_types: Sequence[ResultType], chosen: Sequence[Device] | None,
            options: Mapping[str, Any] | None, functions: Sequence[HostCallback]) -> Compiled:
    runtime = _runtime or _start()
    places = runtime.devices[:1] if chosen is None else tuple(chosen)
    device_list = _library()[0].DeviceList(tuple([place._handle for place in places]))
    load = getattr(runtime.client, method)
    if any([name in source for name in _LAPACK]):  # texts and executables name what they call
        register_lapack()
    try:
        settings = _compile_options(places, options or {})
        if functions:
            module, calls = _parsed(source)
            guarded = guarded_by_calls(functions, calls)
            executable = load(module, device_list, settings, host_callbacks=guarded)
        else:
            executable = load(source, device_list, settings)
    except Exception as error:
        raise CompileError(str(error)) from error
    _made[0] += 1
    return Compiled(executable, result_types, places, bool(functions))


def module(text: str) -> Any:
    """A program as the module of MLIR that jaxlib's bindings give."""
    return _parsed(text.encode())[0]


def computation(text: str) -> Any:
    """A program in XLA's own form, before XLA changes anything."""
    return _library()[0].mlir.mlir_module_to_xla_computation(text, use_tuple_args=False, return_tuple=False)


def _parsed(source: bytes) -> tuple[Any, list[tuple[int, ArrayTypes]]]:
    """The module object, which XLA wants beside host functions, and the calls of these."""
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo, stablehlo
    registry, context = ir.DialectRegistry(), ir.Context()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    stablehlo.register_dialect(context)
    chlo.register_dialect(context)  # inverse error function, and others that StableHLO has no name for
    with context:
        module = ir.Module.parse(source)
        return module, callback_calls(ir, module)


@functools.cache
def register_lapack() -> None:
    """Make LAPACK callable from programs, once; it comes from scipy, which takes long to load."""
    client()
    try:
        from jaxlib.cpu import _lapack  # type: ignore[attr-defined]
        _lapack.initialize()
    except ImportError as error:
        raise ImportError("linear algebra on XLA takes LAPACK from scipy: install scipy") from error
    for name, function in _lapack.registrations().items():
        _library()[1].register_custom_call_target(name, function, platform="cpu", api_version=1)


def versions() -> dict[str, str]:
    """Versions of what decides how programs compile and run."""
    from jaxlib.version import __version__
    return {"jaxlib": __version__, "xla_client": str(_library()[1]._version), "numpy": np.__version__,
            "ml_dtypes": ml_dtypes.__version__, "python": platform.python_version()}


@functools.cache  # XLA reads its flags once
def cache_key_parts() -> tuple[str, ...]:
    """All that makes equal texts compile to different executables; XLA checks none of it on loading."""
    found = versions()
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    sample = "func.func public @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"
    return (f"jaxlib {found['jaxlib']}", f"xla_client {found['xla_client']}", f"platform {default_backend()}",
            f"machine {platform.system()} {platform.machine()}", f"threads {threads}",
            processor(lambda: compile(sample, [((), np.float32)]).serialize()),
            f"XLA_FLAGS {os.environ.get('XLA_FLAGS', '')}", f"outline {outline.RULES}")
