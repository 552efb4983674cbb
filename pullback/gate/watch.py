"""Watching the public functions of an engine while a model runs.

A Watch replaces random functions, stop_gradient, the functions without a useful derivative, custom rules and jit
by wrappers that note the user's line. Two kinds of call can also be changed, which is how a cause is proved rather
than guessed: a stop_gradient can be made the identity, and a custom rule replaced by the derivative of the function
itself. Wrappers of a watch that is not active pass calls through. A watch must be active when the model's file is
loaded, for names imported from a module to be the wrappers.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from pullback.gate.engine import Engine
from pullback.gate.plain import Plain
from pullback.gate.sites import Site, here, of_function

__all__ = ["ALL", "Event", "Rule", "Watch"]

ALL: frozenset[Site] = frozenset()  # in `changed`: every site

_FLAT = ("argmax", "argmin", "argsort", "round", "rint", "around", "floor", "ceil", "trunc", "fix", "sign",
         "searchsorted", "digitize", "floor_divide", "heaviside", "nonzero", "argpartition", "argwhere", "bincount",
         "isnan")
# Functions with a corner or a jump, and what says on which side of it an argument is.
_KINKS: dict[str, Callable[..., Any]] = {
    "numpy.abs": lambda x: x > 0, "numpy.absolute": lambda x: x > 0, "numpy.sign": np.sign, "numpy.round": np.round,
    "numpy.floor": np.floor, "numpy.ceil": np.ceil, "numpy.rint": np.rint, "numpy.maximum": np.greater,
    "numpy.minimum": np.greater, "lax.max": np.greater, "lax.min": np.greater, "lax.abs": lambda x: x > 0,
    "numpy.where": lambda chosen, *_: chosen, "lax.select": lambda chosen, *_: chosen,
    "numpy.clip": lambda x, low=None, high=None: np.clip(x, low, high) == x,
    "numpy.max": lambda x, axis=None, **_: np.argmax(x, axis),
    "numpy.min": lambda x, axis=None, **_: np.argmin(x, axis),
    "numpy.sort": lambda x, axis=-1, **_: np.argsort(x, axis), "nn.relu": lambda x: x > 0, "nn.relu6": lambda x: x > 0,
    "nn.leaky_relu": lambda x, *_: x > 0, "nn.elu": lambda x, *_: x > 0,
    "nn.hard_tanh": lambda x: np.clip(x, -1, 1) == x}
_FLAT_LAX = ("argmax", "argmin", "round", "floor", "ceil", "sign", "top_k")
_FACTORIES = ("normal", "uniform", "truncated_normal", "variance_scaling", "glorot_uniform", "glorot_normal",
              "lecun_uniform", "lecun_normal", "he_uniform", "he_normal", "kaiming_uniform", "kaiming_normal",
              "xavier_uniform", "xavier_normal", "orthogonal", "delta_orthogonal")


class Event(NamedTuple):
    """One call of a watched function.

    `words` are the keys it consumed; `detail` tells apart uses of one key that are different keys (fold_in), and the
    sides of a kink.
    """

    kind: str
    name: str
    site: Site | None
    words: tuple[bytes, ...] = ()
    detail: str = ""


@dataclasses.dataclass
class Rule:
    """A function with a custom rule: the function, its arguments that are not differentiated, the rule's parts by name.

    The parts are "jvp", or "jvps" (one for each argument), or "fwd" and "bwd".
    """

    function: Callable[..., Any]
    fixed: tuple[int, ...]
    parts: dict[str, Any] = dataclasses.field(default_factory=dict)


class Watch:
    """A context in which an engine's public functions are watched."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.active = False
        self.late = False  # the model was made before, so that not all of its calls are watched
        self.stops: set[Site] = set()
        self.rules: dict[Site, str] = {}  # where a function with a rule is defined -> what it is
        self.traces: list[Site | None] = []
        self.settings: dict[str, Site | None] = {}  # a setting of the engine -> where it was last changed
        self._events: list[Event] | None = None
        self._calls: dict[Site, tuple[Rule, Any, Any]] | None = None
        self.plain = Plain(engine)  # vmap, loops and checkpoints, which can be taken away
        self.jits: set[Site] = set()  # where functions that the user compiles are defined
        self._jit_off = False
        self._jit_kept: frozenset[Site] = frozenset()
        self._sides = False
        self._stops_off: frozenset[Site] | None = None
        self._rules_off: frozenset[Site] | None = None
        self._depth = threading.local()
        self._saved: list[tuple[ModuleType, str, Any]] = []
        self._counted: dict[Any, Callable[..., Any]] = {}

    # -- installing --------------------------------------------------------------------------------

    def __enter__(self) -> Watch:
        self.active = True
        random = self._module("random")
        for name in dir(random):
            function = getattr(random, name)
            if not name.startswith("_") and callable(function) and _first_parameter(function) == "key":
                self._replace(random, name, self._random)
        for name in ("key", "PRNGKey"):
            self._replace(random, name, self._noted("made"))
        for name in _FACTORIES:
            self._replace(self.engine.module("nn.initializers"), name, self._factory)
        self._replace(self._module("lax"), "stop_gradient", self._stop)
        for name in _FLAT:
            self._replace(self._module("numpy"), name, self._flat)
        for name in _FLAT_LAX:
            self._replace(self._module("lax"), name, self._flat)
        for place, side in _KINKS.items():
            part, _, name = place.partition(".")
            self._replace(self._module(part), name, functools.partial(self._kink, side))
        for name in ("custom_jvp", "custom_vjp"):
            self._replace(self._module(""), name, self._custom)
        self._replace(self._module(""), "jit", self._jit)
        self.plain.active = True
        for part, name, wrap in self.plain.places():
            self._replace(self.engine.module(part), name, wrap)
        self._before = self.engine.settings()
        self._watch_settings()
        return self

    def __exit__(self, *_: Any) -> None:
        self.active = self.plain.active = False
        for module, name, original in reversed(self._saved):
            setattr(module, name, original)
        self._saved.clear()
        config = self._module("").config
        if self._outer is None:
            object.__delattr__(config, "update")
        else:
            object.__setattr__(config, "update", self._outer)
        for name, value in self._before.items():
            if self.engine.setting(name) != value:
                self.engine.set(name, value)

    def _watch_settings(self) -> None:
        config = self._module("").config
        original, self._outer = config.update, vars(config).get("update")  # that of a watch around this one

        def update(name: str, value: Any) -> None:
            self.settings[name] = self._site()
            original(name, value)

        object.__setattr__(config, "update", update)  # pullback's has settings for attributes

    def _module(self, name: str) -> ModuleType:
        found = self.engine.module(name)
        assert found is not None, name
        return found

    def _replace(self, module: ModuleType | None, name: str, wrap: Callable[[Any, str], Any]) -> None:
        try:
            original = getattr(module, name)
        except Exception:  # the engine lacks it, and says so with an error of its own
            return
        assert module is not None
        self._saved.append((module, name, original))
        setattr(module, name, wrap(original, name))

    def _site(self) -> Site | None:
        return here(self.engine.folders)

    @contextmanager
    def _inside(self) -> Iterator[bool]:
        """Whether a call is the user's own, not one that another watched function makes."""
        depth = getattr(self._depth, "value", 0)
        self._depth.value = depth + 1
        try:
            yield depth == 0 and self.active
        finally:
            self._depth.value = depth

    # -- what is watched -----------------------------------------------------------------------------

    def _note(self, event: Event) -> None:
        if self._events is not None:
            self._events.append(event)

    def _noted(self, kind: str) -> Callable[[Any, str], Any]:
        def wrap(original: Any, name: str) -> Any:
            @functools.wraps(original)
            def watched(*args: Any, **kwargs: Any) -> Any:
                with self._inside() as outermost:
                    if outermost:
                        self._note(Event(kind, name, self._site()))
                    return original(*args, **kwargs)
            return watched
        return wrap

    def _random(self, original: Any, name: str) -> Any:
        @functools.wraps(original)
        def watched(*args: Any, **kwargs: Any) -> Any:
            with self._inside() as outermost:
                if outermost and self._events is not None:
                    key = args[0] if args else kwargs.get("key")
                    detail = ""
                    if name == "fold_in":
                        data = args[1] if len(args) > 1 else kwargs.get("data")
                        detail = "?" if self.engine.is_traced(data) else str(np.asarray(data))
                    self._consume(key, name, detail)
                    result = original(*args, **kwargs)
                    if name in ("split", "fold_in"):
                        self._consume(result, name, "", "derived")
                    return result
                return original(*args, **kwargs)
        return watched

    def _factory(self, original: Any, name: str) -> Any:
        """An initializer's factory: what it returns consumes a key."""
        @functools.wraps(original)
        def watched(*args: Any, **kwargs: Any) -> Any:
            made = original(*args, **kwargs)
            return self._random(made, name) if callable(made) else made
        return watched

    def _consume(self, key: Any, name: str, detail: str, kind: str = "random") -> None:
        site = self._site()
        words = self.engine.key_words(key)
        if words is None or not hasattr(words, "shape"):
            return

        def note(values: Any) -> None:
            values = np.asarray(values)
            rows = tuple(row.tobytes() for row in values.reshape(-1, values.shape[-1])) if values.ndim else ()
            self._note(Event(kind, name, site, rows, detail))

        if self.engine.is_traced(words):
            self._note(Event("traced", name, site))
            self.engine.callback(note, words)
        else:
            note(words)

    def _stop(self, original: Any, name: str) -> Any:
        @functools.wraps(original)
        def watched(x: Any) -> Any:
            if not self.active:
                return original(x)
            site = self._site()
            if site is not None:
                self.stops.add(site)
                if self._stops_off is not None and (not self._stops_off or site in self._stops_off):
                    return x
            self._note(Event("stop", name, site))
            return original(x)
        return watched

    def _flat(self, original: Any, name: str) -> Any:
        if inspect.isclass(original):
            return original

        @functools.wraps(original)
        def watched(*args: Any, **kwargs: Any) -> Any:
            if self._events is not None and any(self.engine.is_traced(x) for x in (*args, *kwargs.values())):
                with self._inside() as outermost:
                    if outermost:
                        self._note(Event("flat", name, self._site()))
                    return original(*args, **kwargs)
            return original(*args, **kwargs)
        return watched

    def _kink(self, side: Callable[..., Any], original: Any, name: str) -> Any:
        if inspect.isclass(original):
            return original

        @functools.wraps(original)
        def watched(*args: Any, **kwargs: Any) -> Any:
            if not self._sides:
                return original(*args, **kwargs)
            with self._inside() as outermost:
                if outermost and not any(map(self.engine.is_traced, (*args, *kwargs.values()))):
                    try:
                        sides = np.asarray(side(*(np.asarray(x) for x in args), **kwargs))
                    except Exception:  # called in a way that the side does not know
                        sides = np.zeros(())
                    self._note(Event("kink", name, self._site(), detail=f"{sides.shape}{sides.tobytes()!r}"))
                return original(*args, **kwargs)
        return watched

    def _custom(self, original: Any, name: str) -> Any:
        watch = self

        class Watched(original):  # type: ignore[misc]
            def __init__(self, fun: Any, *args: Any, **kwargs: Any) -> None:
                super().__init__(fun, *args, **kwargs)
                self._plain = fun
                self._rule = Rule(fun, tuple(kwargs.get("nondiff_argnums", args[0] if args else ())))

            def __call__(self, *args: Any, **kwargs: Any) -> Any:
                site = of_function(self._plain) if watch.active else None
                if site is not None:
                    watch.rules[site] = name
                    if watch._calls is not None:
                        watch._calls.setdefault(site, (self._rule, args, kwargs))
                    if watch._rules_off is not None and (not watch._rules_off or site in watch._rules_off):
                        return self._plain(*args, **kwargs)
                return super().__call__(*args, **kwargs)

            def _noted(self, define: str, parts: tuple[str, ...], *rules: Any, **options: Any) -> Any:
                """Passes a rule on; noted last, as one way to define it may use another."""
                result = getattr(super(), define)(*rules, **options)
                named = {part: options[part] for part in parts if part in options}
                self._rule.parts = dict(zip(parts, rules)) | named if parts else {"jvps": rules}
                return result

        def defining(define: str, *parts: str) -> None:
            if hasattr(original, define):
                def defined(self: Any, *rules: Any, **options: Any) -> Any:
                    return self._noted(define, parts, *rules, **options)
                setattr(Watched, define, functools.wraps(getattr(original, define))(defined))

        defining("defjvp", "jvp")
        defining("defjvps")
        defining("defvjp", "fwd", "bwd")
        Watched.__name__, Watched.__qualname__, Watched.__doc__ = name, name, original.__doc__
        return Watched

    def _jit(self, original: Any, name: str) -> Any:
        @functools.wraps(original)
        def watched(fun: Any = None, *args: Any, **kwargs: Any) -> Any:
            if fun is None:
                return lambda function: watched(function, *args, **kwargs)
            if not self.active or not callable(fun):
                return original(fun, *args, **kwargs)
            return _Compiled(self, fun, original(self.counted(fun), *args, **kwargs))
        return watched

    def counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function with its runs noted in `traces`; one for each function, so that caches by identity hold."""
        try:
            known = self._counted.get(function)
        except TypeError:  # not hashable
            return function
        if known is not None:
            return known
        site = of_function(function)

        @functools.wraps(function)
        def traced(*args: Any, **kwargs: Any) -> Any:
            if self.active:
                self.traces.append(site)
            return function(*args, **kwargs)

        self._counted[function] = traced
        return traced

    # -- using it -------------------------------------------------------------------------------------

    @contextmanager
    def recording(self, sides: bool = False) -> Iterator[list[Event]]:
        """Notes calls, in the list it gives; with `sides`, also of functions with kinks, and of which side they are."""
        before, self._events, self._sides = self._events, [], sides
        try:
            yield self._events
        finally:
            self._events, self._sides = before, False

    @contextmanager
    def calling(self) -> Iterator[dict[Site, tuple[Rule, Any, Any]]]:
        """Notes, for each function with a custom rule, the arguments of its first call."""
        before, self._calls = self._calls, {}
        try:
            yield self._calls
        finally:
            self._calls = before

    @contextmanager
    def eagerly(self, kept: frozenset[Site] = ALL) -> Iterator[None]:
        """Inside, the user's compiled functions but the kept run as written; the engine's own stay compiled."""
        before = self._jit_off, self._jit_kept
        self._jit_off, self._jit_kept = True, kept
        try:
            with self.engine.eager() if self.late else nullcontext():
                yield
        finally:
            self._jit_off, self._jit_kept = before

    @contextmanager
    def changed(self, stops: frozenset[Site] | None = None, rules: frozenset[Site] | None = None, forget: bool = True
                ) -> Iterator[None]:
        """Inside, the stop_gradients at the given sites are the identity, and custom rules at theirs are not used.

        Programs traced before are dropped on the way in and out, if there is anything to change; but not without
        `forget`, for what runs as written and traced anew, as inside `Plain.without`.
        """
        there = forget and ((stops is not None and self.stops) or (rules is not None and self.rules))
        before = self._stops_off, self._rules_off
        self._stops_off, self._rules_off = stops, rules
        if there:
            self.engine.forget()
        try:
            yield
        finally:
            self._stops_off, self._rules_off = before
            if there:
                self.engine.forget()


class _Compiled:
    """A function that the user compiled, which can be told to run as it is written."""

    def __init__(self, watch: Watch, function: Callable[..., Any], compiled: Any) -> None:
        functools.update_wrapper(self, function)
        self._watch, self._function, self._compiled = watch, function, compiled
        self._site = of_function(function)
        if self._site is not None:
            watch.jits.add(self._site)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        as_written = self._watch._jit_off and self._site not in self._watch._jit_kept
        return (self._function if as_written else self._compiled)(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)


def _first_parameter(function: Any) -> str:
    try:
        return next(iter(inspect.signature(function).parameters), "")
    except (TypeError, ValueError):
        return ""
