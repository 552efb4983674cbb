"""Which random keys a program uses twice (the setting debug_key_reuse). Precondition: none.

Keys are followed as numbers: every word of a key has an identity, an int, in an array of the shape of the words, and
what moves elements moves identities, by the NumPy rule of the operation. Typed keys and raw words are one thing here,
and a key of four words counts as two of two words. A key is used by random bits and by `split`. `fold_in` gives the
same key for the same number, and uses the key for everything but `fold_in`. New identities come from seeds, splits,
`clone`, and from operations that compute.

Arrays remember their identities, so that operations run one by one and compiled programs share one account. A loop is
run for two steps, a branch for itself, and a program of the backward pass that computes again (`AGAIN`) uses nothing.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pullback.core import dtypes, errors, source
from pullback.core.array import ConcreteArray
from pullback.core.primitive import Primitive
from pullback.core.program import Literal, Program
from pullback.core.types import ArrayType, is_scalar, scalar_type
from pullback.ops.call import AGAIN, handles_keys
from pullback.ops.cond import choice_of
from pullback.ops.scan import cut

__all__ = ["attach", "follow"]

_SMALL = 1024  # elements of an array whose numbers are followed
_MOST = 1 << 20  # entries of the account; beyond it the oldest go

Pair = tuple[int, int]  # the identities of the words of a key


class Use(NamedTuple):
    """Where a key was used, and from which calls of jitted functions; `folds`: by fold_in only.

    `branch`: (which choice, which branch of it) for each choice around it inside vmap.
    """

    where: source.Source | None
    calls: tuple[source.Source | None, ...]
    folds: bool
    branch: tuple[Any, ...]

    def __str__(self) -> str:
        lines = [str(line) for line in (self.where, *reversed(self.calls)) if line is not None]
        return "\n    called at ".join(dict.fromkeys(lines)) or "a line that is not known"


class Account:
    """The uses of keys, on top of those of `below`."""

    def __init__(self, below: Account | None = None) -> None:
        self.below = below
        self.uses: dict[Pair, Use] = {}

    def get(self, pair: Pair) -> Use | None:
        account: Account | None = self
        while account is not None:
            use = account.uses.get(pair)
            if use is not None:
                return use
            account = account.below
        return None

    def add(self, uses: dict[Pair, Use]) -> None:
        self.uses.update(uses)
        while len(self.uses) > _MOST:
            del self.uses[next(iter(self.uses))]


class _Process:
    """What is known of the arrays of this process."""

    def __init__(self) -> None:
        self.account = Account()
        self.ids: dict[int, tuple[weakref.ref[Any], np.ndarray]] = {}  # by id() of an array
        self.children: dict[Any, Pair] = {}  # of fold_in, by parent and number
        self.wrapped: dict[Any, tuple[int, ...]] = {}  # the identities of keys of four words, by those they are made of
        self.shared: set[Pair] = set()  # keys that vmap repeats for every element of a batch
        self.next = 1 << 40
        self.lock = threading.RLock()


_process = _Process()


def _fresh(shape: Sequence[int]) -> np.ndarray:
    """New identities."""
    with _process.lock:
        start = _process.next
        _process.next += math.prod(shape)
        return np.arange(start, _process.next, dtype=np.int64).reshape(shape)


def _has_words(t: ArrayType) -> bool:
    return t.is_key or t.dtype == dtypes.uint32


class Value:
    """What is known of a value: its type, a number that equal values share, identities of words, the numbers."""

    __slots__ = ("ids", "known", "number", "type")

    def __init__(self, type: ArrayType, number: int, ids: np.ndarray | None = None, known: Any = None) -> None:
        self.type = type
        self.number = number
        self.ids = ids
        self.known = known


# -- arrays ---------------------------------------------------------------------------------------------


def _identities(array: ConcreteArray) -> np.ndarray:
    found = _process.ids.get(id(array))
    if found is None:
        ids = _fresh(array.type.physical().shape)
        _remember(array, ids)
        return ids
    return found[1]


def _remember(array: Any, ids: np.ndarray) -> None:
    key, known = id(array), _process.ids
    known[key] = (weakref.ref(array, lambda _: known.pop(key, None)), ids)


def attach(results: Sequence[Any], ids: Sequence[np.ndarray | None]) -> None:
    """Has arrays remember the identities that `follow` gave for them."""
    for result, found in zip(results, ids, strict=False):
        if found is not None and isinstance(result, ConcreteArray):
            _remember(result, found)


def follow(primitive: Primitive, args: Sequence[Any], params: dict[str, Any], out_types: Sequence[ArrayType]
           ) -> list[np.ndarray | None]:
    """Notes the keys that an operation on arrays uses; the identities of its results, for `attach`.

    Raises:
      KeyReuseError: a key is used for the second time.
    """
    if not handles_keys(primitive, params) and not any([id(arg) in _process.ids for arg in args]):
        return []
    with _process.lock:
        run = Run(Account(_process.account))
        values = [run.of_array(arg) for arg in args]
        first = _process.next
        outputs = run.apply(primitive, values, params, out_types, source.here())
        ids = [v.ids for v in outputs]
        kept = {i for found in ids if found is not None for i in found.ravel().tolist()}
        _process.account.add({pair: use for pair, use in run.account.uses.items()
                              if pair[0] < first or pair[0] in kept or pair in run.lasting})
        return ids


# -- programs -------------------------------------------------------------------------------------------


class Run:
    """A run of operations on Values."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.again = False
        self.steps = 0  # loops around
        self.calls: tuple[source.Source | None, ...] = ()
        self.branch: tuple[Any, ...] = ()
        self.numbers: dict[Any, int] = {}
        self.words: dict[int, np.ndarray] = {}  # identities of computed words, by the value's number
        self.children: dict[Any, Pair] = {}  # of fold_in, by parent and a number that is not known
        self.lasting: set[Pair] = set()  # of fold_in, by known numbers: a later run gets them again

    def number(self, *key: Any) -> int:
        try:
            return self.numbers.setdefault(key, len(self.numbers))
        except TypeError:  # a param that is not hashable
            return self.numbers.setdefault(object(), len(self.numbers))

    def new(self, t: ArrayType, ids: np.ndarray | None = None) -> Value:
        return Value(t, self.number(object()), ids)

    def constant(self, x: Any, t: ArrayType) -> Value:
        known = np.asarray(x)
        return Value(t, self.number("constant", known.tobytes(), known.shape, str(known.dtype)), None, known)

    def of_array(self, x: Any) -> Value:
        if is_scalar(x):
            return self.constant(x, scalar_type(x))
        t = x.type
        number = self.number("array", id(x))
        ids = _identities(x) if t.is_key or id(x) in _process.ids or t.dtype == dtypes.uint32 and t.size <= _SMALL \
            else None
        known = x.numpy() if not t.is_key and t.size <= _SMALL and dtypes.is_integer(t.dtype) else None
        if known is not None and ids is None:
            return self.constant(known, t)
        return Value(t, number, ids, known)

    def ids(self, value: Value) -> np.ndarray:
        """The identities of a value's words, made now if need be."""
        if value.ids is None:
            if value.number not in self.words:
                self.words[value.number] = _fresh(value.type.physical().shape)
            value.ids = self.words[value.number]
        return value.ids

    def program(self, program: Program, args: Sequence[Value], where: source.Source | None) -> list[Value]:
        values: dict[Any, Value] = dict(zip(program.inputs, args, strict=True))

        def read(atom: Any) -> Value:
            return self.constant(atom.value, atom.type) if isinstance(atom, Literal) else values[atom]

        for eqn in program.equations:
            outputs = self.apply(eqn.primitive, [read(a) for a in eqn.inputs], eqn.params,
                                 [v.type for v in eqn.outputs], eqn.source or where)
            values.update(zip(eqn.outputs, outputs, strict=True))
        return [read(a) for a in program.outputs]

    def apply(self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any],
              types: Sequence[ArrayType], where: source.Source | None) -> list[Value]:
        """The outputs of one operation."""
        name = primitive.name
        rule = _RULES.get(name)
        if rule is not None and (handles_keys(primitive, params) or any([_has_words(t) for t in types])):
            return rule(self, args, params, types, where)
        move = _MOVES.get(name)
        if move is not None and any([args[i].ids is not None for i in range(len(args)) if move < 0 or i < move]):
            ids = self._moved(primitive, args, params, move)
            if ids is not None:
                return [self.new(t, ids) for t in types]
        if not primitive.programs and all([a.known is not None for a in args]) and all(
                [t.size <= _SMALL and not t.is_key for t in types]) and not primitive.effects(params):
            try:
                with np.errstate(all="ignore"):
                    found = primitive.numpy(*[a.known for a in args], **params)
                return [self.constant(x, t) for x, t in zip(found, types, strict=True)]
            except Exception:  # the operation has no reference: its result is not followed
                pass
        number = self.number(primitive, *params.items(), *[a.number for a in args])
        return [Value(t, self.number(number, i)) for i, t in enumerate(types)]

    def _moved(self, primitive: Primitive, args: Sequence[Value], params: dict[str, Any], move: int
               ) -> np.ndarray | None:
        """Identities where the words go; None where that depends on numbers that are not known."""
        count = len(args) if move < 0 else move
        if any([a.known is None for a in args[count:]]):
            return None
        given = [self.ids(a) for a in args[:count]] + [a.known for a in args[count:]]
        ids = np.asarray(primitive.numpy(*given, **params)[0])
        if primitive.name == "broadcast" and _keyed(ids):
            if len(_process.shared) > _MOST:
                _process.shared.clear()
            _process.shared.update(_pairs(given[0]))
        return ids

    # -- using keys ------------------------------------------------------------------------------------

    def use(self, pairs: Sequence[Pair], use: Use) -> None:
        """Notes uses of keys; an error for one that was used before, or that stands twice among `pairs`."""
        if self.again:
            return
        seen: set[Pair] = set()
        for pair in pairs:
            before = self.account.get(pair)
            repeated = pair in seen and pair not in _process.shared and not use.folds
            if repeated or before is not None and pair not in seen and not (use.folds and before.folds) \
                    and not _exclude(before.branch, use.branch):
                raise _reused(before if not repeated else None, use, self.steps > 0)
            seen.add(pair)
            self.account.uses[pair] = use


