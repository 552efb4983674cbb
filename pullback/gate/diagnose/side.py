"""One of the two runs: a model under an engine, whose parts can be run on given inputs in several ways."""

from __future__ import annotations

import dataclasses
import linecache
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Protocol

from pullback.gate.cases import key_stream
from pullback.gate.diagnose.frozen import frozen
from pullback.gate.engine import Engine
from pullback.gate.operations import Trace, replay, trace
from pullback.gate.parts import available, key_of, part_function, value_and_gradients
from pullback.gate.precision import cast, held
from pullback.gate.report import shown
from pullback.gate.session import Session
from pullback.gate.sites import Site

__all__ = ["Facts", "Inputs", "LocalSide", "Ran", "Side", "Way"]


@dataclasses.dataclass
class Inputs:
    """What every stage of both sides is run on: leaves of parameters and batch, and the key."""

    params: list[Any]
    batch: list[Any]
    key: Any


@dataclasses.dataclass
class Way:
    """How a part is run: compiled as a whole or as written, with transformations taken away by name.

    Args:
      compiled: the part as a whole.
      jits: names of the user's compiled functions that stay compiled where the part is not.
      off: what is taken away: stop_gradients ("stop f: line"), custom rules ("rule f"), transformations of `Plain`.
    """

    compiled: bool = False
    jits: list[str] = dataclasses.field(default_factory=list)
    off: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Ran:
    """Paths, leaves and types of a part, and the tolerance of each leaf, relative and absolute; or its error."""

    names: list[str]
    leaves: list[Any]
    types: list[str]
    tolerances: list[list[float]] = dataclasses.field(default_factory=list)
    error: str = ""
    line: str = ""


@dataclasses.dataclass
class Facts:
    """What a side is before anything of it is compared."""

    label: str
    engine: str
    environment: dict[str, Any]
    parts: list[str]
    params: list[str]
    batch: list[str]
    inputs: Inputs
    objects: int
    sources: list[str]  # the function that makes parameters, "" if they were given
    recorded: bool = False  # its traces hold summaries for values


class Side(Protocol):
    """What the diagnosis asks of a run, which may be in another process."""

    def facts(self) -> Facts: ...

    def run(self, part: str, inputs: Inputs, way: Way) -> Ran: ...

    def types(self, part: str, inputs: Inputs) -> Ran:
        """The types alone."""
        ...

    def keys(self, inputs: Inputs) -> list[str]: ...

    def transformations(self) -> dict[str, str]:
        """Those of the user's that have run so far, by name, with their lines."""
        ...

    def trace(self, part: str, inputs: Inputs, off: Sequence[str] = ()) -> Trace:
        """The operations, with some transformations of `Plain` taken away; `replay` runs those of the last trace."""
        ...

    def replay(self, part: str, index: int, values: list[Any]) -> list[Any] | None: ...

    def take(self, rows: list[int], inputs: Inputs) -> Inputs: ...

    def frozen(self, part: str, inputs: Inputs, off: Sequence[str] | None = None) -> list[Any]:
        """The line that does something else while it is traced, and what; an empty list if none does.

        Args:
          off: what is taken away first, so that a line runs as written at all; by default all of `Plain`.
        """
        ...

    def compiled(self, part: str, inputs: Inputs) -> list[Trace]:
        """The operations with loops unopened: run one by one, and all compiled."""
        ...


