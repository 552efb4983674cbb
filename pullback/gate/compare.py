"""`pullback compare`: the recorded cases run again, and every leaf judged against what was recorded."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.gate.cases import STANDARD, Case, Outcome, cases, evaluate, key_stream
from pullback.gate.errors import UsageError
from pullback.gate.model import DEFAULT
from pullback.gate.precision import cast, held
from pullback.gate.report import Recorder, Report, Result
from pullback.gate.session import Session
from pullback.gate.store.files import Revision
from pullback.gate.store.recording import latency, programs
from pullback.gate.subject import params_digest
from pullback.gate.values import EPSILON, digest, distance, dtype_name, is_float, number

__all__ = ["Judged", "compare", "judge", "same_model", "ulps"]


@dataclasses.dataclass(frozen=True)
class Judged:
    """One leaf: "equal", "within" its tolerance, "beyond" it, or of another "structure"."""

    verdict: str
    text: str = ""
    ulps: float = 0.0
    share: float = 0.0  # of the tolerance


def ulps(a: Any, b: Any) -> float:
    """The largest difference in units in the last place, of the coarser dtype; each by the larger of the two values."""
    x, y = number(a), number(b)
    epsilon = max(EPSILON.get(dtype_name(leaf), 2.0**-52) for leaf in (a, b))
    with np.errstate(all="ignore"):
        scale = np.maximum(np.abs(x), np.abs(y))
        places = 2.0 ** np.floor(np.log2(np.where(scale > 0, scale, 1.0))) * epsilon
        gap = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.abs(x - y) / places)
    return float(np.nanmax(gap)) if gap.size and not np.isnan(gap).all() else float("nan" if gap.size else 0.0)


def judge(old: Any, new: Any, relative: float, absolute: float = 0.0, spread: dict[str, float] | None = None,
          dtypes_may_differ: bool = False) -> Judged:
    """A leaf against what was recorded.

    Args:
      relative, absolute: the tolerance, by the largest value of the leaf.
      spread: how far it moved for other reasons when it was recorded: {"seeds": ..., "rounding": ...}.
      dtypes_may_differ: in another precision; the tolerance is then that of the coarser dtype.
    """
    kinds = [f"{dtype_name(x)}{list(getattr(x, 'shape', ()))}" for x in (old, new)]
    shapes = [tuple(getattr(x, "shape", ())) for x in (old, new)]
    names = [dtype_name(x) for x in (old, new)]
    if shapes[0] != shapes[1] or (names[0] != names[1] and not (dtypes_may_differ and all(map(is_float, (old, new))))):
        return Judged("structure", f"{kinds[1]}, recorded {kinds[0]}")
    if digest(old) == digest(new):
        return Judged("equal")
    if names[0] != names[1]:
        relative = max(relative, *(DEFAULT.get(name, 0.0) for name in names))
    gap = distance(old, new)
    bound = absolute + relative * gap.scale
    places = ulps(old, new) if is_float(old) else float("nan")
    text = f"largest difference {gap.largest:.3g} at {list(gap.place)}, {gap.relative:.2g} of the largest value"
    if is_float(old) and np.isfinite(gap.largest):
        text += f", up to {places:.0f} ulp"
    for kind, value in (spread or {}).items():
        if value > 0 and np.isfinite(gap.largest):
            text += f", {gap.largest / value:.2g} of the recorded spread ({kind})"
    return Judged("within" if gap.largest <= bound else "beyond", f"{text}; allowed {bound:.2g}", places,
                  gap.largest / bound if bound else float("inf"))


def compare(session: Session, revision: Revision, precision: str = "", name: str = "", only: Sequence[str] = (),
            tell: Callable[[Result], None] = lambda result: None) -> Report:
    """Runs the cases of a revision again.

    Args:
      only: names of cases, or of the other rows of the report; all if empty.

    Raises:
      UsageError: the record is of another model, or has no such case.
    """
    manifest = revision.manifest
    same_model(session.params.paths, manifest)
    report = Report(name or manifest["model"]["name"], session.seed, session.engine.environment())
    report.environment["subject"] = {"params": params_digest(session.params)}
    report.environment["recorded"] = {"revision": revision.number, "reason": manifest["reason"],
                                      "created": manifest["created"], "environment": manifest["environment"]}
    session.key = revision.arrays["key"]
    # The key stream comes first, since looking at it drops what is compiled.
    runs: list[tuple[str, Callable[[Recorder], str]]] = [("key stream", lambda found: _keys(session, revision, found)),
                                                         ("inputs", lambda found: _inputs(session, revision, found))]
    made = {case.name: case for case in cases(session)}
    for case in manifest["order"]:
        runs.append((case, functools.partial(_case, session, revision, case, made, precision)))
    runs += [("program", lambda found: _programs(session, revision, precision, found)),
             ("latency", lambda found: _latency(session, revision, found))]
    for title in only:
        if title not in dict(runs):
            raise UsageError(f"the record has no case {title!r}; it has {', '.join(dict(runs))}",
                             "choose among them with --only")
    with held(session.engine, precision):
        for title, run in runs:
            if only and title not in only:
                continue
            result = Result(title, "")
            started = time.perf_counter()
            try:
                result.description = run(Recorder(result))
            except KeyboardInterrupt:
                report.interrupted = True
                Recorder(result).skip("interrupted")
            result.seconds = time.perf_counter() - started
            report.results.append(result)
            tell(result)
            if report.interrupted:
                break
    return report


def same_model(paths: Sequence[str], manifest: dict[str, Any]) -> None:
    """Refuses a record none of whose parameters has one of the given paths."""
    known = manifest["model"]
    if known["params"] and not set(known["params"]) & set(paths):
        shown = [", ".join(path or "a single array" for path in some[:3]) for some in (known["params"], paths)]
        raise UsageError(f"the record is of another model, {known['name']!r}: no parameter has the same path "
                         f"({shown[0]}; here {shown[1]})", "name the store of this model")


def _inputs(session: Session, revision: Revision, found: Recorder) -> str:
    """Parameters, batch and structure of the file as it is now; the cases run on what was recorded."""
    arrays, known = revision.manifest["arrays"], revision.manifest["model"]
    for what, old, new in (("params", known["params"], session.params.paths),
                           ("batch", known["batch"], session.batch.paths)):
        for path in sorted(set(old) ^ set(new)):
            found.fail(f"{what} {'has a new leaf' if path in new else 'lacks a leaf'}", leaf=session.shown(what, path),
                       measured="there" if path in new else "missing", expected="as recorded",
                       fix="if the change is meant, add a revision: pullback record --update --reason 'why'")
    same = 0
    for what, tree, prefix in (("params", session.params, ""), ("batch", session.batch, f"{STANDARD}/")):
        for path, leaf in zip(tree.paths, tree.leaves, strict=True):
            said = arrays.get(prefix + session.shown(what, path))
            if said is None:
                continue
            if list(getattr(leaf, "shape", ())) != said["shape"] or dtype_name(leaf) != said["dtype"]:
                found.note(f"the file's own {what} now have another type; the recorded ones are used",
                           leaf=session.shown(what, path), measured=f"{dtype_name(leaf)}{list(np.shape(leaf))}",
                           expected=f"{said['dtype']}{said['shape']}")
                continue
            old = revision.arrays.get(prefix + session.shown(what, path))
            judged = Judged("beyond", "another digest") if old is None else judge(old, leaf, 1e-6 * is_float(leaf))
            if digest(leaf) == said["digest"] or judged.verdict in ("equal", "within"):
                same += 1
            else:
                found.note(f"the file's own {what} now have other values; the recorded ones are used",
                           leaf=session.shown(what, path), measured=judged.text, expected="as recorded")
    return f"{same} leaves as recorded"


def _case(session: Session, revision: Revision, name: str, made: dict[str, Case], precision: str, found: Recorder
          ) -> str:
    entry = revision.manifest["cases"][name]
    if set(revision.manifest["model"]["params"]) != set(session.params.paths):
        found.skip("the parameters have another structure: see inputs")
        return ""
    case = _restored(session, revision, name, entry, made, found)
    if case is None:
        return ""
    params = [revision.arrays[session.shown("params", path)] for path in session.params.paths]
    case.leaves = cast(case.leaves, precision)
    outcome = evaluate(session, case, cast(params, precision))
    if entry["error"] is not None or outcome.error is not None:
        return _errors(entry["error"], outcome, found)
    counts = dict.fromkeys(("equal", "within", "beyond", "structure"), 0)
    worst, where = Judged("equal"), ""
    for place in sorted(set(entry["results"]) ^ set(outcome.leaves)):
        counts["structure"] += 1
        found.fail("a result is new" if place in outcome.leaves else "a result is missing", leaf=place,
                   measured="there" if place in outcome.leaves else "missing", expected="as recorded",
                   fix="look at the structure that the function returns")
    for place, said in entry["results"].items():
        if place not in outcome.leaves:
            continue
        spread = {kind: said[kind] for kind in ("seeds", "rounding") if kind in said}
        judged = judge(revision.arrays[f"{name}/{place}"], outcome.leaves[place], said["relative"], said["absolute"],
                       spread, dtypes_may_differ=precision not in ("", "highest"))
        counts[judged.verdict] += 1
        found.measure(place, verdict=judged.verdict, text=judged.text, ulps=judged.ulps, of_tolerance=judged.share)
        if judged.verdict in ("beyond", "structure"):
            found.fail("beyond the tolerance" if judged.verdict == "beyond" else "another shape or dtype", leaf=place,
                       measured=judged.text, expected=f"the recorded values ({said['reason']})",
                       fix="pullback diagnose says which operation parts; if the change is meant, record --update")
        elif judged.verdict == "within" and judged.share >= worst.share:
            worst, where = judged, place
    text = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    return text + (f"; furthest {where}: {worst.ulps:.0f} ulp, {worst.share:.2g} of its tolerance" if where else "")


def _restored(session: Session, revision: Revision, name: str, entry: dict[str, Any], made: dict[str, Case],
              found: Recorder) -> Case | None:
    """The case as it was recorded: its values, or made anew and proved to be the same by digests."""
    places = [f"{name}/{session.shown('batch', path)}" for path in entry["batch"]]
    now = made.get(name)
    if entry["origin"] == "values":
        leaves = [revision.arrays[place] for place in places]
        if entry["batch"] != (now.paths if now else session.batch.paths):
            found.skip("the batch has another structure: see inputs")
            return None
        return Case(name, entry["batch"], leaves, structure=now.structure if now else None)
    if now is None or now.paths != entry["batch"]:
        found.fail("the case cannot be made again", measured="the file does not make it", expected="as recorded",
                   fix=f"keep {name!r} in Model(cases=...)")
        return None
    for place, leaf in zip(places, now.leaves, strict=True):
        if digest(leaf) != revision.manifest["arrays"][place]["digest"]:
            found.fail("the case is made anew and comes out different", leaf=place, measured=digest(leaf),
                       expected=revision.manifest["arrays"][place]["digest"],
                       fix="restore the data or the generator; values were not kept, so nothing can be compared")
            return None
    return dataclasses.replace(now)


def _errors(old: dict[str, str] | None, outcome: Outcome, found: Recorder) -> str:
    new = outcome.error
    if new is None:
        found.fail("was refused, and is accepted now", measured=f"{len(outcome.leaves)} results",
                   expected=f"{(old or {})['type']}: {(old or {})['message']}",
                   fix="look for a check that is gone, or for silent broadcasting")
    elif old is None:
        found.fail("raises", measured=f"{new['type']}: {new['message']}", expected="results, as recorded",
                   fix=new["line"] and f"look at {new['line']}")
    elif old["type"] != new["type"]:
        found.note("is refused with another error", measured=f"{new['type']}: {new['message']}",
                   expected=f"{old['type']}: {old['message']}")
    return f"refused: {new['type']}" if new else "accepted"


def _programs(session: Session, revision: Revision, precision: str, found: Recorder) -> str:
    """The first operation that is another one; a note, since results decide."""
    then = revision.manifest["environment"]
    now = session.engine.environment()
    if then["engine"] != now["engine"] or precision:
        found.skip("programs of another engine or precision are not compared")
        return ""
    changed, kinds = [], programs(session, values=False)
    for name, text in revision.programs.items():
        if not name.endswith(": operations") or name not in kinds or text == kinds[name]:
            continue
        old, new = text.splitlines(), kinds[name].splitlines()
        first = _first_difference(old, new)
        changed.append(name)
        found.note(f"{name.partition(':')[0]}: the program has changed", measured=first[1] or "nothing more",
                   expected=first[0] or "nothing more",
                   fix=f"{len(old)} operations then, {len(new)} now; {first[2]} of them differ")
    return "as recorded" if not changed else f"changed: {', '.join(part.partition(':')[0] for part in changed)}"


def _first_difference(old: Sequence[str], new: Sequence[str]) -> tuple[str, str, int]:
    """The first lines that part after alignment, and how many lines do."""
    first: tuple[str, str] | None = None
    count = 0
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            first = first or (old[a] if b > a else "", new[c] if d > c else "")
            count += max(b - a, d - c)
    return (*(first or ("", "")), count)


def _keys(session: Session, revision: Revision, found: Recorder) -> str:
    old, new = revision.manifest["keys"], key_stream(session)
    if not old and not new:
        found.skip("no random calls")
        return ""
    first = _first_difference(old, new)
    if first[2]:
        found.fail("the key stream has changed", measured=first[1] or "nothing more",
                   expected=first[0] or "nothing more", fix="look at how keys are split on the way to this call")
    return f"{len(new)} random calls"


def _latency(session: Session, revision: Revision, found: Recorder) -> str:
    then, now = revision.manifest["latency"], latency(session)
    machine = {key: revision.manifest["environment"].get(key) for key in ("engine", "machine")}
    found.measure("latency", then=then, now=now, then_on=machine)
    return f"median {now['median']:.3g} ms, recorded {then['median']:.3g} ms (for information)"
