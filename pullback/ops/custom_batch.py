"""Functions with a batching rule of their own: custom_batching.custom_vmap.

Transparent as the other custom rules are: eager evaluation runs the function, staging records it with the rule beside
it, vmap calls the rule. Forward mode differentiates function and rule alike; reverse mode takes its linear map from the
function, so that only the values of the forward pass come from the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes
from pullback.core.primitive import TABLE, Example, Outputs
from pullback.core.trace import bind, type_of
from pullback.core.types import ArrayType, Zero
from pullback.core.vector import broadcast, instantiate
from pullback.interpret.jvp import jvp as forward_mode
from pullback.interpret.linearize import tangent_map
from pullback.interpret.stage import stage
from pullback.ops.custom import Body, CustomCall, run

# (size, which arguments are batched, arguments) -> outputs, which of them are batched
Rule = Callable[[int, Sequence[bool], Sequence[Any]], tuple[list[Any], list[bool]]]


class CustomVmap(CustomCall):
    """body(*args), batched by `rule`."""

    def _check_captured(self, marked: bool, what: str) -> None:
        if marked:
            raise self.missing(f"{what} by a value that the function closes over",
                               "pass the value as an argument of the custom_vmap function")

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, body: Body, rule: Rule, captured: int
            ) -> tuple[Outputs, Outputs]:
        self._check_captured(any(not isinstance(t, Zero) for t in tangents[:captured]), "derivative")
        n = len(primals)
        nonzero = [not isinstance(t, Zero) for t in tangents]
        types: list[ArrayType] = []

        def both(function: Callable[..., list[Any]], xs: Sequence[Any], skip: int) -> list[Any]:
            """The outputs of `function`, then the tangents of those that have one."""
            given, rest = xs[:n - skip], iter(xs[n - skip:])
            dots = [next(rest) if flag else Zero(type_of(x).tangent())
                    for x, flag in zip(given, nonzero[skip:], strict=True)]
            outputs, out_dots = forward_mode(function, given, dots)
            types[:] = [type_of(o).tangent() for o in outputs]
            return [*outputs, *[instantiate(t) for t in out_dots if t.type.dtype != dtypes.float0]]

        def derived_rule(size: int, flags: Sequence[bool], xs: Sequence[Any]) -> tuple[list[Any], list[bool]]:
            found: list[bool] = []
            count = n - captured
            marks = list(flags[:count])
            positions = [i for i, flag in enumerate(nonzero[captured:]) if flag]
            for i, flag in zip(positions, flags[count:], strict=True):
                marks[i] = marks[i] or flag

            def of_primals(*given: Any) -> list[Any]:
                outputs, out_flags = rule(size, marks, given)
                found[:] = out_flags
                return outputs

            wanted = [*marks, *[marks[i] for i in positions]]
            given = [broadcast(x, size) if want and not flag else x
                     for x, want, flag in zip(xs, wanted, flags, strict=True)]
            results = both(of_primals, given, captured)
            return results, [*found, *[flag for flag, t in zip(found, types, strict=True) if t.dtype != dtypes.float0]]

        results = bind(self, [*primals, *[t for t, flag in zip(tangents, nonzero, strict=True) if flag]], {
            "body": lambda *xs: both(lambda *given: run(body, given), xs, 0), "rule": derived_rule,
            "captured": captured})
        # The types are those of one trace further in, with or without its batch axis; only their dtypes matter here.
        dots = iter(results[len(types):])
        outputs = results[:len(types)]
        return outputs, [Zero(type_of(o).tangent()) if t.dtype == dtypes.float0 else next(dots)
                         for o, t in zip(outputs, types, strict=True)]

    def linearize(self, primals: Sequence[Any], tangents: Sequence[Any], *, body: Body, rule: Rule, captured: int
                  ) -> tuple[Outputs, Outputs]:
        self._check_captured(any(not isinstance(t, Zero) for t in tangents[:captured]), "derivative")
        outputs = bind(self, primals, {"body": body, "rule": rule, "captured": captured})
        return outputs, tangent_map(lambda *xs: run(body, xs), primals, tangents)[1]

    def batch_named(self, size: int, axis_name: Any, args: Sequence[Any], batched: Sequence[bool], *, body: Body,
                    rule: Rule, captured: int) -> tuple[Outputs, list[bool]]:
        self._check_captured(any(batched[:captured]), "batching")
        return rule(size, list(batched[captured:]), list(args[captured:]))

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        def rule(size: int, flags: Sequence[bool], args: Sequence[Any]) -> tuple[list[Any], list[bool]]:
            x, y = (x if flag else broadcast(x, size) for x, flag in zip(args, flags, strict=True))
            return [TABLE["mul"](TABLE["sin"](x), y)], [True]
        t = ArrayType((3,), dtypes.float32)
        program, _ = stage(lambda x, y: [TABLE["mul"](TABLE["sin"](x), y)], [t, t], name="sin_times")
        x, y = (rng.normal(size=3).astype(np.float32) for _ in range(2))
        yield Example(x, y, body=program, rule=rule, captured=0)

    def oracle(self, jax: Any, x: Any, y: Any, **params: Any) -> Any:
        return jax.numpy.sin(x) * y


custom_vmap_call = CustomVmap("custom_vmap_call")
