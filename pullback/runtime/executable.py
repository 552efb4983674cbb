"""Executables: a Program compiled, and its call on Arrays."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core import config, dtypes, errors, source
from pullback.core.array import ConcreteArray
from pullback.core.array import runtime as array_runtime
from pullback.core.program import Program
from pullback.core.types import ArrayType, is_scalar, scalar_type
from pullback.passes.pipeline import optimize
from pullback.runtime import cache, pjrt
from pullback.runtime.lower import TOKEN, lower

_log = logging.getLogger("pullback")


class Executable:
    """A compiled program. Calling it with values gives Arrays; the computation may still be running."""

    __slots__ = ("callbacks", "compiled", "donated", "effects", "kept", "options", "program", "result_types", "text")

    def __init__(self, program: Program, donated: Sequence[bool] = (), options: Any = None) -> None:
        self.program = program
        optimized = optimize(program)
        # Inputs that nothing reads are not passed to the compiled program.
        self.kept = tuple(i for i, used in enumerate(optimized.used) if used)
        self.donated = tuple(donated[i] for i in self.kept) if donated else ()
        self.options = dict(options) if options else None
        self.result_types = program.output_types
        self.effects = bool(optimized.program.effects)
        self.text, self.callbacks = lower(optimized.program, self.donated)
        self.compiled: dict[Any, pjrt.Compiled] = {}  # by device; None: the default one

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        place = None
        buffers = []
        for i in self.kept:
            arg = args[i]
            if type(arg) is ConcreteArray:
                buffers.append(arg._device)
                if arg.placement is not None:
                    place = arg.placement
            else:
                buffers.append(None)
        if place is not None or None in buffers:
            buffers = [device_buffer(args[i], place) for i in self.kept]
        compiled = self.compiled.get(place) or self.compile(place)
        try:
            results = compiled(buffers)
        except RuntimeError:
            for i in self.kept:
                device_buffer(args[i], place)  # names donation, where that is the reason
            raise
        if self.effects:
            pjrt.block_until_ready(results.pop())  # effects have happened when the call returns
        return [ConcreteArray(t, None, buffer, place)
                for t, buffer in zip(self.result_types, results, strict=True)]

    def compile(self, place: Any = None) -> pjrt.Compiled:
        """Compiles for a device, or loads what an earlier process compiled."""
        physical = [(t.physical().shape, t.physical().dtype) for t in self.result_types]
        if self.effects:
            physical.append((TOKEN.shape, TOKEN.dtype))
        where = None if place is None else [place]
        key = cache.key(self.text, self.options) if place is None and not self.callbacks else None
        blob = cache.load(key) if key else None
        if blob is not None:
            try:
                compiled = self.compiled[place] = pjrt.deserialize(blob, physical, options=self.options)
                return compiled
            except errors.CompileError:
                pass  # unreadable after all: compile it, and replace it
        start = time.perf_counter()
        if config.log_compiles.value:
            _log.warning("compiling %s(%s), called at %s", self.program.name,
                         ", ".join(map(str, self.program.input_types)), source.here() or "an unknown line")
        compiled = self.compiled[place] = pjrt.compile(self.text, physical, devices=where, options=self.options,
                                                       host_callbacks=self.callbacks)
        if config.log_compiles.value:
            _log.warning("compiled %s in %.3f s", self.program.name, time.perf_counter() - start)
        if key:
            cache.store(key, compiled.serialize())
        return compiled


def executable(program: Program) -> Executable:
    """The program compiled, once."""
    return program.memo(Executable)  # type: ignore[no-any-return]


_KEPT = 256  # numbers
_numbers: dict[Any, Any] = {}


def given(leaves: Sequence[Any], donates: bool) -> tuple[list[Any], list[Any], Any] | None:
    """The types and buffers of arguments, and their device (None: the default one).

    None where there is one that needs a closer look, as a tracer or a number that does not fit.

    Args:
      donates: a buffer may be taken for a result, so that it cannot be that of an earlier equal number.
    """
    types = [x.type for x in leaves if x.__class__ is ConcreteArray and x._device is not None and x.placement is None]
    if len(types) == len(leaves):
        return types, [x._device for x in leaves], None
    types, buffers, place = [], [], None
    for x in leaves:
        found = moved(x, donates)
        if found is None:
            return None
        types.append(found[0])
        buffers.append(found[1])
        if x.__class__ is ConcreteArray:
            place = place or x.placement
    if place is not None:
        if len(buffers) != sum([x.__class__ is ConcreteArray for x in leaves]):
            return None
        buffers = [device_buffer(x, place) for x in leaves]
    return types, buffers, place


@functools.lru_cache(1024)
def _putter(t: ArrayType) -> Any:
    return pjrt.putter(t.shape, t.dtype)


def moved(x: Any, donates: bool, wanted: ArrayType | None = None) -> tuple[ArrayType, Any] | None:
    """The type and buffer of an Array, a number or an array of NumPy; None for all else, and for what does not fit.

    Args:
      donates: as of `given`.
      wanted: the type it is likely to have, which is quickly compared.
    """
    kind = x.__class__
    try:
        if kind is ConcreteArray:
            return x.type, device_buffer(x) if x._device is None else x._device
        if kind is np.ndarray or isinstance(x, np.generic):
            t = wanted
            if t is None or t.dtype is not x.dtype or t.shape != x.shape or t.weak:
                t = ArrayType(x.shape, dtypes.canonicalize(x.dtype))
            return t, _putter(t)(x if x.dtype is t.dtype else np.asarray(x, t.dtype))
        if kind is not float and kind is not int and kind is not bool:
            return None
        t = scalar_type(x)
        key = None if donates else (t, x or repr(x))  # zero has two signs
        buffer = _numbers.get(key)
        if buffer is None:
            buffer = _putter(t)(np.asarray(x, t.dtype))
            if key is not None:
                if len(_numbers) >= _KEPT:
                    _numbers.clear()
                _numbers[key] = buffer
        return t, buffer
    except Exception:
        return None


def device_buffer(value: Any, place: Any = None) -> Any:
    """The value on a device (None: the default one); the buffer is kept with the Array."""
    if is_scalar(value):
        return pjrt.put(np.asarray(value, scalar_type(value).dtype), place, copy=True)
    buffer = value._device
    if buffer is None:
        host = value.numpy()
        buffer = value._device = pjrt.put(host, place, copy=not host.flags.c_contiguous)
    elif pjrt.is_deleted(buffer):
        value.numpy()  # raises the error that names donation
    elif place is not None and value.placement != place:
        if value.placement is not None:
            raise errors.value_error(f"arrays on different devices: {value.placement} and {place}",
                                     fix="bring them to one device with device_put")
        buffer = pjrt.copy_to_device(buffer, place)
    return buffer


array_runtime.to_numpy = pjrt.to_numpy
array_runtime.is_deleted = pjrt.is_deleted
