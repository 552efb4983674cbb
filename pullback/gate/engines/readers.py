"""How programs of the two engines are read; both have the form of jaxprs, with other names for the parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.gate.operations import Body, Loop
from pullback.gate.sites import Site, is_own, of_frames

__all__ = ["JaxReader", "PullbackReader"]

_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
_HIDDEN = {"sharding", "out_sharding", "name", "accuracy", "weak_type", "compiler_params", "debug_info"}
_NOT_CALLS = {"scan", "while", "cond", "while_tangents", "reduce", "reduce_window", "fold", "fold_window", "shard_map",
              "custom_linear_solve", "scatter", "scatter-add", "sort"}


def _text(params: dict[str, Any]) -> str:
    rows = []
    for name, value in sorted(params.items()):
        shown = _ADDRESS.sub("0x", str(value))
        if value is not None and name not in _HIDDEN and not callable(value) and "\n" not in shown and len(shown) < 300:
            rows.append(f"{name}={shown}")
    return " ".join(rows)


class JaxReader:
    """Programs of jax: what `jax.make_jaxpr` returns."""

    def __init__(self, package: Any, folders: Sequence[str]) -> None:
        self.package, self.folders = package, folders
        self._sites: dict[Any, Site | None] = {}

    def body(self, function: Callable[..., Any], *args: Any) -> Body:
        found = self._inner(self.package.make_jaxpr(function)(*args))
        assert found is not None
        return found

    def _inner(self, closed: Any) -> Body | None:
        jaxpr = getattr(closed, "jaxpr", closed)
        consts, variables = list(getattr(closed, "consts", ())), list(getattr(jaxpr, "constvars", ()))
        if len(consts) != len(variables):
            return None
        return Body(jaxpr.invars, list(zip(variables, consts)), jaxpr.eqns, jaxpr.outvars)

    def atoms(self, equation: Any) -> tuple[Sequence[Any], Sequence[Any]]:
        return equation.invars, equation.outvars

    def literal(self, atom: Any) -> tuple[bool, Any]:
        if not hasattr(atom, "val"):
            return False, None
        value = atom.val
        if isinstance(value, (int, float, complex)) and type(value) not in (bool, int, float, complex):
            return True, np.asarray(value, atom.aval.dtype)[()]  # a number of jax's own, with a dtype
        return True, value

    def name(self, equation: Any) -> str:
        return str(equation.primitive.name)

    def params(self, equation: Any) -> str:
        return _text({name: value for name, value in equation.params.items() if "axpr" not in type(value).__name__})

    def site(self, equation: Any) -> Site | None:
        traceback = equation.source_info.traceback
        if traceback is None:
            return None
        if traceback not in self._sites:
            frames = [(frame.file_name, frame.line_num, frame.function_name.rpartition(".")[2])
                      for frame in traceback.frames]
            self._sites[traceback] = of_frames(frames, self.folders)
        return self._sites[traceback]

    def loop(self, equation: Any) -> Loop | None:
        params, name = equation.params, equation.primitive.name
        if name == "scan":
            return self._loop("scan", [params["jaxpr"]], (int(params["length"]),), bool(params["reverse"]))
        if name == "while":
            return self._loop("while", [params["cond_jaxpr"], params["body_jaxpr"]],
                              (params["cond_nconsts"], params["body_nconsts"]))
        if name == "cond":
            return self._loop("cond", params["branches"])
        inside = [value for value in params.values() if hasattr(getattr(value, "jaxpr", value), "eqns")]
        if len(inside) != 1 or name in _NOT_CALLS:
            return None
        found = self._loop("call", inside)
        if found is None or not _fits(found.bodies[0], equation.invars, equation.outvars, lambda v: v.aval):
            return None
        return found._replace(own="jit" not in name or self._own(found.bodies[0], str(params.get("name"))))

    def _own(self, body: Body, name: str) -> bool:
        """Whether a compiled function is the user's: then its frame is among those of its equations.

        jax traces a function of its own once, so that the lines inside are those of its first call.
        """
        for equation in body.equations[:4]:
            traceback = equation.source_info.traceback
            for frame in traceback.frames if traceback is not None else ():
                if frame.function_name.rpartition(".")[2] == name and is_own(frame.file_name, self.folders):
                    return True
        return False

    def bodies(self, equation: Any) -> list[Body]:
        values = [x for value in equation.params.values() for x in (value if isinstance(value, tuple) else (value,))]
        found = [self._inner(x) for x in values if hasattr(getattr(x, "jaxpr", x), "eqns")]
        return [body for body in found if body is not None]

    def _loop(self, kind: str, inside: Sequence[Any], counts: Sequence[int] = (), reverse: bool = False) -> Loop | None:
        bodies = [self._inner(part) for part in inside]
        return None if None in bodies else Loop(kind, [body for body in bodies if body], counts, reverse)

    def bind(self, equation: Any, values: Sequence[Any]) -> Sequence[Any]:
        found = equation.primitive.bind(*values, **equation.params)
        return found if equation.primitive.multiple_results else [found]


class PullbackReader:
    """Programs of pullback.

    Args:
      bind: binds a primitive: (primitive, values, params) -> results.
    """

    def __init__(self, package: Any, folders: Sequence[str], bind: Callable[..., list[Any]]) -> None:
        self.package, self.folders, self._bind = package, folders, bind
        self._sites: dict[Any, Site | None] = {}

    def body(self, function: Callable[..., Any], *args: Any) -> Body:
        closed = self.package.make_jaxpr(function)(*args)
        inputs, count = closed.program.inputs, len(closed.consts)
        return Body(inputs[count:], list(zip(inputs[:count], closed.consts)), closed.program.equations,
                    closed.program.outputs)

    def atoms(self, equation: Any) -> tuple[Sequence[Any], Sequence[Any]]:
        return equation.inputs, equation.outputs

    def literal(self, atom: Any) -> tuple[bool, Any]:
        return (True, atom.value) if hasattr(atom, "value") else (False, None)

    def name(self, equation: Any) -> str:
        return str(equation.primitive.name)

    def params(self, equation: Any) -> str:
        programs = equation.primitive.programs
        return _text({name: value for name, value in equation.params.items() if name not in programs})

    def site(self, equation: Any) -> Site | None:
        source = equation.source
        if source is None:
            return None
        key = (source.code, source.instruction)
        if key not in self._sites:
            self._sites[key] = of_frames([(source.file, source.line, source.function)], self.folders)
        return self._sites[key]

    def bodies(self, equation: Any) -> list[Body]:
        return [Body(program.inputs, (), program.equations, program.outputs) for program in equation.programs]

    def loop(self, equation: Any) -> Loop | None:
        params, name, bodies = equation.params, equation.primitive.name, self.bodies(equation)
        if name == "scan":
            return Loop("scan", bodies, (params["length"],), params["reverse"])
        if name == "while":
            return Loop("while", bodies, (params["n_cond"], params["n_body"]))
        if name == "cond":
            return Loop("cond", bodies)
        if len(bodies) != 1 or name in _NOT_CALLS:
            return None
        return Loop("call", bodies) if _fits(bodies[0], equation.inputs, equation.outputs, lambda v: v.type) else None

    def bind(self, equation: Any, values: Sequence[Any]) -> Sequence[Any]:
        return self._bind(equation.primitive, values, equation.params)


def _fits(body: Body, inputs: Sequence[Any], outputs: Sequence[Any], kind: Callable[[Any], Any]) -> bool:
    """Whether a program takes and returns what its equation does, which a reducer of single numbers does not."""
    return (len(body.inputs) == len(inputs) and len(body.outputs) == len(outputs)
            and all(kind(a).shape == kind(b).shape for a, b in zip([*body.inputs, *body.outputs], [*inputs, *outputs])))
