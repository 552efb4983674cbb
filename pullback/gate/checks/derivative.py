"""derivative: c^T J from reverse mode, forward mode and finite differences agree, leaf by leaf.

The differences are taken in 64 bit where the model runs in it, along a random direction in each leaf. Their rounding
noise is measured (Moré and Wild, "Estimating computational noise", SIAM J. Sci. Comput. 33, 2011), which gives the step
and the tolerance. A stop_gradient is the identity here: where it stops what it should not, the check `flow` says so.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.gate.blame import culprit
from pullback.gate.checks.base import Check
from pullback.gate.contract import widened
from pullback.gate.report import Recorder, shown
from pullback.gate.session import Session
from pullback.gate.sites import Site, of_function
from pullback.gate.values import EPSILON, as_like, dtype_name, number
from pullback.gate.watch import ALL

__all__ = ["CHECK"]

_NOISES = 10  # standard deviations of the rounding error that a difference may be off by
_SMALL = ("float16", "bfloat16")
_PROBED = 24  # elements of a leaf tried one by one, to name the worst
_WIDE = {"float32": "float64", "float16": "float64", "bfloat16": "float64", "complex64": "complex128"}


def _run(session: Session, record: Recorder) -> None:
    for order in (1, 2) if session.model.second_order else (1,):
        with widened(), session.watch.changed(stops=ALL):
            _order(session, record, order)


def _order(session: Session, record: Recorder, order: int) -> None:
    """Checks the derivative of the objective (order 1), or that of a projection of its gradient (2)."""
    with session.engine.wide():
        curve = _Curve(session, True, order)
        try:
            curve.start()
        except Exception as error:  # the model insists on its own precision
            record.note("the model does not run in 64 bit, so the derivative is checked in its own precision",
                        measured=shown(error), line=session.site(error))
        else:
            _check(session, record, curve)
            return
    curve = _Curve(session, False, order)
    curve.start()
    _check(session, record, curve)


CHECK = Check("derivative", "reverse mode, forward mode and finite differences agree", _run)


class _Curve:
    """The objective along lines through the standard parameters, and its derivatives.

    Of order 2, the function is the gradient of the objective times a fixed random direction.
    """

    def __init__(self, session: Session, wide: bool, order: int = 1) -> None:
        self.session, self.engine, self.wide, self.order = session, session.engine, wide, order
        trainable, fixed = session.split([self._widen(x) for x in session.params.leaves])
        self.origin, self.fixed = trainable, fixed
        self.batch = [self._widen(x) for x in session.batch.leaves]
        self.what = "" if order == 1 else ", second order"
        self.key = session.objective_key
        self.build()

    def _widen(self, leaf: Any) -> Any:
        kind = _WIDE.get(dtype_name(leaf)) if self.wide else None
        return leaf if kind is None else np.asarray(leaf).astype(kind)

    def build(self) -> None:
        """Compiles; again after a change of the watch."""
        engine = self.engine

        def objective(trainable: Any, fixed: Any, batch: Any, key: Any) -> Any:
            if self.order == 1:
                return self.session.objective(trainable, fixed, batch, key)
            slope = engine.value_and_grad(self.session.objective)(trainable, fixed, batch, key)[1]
            return engine.weighted(slope, weights)

        rng = np.random.default_rng((self.session.seed, 6))
        weights = [as_like(self.direction(i, rng), np.asarray(x)) for i, x in enumerate(self.origin)]

        def pushed(trainable: Any, dots: Any, fixed: Any, batch: Any, key: Any) -> Any:
            def along(*leaves: Any) -> Any:
                return objective(leaves, fixed, batch, key)
            return engine.jvp(along, trainable, dots)

        self._gradient = engine.jit(engine.value_and_grad(objective))
        self._pushed = engine.jit(pushed)
        self._value = engine.jit(objective)

    def run(self) -> None:
        """The objective and its gradient, not compiled."""
        for function in (self.session.objective, self.engine.value_and_grad(self.session.objective)):
            self.engine.call(function, self.origin, self.fixed, self.batch, self.key)

    def start(self) -> None:
        """Value, gradient and noise at the standard parameters."""
        value, gradients = self.engine.call(self._gradient, self.origin, self.fixed, self.batch, self.key)
        self.value = float(number(value).real)
        # A model may round inside, whatever comes out: differences are flat for steps below that.
        self.precision = self.session.coarsest(self.origin, self.fixed, self.batch, self.key) or dtype_name(value)
        self.gradients = [number(g) for g in gradients]
        rng = np.random.default_rng((self.session.seed, 2))
        everywhere = [self.direction(i, rng) for i in range(len(self.origin))]
        self.noise = self._noise(everywhere)

    def direction(self, i: int, rng: np.random.Generator) -> np.ndarray:
        """A random direction in leaf i, of the size of its values."""
        x = number(self.origin[i])
        size = float(np.sqrt(np.mean(np.abs(x) ** 2))) if x.size else 0.0
        v = rng.standard_normal(x.shape)
        if x.dtype.kind == "c":
            v = v + 1j * rng.standard_normal(x.shape)
        return v * (size if size > 0 and math.isfinite(size) else 1.0)

    def moved(self, steps: dict[int, np.ndarray]) -> float:
        """The objective with leaves moved by the given steps."""
        leaves = [as_like(number(x) + steps[i], x) if i in steps else x for i, x in enumerate(self.origin)]
        return float(number(self.engine.call(self._value, leaves, self.fixed, self.batch, self.key)).real)

    def _noise(self, directions: list[np.ndarray]) -> float:
        """The standard deviation of the rounding error of the objective, from fourth differences."""
        step = {"float64": 1e-6, "float16": 5e-3, "bfloat16": 3e-2}.get(self.precision, 1e-4)
        values = np.array([self.moved({i: k * step * v for i, v in enumerate(directions)}) for k in range(-4, 5)])
        if not np.isfinite(values).all():
            return max(abs(self.value), 1e-300)
        fourth = np.diff(values, 4)
        noise = float(np.sqrt(np.mean(fourth**2) / math.factorial(8) * math.factorial(4) ** 2))
        # Roundings to 16 bit inside are many, and average out; the last one of a loss in more bits is one.
        floor = EPSILON.get(self.precision, 1e-7) / (256 if self.precision in _SMALL else 4)
        return max(noise, abs(self.value) * floor, 1e-300)

    def pushed(self, i: int, v: np.ndarray) -> float | None:
        """The directional derivative by forward mode; None where a custom_vjp rules it out."""
        dots = [np.zeros_like(number(x)) for x in self.origin]
        dots[i] = v
        try:
            _, dot = self.engine.call(self._pushed, self.origin, [as_like(d, x) for d, x in zip(dots, self.origin)],
                                      self.fixed, self.batch, self.key)
        except Exception as error:
            if self.session.watch.rules and ("custom_vjp" in str(error) or "transpose" in str(error)):
                return None
            raise
        return float(number(dot).real)

    def step(self, size: float) -> float:
        """The larger of the two steps, dimensionless: where rounding and truncation are about equal."""
        largest = 0.25 if self.precision in _SMALL else 0.03
        return float(min(max(4.0 * (self.noise / max(size, abs(self.value), 1e-300)) ** (1 / 3), 1e-6), largest))


@dataclasses.dataclass
class _Line:
    """Finite differences along one direction in one leaf."""

    curve: _Curve
    leaf: int
    v: np.ndarray

    def central(self, h: float) -> float:
        up, down = (self.curve.moved({self.leaf: sign * h * self.v}) for sign in (1.0, -1.0))
        return (up - down) / (2 * h)

    def sided(self, h: float) -> tuple[float, float]:
        middle = self.curve.moved({})
        return ((self.curve.moved({self.leaf: h * self.v}) - middle) / h,
                (middle - self.curve.moved({self.leaf: -h * self.v})) / h)

    def shrinking(self, h: float, gap: float) -> Iterator[float]:
        """Ever smaller steps, as long as rounding is small against the gap to be explained."""
        while _NOISES * self.curve.noise / (h := h / 8) < 0.1 * gap:
            yield h


def _check(session: Session, record: Recorder, curve: _Curve) -> None:
    record.measure("precision" + curve.what, dtype=curve.precision, noise=curve.noise, value=curve.value)
    if not math.isfinite(curve.value):
        record.skip("the objective is not finite at the standard values: see the check finite")
        return
    rng = np.random.default_rng((session.seed, 3))
    wrong: list[tuple[int, np.ndarray]] = []
    forward_mode = True
    for i in range(len(curve.origin)):
        if not curve.gradients[i].size:
            continue
        v = curve.direction(i, rng)
        if not np.isfinite(curve.gradients[i]).all():
            record.note("the gradient is not finite: see the check finite", leaf=_leaf(session, i))
            continue
        pulled = float(np.sum(curve.gradients[i] * v).real)
        pushed = curve.pushed(i, v) if forward_mode else None
        if pushed is None and forward_mode:
            forward_mode = False
            record.note("forward mode is not available through a custom_vjp; only finite differences are compared")
        _dot_test(session, record, curve, i, v, pulled, pushed)
        if not _differences(session, record, curve, i, v, pulled):
            wrong.append((i, v))
    if wrong:
        _name_cause(session, record, curve, wrong)


def _leaf(session: Session, i: int) -> str:
    return session.shown("params", session.path(i))


def _floor(session: Session, curve: _Curve, i: int) -> float:
    """The relative tolerance: what the working precision leaves, or the user's."""
    effective = max(EPSILON.get(curve.precision, 1e-7), curve.noise / max(abs(curve.value), 1e-300) / 10)
    leaf = session.params.leaves[session.trainable[i]]
    given = session.model.tolerance(_leaf(session, i), dtype_name(leaf))
    return max(min(2e3 * effective, 0.05), 1e-6, given.relative if given else 0.0)


