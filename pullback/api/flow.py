"""gradient_flow: for each parameter, how its gradient reaches the loss, or where and why it does not.

The loss runs once, operation by operation, under a trace whose tracers remember the operation that made them; jitted
functions, loops and branches run as Python. An edge of that graph carries a gradient, or does not: into an integer,
a comparison, a rounding, a stop_gradient. Where every edge carries one and the gradient is zero all the same, a second
run with a random tangent of that parameter alone shows the operations in which the tangent dies.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pullback.api.ad import chosen_arguments, value_and_grad
from pullback.api.flat import FlatFunction, argument_names, check_callable, flatten_args, function_name, wraps
from pullback.core import dtypes, source, tree
from pullback.core.array import ConcreteArray
from pullback.core.primitive import TABLE, Primitive
from pullback.core.trace import Trace, Tracer, current, opened, running, type_of
from pullback.core.types import ArrayType, Zero
from pullback.interpret.evaluate import evaluate
from pullback.ops.scan import cut

__all__ = ["GradientFlow", "LeafFlow", "Step", "gradient_flow"]


class Step(NamedTuple):
    """An operation on the way, and the user's line that asked for it."""

    operation: str
    source: source.Source | None

    def __str__(self) -> str:
        return f"{self.operation} at {self.source}" if self.source else self.operation


_MEANING = {
    "reaches": "its gradient reaches the output",
    "unused": "unused: the output does not depend on it",
    "stopped": "stopped by stop_gradient",
    "flat": "the output depends on it only through operations without a derivative",
    "zero": "zero in value only: a gradient could reach the output, but is zero at these values",
}


