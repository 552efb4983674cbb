"""The stages of a jitted function, one by one: traced, lowered, compiled."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from pullback.api.flat import flatten_args
from pullback.core import config, dtypes, errors, tree
from pullback.core.primitive import JAX_NAMES
from pullback.core.program import Equation, Program
from pullback.core.show import show
from pullback.core.trace import Tracer, type_of
from pullback.core.types import ArrayType
from pullback.ops.call import call
from pullback.passes import key_reuse
from pullback.passes.pipeline import optimize, report
from pullback.runtime import pjrt
from pullback.runtime.executable import Executable, executable
from pullback.runtime.lower import lower


class ShapeDtypeStruct:
    """Shape and dtype of an array, without its numbers.

    Args:
      shape: a tuple of ints.
      dtype: a dtype.
    """

    __slots__ = ("dtype", "shape", "sharding", "weak_type")

    def __init__(self, shape: Any, dtype: Any, *, sharding: Any = None, weak_type: bool = False, **_: Any) -> None:
        if dtype is None:
            raise errors.value_error("dtype is None, a dtype is required", op="ShapeDtypeStruct")
        self.shape = tuple(shape)
        self.dtype = dtypes.as_dtype(dtype)
        self.sharding = sharding
        self.weak_type = weak_type

    @property
    def size(self) -> int:
        return ArrayType(self.shape, self.dtype).size

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """Another, with some of shape, dtype, sharding and weak_type changed."""
        return ShapeDtypeStruct(**{"shape": self.shape, "dtype": self.dtype, "sharding": self.sharding,
                                   "weak_type": self.weak_type, **changes})

    def __len__(self) -> int:
        return self.shape[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and (self.shape, self.dtype, self.weak_type) == (
            other.shape, other.dtype, other.weak_type)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.weak_type))

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype}{weak})"


def struct_of(t: ArrayType) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(t.shape, t.dtype, weak_type=t.weak)


def _readable(equations: Sequence[Equation]) -> list[Equation]:
    """The equations, with the programs among their params by jax's names too, for code that reads programs."""
    def more(eqn: Equation) -> dict[str, Any]:
        return {jaxs: ClosedProgram(eqn.params[name], []) for jaxs, name in JAX_NAMES.items()
                if name in eqn.primitive.programs and isinstance(eqn.params[name], Program)}
    return [e.replace(params=e.params | more(e)) if e.primitive.programs else e for e in equations]


class OpenProgram:
    """A program whose first inputs are constants, by jax's names for its parts."""

    def __init__(self, program: Program, n_consts: int) -> None:
        self.program = program
        self.constvars = list(program.inputs[:n_consts])
        self.invars = list(program.inputs[n_consts:])
        self.outvars = list(program.outputs)
        self.eqns = _readable(program.equations)
        self.effects = program.effects

    def __str__(self) -> str:
        return show(self.program)

    __repr__ = __str__


class ClosedProgram:
    """A program together with the values it captured; what make_jaxpr returns."""

    def __init__(self, program: Program, consts: Sequence[Any]) -> None:
        self.program = program
        self.consts = list(consts)

    @property
    def jaxpr(self) -> OpenProgram:
        return OpenProgram(self.program, len(self.consts))

    @property
    def literals(self) -> list[Any]:
        return self.consts

    @property
    def eqns(self) -> list[Equation]:
        return _readable(self.program.equations)

    @property
    def in_avals(self) -> list[ArrayType]:
        return self.program.input_types[len(self.consts):]

    @property
    def out_avals(self) -> list[ArrayType]:
        return self.program.output_types

    @property
    def effects(self) -> frozenset[str]:
        return self.program.effects

    def __str__(self) -> str:
        return show(self.program)

    __repr__ = __str__


class Traced:
    """A jitted function traced for one signature."""

    def __init__(self, program: Program, captured: list[Any], in_tree: Any, out_tree: Any, name: str,
                 donated: Sequence[bool], options: Any) -> None:
        self.program = program
        self.captured = captured
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.fun_name = name
        self.donated = donated
        self.options = options

    @property
    def jaxpr(self) -> ClosedProgram:
        """The traced program."""
        return ClosedProgram(self.program, self.captured)

    @property
    def out_info(self) -> Any:
        """The shapes and dtypes of the outputs, as a tree."""
        return tree.unflatten(self.out_tree, [struct_of(t) for t in self.program.output_types])

    def lower(self, **_: Any) -> Lowered:
        """The program as StableHLO."""
        return Lowered(self)


