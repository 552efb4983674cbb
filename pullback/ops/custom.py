"""Functions with derivative rules of their own: custom_jvp and custom_vjp.

Both are transparent: eager evaluation runs the function, so Python control flow works in it; forward and
reverse mode use the rule; staging records the function as a program, with the rule beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core import dtypes, errors
from pullback.core.primitive import TABLE, Example, Outputs, Primitive
from pullback.core.program import Program
from pullback.core.trace import bind, type_of
from pullback.core.types import ArrayType, Linear, Zero
from pullback.core.vector import add, broadcast, instantiate
from pullback.interpret.evaluate import evaluate
from pullback.interpret.jvp import jvp as forward_mode
from pullback.interpret.linearize import tangent_map
from pullback.interpret.stage import stage
from pullback.interpret.transpose import backward as run_backward
from pullback.interpret.vmap import vmap

Body = Program | Callable[..., Sequence[Any]]


def run(body: Body, args: Sequence[Any]) -> list[Any]:
    """The function on values, whether it is a program already or still Python."""
    return evaluate(body, args) if isinstance(body, Program) else list(body(*args))


def batched_body(body: Body, size: int, batched: Sequence[bool], axis_name: Any) -> Callable[..., list[Any]]:
    """The function on batches; every output is batched."""
    def all_elements(*args: Any) -> list[Any]:
        outputs, flags = vmap(lambda *xs: run(body, xs), size, args, batched, axis_name)
        return [x if flag else broadcast(x, size) for x, flag in zip(outputs, flags, strict=True)]
    return all_elements


class CustomCall(Primitive):
    """What both kinds share. `body` is the function, flat; `captured` counts its leading captured operands."""

    programs = ("body",)
    transparent = True

    def infer(self, types: tuple[ArrayType, ...], params: dict[str, Any]) -> list[ArrayType]:
        return self.type(*types, **params)  # not remembered: the params are functions, made anew at each call

    def type(self, *types: ArrayType, body: Program, **params: Any) -> list[ArrayType]:
        return body.output_types

    def run(self, args: Sequence[Any], params: dict[str, Any]) -> Outputs:
        return run(params["body"], args)

    def expand(self, *args: Any, body: Body, **params: Any) -> Outputs:
        return run(body, args)

    def numpy(self, *arrays: np.ndarray, **params: Any) -> Outputs:
        raise AssertionError("a transparent primitive is run")

    def prepare(self, args: Sequence[Any], params: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        if isinstance(params["body"], Program):
            return args, params
        program, captured = stage(params["body"], [type_of(a) for a in args], name=self.name)
        return [*captured, *args], {**params, "body": program, "captured": params["captured"] + len(captured)}

    def hlo(self, b: Any, *values: Any, body: Program, **params: Any) -> Outputs:
        return b.program(body, values)

    def axis_names(self, params: dict[str, Any]) -> frozenset[Any]:
        body = params["body"]
        return body.axis_names if isinstance(body, Program) else frozenset()

    def effects(self, params: dict[str, Any]) -> frozenset[str]:
        body = params["body"]
        return body.effects if isinstance(body, Program) else frozenset()

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        return self.batch_named(size, None, args, batched, **params)


class CustomJVP(CustomCall):
    """A function with a rule for its tangents: rule(primals, tangents) -> (outputs, tangents)."""

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, body: Body, rule: Any, captured: int
            ) -> tuple[Outputs, Outputs]:
        for t in tangents[:captured]:
            if not isinstance(t, Zero):
                raise self.missing("derivative by a value that the function closes over",
                                   "pass the value as an argument of the custom_jvp function")
        outputs, dots = rule(list(primals[captured:]), list(tangents[captured:]))
        return outputs, dots

    def batch_named(self, size: int, axis_name: Any, args: Sequence[Any], batched: Sequence[bool], *, body: Body,
                    rule: Any, captured: int) -> tuple[Outputs, list[bool]]:
        flags = list(batched[captured:])

        def batched_rule(primals: list[Any], tangents: list[Any]) -> tuple[list[Any], list[Any]]:
            live = [not isinstance(t, Zero) for t in tangents]
            zeros: list[Any] = []

            def one(*xs: Any) -> list[Any]:
                rest = iter(xs[len(primals):])
                dots = [next(rest) if flag else Zero(type_of(p).tangent())
                        for flag, p in zip(live, xs[: len(primals)], strict=True)]
                outputs, out_dots = rule(list(xs[: len(primals)]), dots)
                zeros[:] = [isinstance(t, Zero) for t in out_dots]
                return [*outputs, *(t for t in out_dots if not isinstance(t, Zero))]

            given = [*primals, *(t for t in tangents if not isinstance(t, Zero))]
            mask = [*flags, *(f for f, flag in zip(flags, live, strict=True) if flag)]
            results, out_flags = vmap(one, size, given, mask, axis_name)
            results = [x if flag else broadcast(x, size) for x, flag in zip(results, out_flags, strict=True)]
            rest = iter(results[len(zeros):])
            outputs = results[: len(zeros)]
            return outputs, [Zero(type_of(o).tangent()) if zero else next(rest)
                             for o, zero in zip(outputs, zeros, strict=True)]

        # Captured operands come first in `args`; the batched function takes them where the rule does not.
        outputs = bind(self, args, {"body": batched_body(body, size, batched, axis_name), "rule": batched_rule,
                                    "captured": captured})
        return outputs, [True] * len(outputs)

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        def rule(primals: list[Any], tangents: list[Any]) -> tuple[list[Any], list[Any]]:
            (x,), (t,) = primals, tangents
            return [TABLE["sin"](x)], [TABLE["mul"](t, TABLE["cos"](x))]
        program, _ = stage(lambda x: [TABLE["sin"](x)], [ArrayType((3,), dtypes.float32)], name="sin")
        yield Example(rng.normal(size=3).astype(np.float32), body=program, rule=rule, captured=0)

    def oracle(self, jax: Any, x: Any, **params: Any) -> Any:
        return jax.numpy.sin(x)


class CustomVJP(CustomCall):
    """A function with a rule for its cotangents.

    forward(*args) -> (outputs, residuals); backward(residuals, cotangents) -> cotangents of the arguments.
    """

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, body: Body, forward: Any, backward: Any,
            captured: int) -> tuple[Outputs, Outputs]:
        for t in tangents[:captured]:
            if not isinstance(t, Zero):
                raise self.missing("derivative by a value that the function closes over",
                                   "pass the value as an argument of the custom_vjp function")
        inputs = primals[captured:]
        outputs, residuals = forward(*inputs, nonzero=[not isinstance(t, Zero) for t in tangents[captured:]])
        types = [type_of(x) for x in inputs]
        out_types = tuple(type_of(o).tangent() for o in outputs)
        live = tuple(t.tangent().dtype != dtypes.float0 for t in types)
        kept = tuple(t.dtype != dtypes.float0 for t in out_types)
        dots = [instantiate(t) for t, flag in zip(tangents[captured:], live, strict=True) if flag]
        out_dots = iter(bind(custom_linear, [*residuals, *dots], {
            "backward": backward, "count": len(residuals), "live": live,
            "out_types": tuple(t for t, flag in zip(out_types, kept, strict=True) if flag), "kept": kept}))
        return outputs, [next(out_dots) if flag else Zero(t) for t, flag in zip(out_types, kept, strict=True)]

    def batch_named(self, size: int, axis_name: Any, args: Sequence[Any], batched: Sequence[bool], *, body: Body,
                    forward: Any, backward: Any, captured: int) -> tuple[Outputs, list[bool]]:
        flags = list(batched[captured:])
        residual_flags: list[bool] = []

        def batched_forward(*inputs: Any, nonzero: list[bool]) -> tuple[list[Any], list[Any]]:
            counts: list[int] = []

            def one(*xs: Any) -> list[Any]:
                outputs, residuals = forward(*xs, nonzero=nonzero)
                counts[:] = [len(outputs)]
                return [*outputs, *residuals]

            results, out_flags = vmap(one, size, inputs, flags, axis_name)
            n = counts[0]
            outputs = [x if flag else broadcast(x, size)
                       for x, flag in zip(results[:n], out_flags[:n], strict=True)]
            residual_flags[:] = out_flags[n:]
            return outputs, results[n:]

        def batched_backward(residuals: list[Any], cts: list[Any]) -> list[Any]:
            return _batched_backward(backward, size, axis_name, tuple(residual_flags), flags)(residuals, cts)

        outputs = bind(self, args, {"body": batched_body(body, size, batched, axis_name), "forward": batched_forward,
                                    "backward": batched_backward, "captured": captured})
        return outputs, [True] * len(outputs)

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        def forward(x: Any, nonzero: list[bool]) -> tuple[list[Any], list[Any]]:
            return [TABLE["sin"](x)], [TABLE["cos"](x)]

        def backward(residuals: list[Any], cts: list[Any]) -> list[Any]:
            return [TABLE["mul"](cts[0], residuals[0])]
        program, _ = stage(lambda x: [TABLE["sin"](x)], [ArrayType((3,), dtypes.float32)], name="sin")
        yield Example(rng.normal(size=3).astype(np.float32), body=program, forward=forward, backward=backward,
                      captured=0)

    def oracle(self, jax: Any, x: Any, **params: Any) -> Any:
        return jax.numpy.sin(x)


def _batched_backward(backward: Any, size: int, axis_name: Any, residual_flags: Sequence[bool],
                      input_flags: Sequence[bool]) -> Callable[[list[Any], list[Any]], list[Any]]:
    """The backward rule on batches; the cotangent of an input that the batch shares is summed over it."""
    def apply(residuals: list[Any], cts: list[Any]) -> list[Any]:
        zero: list[Any] = []
        live = [not isinstance(ct, Zero) for ct in cts]
        types = [ct.type.unbatched() if isinstance(ct, Zero) else None for ct in cts]

        def one(*xs: Any) -> list[Any]:
            rest = iter(xs[len(residuals):])
            given = [next(rest) if flag else Zero(t) for flag, t in zip(live, types, strict=True)]
            results = backward(list(xs[: len(residuals)]), given)
            zero[:] = [r.type if isinstance(r, Zero) else None for r in results]
            return [r for r in results if not isinstance(r, Zero)]

        given = [*residuals, *(ct for ct, flag in zip(cts, live, strict=True) if flag)]
        results, flags = vmap(one, size, given, [*residual_flags, *[True] * sum(live)], axis_name)
        found = iter(zip(results, flags, strict=True))
        out = []
        for z, mapped in zip(zero, input_flags, strict=True):
            if z is not None:
                out.append(Zero(z.batched(size) if mapped else z))
                continue
            x, flag = next(found)
            if mapped:
                out.append(x if flag else broadcast(x, size))
            else:
                out.append(TABLE["reduce_sum"](x if flag else broadcast(x, size), axes=(0,)))
        return out
    return apply


class CustomLinear(Primitive):
    """A linear map that is known by its transpose: of a custom_vjp function, or with `forward` a linear_call.

    Operands: `count` residuals, then a tangent per input marked `live`. Reverse mode calls `backward`. What it is
    itself, `forward` computes; where that is None, the transpose of `backward`, which is linear in its cotangents.
    """

    transparent = True

    def infer(self, types: tuple[ArrayType, ...], params: dict[str, Any]) -> list[ArrayType]:
        return self.type(*types, **params)

    def type(self, *types: ArrayType, out_types: tuple[ArrayType, ...], **params: Any) -> list[ArrayType]:
        return list(out_types)

    def prepare(self, args: Sequence[Any], params: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        return args, params

    def run(self, args: Sequence[Any], params: dict[str, Any]) -> Outputs:
        return self.expand(*args, **params)

    def expand(self, *args: Any, backward: Any, count: int, live: tuple[bool, ...],
               out_types: tuple[ArrayType, ...], kept: tuple[bool, ...], forward: Any = None) -> Outputs:
        residuals, dots = list(args[:count]), list(args[count:])
        if forward is not None:
            return list(forward(residuals, dots))
        mask: list[bool] = []

        def rule(*cts: Any) -> list[Any]:
            results = self._cotangents(residuals, cts, backward, live, kept)
            mask[:] = [not isinstance(r, Zero) for r in results]
            return [r for r in results if not isinstance(r, Zero)]

        program, captured = stage(rule, out_types, name="backward", what="the backward rule of custom_vjp")
        linear = [False] * len(captured) + [True] * len(out_types)
        given = [dot for dot, flag in zip(dots, mask, strict=True) if flag]
        try:
            return [instantiate(t) for t in run_backward(program, linear, captured, given)]
        except errors.MissingRuleError as error:
            problem, *where = str(error).split("\n")
            raise errors.make(
                errors.MissingRuleError, "forward mode takes the transpose of the backward rule, and this one is not "
                f"linear in the cotangent: {problem}", op="custom_vjp", notes=tuple(w.strip() for w in where[:-1]),
                fix="use reverse mode (grad, vjp, jacrev), or give the function a custom_jvp rule") from None

    def _cotangents(self, residuals: list[Any], cts: Sequence[Any], backward: Any, live: Sequence[bool],
                    kept: Sequence[bool]) -> list[Any]:
        """The cotangents of the live inputs."""
        given = iter(cts)
        full = [next(given) if flag else Zero(ArrayType((), dtypes.float0)) for flag in kept]
        return [r for r, flag in zip(backward(residuals, full), live, strict=True) if flag]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Outputs, Outputs]:
        count = params["count"]
        if params.get("forward") is None:
            return forward_mode(lambda *xs: self.expand(*xs, **params), primals, tangents)
        outputs = bind(self, primals, params)
        dots: list[Any] = [Zero(t.tangent()) for t in params["out_types"]]
        if not all(isinstance(t, Zero) for t in tangents[count:]):
            dots = bind(self, [*primals[:count], *[instantiate(t) for t in tangents[count:]]], params)
        if not all(isinstance(t, Zero) for t in tangents[:count]):
            _, moved = tangent_map(lambda *rs: self.expand(*rs, *primals[count:], **params), primals[:count],
                                   tangents[:count])
            dots = [add(a, b) for a, b in zip(dots, moved, strict=True)]
        return outputs, dots

    def transpose(self, cts: Sequence[Any], *args: Any, backward: Any, count: int, live: tuple[bool, ...],
                  out_types: tuple[ArrayType, ...], kept: tuple[bool, ...], forward: Any = None) -> list[Any]:
        residuals = list(args[:count])
        assert not any(isinstance(r, Linear) for r in residuals)
        if forward is None:
            return [None] * count + self._cotangents(residuals, cts, backward, live, kept)
        return [None] * count + bind(self, [*residuals, *[instantiate(ct) for ct in cts]], {
            "forward": backward, "backward": forward, "count": count, "live": kept, "kept": live,
            "out_types": tuple(arg.type for arg in args[count:])})

    def batch_named(self, size: int, axis_name: Any, args: Sequence[Any], batched: Sequence[bool], *, backward: Any,
                    count: int, live: tuple[bool, ...], out_types: tuple[ArrayType, ...], kept: tuple[bool, ...],
                    forward: Any = None) -> tuple[Outputs, list[bool]]:
        dots = [x if flag else broadcast(x, size) for x, flag in zip(args[count:], batched[count:], strict=True)]
        flags = tuple(batched[:count])
        outputs = bind(self, [*args[:count], *dots], {
            "backward": _batched_backward(backward, size, axis_name, flags, [True] * len(live)), "count": count,
            "live": live, "kept": kept, "out_types": tuple(t.batched(size) for t in out_types),
            "forward": forward and _batched_backward(forward, size, axis_name, flags, [True] * len(kept))})
        return outputs, [True] * len(outputs)

    def batch(self, size: int, args: Sequence[Any], batched: Sequence[bool], **params: Any
              ) -> tuple[Outputs, list[bool]]:
        return self.batch_named(size, None, args, batched, **params)

    def examples(self, rng: np.random.Generator) -> Iterable[Example]:
        def backward(residuals: list[Any], cts: list[Any]) -> list[Any]:
            return [TABLE["mul"](cts[0], residuals[0])]
        t = ArrayType((3,), dtypes.float32)
        r, x = (rng.normal(size=3).astype(np.float32) for _ in range(2))
        yield Example(r, x, backward=backward, count=1, live=(True,), out_types=(t,), kept=(True,), order=0,
                      linear=(1,))
        yield Example(r, x, forward=backward, backward=backward, count=1, live=(True,), out_types=(t,), kept=(True,),
                      order=1, linear=(1,))

    def oracle(self, jax: Any, r: Any, x: Any, **params: Any) -> Any:
        return jax.numpy.multiply(r, x)


custom_jvp_call = CustomJVP("custom_jvp_call")
custom_vjp_call = CustomVJP("custom_vjp_call")
custom_linear = CustomLinear("custom_linear")
