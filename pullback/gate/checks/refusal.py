"""refusal: a bad input raises instead of returning numbers.

Declared inputs must raise the declared error. Generated ones depart from the contract of the batch where there is one,
and must then raise; without a contract only what is surely wrong fails: a result that changes because a leaf was
reshaped, a size that is taken only when it is 1 (both are silent broadcasting), and a NaN that turns into a number.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pullback.gate import blame
from pullback.gate.checks.base import Check
from pullback.gate.model import Refused
from pullback.gate.report import Recorder, shown
from pullback.gate.session import Session
from pullback.gate.signature import batch_to_arguments
from pullback.gate.sites import Site, of_function
from pullback.gate.values import Key, is_float, number

__all__ = ["CHECK"]


_GUARD = "check the arguments on entry: loss = gate.Contract(batch=...).guard(loss)"


@dataclasses.dataclass(frozen=True)
class _Bad:
    """A generated bad batch, as a tree of the user's.

    Args:
      kind: one of model.GENERATED.
      leaf: the path of the leaf that was changed.
      same: the numbers are those of the standard batch, so that another result is broadcasting.
      control: the same change to another size; where that is refused and this is not, this was broadcast.
      twin: another bad value in the same place; one number for both means that values out of range are cut off.
      cut: the numbers are those of the standard batch with fractions added; the same result means that those are
        cut off.
    """

    kind: str
    what: str
    leaf: str
    batch: Any
    same: bool = False
    control: Any = None
    twin: Any = None
    cut: bool = False


@dataclasses.dataclass(frozen=True)
class _Answer:
    """What the model made of an input: an error, or a value."""

    error: Exception | None = None
    value: Any = None

    @property
    def is_number(self) -> bool:
        return self.error is None and bool(np.isfinite(number(self.value)).all())


def _run(session: Session, record: Recorder) -> None:
    for bad in session.model.refused:
        _declared(session, record, bad)
    if not session.batch.leaves:
        if not session.model.refused:
            record.skip("there is no batch")
        return
    standard = _ask(session, session.batch_tree())
    if standard.error is not None:
        raise standard.error
    for case in [*_shapes(session), *_structure(session), *_values(session)]:
        _generated(session, record, case, standard)


CHECK = Check("refusal", "bad inputs raise instead of returning numbers", _run)


def _objective(session: Session, params: Any, batch: Any) -> Any:
    key = session.engine.from_numpy(session.objective_key)
    if session.model.loss is not None:
        return session.loss_of_trees(params, batch, key)
    leaves = session.engine.flatten(session.forward_of_trees(params, batch, key))[0]
    return leaves[0] if leaves else 0.0


def _ask(session: Session, batch: Any, params: Any = None) -> _Answer:
    """Runs the model on a batch; first as a trace, which is cheap and refuses most of what will be refused."""
    engine = session.engine
    params = session.of_engine(session.raw_params if params is None else params)
    leaves, _, structure = engine.flatten(batch)
    try:
        engine.types(lambda given: _objective(session, params, engine.unflatten(structure, given)),
                     [engine.to_numpy(leaf) for leaf in leaves])
    except Exception as error:
        return _Answer(error)
    try:
        return _Answer(value=engine.to_numpy(_objective(session, params, batch)))
    except Exception as error:
        return _Answer(error)


def _declared(session: Session, record: Recorder, bad: Refused) -> None:
    def chosen(given: Any, standard: Any) -> Any:
        return standard if given is None else given(standard) if callable(given) else given

    answer = _ask(session, chosen(bad.batch, session.batch_tree()), chosen(bad.params, session.raw_params))
    names = bad.error if isinstance(bad.error, tuple) else (bad.error,)
    expected = " or ".join(error.__name__ for error in names) + (f" with {bad.match!r}" if bad.match else "")
    record.measure("declared", input=bad.what, answer=_shown(answer))
    if answer.error is None or not isinstance(answer.error, names) or bad.match not in str(answer.error):
        line = session.site(answer.error) if answer.error else of_function(session.function())
        record.fail(f"{bad.what}: not refused as declared", measured=_shown(answer), expected=expected, line=line,
                    fix="check the input on entry and raise" if answer.error is None else
                    "raise the declared error, or declare this one")


def _shown(answer: _Answer) -> str:
    if answer.error is not None:
        return shown(answer.error)
    x = np.asarray(answer.value)
    return f"the number {x.item():.6g}" if x.ndim == 0 else f"an array of shape {list(x.shape)}"


def _generated(session: Session, record: Recorder, case: _Bad, standard: _Answer) -> None:
    model = session.model
    answer = _ask(session, case.batch)
    what = f"{case.kind}, {case.what}"
    record.measure(what, leaf=case.leaf, answer=_shown(answer))
    if not answer.is_number:
        return
    if case.kind in model.accepts:
        record.note(f"{what}: accepted on purpose", leaf=case.leaf, measured=model.accepts[case.kind])
        return
    line = of_function(session.function())
    broken = _breaks_contract(session, case)
    if broken:
        record.fail(f"{what}: answered with a number", leaf=case.leaf, measured=_shown(answer),
                    expected=f"an error: the contract is {broken}", line=_where(session, case) or line,
                    fix="let the contract check the arguments: loss = contract.guard(loss)")
        return
    unused = standard.error is None and case.kind in ("NaN", "missing entry") and _equal(answer, standard)
    if case.kind == "NaN" and not unused:
        record.fail(f"{what}: a NaN went in and a number came out", leaf=case.leaf, measured=_shown(answer),
                    expected="an error or a NaN", line=_where(session, case) or line,
                    fix="look for nan_to_num, where, max or a comparison that swallows it; if it is meant, declare "
                        "Model(accepts={'NaN': reason})")
    elif case.same and not _equal(answer, standard):
        record.fail(f"{what}: silently broadcast", leaf=case.leaf, line=_where(session, case) or line,
                    measured=f"{_shown(answer)} for the same numbers in another shape",
                    expected=f"an error, or {_shown(standard)}", fix=_GUARD)
    elif case.control is not None and _ask(session, case.control).error is not None:
        record.fail(f"{what}: silently broadcast", leaf=case.leaf, measured=_shown(answer),
                    line=_where(session, case) or line, expected="an error, as for other wrong sizes", fix=_GUARD)
    elif case.cut and _equal(answer, standard):
        record.fail(f"{what}: silently cast", leaf=case.leaf, measured=f"{_shown(answer)}, as without the fractions",
                    line=_where(session, case) or line, expected="an error", fix=_GUARD)
    elif case.twin is not None and not _equal(answer, standard) and _equal(answer, _ask(session, case.twin)):
        record.fail(f"{what}: silently cut off", leaf=case.leaf, line=_where(session, case) or line,
                    measured=f"{_shown(answer)} for two different numbers out of range", expected="an error or a NaN",
                    fix="declare the range: gate.Contract(batch={...: 'i32[n] in [0, 9]'}).guard(loss); if large "
                        "numbers may come, declare Model(accepts={'out of range': reason})")


def _where(session: Session, case: _Bad) -> Site | None:
    """The line that takes a bad input without a word."""
    if case.kind == "NaN":
        return blame.swallowed(session, case.batch)
    if case.kind in ("wrong rank", "wrong size"):
        return blame.broadcast(session, case.batch, case.leaf)
    if case.kind in ("wrong dtype", "out of range"):
        return blame.cut_off(session, case.batch, case.leaf, cast=case.kind == "wrong dtype")
    return None


def _equal(one: _Answer, other: _Answer) -> bool:
    if one.error is not None or other.error is not None:
        return False
    a, b = number(one.value), number(other.value)
    if a.size != b.size:
        return False
    return bool(np.allclose(a.ravel(), b.ravel(), rtol=1e-4, atol=1e-6, equal_nan=True))


def _breaks_contract(session: Session, case: _Bad) -> str:
    """The part of the declared contract that the bad batch breaks, or ""."""
    contract = session.model.contract
    if contract is None:
        return ""
    if case.kind == "NaN":  # no contract speaks of NaN but by a range
        spec = next((session.batch_spec(i) for i, path in enumerate(session.batch.paths)
                     if session.shown("batch", path) == case.leaf), None)
        return spec.text if spec is not None and spec.bounded else ""
    problems = contract.problems(params=session.raw_params, batch=case.batch)
    return str(problems[0].expected).strip() if problems else ""


# -- what is generated --------------------------------------------------------------------------------------


def _with(session: Session, i: int, leaf: Any) -> Any:
    leaves = list(session.batch.leaves)
    leaves[i] = leaf
    return session.batch_tree(leaves)


def _arrays(session: Session) -> Iterator[tuple[int, str, np.ndarray]]:
    for i, leaf in enumerate(session.batch.leaves):
        if not isinstance(leaf, (Key, bool, int, float, complex)):
            yield i, session.shown("batch", session.batch.paths[i]), leaf


def _shapes(session: Session) -> Iterator[_Bad]:
    for i, path, x in _arrays(session):
        written = f"{x.dtype}[{','.join(map(str, x.shape))}]"
        yield _Bad("wrong rank", f"an axis of size 1 after the last of {written}", path,
                   _with(session, i, x[..., None]), same=True)
        yield _Bad("wrong rank", f"an axis of size 1 before the first of {written}", path, _with(session, i, x[None]),
                   same=True)
        if x.ndim and x.shape[-1] > 1:
            more = np.concatenate([x, x[..., :1]], axis=-1)
            yield _Bad("wrong size", f"1 in place of {x.shape[-1]} in the last axis of {written}", path,
                       _with(session, i, x[..., :1]), control=_with(session, i, more))
            yield _Bad("wrong size", f"{x.shape[-1] + 1} in place of {x.shape[-1]} in the last axis of {written}", path,
                       _with(session, i, more))
        wrong = "int32" if is_float(x) else "float32"
        with np.errstate(invalid="ignore"):
            yield _Bad("wrong dtype", f"{wrong} in place of {x.dtype}", path, _with(session, i, np.nan_to_num(
                x.astype("complex128").real if x.dtype.kind == "c" else x.astype("float64")).astype(wrong)))
    if session.count:
        empty = [session.take(leaf, []) for leaf in session.batch.leaves]
        yield _Bad("empty batch", "no object", "batch", session.batch_tree(empty))


def _structure(session: Session) -> Iterator[_Bad]:
    batch = session.batch_tree()
    if isinstance(batch, Mapping) and type(batch) is dict:
        for name in batch:
            yield _Bad("missing entry", f"{name!r} is left out", f"batch/{name}",
                       {other: x for other, x in batch.items() if other != name})
        # A function that takes the entries as arguments never sees one more.
        if any(argument is batch for argument in batch_to_arguments(session.function(), batch)):
            yield _Bad("extra entry", "an entry more", "batch", {**batch, "an entry more": np.zeros(1, "float32")})
    elif isinstance(batch, tuple) and not hasattr(batch, "_fields") and len(batch) > 1:
        yield _Bad("missing entry", "the last item is left out", f"batch/{len(batch) - 1}", batch[:-1])


def _values(session: Session) -> Iterator[_Bad]:
    for i, path, x in _arrays(session):
        if is_float(x) and x.size:
            changed = np.array(x)
            changed.reshape(-1)[0] = np.nan
            yield _Bad("NaN", "in one element", path, _with(session, i, changed))
        spec = session.batch_spec(i)
        if x.dtype.kind in "iu" and x.size and not set(np.unique(x)) <= {0, 1}:
            yield _Bad("wrong dtype", f"float32 with fractions in place of {x.dtype}", path,
                       _with(session, i, (x + 0.25).astype("float32")), cut=True)
            if spec is None or not spec.bounded:
                far = [np.array(x) for _ in range(2)]
                for changed, value in zip(far, (101, 120)):  # fits in every integer dtype
                    changed.reshape(-1)[0] = min(int(x.max()), 5) + value
                yield _Bad("out of range", f"{far[0].flat[0]} in one element", path, _with(session, i, far[0]),
                           twin=_with(session, i, far[1]))
        if spec is not None and spec.bounded and x.size and x.dtype.kind in "iufV":
            for bound, step in ((spec.low, -1.0), (spec.high, 1.0)):
                if np.isfinite(bound) and not (x.dtype.kind == "u" and bound + step < 0):
                    changed = np.array(x)
                    changed.reshape(-1)[0] = bound + step
                    yield _Bad("out of range", f"{bound + step:g} in one element", path, _with(session, i, changed))


