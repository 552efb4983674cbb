"""contract: structure, shapes, dtypes and ranges of parameters, batch, outputs, gradients and updated parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.gate.blame import Origins, is_intermediate, written
from pullback.gate.checks.base import Check
from pullback.gate.report import Recorder
from pullback.gate.session import Session
from pullback.gate.signature import batch_to_arguments
from pullback.gate.sites import Site, of_function
from pullback.gate.values import is_float, number

__all__ = ["CHECK", "find_params", "find_state", "updated"]

Part = Callable[[Any], Any]


def _run(session: Session, record: Recorder) -> None:
    engine, model = session.engine, session.model
    _declared(session, record)
    _columns(session, record)
    _standard_values(session, record)
    value, gradients = session.evaluate()
    record.measure("standard batch", objective=float(number(value).real))
    if getattr(value, "shape", ()) != () or not is_float(value):
        record.fail("the loss is no float", measured=str(engine.type_of(value)), expected="one float",
                    line=_of_loss(session).made(), fix="return jnp.mean(...) or another float scalar")
    for i, gradient in enumerate(gradients):
        leaf = session.params.leaves[session.trainable[i]]
        _same_type(session, record, "the gradient", session.shown("gradients", session.path(i)), leaf, gradient)
    if model.init is not None:
        _init(session, record)
    if model.update is not None:
        _update(session, record)


CHECK = Check("contract", "structure, shapes, dtypes and ranges are as declared and stay so", _run)


def _declared(session: Session, record: Recorder) -> None:
    model, engine = session.model, session.engine
    contract = model.contract
    if contract is None:
        return
    origins: dict[str, Origins] = {}
    parts: dict[str, Any] = {"params": session.raw_params, "batch": model.batch}
    if model.forward is not None:
        key = engine.from_numpy(session.key_if(model.forward, session.key))

        def forward() -> Any:
            return session.forward_of_trees(session.raw_params, model.batch, key)

        parts["outputs"], origins["outputs"] = forward(), Origins(session, forward, of_function(model.forward))
    if model.loss is not None:
        parts["loss"] = session.loss_of_trees(session.raw_params, model.batch, engine.from_numpy(session.objective_key))
        origins["loss"] = _of_loss(session)
    types = set(contract.problems(values=False, **parts))
    for problem in contract.problems(**parts):
        part, _, path = problem.leaf.rpartition(" ")[2].partition("/")  # it may be "the sum of outputs"
        if part in origins:
            line = origins[part].made(path)
            if problem not in types and part == "outputs" and is_intermediate(
                    session, engine.flatten(parts[part])[1].index(path)):
                line = origins[part].returned(path)  # it is right as an intermediate result
        else:
            line = _of_params(session, path) if part == "params" else written(model, part, path)
        record.fail("a leaf breaks the declared contract", measured=problem.measured, expected=problem.expected,
                    leaf=problem.leaf, line=line, fix="mend the value, or the contract where it is out of date")
    record.measure("declared contract", parts=sorted(parts))


def _of_loss(session: Session) -> Origins:
    key = session.engine.from_numpy(session.objective_key)
    return Origins(session, lambda: session.loss_of_trees(session.raw_params, session.model.batch, key),
                   of_function(session.model.loss))


def _of_params(session: Session, path: str) -> Site | None:
    """The line of a standard parameter: where it is written, or made by init."""
    init = session.model.init
    if session.model.params is not None or init is None:
        return written(session.model, "params", path)
    return Origins(session, lambda: init(session.engine.from_numpy(session.init_key)), of_function(init)).made(path)


def _columns(session: Session, record: Recorder) -> None:
    """The order of features in the data is that of the contract."""
    contract = session.model.contract
    for path, given in session.model.columns.items():
        place = session.shown("batch", path)
        names = list(contract.features.get(place, ())) if contract is not None else []
        record.measure("features", leaf=place, names=list(given))
        if not names:
            record.fail("the data names its features, and the contract does not", leaf=place, measured=str(list(given)),
                        expected=f"Contract(features={{{place!r}: [...]}})", fix="declare the order in the contract")
        elif names != list(given):
            first = next((i for i, (a, b) in enumerate(zip(names, given)) if a != b), min(len(names), len(given)))
            record.fail("the features of the data are in another order than in the contract", leaf=place,
                        measured=str(list(given)), expected=f"{names}; they part at place {first}",
                        line=written(session.model, "columns", path),
                        fix="take the columns by name, in the order of the contract")


def _standard_values(session: Session, record: Recorder) -> None:
    leaves, paths, _ = session.engine.flatten(session.raw_params)
    for raw, leaf, path in zip(leaves, session.params.leaves, paths, strict=True):
        place = session.shown("params", path)
        if session.engine.type_of(raw).weak:
            record.note("a parameter has a weak type: the first update makes it strong, and everything compiles again",
                        measured=str(session.engine.type_of(raw)), leaf=place,
                        fix="make it an array with a dtype: jnp.asarray(x, jnp.float32)")
        taken = session.engine.type_of(session.engine.from_numpy(leaf)).dtype
        if isinstance(leaf, np.ndarray) and str(leaf.dtype) != taken:
            record.note("the engine takes a parameter in another precision than it has", leaf=place,
                        measured=f"{leaf.dtype}, taken as {taken}",
                        fix="give it the dtype that it is used in, or switch 64 bit on (jax_enable_x64)")
        if is_float(leaf) and not _finite(leaf):
            record.fail("a parameter is not finite", measured="NaN or infinity", expected="finite numbers",
                        leaf=place, line=_of_params(session, path), fix="look at the initialisation")


def _finite(leaf: Any) -> bool:
    x = number(leaf)
    return bool((abs(x) < float("inf")).all())


def _same_type(session: Session, record: Recorder, what: str, place: str, before: Any, after: Any,
               where: Callable[[], Site | None] = lambda: None, like: str = "parameter") -> None:
    old, new = session.engine.type_of(session.engine.from_numpy(before)), session.engine.type_of(
        session.engine.from_numpy(after))
    if (old.shape, old.dtype) != (new.shape, new.dtype) and not isinstance(before, (bool, int, float, complex)):
        record.fail(f"{what} has another type than the {like}", measured=str(new), expected=str(old), leaf=place,
                    line=where(), fix="look for a broadcast or a promotion of dtypes where it is computed")


def _same_tree(session: Session, record: Recorder, what: str, tree: Any, origins: Origins, part: Part) -> None:
    found = session.tree(tree)
    if found.structure != session.params.structure:
        missing = sorted(set(session.params.paths) - set(found.paths))
        extra = sorted(set(found.paths) - set(session.params.paths))
        record.fail(f"{what} has another structure than the parameters",
                    measured=f"missing {missing}, extra {extra}" if missing or extra else str(found.structure)[:200],
                    expected="the structure of the parameters", line=origins.made("", part),
                    fix="return a tree of the same structure")
        return
    for path, before, after in zip(found.paths, session.params.leaves, found.leaves, strict=True):
        _same_type(session, record, what, session.shown("params", path), before, after,
                   functools.partial(origins.made, path, part))


def _init(session: Session, record: Recorder) -> None:
    init = session.model.init
    assert init is not None

    def run() -> Any:
        return init(session.engine.from_numpy(session.init_key))

    _same_tree(session, record, "what init returns", run(), Origins(session, run, of_function(init)), _whole)


def _whole(result: Any) -> Any:
    return result


def updated(session: Session, params: Any, state: Any, key: Any, batch: Any = None) -> Any:
    """What `update` returns, for the standard batch if no other is given."""
    model = session.model
    assert model.update is not None
    leading = [params] if model.state is None else [params, state]
    args = batch_to_arguments(model.update, model.batch if batch is None else batch, len(leading), beside=model.loss)
    return model.update(*leading, *args, **session.keywords(model.update, session.engine.from_numpy(key)))


def find_params(session: Session, result: Any) -> Any:
    """The new parameters in the result of `update`, or None."""
    if session.engine.flatten(result)[2] == session.params.structure:
        return result
    for item in result if isinstance(result, (list, tuple)) else ():
        if session.engine.flatten(item)[2] == session.params.structure:
            return item
    return None


def find_state(session: Session, result: Any, params: Any) -> Any:
    """The new state of the optimiser in the result of `update`, beside its new parameters; or None."""
    structure = session.engine.flatten(session.model.state)[2]
    for item in result if isinstance(result, (list, tuple)) and result is not params else ():
        if item is not params and session.engine.flatten(item)[2] == structure:
            return item
    return None


def _update(session: Session, record: Recorder) -> None:
    model_state = session.model.state

    def run() -> Any:
        return updated(session, session.raw_params, model_state, session.key)

    result, origins = run(), Origins(session, run, of_function(session.model.update))
    params = find_params(session, result)
    if params is None:
        record.fail("update returns nothing with the structure of the parameters",
                    measured=str(session.engine.flatten(result)[1])[:200],
                    expected=str(session.params.paths)[:200], line=origins.made(),
                    fix="return the new parameters, or a tuple that contains them")
        return
    of_params = functools.partial(find_params, session)
    _same_tree(session, record, "what update returns", params, origins, of_params)
    _strong(session, record, "a parameter", "params", session.raw_params, params, origins, of_params)
    if model_state is not None:
        state = find_state(session, result, params)
        if state is None:
            record.fail("update returns nothing with the structure of the state", line=origins.made(),
                        measured=str(session.engine.flatten(result)[1])[:200],
                        expected=str(session.engine.flatten(model_state)[1])[:200],
                        fix="return the new state beside the parameters")
            return
        before, after = session.tree(model_state), session.tree(state)

        def of_state(result: Any) -> Any:
            return find_state(session, result, find_params(session, result))

        for path, old, new in zip(before.paths, before.leaves, after.leaves, strict=True):
            _same_type(session, record, "the state after an update", session.shown("state", path), old, new,
                       functools.partial(origins.made, path, of_state), "leaf before it")
        _strong(session, record, "the state", "state", model_state, state, origins, of_state)


def _strong(session: Session, record: Recorder, what: str, part: str, before: Any, after: Any, origins: Origins,
            chosen: Part) -> None:
    """No leaf has become weakly typed."""
    leaves, paths, _ = session.engine.flatten(after)
    for old, new, path in zip(session.engine.flatten(before)[0], leaves, paths):
        if session.engine.type_of(new).weak and not session.engine.type_of(old).weak:
            record.fail(f"update makes {what} weakly typed: the next step compiles again",
                        measured=str(session.engine.type_of(new)), expected=str(session.engine.type_of(old)),
                        leaf=session.shown(part, path), line=origins.made(path, chosen),
                        fix="give the new value a dtype")