def _check_dialect(dialect: str | None, op: str) -> None:
    if dialect not in (None, "stablehlo", "hlo"):
        raise errors.value_error(f"dialect is {dialect!r}, 'stablehlo' or 'hlo' is required", op=op,
                                 fix="compile() and as_text() on the result give what XLA made of the program")


class Lowered:
    """A jitted function lowered for one signature."""

    def __init__(self, traced: Traced) -> None:
        self.traced = traced
        self.in_tree = traced.in_tree
        self.out_tree = traced.out_tree
        self.out_info = traced.out_info

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The program's text, in StableHLO or, with "hlo", in XLA's own form."""
        if dialect == "hlo":
            return self.compiler_ir("hlo").as_hlo_text()  # type: ignore[no-any-return]
        _check_dialect(dialect, "as_text")
        optimized = optimize(self.traced.program)
        donated = [d for d, used in zip(self.traced.donated, optimized.used, strict=False) if used]
        return lower(optimized.program, donated).text

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The program as an object of jaxlib: a module of MLIR or, with "hlo", a computation of XLA.

        Raises:
          ValueError: another dialect.
        """
        _check_dialect(dialect, "compiler_ir")
        return pjrt.computation(self.as_text()) if dialect == "hlo" else pjrt.module(self.as_text())

    def report(self) -> str:
        """What was done to the program before XLA got it: which repeated stretches became loops, which not, and why.

        Example:
          >>> print(jit(lambda x: x + 1).lower(1.0).report())
          <lambda>: 1 equations, 1 after rolling
            fences: 0
        """
        return report(self.traced.program)

    def compile(self, compiler_options: dict[str, Any] | None = None) -> Compiled:
        """Compiles for the default device."""
        options = tuple(sorted(compiler_options.items())) if compiler_options else self.traced.options
        if options or any(self.traced.donated):
            return Compiled(self.traced, Executable(self.traced.program, self.traced.donated, options))
        return Compiled(self.traced, executable(self.traced.program))  # the one that calls of the function use

    def cost_analysis(self) -> Any:
        """XLA's estimate of operations and bytes."""
        return self.compile().cost_analysis()


class Compiled:
    """A jitted function compiled for one signature; call it with arguments of that signature."""

    def __init__(self, traced: Traced, executable: Executable) -> None:
        self.traced = traced
        self.executable = executable
        self._compiled = executable.compiled.get(None) or executable.compile()
        self.in_tree = traced.in_tree
        self.out_tree = traced.out_tree
        self.out_info = traced.out_info

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = flatten_args((args, kwargs))
        if any(isinstance(x, Tracer) for x in leaves):
            raise errors.type_error("a compiled function was called with traced values", op=self.traced.fun_name,
                                    fix="call the jitted function itself inside transformations")
        required = self.traced.program.input_types[len(self.traced.captured):]
        given = [type_of(x) for x in leaves]
        if [(t.shape, t.dtype) for t in given] != [(t.shape, t.dtype) for t in required]:
            raise errors.type_error(
                f"compiled for {', '.join(map(str, required))}, called with {', '.join(map(str, given))}",
                op=self.traced.fun_name, fix="call with the shapes and dtypes it was lowered for")
        values, program = [*self.traced.captured, *leaves], self.traced.program
        keys: Sequence[Any] = ()
        if config.debug_key_reuse.value:
            keys = key_reuse.follow(call, values, {"program": program, "name": ""}, program.output_types)
        results = self.executable(values)
        key_reuse.attach(results, keys)
        return tree.unflatten(self.out_tree, results)

    def as_text(self) -> str:
        """The optimised HLO text."""
        return self._compiled.hlo_text()

    def cost_analysis(self) -> Any:
        """XLA's estimate of operations and bytes."""
        return self._compiled.cost_analysis()

    def memory_analysis(self) -> Any:
        """Sizes of arguments, outputs and temporary memory in bytes."""
        return self._compiled.memory_analysis()

    def runtime_executable(self) -> Any:
        return self._compiled


def compile_all(lowered: Sequence[Lowered]) -> list[Compiled]:
    """Several lowered functions compiled at the same time, one on each core: XLA compiles without Python's lock.

    Args:
      lowered: what `jit(f).lower(*args)` gives, for each function and signature that will be needed.

    Returns:
      The compiled functions, in the same order. With the cache on disk, later calls of `jit(f)` load these.

    Example:
      >>> first, second = compile_all([jit(jnp.sin).lower(1.0), jit(jnp.cos).lower(1.0)])
      >>> float(first(0.0))
      0.0
    """
    from concurrent.futures import ThreadPoolExecutor  # costs 5 ms, which few programs need
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return list(pool.map(Lowered.compile, lowered))
