"""Which line of a custom rule makes the wrong tangent or cotangent.

A rule is run by itself on the values it was called with in the model, and what it returns is compared with the
derivative of the function itself, argument by argument.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.gate.blame.origins import Origins
from pullback.gate.session import Session
from pullback.gate.sites import Site
from pullback.gate.values import distance, is_float, number
from pullback.gate.watch import ALL, Rule

__all__ = ["Culprit", "culprit"]

_RELATIVE = {True: 1e-6, False: 2e-3}  # what a rule may be off by: in 64 bit, and in the model's own precision

Values = list[Any]


@dataclasses.dataclass(frozen=True)
class Culprit:
    """A line of a rule, and what it makes: "the tangent"."""

    line: Site
    what: str


def culprit(session: Session, site: Site, run: Callable[[], Any], wide: bool) -> Culprit | None:
    """The line that makes the wrong value of a rule.

    Args:
      site: where the function with the rule is defined.
      run: the model, with all values known, by which the function's arguments are found out.
      wide: values are in 64 bit.
    """
    try:
        with session.watch.eagerly(), session.watch.calling() as calls:
            run()
        if site not in calls:
            return None
        rule, args, kwargs = calls[site]
        case = _Case(session, rule, args, kwargs, _RELATIVE[wide])
        with session.watch.changed(rules=ALL, stops=ALL):
            return case.reverse() if "bwd" in rule.parts else case.forward()
    except Exception:  # the rule does not run by itself
        return None


class _Case:
    """A rule with the arguments of one call."""

    def __init__(self, session: Session, rule: Rule, args: Any, kwargs: Any, relative: float) -> None:
        self.session, self.engine, self.rule, self.relative = session, session.engine, rule, relative
        bound = inspect.signature(rule.function).bind(*args, **kwargs)
        bound.apply_defaults()
        args = list(bound.args)
        fixed = {i % len(args) for i in rule.fixed}
        self.fixed = [args[i] for i in sorted(fixed)]
        self.numbers = [i for i in range(len(args)) if i not in fixed]
        self.rng = np.random.default_rng((session.seed, 8))
        self.given = [self._known(args[i]) for i in self.numbers]
        self.args = self._with(args, self.given)

    def _with(self, args: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        """All arguments, with these for those that are differentiated."""
        changed = dict(zip(self.numbers, given))
        return [changed.get(i, x) for i, x in enumerate(args)]

    def _known(self, tree: Any) -> Any:
        """An argument with values, where a loop of the model has shown it as a traced one."""
        return self._map(tree, lambda x: self._random(x) if self.engine.is_traced(x) else self.engine.from_numpy(x))

    def _random(self, like: Any) -> Any:
        kind = self.engine.type_of(like)
        x = self.rng.standard_normal(kind.shape)
        if kind.dtype.startswith("complex"):
            x = x + 1j * self.rng.standard_normal(kind.shape)
        return self.engine.from_numpy(np.asarray(x).astype(self.engine.dtype(kind.dtype)))

    def _map(self, tree: Any, change: Callable[[Any], Any]) -> Any:
        leaves, _, structure = self.engine.flatten(tree)
        return self.engine.unflatten(structure, [change(x) for x in leaves])

    def _dots(self, tree: Any) -> Any:
        """A random direction for every float leaf, of the kind that a rule is given."""
        return self._map(tree, lambda x: self._random(x) if is_float(x) else self._still(x))

    def _still(self, tree: Any) -> Any:
        """No direction."""
        dtypes = self.engine.module("dtypes")
        assert dtypes is not None
        return self._map(tree, lambda x: self.engine.from_numpy(np.zeros(np.shape(x), x.dtype)) if is_float(x) else
                         np.zeros(np.shape(x), dtypes.float0))

    def _leaves(self, tree: Any) -> Values:
        return [self.engine.to_numpy(x) for x in self.engine.flatten(tree)[0]]

    def _pushed(self, dots: Sequence[Any]) -> Values:
        """The tangents of the function itself."""
        floats = [(place, x, dot) for place, (x, dot) in enumerate(zip(self._flat(self.given), self._flat(dots)))
                  if is_float(x)]
        leaves, _, structure = self.engine.flatten(self.given)

        def of_floats(*values: Any) -> list[Any]:
            given = list(leaves)
            for (place, _, _), x in zip(floats, values):
                given[place] = x
            return self._flat(self.rule.function(*self._with(self.args, self.engine.unflatten(structure, given))))

        _, tangents = self.engine.jvp(of_floats, [x for _, x, _ in floats], [dot for _, _, dot in floats])
        return self._leaves(tangents)

    def _flat(self, tree: Any) -> Values:
        found: Values = self.engine.flatten(tree)[0]
        return found

    # -- rules of forward mode ---------------------------------------------------------------------------

    def forward(self) -> Culprit | None:
        """The tangent that is not the function's own."""
        dots = [self._dots(x) for x in self.given]
        if "jvps" in self.rule.parts:
            return self._by_argument(dots)
        jvp = self.rule.parts["jvp"]
        origins = Origins(self.session, lambda: jvp(*self.fixed, tuple(self.given), tuple(dots)))
        return self._wrong(origins, self._pushed(dots), lambda result: result[1], "the tangent")

    def _by_argument(self, dots: Sequence[Any]) -> Culprit | None:
        """Of rules that are given one for each argument."""
        result = self.rule.function(*self.args)
        for place, (jvp, dot) in enumerate(zip(self.rule.parts["jvps"], dots)):
            if jvp is None:
                continue
            alone = [dot if i == place else self._still(x) for i, x in enumerate(self.given)]
            origins = Origins(self.session, lambda jvp=jvp, dot=dot: jvp(dot, result, *self.given))  # type: ignore[misc]
            found = self._wrong(origins, self._pushed(alone), lambda tangent: tangent, "the tangent")
            if found is not None:
                return found
        return None

    def _wrong(self, origins: Origins, expected: Values, part: Callable[[Any], Any], what: str) -> Culprit | None:
        """The line of the leaf that is furthest from what is expected."""
        origins.made()
        leaves, paths, _ = self.engine.flatten(part(origins.result))
        gaps = [distance(b, a).relative if is_float(a) and a.size else 0.0
                for a, b in zip((self.engine.to_numpy(x) for x in leaves), expected, strict=True)]
        if not gaps or max(gaps) <= self.relative:
            return None
        line = origins.made(paths[int(np.argmax(gaps))], part)
        return None if line is None else Culprit(line, what)

    # -- rules of reverse mode -----------------------------------------------------------------------------

    def reverse(self) -> Culprit | None:
        """The cotangent that is not the function's own, or the residual that it is made from."""
        forward, backward = self.rule.parts["fwd"], self.rule.parts["bwd"]
        first = Origins(self.session, lambda: forward(*self.args))
        first.made()
        out, kept = first.result
        cotangent = self._dots(out)
        second = Origins(self.session, lambda: backward(*self.fixed, kept, cotangent))
        second.made()
        expected, probes = self._expected(cotangent)
        wrong = self._gaps(second.result, expected, probes)
        if not wrong:
            return None
        place = max(wrong, key=lambda i: wrong[i])
        residual = self._wrong_residual(kept, out, lambda kept: self._gaps(backward(*self.fixed, kept, cotangent),
                                                                           expected, probes))
        if residual is not None:
            line = first.made(residual, lambda result: result[1])
            return None if line is None else Culprit(line, "a residual that the backward rule cannot use")
        line = second.made(str(place))
        return None if line is None else Culprit(line, f"the cotangent of argument {self.numbers[place]}")

    def _expected(self, cotangent: Any) -> tuple[list[float], list[Any]]:
        """For each argument a random direction, and the cotangent along it by the function's own tangents."""
        expected, probes = [], []
        for i in range(len(self.given)):
            dots = [self._dots(x) if i == j else self._still(x) for j, x in enumerate(self.given)]
            probes.append(dots[i])
            expected.append(self._product(self._pushed(dots), self._leaves(cotangent)))
        return expected, probes

    def _product(self, one: Values, other: Values) -> float:
        return float(sum(np.sum(number(a) * number(b)).real for a, b in zip(one, other) if is_float(a) and is_float(b)))

    def _gaps(self, cotangents: Any, expected: Sequence[float], probes: Sequence[Any]) -> dict[int, float]:
        """The arguments whose cotangent is not as expected, and by how much."""
        found = {}
        for i, (ct, value, probe) in enumerate(zip(cotangents, expected, probes, strict=True)):
            size = self._size(probe) * (0.0 if ct is None else self._size(ct))
            got = 0.0 if ct is None else self._product(self._leaves(ct), self._leaves(probe))
            gap = abs(got - value) / max(abs(value), 1e-3 * size, 1e-300)
            if gap > self.relative:
                found[i] = gap
        return found

    def _size(self, tree: Any) -> float:
        return float(np.sqrt(sum(np.sum(np.abs(number(x)) ** 2) for x in self._leaves(tree) if is_float(x))))

    def _wrong_residual(self, kept: Any, out: Any, gaps: Callable[[Any], dict[int, float]]) -> str | None:
        """The path of a residual that is no argument and no result, and with one of these in its place all is right."""
        leaves, paths, structure = self.engine.flatten(kept)
        known = [x for x in self._flat([self.given, out]) if is_float(x)]

        def same(a: Any, b: Any) -> bool:
            return bool(np.shape(a) == np.shape(b) and distance(self.engine.to_numpy(a),
                                                                self.engine.to_numpy(b)).relative <= self.relative)

        for i, leaf in enumerate(leaves):
            if not is_float(leaf) or any(same(leaf, x) for x in known):
                continue
            for x in known:
                changed = list(leaves)
                changed[i] = x
                if np.shape(x) == np.shape(leaf) and not gaps(self.engine.unflatten(structure, changed)):
                    return str(paths[i])
        return None
