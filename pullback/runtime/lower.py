"""Lowering: a Program becomes StableHLO text.

The text is in MLIR's generic form. Lowering needs no compiler: rules are functions from names to text,
and a lowered program can be read, compared and hashed as it stands. `Builder` is what the primitives'
`hlo` rules are given.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pullback.core import dtypes
from pullback.core.program import Atom, Equation, Literal, Program, Var
from pullback.core.types import ArrayType
from pullback.interpret.stage import stage

_ELEMENTS = {"bool": "i1", "bfloat16": "bf16", "complex64": "complex<f32>", "complex128": "complex<f64>"}
_ELEMENTS |= {f"float{n}": f"f{n}" for n in (16, 32, 64)}
_ELEMENTS |= {f"int{n}": f"i{n}" for n in (2, 4, 8, 16, 32, 64)}
_ELEMENTS |= {f"uint{n}": f"ui{n}" for n in (2, 4, 8, 16, 32, 64)}
_ELEMENTS |= {f"float{name}": f"f{name.replace('_', '').upper()}" for name in (
    "8_e4m3fn", "8_e4m3b11fnuz", "8_e4m3fnuz", "8_e5m2", "8_e5m2fnuz", "8_e4m3", "8_e3m4", "8_e8m0fnu",
    "4_e2m1fn")}


# What ordered effects hand on, from each to the next.
TOKEN = ArrayType((), dtypes.int32)


class Value:
    """An SSA value: its name in the text and its type."""

    __slots__ = ("name", "type")

    def __init__(self, name: str, type: ArrayType) -> None:
        self.name = name
        self.type = type


@functools.cache
def _element(dtype: np.dtype) -> str:
    return _ELEMENTS[dtype.name]  # NumPy works the name out at every call


def type_text(t: ArrayType) -> str:
    """`tensor<2x3xf32>`."""
    dims = "".join([f"{d}x" for d in t.shape])
    return f"tensor<{dims}{_element(t.dtype)}>"


def scalar_text(value: Any, dtype: np.dtype) -> str:
    """A number as an element of a dense constant, exact to the bit."""
    kind = dtypes.kind(dtype)
    if kind == "b":
        return "true" if value else "false"
    if kind in "iu":
        return str(int(value))
    if kind == "c":
        number = np.asarray(value, dtype)
        return f"({scalar_text(number.real, number.real.dtype)},{scalar_text(number.imag, number.imag.dtype)})"
    raw = np.asarray(value, dtype).tobytes()
    return "0x" + raw[::-1].hex().upper()


class Module:
    """A module being written: its functions, and a counter for names."""

    def __init__(self) -> None:
        self.functions: list[str] = []
        self.called: dict[tuple[Program, bool], str] = {}
        self.callbacks: list[Any] = []
        self._names: dict[str, int] = {}
        self._count = 0

    def fresh(self) -> str:
        self._count += 1
        return f"%{self._count}"

    def function(self, program: Program, nested: bool = False) -> str:
        """The name of the private function for `program`, written at its first call."""
        name = self.called.get((program, nested))
        if name is None:
            base = "".join(c if c.isalnum() or c == "_" else "_" for c in program.name) or "f"
            number = self._names.get(base, 0)
            self._names[base] = number + 1
            name = self.called[program, nested] = f"{base}_{number}"
            self.functions.append(self._text(program, name, "private", [""] * len(program.inputs), nested))
        return name

    def main(self, program: Program, attributes: Sequence[str]) -> str:
        body = self._text(program, "main", "public", attributes)
        return "module @m {\n" + "\n".join([body, *self.functions]) + "\n}\n"

    def _text(self, program: Program, name: str, visibility: str, attributes: Sequence[str],
              nested: bool = False) -> str:
        inputs = [Value(self.fresh(), v.type.physical()) for v in program.inputs]
        builder = Builder(self, nested)
        if "ordered" in program.effects and name != "main":
            inputs.append(Value(self.fresh(), TOKEN))
            attributes = [*attributes, ""]
            builder.token = inputs[-1]
        results = builder.program(program, inputs[: len(program.inputs)])
        if program.effects and (name == "main" or "ordered" in program.effects):
            results.append(builder.token)
        arguments = ", ".join([f"{v.name}: {type_text(v.type)}{a}"
                               for v, a in zip(inputs, attributes, strict=True)])
        types = ", ".join([type_text(v.type) for v in results])
        body = "\n".join(builder.lines)
        returned = ", ".join([v.name for v in results])
        end = f"return {returned} : {types}" if results else "return"
        return f"func.func {visibility} @{name}({arguments}) -> ({types}) {{\n{body}\n{end}\n}}"


_MANY = 16  # elements; more are printed as bytes


def _numbers(array: np.ndarray) -> str:
    """The elements as MLIR reads them: one for all that are alike, numbers in brackets, many as bytes."""
    if array.size == 0:
        return ""
    data = np.ascontiguousarray(array).tobytes()
    if data == data[:array.itemsize] * array.size:
        return scalar_text(array.flat[0], array.dtype)
    if array.size > _MANY:
        return f'"0x{data.hex().upper()}"'

    def nested(a: np.ndarray) -> str:
        if a.ndim == 0:
            return scalar_text(a[()], a.dtype)
        return "[" + ", ".join([nested(a[i]) for i in range(a.shape[0])]) + "]"
    return nested(array)


class Builder:
    """Writes operations; one per function body or region. `nested`: they run inside a region."""

    def __init__(self, module: Module, nested: bool = False) -> None:
        self.module = module
        self.nested = nested
        self.lines: list[str] = []
        self.outputs: list[ArrayType] = []
        self._constants: dict[tuple[str, ArrayType], Value] = {}
        self._token: Value | None = None

    @property
    def token(self) -> Value:
        """What the next ordered effect waits for: the result of the last one."""
        if self._token is None:
            self._token = self.full(0, TOKEN)
        return self._token

    @token.setter
    def token(self, value: Value) -> None:
        self._token = value

    # -- programs --------------------------------------------------------------------------------

    def program(self, program: Program, inputs: Sequence[Value]) -> list[Value]:
        """Lowers a program in place."""
        values: dict[Var, Value] = dict(zip(program.inputs, inputs, strict=True))
        literal = self._literal

        def read(atom: Atom) -> Value:
            return literal(atom) if isinstance(atom, Literal) else values[atom]

        for eqn in program.equations:
            results = self.equation(eqn, [read(a) for a in eqn.inputs])
            for variable, result in zip(eqn.outputs, results, strict=True):
                values[variable] = result
        return [read(a) for a in program.outputs]

    def equation(self, eqn: Equation, inputs: Sequence[Value]) -> list[Value]:
        primitive = eqn.primitive
        if primitive.expands("hlo"):
            return self._staged(lambda *xs: primitive.expand(*xs, **eqn.params), [a.type for a in eqn.inputs], inputs,
                                primitive.name)
        self.outputs = [v.type.physical() for v in eqn.outputs]
        return primitive.hlo(self, *inputs, **eqn.params)

    def traced(self, function: Callable[..., Sequence[Any]], inputs: Sequence[Value], name: str) -> list[Value]:
        """Lowers, in place, what a function of arrays does with the inputs."""
        return self._staged(function, [v.type for v in inputs], inputs, name)

    def _staged(self, function: Callable[..., Sequence[Any]], types: Sequence[ArrayType], inputs: Sequence[Value],
                name: str) -> list[Value]:
        program, captured = stage(function, types, name=name)
        constants = [self.constant(np.asarray(c.numpy())) for c in captured]
        return self.program(program, [*constants, *inputs])

    def call(self, program: Program, inputs: Sequence[Value]) -> list[Value]:
        """Calls a program as a function of its own, written once however often it is called."""
        name = self.module.function(program, self.nested)
        types = [t.physical() for t in program.output_types]
        ordered = "ordered" in program.effects
        if ordered:
            inputs, types = [*inputs, self.token], [*types, TOKEN]
        results = [Value(self.module.fresh(), t) for t in types]
        names = ", ".join([r.name for r in results])
        signature = f"({', '.join([type_text(v.type) for v in inputs])}) -> ({', '.join(map(type_text, types))})"
        head = f"{names} = " if results else ""
        self.lines.append(f"{head}func.call @{name}({', '.join([v.name for v in inputs])}) : {signature}")
        if ordered:
            self.token = results.pop()
        return results

    def _literal(self, literal: Literal) -> Value:
        return self.full(literal.value, literal.type)

    # -- operations ------------------------------------------------------------------------------

    def op(self, name: str, operands: Sequence[Value], out_type: ArrayType, attrs: str = "",
           regions: Sequence[str] = ()) -> Value:
        """Writes an operation with one result."""
        result = Value(self.module.fresh(), out_type)
        names = ", ".join([v.name for v in operands])
        types = ", ".join([type_text(v.type) for v in operands])
        properties = f" <{{{attrs}}}>" if attrs else ""
        nested = f" ({', '.join(regions)})" if regions else ""
        self.lines.append(f'{result.name} = "{name}"({names}){properties}{nested} : '
                          f"({types}) -> {type_text(out_type)}")
        return result

    def multi(self, name: str, operands: Sequence[Value], out_types: Sequence[ArrayType], attrs: str = "",
              regions: Sequence[str] = ()) -> list[Value]:
        """Writes an operation with any number of results."""
        results = [Value(self.module.fresh(), t) for t in out_types]
        names = ", ".join([v.name for v in operands])
        types = ", ".join([type_text(v.type) for v in operands])
        properties = f" <{{{attrs}}}>" if attrs else ""
        nested = f" ({', '.join(regions)})" if regions else ""
        head = ", ".join([r.name for r in results]) + " = " if results else ""
        self.lines.append(f'{head}"{name}"({names}){properties}{nested} : '
                          f"({types}) -> ({', '.join(map(type_text, out_types))})")
        return results

    def once(self, x: Value) -> Value:
        """`x`, computed once for all that reads it: XLA rounds no copy of it another way, however small it is."""
        result = Value(self.module.fresh(), x.type)
        self.lines.append(f'{result.name} = "stablehlo.optimization_barrier"({x.name}) '
                          f'{{mhlo.frontend_attributes = {{once = "always"}}}} : '
                          f"({type_text(x.type)}) -> ({type_text(x.type)})")
        return result

    def region(self, arg_types: Sequence[ArrayType], body: Callable[..., Sequence[Value]]) -> str:
        """A region whose block takes `arg_types` and returns what `body(builder, *args)` gives."""
        inner = Builder(self.module, nested=True)
        args = [Value(self.module.fresh(), t) for t in arg_types]
        results = body(inner, *args)
        head = f"^bb0({', '.join([f'{a.name}: {type_text(a.type)}' for a in args])}):\n" if args else ""
        types = ", ".join([type_text(r.type) for r in results])
        end = f'"stablehlo.return"({", ".join([r.name for r in results])}) : ({types}) -> ()'
        return "{\n" + head + "\n".join([*inner.lines, end]) + "\n}"

    # -- constants -------------------------------------------------------------------------------

    def full(self, value: Any, t: ArrayType) -> Value:
        """An array of type `t` filled with one number."""
        text = scalar_text(value, t.dtype)
        key = (text, t)
        known = self._constants.get(key)
        if known is None:
            shape = type_text(t)
            known = self._constants[key] = Value(self.module.fresh(), t)
            self.lines.append(f'{known.name} = "stablehlo.constant"() <{{value = dense<{text}> : {shape}}}> : '
                              f"() -> {shape}")
        return known

    def constant(self, array: np.ndarray) -> Value:
        """An array, printed into the program."""
        t = ArrayType(array.shape, array.dtype)
        truth = array.dtype == bool
        if array.size > _MANY and (truth or dtypes.itemsize_bits(array.dtype) < 8):  # MLIR packs these its own way
            wide = dtypes.uint8 if truth else dtypes.float32 if dtypes.is_float(array.dtype) else dtypes.int8
            return self.convert(self.constant(array.astype(wide)), array.dtype)
        result = Value(self.module.fresh(), t)
        shape = type_text(t)
        self.lines.append(f'{result.name} = "stablehlo.constant"() <{{value = dense<{_numbers(array)}> : {shape}}}> : '
                          f"() -> {shape}")
        return result

    # -- attributes ------------------------------------------------------------------------------

    def ints(self, values: Iterable[int]) -> str:
        texts = ", ".join([str(int(v)) for v in values])
        return f"array<i64: {texts}>" if texts else "array<i64>"

    def dense(self, rows: Any) -> str:
        """A two-dimensional integer attribute."""
        array = np.asarray(rows, np.int64)
        if array.size == 0:
            return f"dense<> : tensor<{'x'.join(map(str, array.shape))}xi64>"
        return f"dense<{array.tolist()}> : tensor<{'x'.join(map(str, array.shape))}xi64>"

    def type(self, t: ArrayType) -> str:
        return type_text(t)

    # -- common operations -----------------------------------------------------------------------

    def fit(self, x: Value, shape: tuple[int, ...]) -> Value:
        """A value without axes broadcast to `shape`."""
        return x if x.type.shape == shape else self.broadcast_in_dim(x, (), x.type.with_shape(shape))

    def broadcast_in_dim(self, x: Value, dims: Iterable[int], t: ArrayType) -> Value:
        return self.op("stablehlo.broadcast_in_dim", [x], t, f"broadcast_dimensions = {self.ints(dims)}")

    def reshape(self, x: Value, shape: tuple[int, ...]) -> Value:
        if x.type.shape == tuple(shape):
            return x
        return self.op("stablehlo.reshape", [x], x.type.with_shape(tuple(shape)))

    def transpose(self, x: Value, perm: Sequence[int]) -> Value:
        if list(perm) == list(range(len(perm))):
            return x
        t = x.type.with_shape(tuple(x.type.shape[p] for p in perm))
        return self.op("stablehlo.transpose", [x], t, f"permutation = {self.ints(perm)}")

    def convert(self, x: Value, dtype: Any) -> Value:
        if x.type.dtype == dtype:
            return x
        return self.op("stablehlo.convert", [x], x.type.with_dtype(dtype))

    def bitcast(self, x: Value, t: ArrayType) -> Value:
        return self.op("stablehlo.bitcast_convert", [x], t)

    def iota(self, t: ArrayType, axis: int) -> Value:
        return self.op("stablehlo.iota", [], t, f"iota_dimension = {axis} : i64")

    def compare(self, direction: str, x: Value, y: Value, total: bool = False) -> Value:
        kind = dtypes.kind(x.type.dtype)
        how = {"f": "FLOAT", "c": "FLOAT", "i": "SIGNED", "u": "UNSIGNED", "b": "UNSIGNED"}[kind]
        how = "TOTALORDER" if total and kind == "f" else how
        return self.op("stablehlo.compare", [x, y], x.type.with_dtype(dtypes.bool_),
                       f"comparison_direction = #stablehlo<comparison_direction {direction}>, "
                       f"compare_type = #stablehlo<comparison_type {how}>")

    def select(self, p: Value, x: Value, y: Value) -> Value:
        return self.op("stablehlo.select", [p, x, y], x.type)

    def add(self, x: Value, y: Value) -> Value:
        return self.op("stablehlo.add", [x, y], x.type)

    def sub(self, x: Value, y: Value) -> Value:
        return self.op("stablehlo.subtract", [x, y], x.type)

    def mul(self, x: Value, y: Value) -> Value:
        return self.op("stablehlo.multiply", [x, y], x.type)

    def div(self, x: Value, y: Value) -> Value:
        return self.op("stablehlo.divide", [x, y], x.type)

    # The library to which XLA hands sums and extremes on a CPU drops a NaN of these dtypes that is the first operand
    # of maximum or minimum. It has no clamp, which in XLA's own kernels is the same code.
    DROPS_NAN = frozenset(map(np.dtype, (np.float16, dtypes.bfloat16, np.float32, np.float64)))

    def max(self, x: Value, y: Value) -> Value:
        """The larger of x and y; NaN if either is."""
        if x.type.dtype in self.DROPS_NAN:
            return self.op("stablehlo.clamp", [y, x, self.full(np.inf, x.type.with_shape(()))], x.type)
        return self.op("stablehlo.maximum", [x, y], x.type)

    def min(self, x: Value, y: Value) -> Value:
        """The smaller of x and y; NaN if either is."""
        if x.type.dtype in self.DROPS_NAN:
            return self.op("stablehlo.clamp", [self.full(-np.inf, x.type.with_shape(())), x, y], x.type)
        return self.op("stablehlo.minimum", [x, y], x.type)

    def and_(self, x: Value, y: Value) -> Value:
        return self.op("stablehlo.and", [x, y], x.type)

    def or_(self, x: Value, y: Value) -> Value:
        return self.op("stablehlo.or", [x, y], x.type)

    def xor(self, x: Value, y: Value) -> Value:
        return self.op("stablehlo.xor", [x, y], x.type)

    def neg(self, x: Value) -> Value:
        return self.op("stablehlo.negate", [x], x.type)

    def reduce(self, xs: Sequence[Value], inits: Sequence[Value], axes: Sequence[int],
               body: Callable[..., Sequence[Value]]) -> list[Value]:
        """Reduction over `axes`; `body(b, *accumulated, *elements)` gives the new accumulated values."""
        scalars = [ArrayType((), x.type.dtype) for x in xs]
        gone = set(axes)
        out_types = [x.type.with_shape(tuple(d for i, d in enumerate(x.type.shape) if i not in gone)) for x in xs]
        region = self.region([*scalars, *scalars], body)
        return self.multi("stablehlo.reduce", [*xs, *inits], out_types, f"dimensions = {self.ints(axes)}", [region])


class Lowered(NamedTuple):
    """A program's text, and the Python functions that it calls by number.

    A program with effects has one result more than its outputs: it is ready when the effects have happened.
    """

    text: str
    callbacks: list[Any]


def lower(program: Program, donated: Sequence[bool] = ()) -> Lowered:
    """The program as StableHLO text; inputs marked in `donated` may be overwritten."""
    marks = donated or [False] * len(program.inputs)
    module = Module()
    text = module.main(program, [" {jax.buffer_donor = true}" if flag else "" for flag in marks])
    return Lowered(text, module.callbacks)
