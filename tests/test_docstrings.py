"""Every public function has a docstring, and the examples in docstrings run and print what they say."""

from __future__ import annotations

import contextlib
import dataclasses
import doctest
import inspect
import io
import pkgutil
import sys
import types
import warnings

import numpy as np
import pytest

import pullback

NAMESPACES = sorted({"pullback"} | {
    f"pullback.{name}" for name in (
        "numpy", "numpy.linalg", "numpy.fft", "lax", "lax.linalg", "random", "nn", "nn.initializers", "tree",
        "tree_util",
        "scipy.special", "scipy.linalg", "scipy.stats", "scipy.signal", "scipy.fft", "scipy.ndimage", "scipy.optimize",
        "scipy.integrate", "scipy.interpolate", "scipy.sparse.linalg", "scipy.cluster.vq", "scipy.spatial.transform",
        "ops", "image", "dlpack", "debug", "flatten_util", "custom_batching", "experimental.ode", "experimental.jet",
        "experimental.checkify")})
# Modules for libraries more than for their users: not every function has an example; those that are there run.
FOR_LIBRARIES = [f"pullback.{name}" for name in (
    "api_util", "example_libraries.optimizers", "example_libraries.stax", "experimental.layout",
    "experimental.mesh_utils", "experimental.multihost_utils", "experimental.sparse", "extend.linear_util",
    "monitoring", "profiler", "sharding", "test_util")]


def module(name: str) -> types.ModuleType:
    return pkgutil.resolve_name(name)


def documented(name: str):
    """The public objects of a namespace that pullback itself defines."""
    space = module(name)
    for public in sorted(getattr(space, "__all__", None) or dir(space)):
        if public.startswith("_"):
            continue
        found = getattr(space, public)
        where = getattr(found, "__module__", None) or ""
        if callable(found) and where.startswith("pullback"):
            yield public, found


def globals_for_examples() -> dict[str, object]:
    names = {name: getattr(pullback, name) for name in dir(pullback) if not name.startswith("_")}
    return {**names, "pullback": pullback, "jax": pullback, "jnp": pullback.numpy, "np": np, "lax": pullback.lax,
            "dataclasses": dataclasses, "random": pullback.random, "nn": pullback.nn, "tree": pullback.tree,
            "jsp": pullback.scipy}


CHECKER, FLAGS = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run(text: str, name: str, space: dict[str, object]) -> list[str]:
    """Runs the examples of a docstring; returns what went wrong."""
    wrong = []
    for example in doctest.DocTestParser().get_examples(text):
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(compile(example.source, f"<example of {name}>", "single"), space)
        except Exception as error:
            if example.exc_msg is None or not CHECKER.check_output(
                    example.exc_msg.split(":")[0], type(error).__name__, FLAGS):
                wrong.append(f"{name}: {example.source.strip()} raised {type(error).__name__}: {error}")
            continue
        if example.want and not CHECKER.check_output(example.want, out.getvalue(), FLAGS):
            wrong.append(f"{name}: {example.source.strip()}\n  says   {example.want.strip()}\n"
                         f"  prints {out.getvalue().strip()}")
    return wrong


@pytest.mark.parametrize("name", NAMESPACES + FOR_LIBRARIES)
def test_examples_in_docstrings(name):
    common, wrong, seen = globals_for_examples(), [], set()
    for public, found in documented(name):
        text = inspect.getdoc(found)
        if id(found) in seen or not text:
            continue
        seen.add(id(found))
        # An example may use its own module's names, and the function by the name it was defined with.
        space = {**vars(sys.modules[found.__module__]), **common, getattr(found, "__name__", public): found,
                 public: found}
        if name.endswith("checkify"):  # where one writes checkify.checkify
            space["checkify"] = module(name)
        wrong += run(text, f"{name}.{public}", space)
    assert not wrong, "\n".join(wrong)


# Functions whose docstring has no example, and why it has none.
WITHOUT = {
    "it would wait for input": {"breakpoint"},
    "it is about files": {"fromfile", "load", "save", "savez"},
    "it would change the registry of all tests": {
        "register_pytree_node", "register_pytree_node_class", "register_pytree_with_keys",
        "register_pytree_with_keys_class", "register_static"},
    "what it shows goes to a log, a terminal or another device": {
        "log", "print", "visualize_array_sharding", "get_mesh", "make_array_from_process_local_data",
        "make_array_from_single_device_arrays"},
    "a context shows nothing by itself; docs/debugging.md has examples": {
        "eval_context", "named_scope", "debug_check", "check_error"},
    "it is for one engine's insides": {"stage", "ragged_dot_general", "igamma_grad_a", "random_gamma_grad"},
}


@pytest.mark.parametrize("name", NAMESPACES)
def test_nothing_is_undocumented(name):
    """Every function has a docstring with an example; settings have a docstring."""
    exempt = set().union(*WITHOUT.values())
    texts = {public: (found, inspect.getdoc(found) or "") for public, found in documented(name)}
    without = [public for public, (found, text) in texts.items() if not text or ">>>" not in text and not (
        isinstance(found, type) or public in exempt or type(found).__name__ in ("Setting", "_OneWay"))]
    assert not without, f"{name}: without a docstring or an example: {', '.join(without)}"