def _dot_test(session: Session, record: Recorder, curve: _Curve, i: int, v: np.ndarray, pulled: float,
              pushed: float | None) -> None:
    if pushed is None:
        return
    # Rounding in a sum of terms that cancel goes by the size of the terms.
    size = float(np.sum(np.abs(curve.gradients[i]) * np.abs(v)))
    least = 16 * EPSILON.get(curve.precision, 1e-7) * abs(curve.value)
    bound = _floor(session, curve, i) * max(size, abs(pushed)) + max(least, 1e-300)
    record.measure("dot test" + curve.what, leaf=_leaf(session, i), reverse=pulled, forward=pushed, tolerance=bound)
    if abs(pulled - pushed) > bound:
        record.fail("reverse mode and forward mode disagree along a random direction" + curve.what,
                    measured=f"c^T J v is {pulled:.8g} by vjp and {pushed:.8g} by jvp, {curve.precision}",
                    expected=f"equal to {bound:.2g}", leaf=_leaf(session, i), line=of_function(session.function()),
                    fix="a rule is not the transpose of the other, or the function is not pure (see purity)")


def _differences(session: Session, record: Recorder, curve: _Curve, i: int, v: np.ndarray, pulled: float) -> bool:
    """Compares with finite differences at two steps; False for a disagreement that no kink explains."""
    line, leaf = _Line(curve, i, v), _leaf(session, i)
    size = float(np.sum(np.abs(curve.gradients[i]) * np.abs(v)))
    steps = [curve.step(abs(pulled)), curve.step(abs(pulled)) / 4]
    found = [line.central(h) for h in steps]
    scale = max(abs(pulled), abs(found[1]), size / math.sqrt(max(v.size, 1)))
    floor = _floor(session, curve, i)

    def bound(h: float) -> float:
        return floor * scale + _NOISES * curve.noise / h

    tolerance = bound(steps[1]) + min(abs(found[0] - found[1]) / 3, 0.02 * scale)
    record.measure("finite differences" + curve.what, leaf=leaf, reverse=pulled, steps=steps, differences=found,
                   tolerance=tolerance)
    if not all(map(math.isfinite, found)):
        record.note("the loss is not finite near the standard parameters", measured=f"differences {found}", leaf=leaf)
        return True
    if _NOISES * curve.noise / steps[1] > 0.3 * scale:
        record.note("rounding hides the derivative: finite differences say nothing here", leaf=leaf,
                    measured=f"noise of the loss {curve.noise:.2g} in {curve.precision}")
        return True
    if abs(found[1] - pulled) <= tolerance:
        return True
    at = steps[1]
    for at in line.shrinking(steps[1], abs(found[1] - pulled)):
        if abs(line.central(at) - pulled) <= bound(at):
            record.note("kink: the disagreement vanishes with the step, so the loss is not smooth near this point",
                        line=_kink_line(session, record, line, steps[0]),
                        measured=f"steps {steps[0]:.1e}, {steps[1]:.1e}, {at:.1e}: differences {found[0]:.6g}, "
                                 f"{found[1]:.6g}, {line.central(at):.6g}; derivative {pulled:.6g}", leaf=leaf)
            return True
    if _is_kink(line, at, pulled, bound(at) + 1e-3 * scale):
        up, down = line.sided(at)
        record.note("kink: the loss has a corner or a jump at this very point", leaf=leaf,
                    line=_kink_line(session, record, line, at),
                    measured=f"slopes on the two sides {up:.6g} and {down:.6g}; derivative {pulled:.6g}")
        return True
    record.fail("the derivative is not that of the function" + curve.what,
                measured=f"c^T J v is {pulled:.8g} by vjp along a random direction",
                expected=f"{found[1]:.8g} to {tolerance:.2g}: finite differences {found[0]:.8g} and {found[1]:.8g} "
                         f"at steps {steps[0]:.1e} and {steps[1]:.1e} in {curve.precision}",
                leaf=leaf + _worst(session, curve, i), line=of_function(session.function()), fix="")
    return False


