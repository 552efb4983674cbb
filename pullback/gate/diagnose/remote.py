"""A side in a process of its own: another engine, or another Python.

Messages are a length, JSON, and a safetensors block for the arrays; nothing is pickled.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import struct
import subprocess
import sys
from collections.abc import Sequence
from typing import IO, Any

import numpy as np

from pullback.gate.commands import opened
from pullback.gate.diagnose.side import Facts, Inputs, LocalSide, Ran, Way
from pullback.gate.errors import UsageError
from pullback.gate.interpreter import environment
from pullback.gate.operations import Operation, Trace
from pullback.gate.sites import Site
from pullback.gate.store.arrays import describe, pack, unpack
from pullback.gate.values import Key

__all__ = ["RemoteSide"]

_CLASSES = {kind.__name__: kind for kind in (Facts, Inputs, Way, Ran, Trace, Operation)}


def _encode(value: Any, arrays: dict[str, Any]) -> Any:
    if isinstance(value, (np.ndarray, np.generic, Key)):
        name = str(len(arrays))
        arrays[name] = np.asarray(value) if isinstance(value, np.generic) else value
        return {"$array": name, "said": describe(arrays[name])}
    if isinstance(value, Site):
        return {"$site": list(value)}
    if dataclasses.is_dataclass(value) and type(value).__name__ in _CLASSES:
        fields = {field.name: _encode(getattr(value, field.name), arrays) for field in dataclasses.fields(value)
                  if field.name != "equations"}
        return {"$kind": type(value).__name__, "fields": fields}
    if isinstance(value, complex):
        return {"$complex": [value.real, value.imag]}
    if isinstance(value, dict):
        return {"$dict": [[key, _encode(x, arrays)] for key, x in value.items()]}
    if isinstance(value, tuple):
        return {"$tuple": [_encode(x, arrays) for x in value]}
    if isinstance(value, list):
        return [_encode(x, arrays) for x in value]
    return value


def _decode(value: Any, arrays: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_decode(x, arrays) for x in value]
    if not isinstance(value, dict):
        return value
    if "$array" in value:
        return arrays[value["$array"]]
    if "$site" in value:
        return Site(*value["$site"])
    if "$complex" in value:
        return complex(*value["$complex"])
    if "$dict" in value:
        return {key: _decode(x, arrays) for key, x in value["$dict"]}
    if "$tuple" in value:
        return tuple(_decode(x, arrays) for x in value["$tuple"])
    fields = {name: _decode(x, arrays) for name, x in value["fields"].items()}
    if value["$kind"] == "Trace":
        fields["equations"] = []
    return _CLASSES[value["$kind"]](**fields)


def _described(value: Any, found: dict[str, Any]) -> dict[str, Any]:
    """The descriptions of the arrays in a message."""
    if isinstance(value, list):
        for x in value:
            _described(x, found)
    elif isinstance(value, dict):
        if "$array" in value:
            found[value["$array"]] = value["said"]
        else:
            for x in value.values():
                _described(x, found)
    return found


def _send(file: IO[bytes], message: Any) -> None:
    arrays: dict[str, Any] = {}
    text = json.dumps(_encode(message, arrays)).encode()
    block = pack(arrays)
    file.write(struct.pack("<QQ", len(text), len(block)) + text + block)
    file.flush()


def _receive(file: IO[bytes]) -> Any:
    head = file.read(16)
    if len(head) < 16:
        raise EOFError
    lengths = struct.unpack("<QQ", head)
    message, block = json.loads(file.read(lengths[0])), file.read(lengths[1])
    return _decode(message, unpack(block, _described(message, {})))


class RemoteSide:
    """A side in another process; use as a context.

    Args:
      python: its interpreter.
      options: of `opened`, and the precision.

    Raises:
      UsageError: the interpreter cannot be run, or the target does not run there.
    """

    def __init__(self, label: str, python: str, options: dict[str, Any]) -> None:
        self.label, self.python, self.options = label, python, {**options, "label": label}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> RemoteSide:
        env = self._stack.enter_context(environment(self.python))
        # In a session of its own: an interruption from the keyboard is ours to tell, once.
        self._process = subprocess.Popen([self.python, "-m", "pullback.gate.diagnose.remote"], env=env,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        self._stack.callback(self._end)
        try:
            self._ask("open", self.options)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: Any) -> None:
        self._stack.close()

    def _end(self) -> None:
        process = self._process
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _ask(self, command: str, *arguments: Any) -> Any:
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        try:
            _send(process.stdin, {"command": command, "arguments": list(arguments)})
            answer = _receive(process.stdout)
        except (EOFError, BrokenPipeError) as error:
            raise UsageError(f"the process of {self.label} ended with exit code {process.wait()}",
                             "what it printed above says why; pip install 'pullback[gate]' there if a module is missing"
                             ) from error
        if "usage" in answer:
            message, _, fix = answer["usage"].partition("\n  fix: ")
            raise UsageError(f"{self.label}: {message}", fix)
        if "error" in answer:
            raise RuntimeError(f"{self.label}: {answer['error']}")
        return answer["result"]

    def facts(self) -> Facts:
        found: Facts = self._ask("facts")
        return found

    def run(self, part: str, inputs: Inputs, way: Way) -> Ran:
        found: Ran = self._ask("run", part, inputs, way)
        return found

    def types(self, part: str, inputs: Inputs) -> Ran:
        found: Ran = self._ask("types", part, inputs)
        return found

    def keys(self, inputs: Inputs) -> list[str]:
        found: list[str] = self._ask("keys", inputs)
        return found

    def transformations(self) -> dict[str, str]:
        found: dict[str, str] = self._ask("transformations")
        return found

    def trace(self, part: str, inputs: Inputs, off: Sequence[str] = ()) -> Trace:
        found: Trace = self._ask("trace", part, inputs, list(off))
        return found

    def replay(self, part: str, index: int, values: list[Any]) -> list[Any] | None:
        found: list[Any] | None = self._ask("replay", part, index, values)
        return found

    def take(self, rows: list[int], inputs: Inputs) -> Inputs:
        found: Inputs = self._ask("take", rows, inputs)
        return found

    def frozen(self, part: str, inputs: Inputs, off: Sequence[str] | None = None) -> list[Any]:
        found: list[Any] = self._ask("frozen", part, inputs, None if off is None else list(off))
        return found

    def compiled(self, part: str, inputs: Inputs) -> list[Trace]:
        found: list[Trace] = self._ask("compiled", part, inputs)
        return found


def _serve() -> None:
    """Answers on the standard output that was there; what the model prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    questions = sys.stdin.buffer
    with contextlib.ExitStack() as stack:
        side: Any = None
        while True:
            try:
                message = _receive(questions)
            except EOFError:
                return
            command, arguments = message["command"], message["arguments"]
            try:
                if command == "open":
                    (options,) = arguments
                    precision, label = options.pop("precision", ""), options.pop("label")
                    side = LocalSide(stack.enter_context(opened(**options)), label, precision)
                    result: Any = True
                else:
                    result = getattr(side, command)(*arguments)
            except UsageError as error:
                _send(answers, {"usage": str(error)})
            except Exception as error:
                _send(answers, {"error": f"{type(error).__name__}: {error}"})
            else:
                _send(answers, {"result": result})


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        _serve()
