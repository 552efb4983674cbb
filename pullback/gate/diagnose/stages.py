"""The stages of a diagnosis, in order, each on the inputs of the first run: none inherits from the one before."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.gate.compare import judge
from pullback.gate.diagnose.align import align
from pullback.gate.diagnose.locate import Moves, Parting, part_of, rounding
from pullback.gate.diagnose.shrink import Shrunk, shrink
from pullback.gate.diagnose.side import Inputs, Ran, Side, Way
from pullback.gate.plain import CHEAP, KINDS
from pullback.gate.summary import sketch, summarised
from pullback.gate.values import distance, is_float, number

__all__ = ["STAGES", "Diagnosis", "Stage", "diagnose"]

STAGES = ("data", "keys", "types", "forward", "loss", "gradients", "update", "jit", "transforms", "backend")
_OBJECTS = 4  # of the batch, on which transformations are taken away
_SECONDS = 60.0  # after which no more of them are tried
_PART = {"forward": "outputs", "loss": "loss", "gradients": "gradients", "update": "updated"}


@dataclasses.dataclass
class Stage:
    """One stage: "agree", "part", or "skip"; what was seen."""

    name: str
    status: str
    text: str = ""
    leaf: str = ""
    part: str = ""  # the part of the model whose operations show it
    line: str = ""


@dataclasses.dataclass
class Diagnosis:
    """Where two runs part.

    Args:
      stages: all that were looked at, in order.
      parting: of the operations of the first stage that parts.
      removed: the transformations without which that stage agrees, each with its line.
      together: it agrees without all of them, and not without one of them alone.
      only: of each run, the transformations that the other has not, or has in another way, with their lines.
      shrunk: a smaller input that still shows it.
      script: of at most 30 lines, which shows it under jax.
    """

    labels: tuple[str, str]
    stages: list[Stage]
    environments: tuple[dict[str, Any], dict[str, Any]]
    parting: Parting | None = None
    phase: str = ""
    removed: dict[str, str] = dataclasses.field(default_factory=dict)
    together: bool = False
    only: tuple[dict[str, str], dict[str, str]] = dataclasses.field(default_factory=lambda: ({}, {}))
    shrunk: Shrunk | None = None
    script: str = ""
    side: int = 1  # of the stages jit and transforms: the run that parts from itself
    recorded: bool = False  # the first run is a record, with summaries for values

    @property
    def stage(self) -> Stage | None:
        """The first stage that parts, or None."""
        return next((stage for stage in self.stages if stage.status == "part"), None)


def diagnose(first: Side, second: Side, tell: Callable[[Stage], None] = lambda stage: None, everything: bool = False,
             dtypes: bool = True) -> Diagnosis:
    """Says where two runs part.

    Args:
      first, second: the sides; the first is taken to be right.
      tell: called with every stage when it is done.
      everything: goes on after the first stage that parts.
      dtypes: whether another dtype is a difference; it is not between two precisions.
    """
    run = _Run(first, second, tell, dtypes)
    return run.all(everything)


class _Run:
    def __init__(self, first: Side, second: Side, tell: Callable[[Stage], None], dtypes: bool) -> None:
        self.first, self.second, self.tell = first, second, tell
        self.facts = first.facts(), second.facts()
        one, other = self.facts
        self.inputs = one.inputs
        self.same_text = one.engine == other.engine and (
            one.environment["versions"] == other.environment["versions"])
        self.same_engine = not one.recorded and self.same_text and (
            one.environment["devices"] == other.environment["devices"])
        self.itself = second  # of the stages jit and transforms: the side that parts from itself
        self.sides = (second,) if first is second else (second, first)
        self.parts = [part for part in one.parts if part in other.parts]
        self.eager: dict[str, tuple[Ran, Ran]] = {}
        self.dtypes = dtypes

    def all(self, everything: bool) -> Diagnosis:
        one, other = self.facts
        found = Diagnosis((one.label, other.label), [], (one.environment, other.environment),
                          recorded=one.recorded)
        for name in STAGES[:-1]:
            stage = self.stage(name)
            found.stages.append(stage)
            self.tell(stage)
            if stage.status == "part" and not everything:
                break
        first = found.stage
        found.side = int(self.itself is self.second)
        if first is not None:
            self.localise(found, first)
        return found

    def stage(self, name: str) -> Stage:
        if name == "data":
            return self.data()
        if name == "keys":
            return self.keys()
        if name == "types":
            return self.types()
        if name == "jit":
            return self.jit()
        if name == "transforms":
            return self.transforms()
        return self.values(name, _PART[name])

    # -- what is compared ---------------------------------------------------------------------------------

    def data(self) -> Stage:
        one, other = self.facts
        for what, names, leaves in (("batch", (one.batch, other.batch), (one.inputs.batch, other.inputs.batch)),
                                    ("params", (one.params, other.params), (one.inputs.params, other.inputs.params))):
            if names[0] != names[1]:
                odd = [f"{what}/{path}".rstrip("/") for path in sorted(set(names[0]) ^ set(names[1])) or names[1]]
                return Stage("data", "part", f"the {what} have another structure: {', '.join(odd[:4])}", odd[0])
            made = what == "params" and "init" in one.sources
            for path, a, b in zip(names[0], *leaves):
                text = _unlike(a, b)
                if text:
                    leaf = f"{what}/{path}".rstrip("/")
                    return Stage("keys" if made else "data", "part", text, leaf, "init" if made else "")
        if "inputs" in self.parts:
            return self.values("data", "inputs", exact=True)
        return Stage("data", "agree", f"{len(one.batch)} leaves of the batch, {len(one.params)} of the parameters")

    def keys(self) -> Stage:
        a, b = self.facts[0].inputs.key, self.facts[1].inputs.key
        if distance(a, b).largest:
            return Stage("keys", "part", "the key of the run is another one", "key")
        if "init" in self.parts:
            stage = self.values("keys", "init", exact=True)
            if stage.status == "part":
                return stage
        rows = self.first.keys(self.inputs), self.second.keys(self.inputs)
        events = [[row.partition("  ")[0] for row in side] for side in rows]
        if events[0] != events[1]:
            at = next((i for i, (x, y) in enumerate(zip(*events)) if x != y), min(map(len, events)))
            shown = [side[at] if at < len(side) else "no more random calls" for side in rows]
            return Stage("keys", "part", f"random call {at + 1}: {shown[1]}; in the first run: {shown[0]}",
                         part="loss" if "loss" in self.parts else "outputs", line=shown[1].partition("  ")[2])
        return Stage("keys", "agree" if rows[0] else "skip", f"{len(rows[0])} random calls" if rows[0] else
                     "no random calls")

    def both(self, part: str) -> tuple[Ran, Ran]:
        if part not in self.eager:
            self.eager[part] = self.first.run(part, self.inputs, Way()), self.second.run(part, self.inputs, Way())
        return self.eager[part]

    def types(self) -> Stage:
        count = 0
        for part in self.parts:
            if part in ("inputs", "init", "updated"):  # an update may keep state, which a trace would spoil
                continue
            one, other = self.first.types(part, self.inputs), self.second.types(part, self.inputs)
            if one.error or other.error:
                continue  # told by the stage of the part
            if one.names != other.names:
                odd = sorted(set(one.names) ^ set(other.names)) or other.names
                return Stage("types", "part", f"another structure: {', '.join(odd[:4])}", odd[0] if odd else part, part)
            for name, a, b in zip(one.names, one.types, other.types):
                count += 1
                if self.shown_type(a) != self.shown_type(b):
                    return Stage("types", "part", f"{b}, in the first run {a}", name, part)
        return Stage("types", "agree", f"{count} leaves of results")

    def shown_type(self, text: str) -> str:
        text = text if self.same_engine else text.replace(" (weak)", "")  # engines differ in it on purpose
        return text if self.dtypes else re.sub(r"b?float\d+", "float", text)

    def values(self, stage: str, part: str, exact: bool = False) -> Stage:
        if part not in self.parts:
            return Stage(stage, "skip", f"the model has no {part}")
        one, other = self.both(part)
        return self.judged(stage, part, one, other, exact)

    def judged(self, stage: str, part: str, one: Ran, other: Ran, exact: bool = False, what: str = "") -> Stage:
        if one.error or other.error:
            if bool(one.error) and bool(other.error):
                return Stage(stage, "skip", f"both raise: {other.error}")
            label = self.facts[1].label if other.error else self.facts[0].label
            return Stage(stage, "part", f"{label} raises: {other.error or one.error}", part=part,
                         line=other.line or one.line)
        worst = 0.0
        for name, a, b, (relative, absolute) in zip(one.names, one.leaves, other.leaves, one.tolerances):
            text = _unlike(a, b) if exact else ""
            if not exact:
                judged = judge(a, b, relative, absolute, dtypes_may_differ=not self.dtypes)
                text = judged.text if judged.verdict in ("beyond", "structure") else ""
                worst = max(worst, judged.share)
            if text:
                return Stage(stage, "part", what + text, name, part)
        if len(one.leaves) != len(other.leaves):
            return Stage(stage, "part", f"{what}{len(other.leaves)} leaves, {len(one.leaves)} in the first run", part,
                         part)
        return Stage(stage, "agree", f"{what}{len(one.leaves)} leaves; furthest {worst:.2g} of its tolerance")

    def runs(self) -> list[str]:
        """The parts that may be run as often as it takes: not an update, which may keep state."""
        return [part for part in self.parts if part not in ("inputs", "init", "updated")]

    def jit(self) -> Stage:
        """Every part compiled: against the other side, and each side against itself as it is written."""
        for part in self.runs():
            ways = {id(side): side.run(part, self.inputs, Way(compiled=True)) for side in self.sides}
            compiled = ways[id(self.first)], ways[id(self.second)]
            eager = self.both(part)
            for k in range(len(self.sides))[::-1]:
                if eager[k].error:
                    continue
                stage = self.judged("jit", part, eager[k], compiled[k],
                                    what=f"{self.facts[k].label}, compiled against as written: ")
                if stage.status == "part":
                    self.itself = (self.first, self.second)[k]
                    return stage
            stage = self.judged("jit", part, *compiled, what="both compiled: ")
            if stage.status == "part":
                return stage
        return Stage("jit", "agree", "compiled as written, on both sides")

    def few(self) -> Inputs:
        """The inputs with a few objects alone."""
        many = self.facts[0].objects > _OBJECTS
        return self.first.take([*range(_OBJECTS)], self.inputs) if many else self.inputs

    def transforms(self) -> Stage:
        """Each side against itself with vmap, loops and checkpoints as plain Python, on a few objects."""
        few, count = self.few(), 0
        for side, label in zip(self.sides, [self.facts[1].label, self.facts[0].label]):
            names = [] if side is self.first and self.facts[0].recorded else _structural(side)
            for part in self.runs() if names else ():
                whole, plain = side.run(part, few, Way()), side.run(part, few, Way(off=names))
                if whole.error or plain.error:  # without them it may be no program
                    continue
                stage = self.judged("transforms", part, plain, whole,
                                    what=f"{label}, against vmap, loops and checkpoints as plain Python: ")
                if stage.status == "part":
                    self.itself = side
                    return stage
                count += 1
        return Stage("transforms", "agree", "vmap, loops and checkpoints do what plain Python does") if count else \
            Stage("transforms", "skip", "no vmap, loop or checkpoint of the user's")

    # -- where --------------------------------------------------------------------------------------------

    def localise(self, found: Diagnosis, stage: Stage) -> None:
        if stage.name == "jit":
            self.compiled(found, stage)
        elif stage.part and stage.name != "transforms":
            self.operations(found, stage)
        inputs, objects = self.inputs, self.facts[0].objects
        if stage.name == "transforms":
            inputs, objects = self.few(), min(objects, _OBJECTS)
        if stage.name not in ("data", "keys") and not self.facts[0].recorded:
            found.shrunk = shrink(self.first, self.second, inputs, objects, lambda less: self.parts_on(stage, less))
        if stage.part and stage.name not in ("data", "keys", "types"):
            self.interventions(found, stage, found.shrunk.inputs if found.shrunk else inputs)
            if not self.facts[0].recorded:
                one, other = ({name: line for name, line in side.transformations().items() if _kind(name) in KINDS}
                              for side in (self.first, self.second))
                found.only = ({name: line for name, line in one.items() if name not in other},
                              {name: line for name, line in other.items() if name not in one})
            kinds = {_kind(name) for name in found.removed} & set(KINDS)
            if stage.name == "transforms":
                self.opened(found, stage, kinds, inputs)
            elif kinds:  # what such a function does while it is traced may be another thing
                line = self.second.frozen(stage.part, self.inputs, [*found.removed])
                stage.line = stage.line or (f"{line[0]}\n  {line[1]}" if line else "")
        parting = found.parting
        if (parting and parting.found and parting.found.kind == "computed" and not self.same_engine
                and stage.name not in ("data", "keys", "types")):
            # The program is the same: what differs is what runs it.
            stage.text = f"first seen in {stage.name}: {stage.text}"
            stage.name = "backend"

    def operations(self, found: Diagnosis, stage: Stage) -> None:
        try:
            traces = self.first.trace(stage.part, self.inputs), self.second.trace(stage.part, self.inputs)
        except Exception as error:  # a side that raises has no trace
            stage.text += f"; its operations cannot be listed: {type(error).__name__}"
            return
        moves: Moves | None = None
        if self.facts[0].recorded:
            real, kept = traces[1], getattr(self.first, "kept", True)
            traces = traces[0], summarised(real, kept)

            def moves(j: int, size: float) -> list[Any] | None:
                """How far the sketches of an operation's results move when its operands move by some share."""
                def run(values: list[Any]) -> list[Any] | None:
                    out = self.second.replay(stage.part, j, values)
                    return None if out is None else [sketch(x, kept) for x in out]

                given = [real.values[x] for x in real.operations[j].inputs]
                results = run(given)
                return None if results is None else rounding(results, run, given, size)
        pairs = align(*traces)
        found.parting = part_of(*traces, lambda i, values: self.first.replay(stage.part, i, values), self.same_engine,
                                self.dtypes, pairs, self.same_text, moves)
        broken = found.parting.found
        if broken is not None and stage.part == "gradients":
            side = 1 if broken.index[1] is not None else 0
            index, t = broken.index[side], traces[side]
            value = next((i for i, o in enumerate(t.operations) if t.outputs[0] in o.outputs), 0)
            found.phase = "backward" if index is not None and index > value else "forward"

    def compiled(self, found: Diagnosis, stage: Stage) -> None:
        """Of the side that parts from itself: the line that a trace freezes, or else the operation."""
        side = self.itself
        line = side.frozen(stage.part, self.inputs)
        if line:
            stage.line = f"{line[0]}\n  {line[1]}"
            return
        traces = side.compiled(stage.part, self.inputs)
        if len(traces) == 2:
            found.parting = part_of(traces[0], traces[1], lambda i, values: side.replay(stage.part, i, values), False,
                                    self.dtypes, [(i, i) for i in range(len(traces[0].operations))])

    def opened(self, found: Diagnosis, stage: Stage, kinds: set[str], inputs: Inputs) -> None:
        """Of the side that parts from itself: its steps as plain Python against those that the transformation runs."""
        stage.line = next(iter(found.removed.values()), "")
        if not kinds or kinds & {"vmap", "custom_vmap", "map", "associative_scan"}:  # these change shapes
            return
        side = self.itself
        whole, plain = side.trace(stage.part, inputs), side.trace(stage.part, inputs, [*found.removed])
        for operation in (*whole.operations, *plain.operations):
            operation.path = ()
        found.parting = part_of(plain, whole, lambda i, values: side.replay(stage.part, i, values), True, self.dtypes)

    def parts_on(self, stage: Stage, inputs: Inputs) -> bool:
        """Whether a stage parts on other inputs."""
        if stage.name == "types":
            types = self.first.types(stage.part, inputs), self.second.types(stage.part, inputs)
            return not types[0].error and (
                [*map(self.shown_type, types[0].types)] != [*map(self.shown_type, types[1].types)])
        one, other = self.compared(stage, inputs, Way(compiled=stage.name == "jit"))
        return not one.error and self.judged(stage.name, stage.part, one, other).status == "part"

    def compared(self, stage: Stage, inputs: Inputs, way: Way) -> tuple[Ran, Ran]:
        """What a stage compares: both sides run that way, or the side that parts from itself."""
        if stage.name not in ("jit", "transforms"):
            return self.first.run(stage.part, inputs, way), self.second.run(stage.part, inputs, way)
        plain = Way(off=_structural(self.itself) if stage.name == "transforms" else [])
        return self.itself.run(stage.part, inputs, plain), self.itself.run(stage.part, inputs, way)

    def interventions(self, found: Diagnosis, stage: Stage, inputs: Inputs) -> None:
        """The transformations without which the stage agrees.

        Each is taken away alone. If none is enough, all are taken away, and put back one by one.
        """
        known = {**self.first.transformations(), **self.second.transformations()}
        wanted = {"jit": ("jit",), "transforms": KINDS}.get(stage.name, ("rule", "stop", *KINDS))
        known = {name: line for kind in wanted for name, line in known.items() if _kind(name) == kind}
        if not known:
            return
        if stage.name == "jit":  # as written but for one function of the user's
            found.removed = {name: line for name, line in known.items()
                             if not self.agrees(stage, Way(jits=[name.partition(" ")[2]]), inputs)}
            return
        end = time.monotonic() + _SECONDS

        def without(*names: str) -> bool:
            return time.monotonic() < end and self.agrees(stage, Way(off=list(names)), inputs)

        for group in (("rule", "stop"), CHEAP, KINDS):  # the loop around a wrong rule is not asked
            if not found.removed:
                found.removed = {name: line for name, line in known.items() if _kind(name) in group and without(name)}
        if not found.removed and len(known) > 1 and without(*known):
            needed = {name: line for name, line in known.items() if not without(*(x for x in known if x != name))}
            found.removed = needed if needed and time.monotonic() < end else known
            found.together = len(found.removed) > 1

    def agrees(self, stage: Stage, way: Way, inputs: Inputs) -> bool:
        return self.judged(stage.name, stage.part, *self.compared(stage, inputs, way)).status == "agree"


def _kind(name: str) -> str:
    return name.partition(" ")[0]


def _structural(side: Side) -> list[str]:
    """The transformations of a side that plain Python can do as well."""
    return [name for name in side.transformations() if _kind(name) in KINDS]


def _unlike(a: Any, b: Any) -> str:
    """How two values that should be the same data differ, beyond a few units in the last place; "" if they do not."""
    judged = judge(a, b, 1e-6 if is_float(a) else 0.0)
    if judged.verdict in ("equal", "within"):
        return ""
    if judged.verdict == "structure" or not np.size(number(a)):
        return judged.text
    with np.errstate(all="ignore"):
        changed = int(np.sum(number(a) != number(b)))
    return f"{changed} of {np.size(number(a))} values differ: {judged.text}"