def _is_kink(line: _Line, h: float, pulled: float, slack: float) -> bool:
    (up, down), (up_far, down_far) = line.sided(h), line.sided(4 * h)
    jump = max(abs(up), abs(down)) > 2 * max(abs(up_far), abs(down_far)) + slack
    corner = abs(up - down) > 4 * slack and abs(abs(up - down) - abs(up_far - down_far)) < 0.25 * abs(up - down)
    return jump or (corner and min(up, down) - slack <= pulled <= max(up, down) + slack)


def _kink_line(session: Session, record: Recorder, line: _Line, h: float) -> Site | None:
    """The first function with a kink that has its arguments on other sides at the two ends of a step."""
    curve, engine = line.curve, session.engine
    ends = []
    for sign in (1.0, -1.0):
        leaves = list(curve.origin)
        leaves[line.leaf] = as_like(number(leaves[line.leaf]) + sign * h * line.v, leaves[line.leaf])
        with session.watch.recording(sides=True) as events, session.watch.eagerly():
            engine.call(lambda *given: session.objective(*given), leaves, curve.fixed, curve.batch, curve.key)
        ends.append([event for event in events if event.kind == "kink"])
    crossed = [a for a, b in zip(*ends) if a.site == b.site and a.detail != b.detail]
    record.measure("kinks crossed", leaf=_leaf(session, line.leaf), step=h,
                   calls=[f"{event.name} at {event.site}" for event in dict.fromkeys(crossed)][:10])
    return crossed[0].site if crossed else None