def _exclude(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two uses are in different branches of one choice."""
    return any(a[0] == b[0] and a[1] != b[1] for a in one for b in other)


def _keyed(ids: np.ndarray) -> bool:
    """Whether words may be those of keys, by their shape."""
    return ids.shape[-1:] in ((2,), (4,))


def _pairs(ids: np.ndarray) -> list[Pair]:
    return list(map(tuple, ids.reshape(-1, 2).tolist()))


def _reused(before: Use | None, use: Use, looping: bool) -> errors.KeyReuseError:
    notes = [f"called at {line}" for line in dict.fromkeys(str(c) for c in reversed(use.calls) if c)
             if line != str(use.where)]
    if before is None:
        problem = "one key stands more than once in an array of keys, and all of them are used"
    else:
        problem = "a key is used again" if before.folds == use.folds else \
            "a key is used by fold_in and by something else"
        same = before.folds == use.folds and str(before) == str(use)
        known = before if list(map(str, before.calls)) != list(map(str, use.calls)) else before.where
        notes.append(f"first used {_EARLIER[looping] if same else ''}at {known or 'a line that is not known'}")
    return errors.make(errors.KeyReuseError, problem + ", so random numbers would repeat", op="", at=use.where,
                       notes=tuple(notes), fix="split the key first (key, sub = random.split(key)), or fold in the "
                       "number of the step; random.clone(key) says that a second use is meant")


_EARLIER = {True: "in an earlier step of the loop, ", False: "when this line ran before, "}


# -- the rules ------------------------------------------------------------------------------------------

Rule = Callable[[Run, Sequence[Value], dict[str, Any], Sequence[ArrayType], Any], list[Value]]


def _made(run: Run, args: Sequence[Value], params: dict[str, Any], types: Sequence[ArrayType], where: Any
          ) -> list[Value]:
    return [run.new(t, _fresh(t.physical().shape)) for t in types]


def _passed(run: Run, args: Sequence[Value], params: dict[str, Any], types: Sequence[ArrayType], where: Any
            ) -> list[Value]:
    return [run.new(t, run.ids(a) if _has_words(t) else None) for a, t in zip(args, types, strict=True)]


def _wrapped(run: Run, args: Sequence[Value], params: dict[str, Any], types: Sequence[ArrayType], where: Any
             ) -> list[Value]:
    """Keys of four words may hold a word twice; they get identities that they do not share with its other places."""
    ids = run.ids(args[0])
    if ids.shape[-1] == 4:
        table, rows = _process.wrapped, []
        for row in map(tuple, ids.reshape(-1, 4).tolist()):
            if row != tuple(range(row[0], row[0] + 4)):  # not new ones of their own
                row = table.get(row) or table.setdefault(row, tuple(_fresh((4,)).tolist()))
            rows.append(row)
        while len(table) > _MOST:
            del table[next(iter(table))]
        ids = np.array(rows, np.int64).reshape(ids.shape)
    return [run.new(types[0], ids)]


def _used(run: Run, args: Sequence[Value], params: dict[str, Any], types: Sequence[ArrayType], where: Any
          ) -> list[Value]:
    run.use(_pairs(run.ids(args[0])), Use(where, run.calls, False, run.branch))
    return [run.new(t, _fresh(t.physical().shape) if t.is_key else None) for t in types]


def _generated(run: Run, args: Sequence[Value], params: dict[str, Any], types: Sequence[ArrayType], where: Any
               ) -> list[Value]:
    if types[0].dtype == dtypes.uint32:
        _used(run, args, params, types, where)
    return [run.new(t) for t in types]


def _folded(run: Run, args: Sequence[Value], params: dict[str, Any], types: Sequence[ArrayType], where: Any
            ) -> list[Value]:
    key, data = args
    parents = _pairs(run.ids(key))
    run.use(parents, Use(where, run.calls, True, run.branch))
    made = []
    for i, parent in enumerate(parents):
        number = int(data.known.ravel()[i]) if data.known is not None else None
        table, entry = (run.children, (parent, data.number, i)) if number is None else (
            _process.children, (parent, number))
        child = table.get(entry)
        if child is None:
            child = table[entry] = _pairs(_fresh((2,)))[0]
        if number is not None:
            run.lasting.add(child)
        if parent in _process.shared:
            _process.shared.add(child)
        made.append(child)
    while len(_process.children) > _MOST:
        del _process.children[next(iter(_process.children))]
    return [run.new(types[0], np.array(made, np.int64).reshape(types[0].physical().shape))]


def _called(run: Run, args: Sequence[Value], params: dict[str, Any], types: Sequence[ArrayType], where: Any
            ) -> list[Value]:
    program = params["program"] if "program" in params else params["body"]
    if not isinstance(program, Program):
        return [run.new(t) for t in types]
    name = params.get("name")
    before = run.again, run.branch, run.calls
    run.again = run.again or name == AGAIN
    choice = choice_of(name)
    if choice:
        run.branch = (*run.branch, choice)
    elif name is not None:
        run.calls = (*run.calls, where)
    try:
        return run.program(program, args, where)
    finally:
        run.again, run.branch, run.calls = before


def _scanned(run: Run, args: Sequence[Value], params: dict[str, Any], types: Sequence[ArrayType], where: Any
             ) -> list[Value]:
    consts, carry, xs = cut(args, params["n_consts"], params["n_carry"])
    n_carry, length = params["n_carry"], params["length"]
    order = range(length)[::-1] if params["reverse"] else range(length)
    keyed = [run.ids(x) for x in xs
             if x.type.is_key or x.ids is not None and _keyed(x.ids) and x.ids.ndim > 1]
    unused = [[pair for pair in _pairs(ids[order[1]]) if run.account.get(pair) is None] for ids in keyed] \
        if length > 2 else []
    steps = []
    run.steps += 1
    for at in order[:2]:
        outputs = run.program(params["program"], [*consts, *carry, *[_row(run, x, at) for x in xs]], where)
        carry = outputs[:n_carry]
        steps.append(outputs[n_carry:])
    run.steps -= 1
    for ids, pairs in zip(keyed if unused else [], unused, strict=True):  # the further rows fare as the second one
        row = _pairs(ids[order[1]])
        for i, pair in enumerate(row):
            use = run.account.get(pair) if pair in pairs else None
            if use is not None:
                further = [_pairs(ids[at])[i] for at in order[2:]]
                run.use(further, use)
    final = [run.new(t, v.ids) for t, v in zip(types, carry, strict=False)]
    return [*final, *[_stacked(run, t, [step[i] for step in steps], order) for i, t in enumerate(types[n_carry:])]]


def _row(run: Run, x: Value, at: int) -> Value:
    ids = run.ids(x)[at] if x.type.is_key or x.ids is not None else None
    return Value(x.type.unbatched(), run.number("row", x.number, at), ids, None if x.known is None else x.known[at])


def _stacked(run: Run, t: ArrayType, rows: Sequence[Value], order: Sequence[int]) -> Value:
    """The stacked outputs of a loop, from its first two steps."""
    if not rows or not (t.is_key or all([r.ids is not None for r in rows])):
        return run.new(t)
    first, last = run.ids(rows[0]), run.ids(rows[-1])
    ids = np.empty((len(order), *first.shape), np.int64)
    for k, at in enumerate(order):
        ids[at] = first if k == 0 else last if k == 1 else _renewed(run, first, last)
    return run.new(t, ids)


def _renewed(run: Run, old: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Identities as a further step gives them: new where the last step's are new, used where those are."""
    found = np.where(ids == old, ids, _fresh(ids.shape))
    if _keyed(ids):
        for pair, new in zip(_pairs(ids), _pairs(found), strict=True):
            use = run.account.get(pair)
            if use is not None:
                run.account.uses[new] = use
    return found


def _looped(run: Run, args: Sequence[Value], params: dict[str, Any], types: Sequence[ArrayType], where: Any
            ) -> list[Value]:
    cond_consts, body_consts, carry = cut(args, params["n_cond"], params["n_body"])
    run.steps += 1
    for _ in range(2):
        holds = run.program(params["cond"], [*cond_consts, *carry], where)[0]
        if holds.known is not None and not holds.known.any():
            break
        carry = run.program(params["body"], [*body_consts, *carry], where)
    run.steps -= 1
    return [run.new(t, v.ids) for t, v in zip(types, carry, strict=True)]


def _chosen(run: Run, args: Sequence[Value], params: dict[str, Any], types: Sequence[ArrayType], where: Any
            ) -> list[Value]:
    index, *operands = args
    below, uses, results = run.account, {}, []
    for program in params["branches"]:
        run.account = Account(below)
        try:
            results.append(run.program(program, operands, where))
            uses.update(run.account.uses)
        finally:
            run.account = below
    below.uses.update(uses)
    return [_either(run, t, index, cases) for t, cases in zip(types, zip(*results, strict=True), strict=True)]


def _either(run: Run, t: ArrayType, index: Value, cases: Sequence[Value]) -> Value:
    """One of several values, it is not known which."""
    numbers = [c.number for c in cases]
    if all(n == numbers[0] for n in numbers):
        return cases[0]
    number = run.number("either", index.number, *numbers)
    if not (t.is_key or any([c.ids is not None for c in cases])):
        return Value(t, number)
    known = [run.ids(c) for c in cases]
    same = np.all([ids == known[0] for ids in known], axis=0)
    ids = np.where(same, known[0], run.ids(Value(t, number)))
    if _keyed(ids):
        for pair, members in zip(_pairs(ids), zip(*map(_pairs, known), strict=True), strict=True):
            use = next((use for use in map(run.account.get, members) if use is not None), None)
            if use is not None:
                run.account.uses[pair] = use
    return Value(t, number, ids)


def _selected(run: Run, args: Sequence[Value], params: dict[str, Any], types: Sequence[ArrayType], where: Any
              ) -> list[Value]:
    index, *cases = args
    if not any([c.ids is not None for c in cases]):
        number = run.number("select_n", *[a.number for a in args])
        return [Value(types[0], number)]
    return [_either(run, types[0], index, cases)]


_RULES: dict[str, Rule] = {
    "random_seed": _made, "random_clone": _made, "random_wrap": _wrapped, "random_unwrap": _passed,
    "random_split": _used, "random_bits": _used,
    "rng_bit_generator": _generated, "random_fold_in": _folded, "jit": _called, "checkpoint": _called,
    "custom_jvp_call": _called, "custom_vjp_call": _called, "custom_vmap_call": _called, "scan": _scanned,
    "while": _looped, "cond": _chosen, "select_n": _selected, "copy": _passed, "stop_gradient": _passed,
    "name": _passed, "optimization_barrier": _passed}

# Operations that move elements -> how many of their operands, from the first, are what moves; -1 for all.
_MOVES = {"reshape": 1, "broadcast_in_dim": 1, "broadcast": 1, "transpose": 1, "slice": 1, "rev": 1, "concatenate": -1,
          "pad": 2, "gather": 1, "dynamic_slice": 1, "dynamic_update_slice": 2}