class LocalSide:
    """A side in this process.

    Args:
      precision: what leaves are cast to before anything is run.
    """

    def __init__(self, session: Session, label: str, precision: str = "") -> None:
        self.session, self.label, self.precision = session, label, precision
        self._traces: dict[str, Trace] = {}
        self._seen: dict[str, Site | None] = {}  # transformations; a watch may be shared by both sides

    @property
    def engine(self) -> Engine:
        return self.session.engine

    def _without(self, off: Iterable[str] = ()) -> AbstractContextManager[None]:
        """Inside, what runs is of this side, with some transformations taken away."""
        return self.session.watch.plain.without(frozenset(off), self._seen)

    def facts(self) -> Facts:
        session = self.session
        parts = (["inputs"] if session.model.inputs is not None else []) + available(session)
        if session.model.init is not None:
            parts.insert(0, "init")
        return Facts(self.label, self.engine.name, self.engine.environment(), parts, session.params.paths,
                     session.batch.paths, Inputs(session.params.leaves, session.batch.leaves, session.key),
                     session.count, [] if session.model.params is not None else ["init"])

    def _function(self, part: str, names: list[str]) -> Callable[..., list[Any]]:
        session = self.session

        def inputs(params: Any, batch: Any, key: Any) -> list[Any]:
            tree = session.engine.unflatten(session.batch.structure, batch)
            made = session.model.inputs(tree) if session.model.inputs else tree
            leaves, paths, _ = session.engine.flatten(made)
            names[:] = [session.shown("inputs", path) for path in paths]
            return leaves

        def init(params: Any, batch: Any, key: Any) -> list[Any]:
            assert session.model.init is not None
            leaves, paths, _ = session.engine.flatten(session.model.init(key))
            names[:] = [session.shown("params", path) for path in paths]
            return leaves

        return inputs if part == "inputs" else init if part == "init" else part_function(session, part, names)

    def _key(self, part: str, key: Any) -> Any:
        if part == "init":
            return key
        return None if part == "inputs" or key_of(self.session, part) is None else key

    def run(self, part: str, inputs: Inputs, way: Way) -> Ran:
        names: list[str] = []
        types: list[str] = []
        function = self._function(part, names)

        def typed(*args: Any) -> list[Any]:
            leaves = function(*args)
            types[:] = [str(self.engine.type_of(x)) for x in leaves]
            return leaves

        watch = self.session.watch
        try:
            with ExitStack() as stack:
                stack.enter_context(held(self.engine, self.precision))
                stack.enter_context(self._without(way.off))
                if not way.compiled:
                    stack.enter_context(watch.eagerly(frozenset(s for s in watch.jits if s.function in way.jits)))
                if way.off:
                    stops = frozenset(s for s in watch.stops if _stop(s) in way.off)
                    rules = frozenset(s for s in watch.rules if f"rule {s.function}" in way.off)
                    stack.enter_context(watch.changed(stops or None, rules or None, forget=way.compiled))
                run = self.engine.jit(typed) if way.compiled else typed
                leaves = self.engine.call(run, *self._given(part, inputs))
        except Exception as error:
            return Ran([], [], [], [], shown(error), str(self.session.site(error) or ""))
        known = [self.session.tolerance(name, leaf) for name, leaf in zip(names, leaves)]
        return Ran(names, leaves, types, [[t.relative, t.absolute] for t in known])

    def types(self, part: str, inputs: Inputs) -> Ran:
        names: list[str] = []
        function = self._function(part, names)
        try:
            with held(self.engine, self.precision), self._without():
                types = self.engine.types(function, *self._given(part, inputs))
        except Exception:  # what cannot be traced can be run
            return self.run(part, inputs, Way())
        return Ran(names, [], [str(kind) for kind in types])

    def _given(self, part: str, inputs: Inputs) -> tuple[list[Any], list[Any], Any]:
        return (cast(inputs.params, self.precision), cast(inputs.batch, self.precision), self._key(part, inputs.key))

    def keys(self, inputs: Inputs) -> list[str]:
        try:
            with self._without():
                return key_stream(self.session, inputs.params, inputs.batch, inputs.key)
        except Exception:  # what does not run is found by its own stage
            return []

    def transformations(self) -> dict[str, str]:
        watch = self.session.watch
        known = [(f"{kind} {site.function}", site) for kind, sites in
                 (("rule", watch.rules), ("jit", watch.jits)) for site in sites]
        known += [(_stop(site), site) for site in watch.stops]
        return {name: str(site or "") for name, site in sorted([*known, *self._seen.items()], key=str)}

    def trace(self, part: str, inputs: Inputs, off: Sequence[str] = ()) -> Trace:
        function = value_and_gradients(self.session) if part == "gradients" else self._function(part, [])
        with held(self.engine, self.precision), self._without(off):
            found = trace(self.engine, function, *self._given(part, inputs))
        self._traces[part] = found
        return found

    def frozen(self, part: str, inputs: Inputs, off: Sequence[str] | None = None) -> list[Any]:
        away = self._seen if off is None else off
        with held(self.engine, self.precision), self.session.watch.eagerly(), self._without(away):
            found = frozen(self.engine, self._function(part, []), *self._given(part, inputs))
        return [] if found is None else list(found)

    def compiled(self, part: str, inputs: Inputs) -> list[Trace]:
        with held(self.engine, self.precision), self._without():
            pair = [trace(self.engine, self._function(part, []), *self._given(part, inputs), loops=False, compiled=flag)
                    for flag in (False, True)]
        self._traces[part] = pair[0]
        return pair

    def replay(self, part: str, index: int, values: list[Any]) -> list[Any] | None:
        with held(self.engine, self.precision):
            return replay(self.engine, self._traces[part], index, values)

    def take(self, rows: Sequence[int], inputs: Inputs) -> Inputs:
        return Inputs(inputs.params, [self.session.take(leaf, list(rows)) for leaf in inputs.batch], inputs.key)


def _stop(site: Site) -> str:
    """The name of a stop_gradient, the same in two revisions that do not differ in its line."""
    return f"stop {site.function}: {linecache.getline(site.file, site.line).strip()}"
