"""What is tried: small changes of a function, as in mutation testing.

Each operator makes one small change, wherever it fits: a term dropped, a sign turned round, an axis moved. (DeMillo,
Lipton and Sayward, "Hints on test data selection", Computer 11, 1978: programs are nearly right.) What the program has
already is tried in other places too: an argument that is not used, a variable that is computed and left alone.
"""

from __future__ import annotations

import ast
import copy
import functools
import itertools
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from pullback.gate.repair.edits import Edit, Place, Slot, short, slots, statements
from pullback.gate.repair.functions import Function, Value

__all__ = ["edits_of"]

_GROUPS = (("sum", "mean", "max", "min", "prod", "cumsum"), ("nansum", "sum"), ("nanmean", "mean"), ("nanmax", "max"),
           ("maximum", "minimum"), ("argmax", "argmin"), ("tril", "triu"), ("zeros", "ones"),
           ("zeros_like", "ones_like"), ("exp", "log"), ("log1p", "log"), ("expm1", "exp"), ("sin", "cos"),
           ("sinh", "cosh"), ("sqrt", "square", "abs"), ("logical_and", "logical_or"), ("var", "std"),
           ("cumsum", "cumprod"), ("floor", "ceil", "round"), ("softmax", "log_softmax"), ("sigmoid", "tanh"),
           ("relu", "tanh", "gelu", "silu"), ("normal", "uniform"), ("vstack", "hstack"), ("any", "all"),
           ("add", "subtract"), ("multiply", "divide"), ("less", "greater", "less_equal", "greater_equal"))
_BINARY: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult), ast.Sub: (ast.Add, ast.Mult), ast.Mult: (ast.Div, ast.Add, ast.Sub),
    ast.Div: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,), ast.FloorDiv: (ast.Mod,), ast.Mod: (ast.FloorDiv,)}
_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt, ast.GtE), ast.LtE: (ast.Lt, ast.GtE, ast.Gt), ast.Gt: (ast.GtE, ast.Lt, ast.LtE),
    ast.GtE: (ast.Gt, ast.LtE, ast.Lt), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,)}
_REDUCTIONS = {"sum", "mean", "max", "min", "prod", "cumsum", "softmax", "log_softmax", "var", "std", "argmax",
               "argmin", "cumprod", "logsumexp", "sort", "any", "all"}
_WRAPPED = ("sqrt", "square", "exp", "log", "abs", "tanh")
_GRID = tuple(float(f"{digit}e{power}") for power in range(-8, 3) for digit in (1, 2, 5))
_LARGE = 1e30


def edits_of(function: Function, keys: frozenset[str], stop: Callable[..., Any] | None, names: frozenset[str]
             ) -> list[Callable[[], Iterator[Edit]]]:
    """Every edit of a function, in tiers: the first are tried first.

    Args:
      function: what is changed.
      keys: names of leaves of the model's trees.
      stop: the engine's stop_gradient, where one may be missing.
      names: of variables that are likely to be missing somewhere.
    """
    operators = _Operators(function, keys, stop, names)
    return [operators.nearby, operators.of_unused, operators.others, operators.around, operators.joined]