def _worst(session: Session, curve: _Curve, i: int) -> str:
    """The element whose derivative is most wrong, among those tried."""
    gradient = curve.gradients[i]
    if gradient.ndim == 0:
        return ""
    rng = np.random.default_rng((session.seed, 4))
    chosen = rng.permutation(gradient.size)[:_PROBED]
    gaps = []
    for place in chosen:
        v = np.zeros(gradient.shape)
        v.flat[place] = np.max(np.abs(curve.direction(i, rng)))
        pulled = float(np.sum(gradient * v).real)
        gaps.append(abs(_Line(curve, i, v).central(curve.step(abs(pulled))) - pulled))
    index = np.unravel_index(int(chosen[int(np.argmax(gaps))]), gradient.shape)
    return f" (most at {[int(n) for n in index]})"


def _name_cause(session: Session, record: Recorder, curve: _Curve, wrong: list[tuple[int, np.ndarray]]) -> None:
    """Takes the custom rules away one by one: the one without which the derivative is right is the wrong one."""
    rules = sorted(session.watch.rules)
    guilty = [site for site in rules if _is_guilty(session, curve, wrong, frozenset([site]))]
    line: Site | None = guilty[0] if guilty else None
    if guilty:
        found = culprit(session, guilty[0], curve.run, curve.wide)
        line, made = (found.line, f", which makes {found.what} here") if found is not None else (line, "")
        fix = (f"correct the {session.watch.rules[guilty[0]]} rule of {guilty[0].function} (line {guilty[0].line})"
               f"{made}: with the derivative of the function itself in its place, everything agrees")
    elif rules and _is_guilty(session, curve, wrong, frozenset(rules)):
        line, fix = rules[0], "more than one of the custom rules is wrong: " + "; ".join(map(str, rules))
    else:
        fix = ("no custom rule of the model explains it: check that the function is pure, then report the operation to "
               "the engine")
    findings = record.result.findings
    for place, finding in enumerate(findings):
        if finding.level == "fail" and not finding.fix:
            findings[place] = dataclasses.replace(finding, fix=fix, line=line or finding.line)


def _is_guilty(session: Session, curve: _Curve, wrong: list[tuple[int, np.ndarray]], sites: frozenset[Site]) -> bool:
    """Whether the derivative is right once the rules at these sites are not used."""
    with session.watch.changed(stops=ALL, rules=sites):
        without = _Curve(session, curve.wide, curve.order)
        try:
            without.start()
        except Exception:  # the function itself cannot be differentiated: that is why it has a rule
            return False
        return all(_agrees(session, without, i, v) for i, v in wrong)


def _agrees(session: Session, curve: _Curve, i: int, v: np.ndarray) -> bool:
    pulled = float(np.sum(curve.gradients[i] * v).real)
    h = curve.step(abs(pulled)) / 4
    found = _Line(curve, i, v).central(h)
    bound = 10 * _floor(session, curve, i) * max(abs(found), abs(pulled)) + 2 * _NOISES * curve.noise / h
    return abs(found - pulled) <= bound