class LeafFlow:
    """What becomes of the gradient of one leaf.

    Attributes:
      name: of the leaf, as "params['w']"; `type` its shape and dtype.
      status: 'reaches', 'unused', 'stopped', 'flat' (only integers, comparisons, roundings, ...), or 'zero' (in value).
      path: the operations from the leaf to the output, or to the first of `causes`; the shortest such way.
      causes: the operations that keep the gradient from the output, or make it zero.
      largest: the largest magnitude in the gradient.
    """

    def __init__(self, name: str, type: ArrayType, status: str, path: tuple[Step, ...], causes: tuple[Step, ...],
                 largest: float) -> None:
        self.name = name
        self.type = type
        self.status = status
        self.path = path
        self.causes = causes
        self.largest = largest

    def __str__(self) -> str:
        largest = f", largest element {self.largest:.3g}" if self.status == "reaches" else ""
        lines = [f"{self.name}: {self.type}  {_MEANING[self.status]}{largest}"]
        shown = self.path if self.status in ("reaches", "zero") else self.path[:-1]
        lines += [f"    {line}" for line in _by_line(shown)]
        for step in self.causes:
            why = f"  ({_WHY.get(step.operation, 'its derivative is zero here')})" if self.status == "zero" else ""
            lines.append(f"    -> {step}{why}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<{self.name}: {self.status}>"


# Why a tangent becomes zero in an operation.
_WHY = dict.fromkeys(("select_n", "max", "min", "clamp", "abs", "reduce_max", "reduce_min"),
                     "no element is on the side that depends on it")
_WHY |= dict.fromkeys(("tanh", "logistic", "erf", "erfc", "exp", "atan", "sqrt", "rsqrt", "log", "pow"),
                      "saturated: the derivative rounds to zero")
_WHY |= dict.fromkeys(("mul", "dot_general", "conv_general_dilated", "div", "integer_pow", "square"),
                      "the other factor is zero")
_WHY |= dict.fromkeys(("gather", "dynamic_slice", "slice", "scatter", "dynamic_update_slice"),
                      "the elements that depend on it are left out")


def _by_line(path: Sequence[Step]) -> list[str]:
    """The operations of a path, those of one line together."""
    lines: list[tuple[str, list[str]]] = []
    for step in path:
        at = f"{os.path.basename(step.source.file)}:{step.source.line}" if step.source else "?"
        if not lines or lines[-1][0] != at:
            lines.append((at, []))
        lines[-1][1].append(step.operation)
    return [f"{at}  {', '.join(operations)}" for at, operations in lines]


class GradientFlow:
    """The report of `gradient_flow`: `print` it, or read `leaves` and `report["params['w']"]`."""

    def __init__(self, name: str, leaves: Sequence[LeafFlow]) -> None:
        self.name = name
        self.leaves = tuple(leaves)

    def __getitem__(self, name: str) -> LeafFlow:
        for leaf in self.leaves:
            if leaf.name == name:
                return leaf
        raise KeyError(f"{name}; there are {', '.join(leaf.name for leaf in self.leaves)}")

    def without(self) -> tuple[LeafFlow, ...]:
        """The leaves that get no gradient."""
        return tuple(leaf for leaf in self.leaves if leaf.status != "reaches")

    def __str__(self) -> str:
        reached = len(self.leaves) - len(self.without())
        return "\n".join([f"gradient flow of {self.name}: {reached} of {len(self.leaves)} leaves get a gradient",
                          *map(str, self.leaves)])

    __repr__ = __str__


# -- the graph ------------------------------------------------------------------------------------------

class _Node:
    """One value: the operation that made it, its operands, and which of them pass their gradient on to it."""

    __slots__ = ("alive", "edges", "step")

    def __init__(self, step: Step, edges: Sequence[tuple[_Node, bool]], alive: bool) -> None:
        self.step = step
        self.edges = edges
        self.alive = alive  # whether the tangent of this run is not zero


class _FlowTracer(Tracer):
    """A value that depends on a leaf."""

    __slots__ = ("node", "primal", "tangent")

    def __init__(self, trace: _FlowTrace, primal: Any, tangent: Any, node: _Node) -> None:
        self.owner = trace
        self.primal = primal
        self.tangent = tangent
        self.node = node
        self.type = type_of(primal)
        self.source = node.step.source

    def concrete(self) -> Any:
        return self.primal

    def known(self, error: type[BaseException], use: str, fix: str) -> Any:
        self.owner.decide(self, use)  # type: ignore[attr-defined]
        return super().known(error, use, fix)


class _FlowTrace(Trace):
    """Forward mode that keeps the graph."""

    def __init__(self, parent: Trace) -> None:
        self.parent = parent
        self.decisions: list[tuple[_Node, bool]] = []  # values that became Python values, on which anything may depend

    def describe(self) -> str:
        return "gradient_flow"

    def decide(self, tracer: _FlowTracer, use: str) -> None:
        step = Step(f"Python value ({use})", source.here())
        self.decisions.append((_Node(step, [(tracer.node, False)], False), False))

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        own = [arg if type(arg) is _FlowTracer and arg.owner is self else None for arg in args]
        if not any([tracer is not None for tracer in own]):
            with running(self.parent):
                return self.parent.process(primitive, args, params)
        inside = _INSIDE.get(primitive.name)
        if inside is not None:
            return inside(self, args, **params)
        if primitive.expands("jvp"):
            return primitive.expand(*args, **params)  # type: ignore[no-any-return]
        primals = [arg if tracer is None else tracer.primal for arg, tracer in zip(args, own, strict=True)]
        tangents = [Zero(type_of(arg).tangent()) if tracer is None else tracer.tangent
                    for arg, tracer in zip(args, own, strict=True)]
        with running(self.parent):
            if all([isinstance(t, Zero) for t in tangents]):
                outputs = self.parent.process(primitive, primals, params)
                dots = [Zero(type_of(x).tangent()) for x in outputs]
            else:
                outputs, dots = primitive.jvp(primals, tangents, **params)
        derivatives = getattr(primitive, "derivatives", (True,) * len(args))
        given = [(tracer.node, not isinstance(t, Zero) and rule is not None)
                 for tracer, t, rule in zip(own, tangents, derivatives, strict=True) if tracer is not None]
        return [self.tracer(x, dot, _name(primitive), given) for x, dot in zip(outputs, dots, strict=True)]

    def tracer(self, primal: Any, tangent: Any, operation: str, given: Sequence[tuple[_Node, bool]]) -> _FlowTracer:
        zero = isinstance(tangent, Zero)
        node = _Node(Step(operation, source.here()), [(node, flows and not zero) for node, flows in given],
                     not zero and _nonzero(tangent))
        return _FlowTracer(self, primal, tangent, node)

    def leaf(self, primal: Any, tangent: Any) -> _FlowTracer:
        return _FlowTracer(self, primal, tangent, _Node(Step("leaf", None), (), not isinstance(tangent, Zero)))

    def node(self, value: Any) -> _Node | None:
        return value.node if type(value) is _FlowTracer and value.owner is self else None

    def also(self, values: Sequence[Any], by: Any, operation: str) -> list[Any]:
        """`values` as results that depend on `by` too, without a derivative: of which branch, of how many steps."""
        node = self.node(by)
        if node is None:
            return list(values)
        results = []
        for x in values:
            edges = [(own, True)] if (own := self.node(x)) is not None else []
            primal, dot = (x.primal, x.tangent) if edges else (x, Zero(type_of(x).tangent()))
            made = _Node(Step(operation, source.here()), [*edges, (node, False)], bool(edges) and edges[0][0].alive)
            results.append(_FlowTracer(self, primal, dot, made))
        return results


def _nonzero(x: Any) -> bool:
    while isinstance(x, Tracer) and (known := x.concrete()) is not None:
        x = known
    return bool(np.any(np.asarray(x) != 0)) if isinstance(x, ConcreteArray) else bool(x != 0)


def _name(primitive: Primitive) -> str:
    """The operation's name; of a function with a rule of its own, the function's where it is known."""
    if not primitive.transparent:
        return primitive.name
    return primitive.name.removesuffix("_call")


# Operations that run programs, as Python.

def _call(trace: _FlowTrace, args: Sequence[Any], *, program: Any, **params: Any) -> list[Any]:
    return evaluate(program, args)


def _cond(trace: _FlowTrace, args: Sequence[Any], *, branches: Sequence[Any]) -> list[Any]:
    index, *operands = args
    chosen = min(max(int(_number(index)), 0), len(branches) - 1)
    return trace.also(evaluate(branches[chosen], operands), index, "cond")


def _while(trace: _FlowTrace, args: Sequence[Any], *, cond: Any, body: Any, n_cond: int, n_body: int, **params: Any
           ) -> list[Any]:
    cond_consts, body_consts, carry = cut(args, n_cond, n_body)
    while True:
        goes_on = evaluate(cond, [*cond_consts, *carry])[0]
        if not _number(goes_on):
            return trace.also(carry, goes_on, "while")
        carry = evaluate(body, [*body_consts, *carry])


def _scan(trace: _FlowTrace, args: Sequence[Any], *, program: Any, n_consts: int, n_carry: int, length: int,
          reverse: bool, **params: Any) -> list[Any]:
    consts, carry, xs = cut(args, n_consts, n_carry)
    stacked: list[list[Any]] = [[] for _ in program.outputs[n_carry:]]
    for i in range(length)[::-1 if reverse else 1]:
        outputs = evaluate(program, [*consts, *carry, *[_row(x, i) for x in xs]])
        carry = outputs[:n_carry]
        for rows, y in zip(stacked, outputs[n_carry:], strict=True):
            rows.append(TABLE["reshape"](y, shape=(1, *type_of(y).shape)))
    if not length:
        return [*carry, *[TABLE["zeros"](of=t.batched(0)) for t in program.output_types[n_carry:]]]
    return [*carry, *[TABLE["concatenate"](*rows[::-1 if reverse else 1], axis=0) for rows in stacked]]


def _row(x: Any, i: int) -> Any:
    shape = type_of(x).shape
    rest = shape[1:]
    row = TABLE["slice"](x, start=(i, *[0] * len(rest)), limit=(i + 1, *rest), strides=(1,) * len(shape))
    return TABLE["reshape"](row, shape=rest)


def _number(x: Any) -> Any:
    while isinstance(x, Tracer):
        x = x.concrete()
    return np.asarray(x).item()


_INSIDE: dict[str, Callable[..., list[Any]]] = {
    "jit": _call, "checkpoint": _call, "cond": _cond, "while": _while, "scan": _scan}


# -- the report -----------------------------------------------------------------------------------------

def gradient_flow(loss: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
                  ) -> Callable[..., GradientFlow]:
    """A function that says, for each leaf of the parameters, how its gradient reaches the loss, or why it does not.

    The loss runs operation by operation, so this is for looking, not for training.

    Args:
      loss: returns a real scalar, or (scalar, aux) with has_aux.
      argnums: the positional arguments whose leaves are looked at: an int, or a tuple of ints.
      has_aux: whether `loss` returns (scalar, aux).

    Returns:
      A function with the arguments of `loss`, returning a report: `str(report)`, `report.leaves`, `report.without()`.
      Each leaf has a status: its gradient 'reaches' the output; it is 'unused'; 'stopped' by a stop_gradient; 'flat':
      only integers, comparisons, roundings or Python values depend on it; 'zero' at these values only (dead or
      saturated activations, factors of zero). `path` and `causes` list operations with the user's lines.

    Raises:
      TypeError: the output is no real scalar.

    Example:
      >>> def loss(params, x):
      ...     return jnp.sum(params["w"] * x + jnp.round(params["b"]))
      >>> report = gradient_flow(loss)({"w": jnp.ones(2), "b": jnp.ones(2), "c": jnp.ones(2)}, 3.0)
      >>> [(leaf.name, leaf.status) for leaf in report.leaves]
      [("params['b']", 'flat'), ("params['c']", 'unused'), ("params['w']", 'reaches')]
      >>> report["params['b']"].causes[0].operation
      'round'
    """
    check_callable(loss, "gradient_flow")

    @wraps(loss)
    def report_of(*args: Any, **kwargs: Any) -> GradientFlow:
        _, gradient = value_and_grad(loss, argnums, has_aux=has_aux, allow_int=True)(*args, **kwargs)
        numbers = [n % len(args) for n in ((argnums,) if isinstance(argnums, int) else argnums)]
        counts = np.cumsum([0, *[len(tree.leaves(arg)) for arg in args]])
        names = argument_names(loss, args)
        labels = [names[i] for n in numbers for i in range(counts[n], counts[n + 1])]
        leaves, in_tree = flatten_args(tuple(args[n] for n in numbers))
        flat = FlatFunction(chosen_arguments(loss, args, kwargs, numbers), in_tree, has_aux=has_aux, op="gradient_flow")
        graph = _Graph(flat, leaves, range(len(leaves)))
        return GradientFlow(function_name(loss), [
            _leaf_flow(graph, flat, leaves, i, name, g)
            for i, (name, g) in enumerate(zip(labels, tree.leaves(gradient), strict=True))])

    return report_of


class _Graph:
    """One run of the loss, with random tangents of some leaves."""

    def __init__(self, flat: FlatFunction, leaves: Sequence[Any], moved: Iterable[int]) -> None:
        rng = np.random.default_rng(0)
        trace = _FlowTrace(current())
        tracers = [trace.leaf(x, _direction(rng, type_of(x), i in moved)) for i, x in enumerate(leaves)]
        with opened(trace):
            output = flat(*tracers)[0]
        self.leaves = [tracer.node for tracer in tracers]
        made = trace.node(output)
        self.output = _Node(Step("output", None), [*([(made, True)] if made else []), *trace.decisions], False)
        self.users: dict[_Node, list[tuple[_Node, bool]]] = {self.output: []}  # of nodes that the output depends on
        self.onward: dict[_Node, _Node] = {}  # for nodes whose gradient reaches the output, the next on the way
        for flowing in (False, True):
            seen, queue = {self.output}, deque([self.output])
            while queue:
                node = queue.popleft()
                for operand, flows in node.edges:
                    if not flowing:
                        self.users.setdefault(operand, []).append((node, flows))
                    elif flows:
                        self.onward.setdefault(operand, node)
                    if operand not in seen and (flows or not flowing):
                        seen.add(operand)
                        queue.append(operand)

    def path(self, leaf: _Node) -> tuple[Step, ...]:
        """The operations on the shortest way to the output along which the gradient flows."""
        steps, node = [], self.onward[leaf]
        while node is not self.output:
            steps.append(node.step)
            node = self.onward[node]
        return tuple(steps)

    def ends(self, leaf: _Node, alive: bool) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
        """Where what flows from a leaf ends, and the shortest way to the first such place.

        It ends at an edge that carries no gradient; with `alive`, at an operation whose tangent is zero.
        """
        came: dict[_Node, _Node | None] = {leaf: None}
        found: dict[tuple[str, str], _Node] = {}
        queue = deque([leaf])
        while queue:
            node = queue.popleft()
            for user, flows in self.users.get(node, ()):
                ended = flows and not user.alive if alive else not flows
                if ended and (not alive or user in self.onward):
                    found.setdefault((user.step.operation, str(user.step.source)), user)
                    came.setdefault(user, node)
                elif flows and user is not self.output and user not in came:
                    came[user] = node
                    queue.append(user)
        path: list[Step] = []
        at = next(iter(found.values()), None)
        while at is not None and at is not leaf:
            path.append(at.step)
            at = came[at]
        return tuple(path[::-1]), tuple(node.step for node in found.values())


def _direction(rng: np.random.Generator, t: ArrayType, moved: bool) -> Any:
    tangent = t.tangent()
    if not moved or tangent.dtype == dtypes.float0:
        return Zero(tangent)
    values = rng.normal(size=t.shape)
    if dtypes.is_complex(t.dtype):
        values = values + 1j * rng.normal(size=t.shape)
    return ConcreteArray(tangent, np.asarray(values, tangent.dtype))


def _leaf_flow(graph: _Graph, flat: FlatFunction, leaves: Sequence[Any], i: int, name: str, gradient: Any) -> LeafFlow:
    leaf, t = graph.leaves[i], type_of(leaves[i])
    if leaf not in graph.users:
        return LeafFlow(name, t, "unused", (), (), 0.0)
    if leaf not in graph.onward:
        path, causes = graph.ends(leaf, False)
        stops = [step for step in causes if step.operation == "stop_gradient"]
        return LeafFlow(name, t, "stopped" if stops else "flat", path,
                        (*stops, *[step for step in causes if step not in stops]), 0.0)
    magnitudes = np.abs(np.asarray(gradient))
    largest = float(magnitudes.max()) if magnitudes.size else 0.0
    causes = ()
    if largest == 0:
        alone = _Graph(flat, leaves, (i,))
        causes = alone.ends(alone.leaves[i], True)[1]
    return LeafFlow(name, t, "reaches" if largest != 0 else "zero", graph.path(leaf), causes, largest)