class _Operators:
    def __init__(self, function: Function, keys: frozenset[str], stop: Callable[..., Any] | None,
                 names: frozenset[str]) -> None:
        self.function, self.keys, self.stop, self.names = function, keys, stop, names
        self.slots = slots(function)
        self.values = [slot for slot in self.slots if slot.role == "value" and not self._is_module(slot.node)]
        self.unused, self.atoms = self._atoms()

    def nearby(self) -> Iterator[Edit]:
        """What is there, a little other."""
        for operator in (self.operations, self.calls, self.subscripts, self.comparisons, self.exchanged, self.dropped,
                         self.numbers, self.texts):
            for slot in self.slots:
                yield from operator(slot)
        yield from self.whole_statements()
        yield from self.together()

    def of_unused(self) -> Iterator[Edit]:
        """What is not used, used; signs, stops, terms moved."""
        for operator in (self.replaced, self.moved, self.stopped, self.signs):
            for slot in self.values:
                yield from operator(slot)

    def others(self) -> Iterator[Edit]:
        """Other names and numbers, and what is not used added."""
        for operator in (self.renamed, self.grid, self.scaled):
            for slot in self.slots:
                yield from operator(slot)
        for slot in self.values:
            yield from self.added(slot)

    def around(self) -> Iterator[Edit]:
        """A function or a number around an expression."""
        for slot in self.values:
            yield from self.wrapped(slot)

    def joined(self) -> Iterator[Edit]:
        """Anything joined to anything."""
        for slot in self.values:
            yield from self.inserted(slot)

    # -- helpers --------------------------------------------------------------------------------------------

    def edit(self, operator: str, slot: Slot, *changes: tuple[Place, Any]) -> Edit:
        return Edit(operator, self.function, changes, slot.node.lineno, self._context(slot),
                    _does_nothing(slot.statement))

    def put(self, operator: str, slot: Slot, node: Any) -> Edit:
        return self.edit(operator, slot, (slot.place, node))

    def _context(self, slot: Slot) -> Place:
        """The expression around that says where this is, if it is short."""
        best = slot.place
        for place in reversed(slot.above):
            if isinstance(best.get(), (ast.Call, ast.BinOp, ast.Compare, ast.BoolOp)) or not short(place.get()):
                break
            best = place
        return best

    def _object(self, name: str) -> Any:
        return self.function.around.get(name, self.function.objects[0].__globals__.get(name))

    def _is_module(self, node: ast.AST) -> bool:
        root: Any = node
        while isinstance(root, ast.Attribute):
            root = root.value
        return isinstance(root, ast.Name) and root.id not in self.function.code.co_varnames and isinstance(
            self._object(root.id), ModuleType)

    def _value(self, node: ast.AST) -> Value | None:
        return self.function.values.get(node.id) if isinstance(node, ast.Name) else None

    def _atoms(self) -> tuple[list[Any], list[Any]]:
        """Names, and entries of mappings by name: those that the function does not use, and all that are values."""
        node = self.function.node
        names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
        loaded = {part.id for part in names if isinstance(part.ctx, ast.Load)}
        own = {part.id for part in names if isinstance(part.ctx, ast.Store)}
        arguments = {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
        own |= arguments
        self.assigned = {part.id: part.lineno for part in reversed(names) if isinstance(part.ctx, ast.Store)
                         and part.id not in arguments}
        texts = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
        unused: list[Any] = []
        atoms: list[Any] = []
        for name, value in self.function.values.items():
            if name.startswith("_") or name in ("self", "cls"):
                continue
            if value.kind == "mapping" and name in arguments and not texts.isdisjoint(value.keys):
                for key in value.keys:
                    entry = ast.Subscript(ast.Name(name, ast.Load()), ast.Constant(key), ast.Load())
                    (atoms if key in texts else unused).append(entry)
            if value.kind in ("array", "number", "mapping") and (name in own or name in loaded):
                likely = name not in loaded or name in self.names
                (unused if likely else atoms).append(ast.Name(name, ast.Load()))
            elif value.kind == "number":
                atoms.append(ast.Name(name, ast.Load()))
        return unused, [*unused, *atoms]

    # -- what is there, a little other -----------------------------------------------------------------------

    def calls(self, slot: Slot) -> Iterator[Edit]:
        node = slot.node
        if not isinstance(node, ast.Call):
            return
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        others = dict.fromkeys(other for group in _GROUPS if name in group for other in group if other != name)
        for other in others:
            if isinstance(node.func, ast.Attribute):
                yield self.edit("another function", slot, (Place(node.func, "attr"), other))
        of = node.func.value if isinstance(node.func, ast.Attribute) else None
        method = of is not None and not self._is_module(of)
        if method:
            yield self.put("call dropped", slot, of)
        for argument in node.args[:2 if not method else 0]:
            if not isinstance(argument, (ast.Starred, ast.Constant, ast.GeneratorExp)):
                yield self.put("call dropped", slot, argument)
        for i in range(len(node.keywords)):
            yield self.edit("argument dropped", slot, (Place(node, "keywords"), _without(node.keywords, i)))
        for i in range(0 if method else 1, len(node.args)):
            yield self.edit("argument dropped", slot, (Place(node, "args"), _without(node.args, i)))
        for i in range(len(node.args) - 1):
            yield self.edit("arguments exchanged", slot, (Place(node, "args"), _swapped(node.args, i, i + 1)))
        if name in _REDUCTIONS and not any(keyword.arg == "axis" for keyword in node.keywords):
            for axis in (-1, 0, 1):
                new = [*node.keywords, ast.keyword("axis", _number(axis))]
                yield self.edit("axis added", slot, (Place(node, "keywords"), new))
        for keyword in node.keywords:
            if keyword.arg == "axis" and isinstance(keyword.value, ast.Constant) and keyword.value.value is None:
                for axis in (-1, 0, 1):
                    yield self.edit("axis changed", slot, (Place(keyword, "value"), _number(axis)))

    def operations(self, slot: Slot) -> Iterator[Edit]:
        node = slot.node
        if isinstance(node, ast.BinOp):
            for side in (node.left, node.right):
                yield self.put("operand dropped", slot, side)
            for kind in _BINARY.get(type(node.op), ()):
                yield self.edit("another operation", slot, (Place(node, "op"), kind()))
            if not isinstance(node.op, (ast.Add, ast.Mult)):
                yield self.edit("operands exchanged", slot, (Place(node, "left"), node.right),
                                (Place(node, "right"), node.left))
            if isinstance(node.op, ast.Sub):
                yield self.put("sign", slot, ast.UnaryOp(ast.USub(), node.right))
        elif isinstance(node, ast.UnaryOp) and _literal(node) is None:
            yield self.put("sign" if isinstance(node.op, ast.USub) else "negation", slot, node.operand)
        elif isinstance(node, ast.IfExp):
            for side in (node.body, node.orelse):
                yield self.put("condition dropped", slot, side)
        elif isinstance(node, ast.Attribute) and slot.role == "value" and not self._is_module(node):
            yield self.put("attribute dropped", slot, node.value)
        if slot.role == "value" and not slot.above and not isinstance(slot.statement, (ast.If, ast.For, ast.While)):
            yield self.put("sign", slot, ast.UnaryOp(ast.USub(), node))

    def signs(self, slot: Slot) -> Iterator[Edit]:
        if slot.above and isinstance(slot.node, (ast.Name, ast.Call, ast.Subscript)):
            yield self.put("sign", slot, ast.UnaryOp(ast.USub(), slot.node))

    def comparisons(self, slot: Slot) -> Iterator[Edit]:
        node = slot.node
        if isinstance(node, ast.Compare):
            for i, operation in enumerate(node.ops):
                for kind in _COMPARED.get(type(operation), ()):
                    yield self.edit("another comparison", slot, (Place(node, "ops", i), kind()))
        elif isinstance(node, ast.BoolOp):
            for i in range(len(node.values)):
                rest = _without(node.values, i)
                yield self.put("condition dropped", slot, rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest))
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield self.edit("another operation", slot, (Place(node, "op"), other))

    def numbers(self, slot: Slot) -> Iterator[Edit]:
        value = _literal(slot.node)
        if value is None or (slot.above and _literal(slot.above[-1].get()) is not None):
            return
        others: list[Any]
        if isinstance(value, bool):
            others = [not value]
        elif isinstance(value, int):
            others = [value + 1, value - 1, -value, 0, 1, 2 * value, value // 2]
            others += [10 * value] if 0 < value < 100 else []
            others += [float(value) / 2] if value % 2 else []
        else:
            others = [-value, 2 * value, value / 2, 10 * value, value / 10, 0.0, 1.0, -_LARGE, 1 - value]
            others += [int(value)] if value == int(value) else []
        for other in dict.fromkeys((type(x), x) for x in others):
            if other != (type(value), value):
                yield self.put("another number", slot, _number(other[1]))

    def subscripts(self, slot: Slot) -> Iterator[Edit]:
        node = slot.node
        if not isinstance(node, ast.Subscript):
            return
        yield self.put("index dropped", slot, node.value)
        index = node.slice
        if isinstance(index, ast.Constant) and isinstance(index.value, str):
            for key in self._keys_beside(index.value):
                yield self.edit("another entry", slot, (Place(node, "slice"), ast.Constant(key)))
        parts = [(Place(node, "slice"), index)]
        if isinstance(index, ast.Tuple):
            parts = [(Place(index, "elts", i), part) for i, part in enumerate(index.elts)]
            for i in range(len(parts)):
                rest = _without(index.elts, i)
                yield self.edit("index dropped", slot,
                                (Place(node, "slice"), rest[0] if len(rest) == 1 else ast.Tuple(rest, ast.Load())))
            for i in range(len(parts) - 1):
                yield self.edit("indices exchanged", slot, (Place(index, "elts"), _swapped(index.elts, i, i + 1)))
        for place, part in parts:
            if isinstance(part, ast.Slice):
                for field in ("lower", "upper", "step"):
                    if getattr(part, field) is not None:
                        yield self.edit("bound dropped", slot, (Place(part, field), None))
                one, last = ast.Constant(1), _number(-1)
                for lower, upper in ((one, None), (None, last)):
                    if part.lower is None and part.upper is None:
                        yield self.edit("bound added", slot, (place, ast.Slice(lower, upper, part.step)))

    def _keys_beside(self, key: str) -> list[str]:
        found = [other for value in self.function.values.values() if key in value.keys for other in value.keys]
        return [other for other in dict.fromkeys(found or (self.keys if key in self.keys else ())) if other != key]

    def dropped(self, slot: Slot) -> Iterator[Edit]:
        node = slot.node
        if isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) > 1 and slot.role != "index":
            for i in range(len(node.elts)):
                yield self.edit("element dropped", slot, (Place(node, "elts"), _without(node.elts, i)))
        elif isinstance(node, ast.Dict):
            for i in range(len(node.keys)):
                yield self.edit("entry dropped", slot, (Place(node, "keys"), _without(node.keys, i)),
                                (Place(node, "values"), _without(node.values, i)))
            there = {key.value for key in node.keys if isinstance(key, ast.Constant)}
            for key in sorted(self.keys - there) if there else ():
                if key in self.function.values:
                    yield self.edit("entry added", slot, (Place(node, "keys"), [*node.keys, ast.Constant(key)]),
                                    (Place(node, "values"), [*node.values, ast.Name(key, ast.Load())]))
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)):
            for part in node.generators:
                for i in range(len(part.ifs)):
                    yield self.edit("condition dropped", slot, (Place(part, "ifs"), _without(part.ifs, i)))

    def exchanged(self, slot: Slot) -> Iterator[Edit]:
        node = slot.node
        if isinstance(node, (ast.Tuple, ast.List)) and slot.role != "index":
            for i, j in itertools.combinations(range(min(len(node.elts), 5)), 2):
                yield self.edit("elements exchanged", slot, (Place(node, "elts"), _swapped(node.elts, i, j)))

    def texts(self, slot: Slot) -> Iterator[Edit]:
        """The letters of an einsum."""
        node = slot.node
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str) and "," in node.value):
            return
        inputs, arrow, output = node.value.partition("->")
        parts = [*inputs.split(","), output] if arrow else inputs.split(",")
        for i, part in enumerate(parts):
            for a, b in itertools.combinations(range(len(part)), 2):
                letters = list(part)
                letters[a], letters[b] = letters[b], letters[a]
                new = [*parts[:i], "".join(letters), *parts[i + 1:]]
                text = ",".join(new[:-1]) + "->" + new[-1] if arrow else ",".join(new)
                yield self.put("letters exchanged", slot, ast.Constant(text))

    def together(self) -> Iterator[Edit]:
        """Changes of all places of one kind in a statement."""
        by: dict[int, list[Slot]] = {}
        for slot in self.slots:
            by.setdefault(id(slot.statement), []).append(slot)
        for group in by.values():
            names: dict[str, list[Slot]] = {}
            numbers: dict[int, list[Slot]] = {}
            cuts = [slot for slot in group if isinstance(slot.node, ast.Subscript)
                    and any(isinstance(part, ast.Slice) for part in ast.walk(slot.node.slice))]
            for slot in group:
                value = self._value(slot.node)
                if value is not None and value.kind in ("array", "number"):
                    names.setdefault(slot.node.id, []).append(slot)
                number = _literal(slot.node)
                if isinstance(number, int) and not isinstance(number, bool):
                    numbers.setdefault(number, []).append(slot)
            for a, b in itertools.combinations(names, 2):
                changes = [(slot.place, ast.Name(b, ast.Load())) for slot in names[a]]
                changes += [(slot.place, ast.Name(a, ast.Load())) for slot in names[b]]
                yield self._over(group, "names exchanged", changes)
            for number, places in numbers.items():
                for other in (number + 1, number - 1) if len(places) > 1 else ():
                    yield self._over(group, "numbers changed", [(slot.place, _number(other)) for slot in places])
            if len(cuts) > 1:
                yield self._over(group, "slices dropped", [(slot.place, slot.node.value) for slot in cuts])

    def _over(self, group: list[Slot], operator: str, changes: list[tuple[Place, Any]]) -> Edit:
        return Edit(operator, self.function, tuple(changes), changes[0][0].get().lineno,
                    group[0].place if not group[0].above else group[0].above[0])

    def whole_statements(self) -> Iterator[Edit]:
        known = {argument.arg for argument in ast.walk(self.function.node) if isinstance(argument, ast.arg)}
        for place, statement in statements(self.function):
            again = False
            if isinstance(statement, ast.Assign):
                names = {part.id for target in statement.targets for part in ast.walk(target)
                         if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
                again = bool(names) and names <= known or any(
                    isinstance(target, (ast.Subscript, ast.Attribute)) for target in statement.targets)
                known |= names
            if again or isinstance(statement, (ast.AugAssign, ast.Expr, ast.If)):
                if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                    yield Edit("statement dropped", self.function, ((place, ast.Pass()),), statement.lineno, place)
            if isinstance(statement, ast.AugAssign):
                for kind in _BINARY.get(type(statement.op), ()):
                    yield Edit("another operation", self.function, ((Place(statement, "op"), kind()),),
                               statement.lineno, place)

    # -- what is not used, used ------------------------------------------------------------------------------

    def replaced(self, slot: Slot) -> Iterator[Edit]:
        """A value that is not used, in the place of an expression."""
        node = slot.node
        for atom in self.unused:
            if self._is_known(atom, slot):
                yield self.put("a value that is not used, in its place", slot, atom)
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            for atom in self.atoms:
                value = self._of_atom(atom)
                if value is not None and value.truth and self._is_known(atom, slot):
                    yield self.put("a value in its place", slot, atom)
        mapping = self._tree_of_names(node)
        if mapping is not None:
            yield self.put("a tree of new values", slot, mapping)

    def added(self, slot: Slot) -> Iterator[Edit]:
        """A value that is not used, joined to an expression."""
        if isinstance(slot.node, ast.Constant):
            return
        unused = [atom for atom in self.unused if self._is_known(atom, slot)]
        for atom in unused:
            yield from self._joined(slot, atom, True)
        arrays = [atom for atom in unused if isinstance(atom, ast.Name)]
        for a, b in itertools.combinations(arrays, 2):
            yield self.put("a term added", slot, ast.BinOp(slot.node, ast.Add(), ast.BinOp(a, ast.Mult(), b)))

    def _is_known(self, atom: Any, slot: Slot) -> bool:
        """Whether a value is there when an expression is computed."""
        name = atom.id if isinstance(atom, ast.Name) else atom.value.id
        return bool(self.assigned.get(name, 0) < slot.node.lineno)

    def _of_atom(self, atom: Any) -> Value | None:
        return self._value(atom) if isinstance(atom, ast.Name) else Value("array", (1,))

    def _tree_of_names(self, node: Any) -> Any:
        """In the place of a mapping, one of the variables that have the names of its entries."""
        value = self._value(node)
        if value is None or value.kind != "mapping" or not value.keys or not all(
                key in self.function.code.co_varnames for key in value.keys):
            return None
        return ast.Dict([ast.Constant(key) for key in value.keys], [ast.Name(key, ast.Load()) for key in value.keys])

    def _joined(self, slot: Slot, atom: Any, widened: bool) -> Iterator[Edit]:
        """A value joined to an expression."""
        node, value = slot.node, self._of_atom(atom)
        if value is None or value.kind == "mapping":
            return
        where = self._numpy("where")
        scalar = value.kind == "number" or value.shape == ()
        forms = [atom]
        if widened and not scalar:
            forms += [_expanded(atom, last) for last in ((True, False) if len(value.shape) > 1 else (True,))]
        for form in forms:
            if value.truth:
                for other in (0.0, -_LARGE) if where is not None else ():
                    yield self.put("values chosen", slot, ast.Call(where, [form, node, _number(other)], []))
            for operation in (ast.Sub, ast.Add, ast.Mult):
                yield self.put("a factor added" if operation is ast.Mult else "a term added", slot,
                               ast.BinOp(node, operation(), form))
            rest = ast.BinOp(ast.Constant(1), ast.Sub(), form)
            yield self.put("a factor added", slot, ast.BinOp(node, ast.Mult(), rest))
        yield self.put("a factor added", slot, ast.BinOp(node, ast.Div(), atom))
        if scalar:
            yield self.put("a factor added", slot, ast.BinOp(node, ast.Div(), rest))
            root = ast.BinOp(atom, ast.Pow(), ast.Constant(0.5))
            yield self.put("a factor added", slot, ast.BinOp(node, ast.Div(), root))

    @functools.cached_property
    def _modules(self) -> dict[str, ModuleType]:
        """The modules that the file has names for; NumPy, which does not know traced values, is the last."""
        space = {**self.function.around, **self.function.objects[0].__globals__}
        found = {alias: thing for alias, thing in space.items() if isinstance(thing, ModuleType)}
        return dict(sorted(found.items(), key=lambda pair: pair[1].__name__ == "numpy"))

    def _numpy(self, name: str) -> Any:
        """A function of the array library, by the name that the file has for the library; None if it has none."""
        for alias, module in self._modules.items():
            if hasattr(module, "einsum") and hasattr(module, name):
                return ast.Attribute(ast.Name(alias, ast.Load()), name, ast.Load())
        return None

    @functools.cached_property
    def _stop(self) -> Any:
        for alias, module in self._modules.items():
            if self.stop is not None and getattr(getattr(module, "lax", None), "stop_gradient", None) is self.stop:
                lax = ast.Attribute(ast.Name(alias, ast.Load()), "lax", ast.Load())
                return ast.Attribute(lax, "stop_gradient", ast.Load())
        return None

    def stopped(self, slot: Slot) -> Iterator[Edit]:
        """A stop_gradient around an expression."""
        if self._stop is not None and isinstance(slot.node, (ast.Name, ast.Subscript, ast.Call, ast.BinOp)):
            yield self.put("a stop_gradient added", slot, ast.Call(self._stop, [slot.node], []))

    # -- other names and numbers -----------------------------------------------------------------------------

    def renamed(self, slot: Slot) -> Iterator[Edit]:
        node, value = slot.node, self._value(slot.node)
        if isinstance(node, (ast.Tuple, ast.List)) and all(isinstance(part, ast.Constant) for part in node.elts):
            for name, other in self.function.values.items():  # some of the entries of a mapping, for all
                if other.kind == "mapping" and name in self.function.own_names:
                    yield self.put("another name", slot, ast.Name(name, ast.Load()))
        if value is None or slot.role == "callee":
            return
        for name, other in self.function.values.items():
            if name != node.id and other.kind == value.kind and value.kind in ("array", "number", "mapping") and (
                    name in self.function.own_names or value.kind == "number"):
                yield self.put("another name", slot, ast.Name(name, ast.Load()))

    def wrapped(self, slot: Slot) -> Iterator[Edit]:
        node = slot.node
        if slot.role != "value" or isinstance(node, ast.Constant) or self._is_module(node):
            return
        for name in _WRAPPED:
            function = self._numpy(name)
            if function is not None:
                yield self.put("a function around it", slot, ast.Call(function, [node], []))
        yield self.put("a transposition added", slot, ast.Attribute(node, "T", ast.Load()))
        yield self.put("the complement", slot, ast.BinOp(ast.Constant(1), ast.Sub(), node))
        for operation, number in ((ast.Add, 1), (ast.Sub, 1), (ast.Mult, 2), (ast.Div, 2), (ast.Pow, 2)):
            yield self.put("a number added", slot, ast.BinOp(node, operation(), ast.Constant(number)))

    def grid(self, slot: Slot) -> Iterator[Edit]:
        value = _literal(slot.node)
        if isinstance(value, float) and not (slot.above and _literal(slot.above[-1].get()) is not None):
            for other in _GRID:
                yield self.put("another number", slot, _number(other))

    def scaled(self, slot: Slot) -> Iterator[Edit]:
        """What a statement computes, times or by a number that has a name, or its root."""
        if slot.role != "value" or slot.above or isinstance(slot.node, ast.Constant):
            return
        for atom in self.atoms:
            value = self._of_atom(atom)
            if value is None or value.kind != "number" or value.truth or not self._is_known(atom, slot):
                continue
            for factor in (atom, ast.BinOp(atom, ast.Pow(), ast.Constant(0.5))):
                for operation in (ast.Mult, ast.Div):
                    yield self.put("a factor added", slot, ast.BinOp(slot.node, operation(), factor))

    def moved(self, slot: Slot) -> Iterator[Edit]:
        """A term moved out of a call, or into it."""
        node = slot.node
        if isinstance(node, ast.Call) and len(node.args) >= 1 and isinstance(node.args[0], ast.BinOp):
            inner = node.args[0]
            call = ast.Call(node.func, [inner.left, *node.args[1:]], node.keywords)
            yield self.put("a term moved out of a call", slot, ast.BinOp(call, inner.op, inner.right))
        if isinstance(node, ast.BinOp) and isinstance(node.left, ast.Call) and node.left.args:
            call = node.left
            inner = ast.BinOp(call.args[0], node.op, node.right)
            yield self.put("a term moved into a call", slot,
                           ast.Call(call.func, [inner, *call.args[1:]], call.keywords))

    # -- anything joined to anything -------------------------------------------------------------------------

    def inserted(self, slot: Slot) -> Iterator[Edit]:
        if isinstance(slot.node, ast.Constant):
            return
        for atom in self.atoms:
            if atom not in self.unused and self._is_known(atom, slot) and ast.dump(atom) != ast.dump(slot.node):
                yield from self._joined(slot, atom, False)


def _without(nodes: list[Any], i: int) -> list[Any]:
    return [*nodes[:i], *nodes[i + 1:]]


def _swapped(nodes: list[Any], i: int, j: int) -> list[Any]:
    found = list(nodes)
    found[i], found[j] = found[j], found[i]
    return found


def _literal(node: Any) -> Any:
    """The number of a literal, with its sign; None if it is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _literal(node.operand)
        return None if value is None or isinstance(value, bool) else -value
    return None


def _number(value: Any) -> Any:
    if isinstance(value, bool) or value >= 0:
        return ast.Constant(value)
    return ast.UnaryOp(ast.USub(), ast.Constant(-value))


def _expanded(atom: Any, last: bool) -> Any:
    """atom[..., None] or atom[:, None]."""
    index: list[ast.expr] = [ast.Constant(...) if last else ast.Slice(), ast.Constant(None)]
    return ast.Subscript(copy.deepcopy(atom), ast.Tuple(index, ast.Load()), ast.Load())


def _does_nothing(statement: ast.AST) -> bool:
    """Whether a statement gives a value another name, or contains an operation that changes nothing."""
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name):
        return True
    for part in ast.walk(statement):
        if isinstance(part, ast.BinOp):
            numbers = [_literal(side) for side in (part.left, part.right)]
            if (isinstance(part.op, (ast.Add, ast.Sub)) and 0 in numbers) or (
                    isinstance(part.op, (ast.Mult, ast.Div)) and (1 in numbers or 0 in numbers)):
                return True
    return False
