"""All names with their calls: from the tables, namespace by namespace."""

from __future__ import annotations

import importlib
import inspect
import re

from tests.names import cases
from tests.names import table_lax as lax
from tests.names import table_numpy as numpy
from tests.names import table_scipy as scipy

# namespace: how a call names it, and its table
TABLES = {
    "jax.numpy": ("jnp", numpy.NUMPY), "jax.numpy.linalg": ("jnp.linalg", numpy.LINALG),
    "jax.numpy.fft": ("jnp.fft", numpy.FFT), "jax.lax": ("lax", lax.LAX),
    "jax.lax.linalg": ("lax.linalg", lax.LAX_LINALG),
    "jax.nn": ("nn", lax.NN), "jax.nn.initializers": ("nn.initializers", lax.INITIALIZERS),
    "jax.random": ("random", lax.RANDOM), "jax.tree": ("tree", scipy.TREE),
    "jax.tree_util": ("tree_util", scipy.TREE_UTIL), "jax.scipy.special": ("scipy.special", scipy.SPECIAL),
    "jax.scipy.linalg": ("scipy.linalg", scipy.SCIPY_LINALG), "jax.scipy.stats": ("scipy.stats", scipy.STATS),
    "jax.scipy.signal": ("scipy.signal", scipy.SIGNAL), "jax.scipy.ndimage": ("scipy.ndimage", scipy.NDIMAGE),
    "jax.scipy.fft": ("scipy.fft", scipy.SCIPY_FFT), "jax.scipy.cluster.vq": ("scipy.cluster.vq", scipy.VQ),
    "jax.scipy.integrate": ("scipy.integrate", scipy.INTEGRATE),
    "jax.scipy.interpolate": ("scipy.interpolate", scipy.INTERPOLATE),
    "jax.scipy.optimize": ("scipy.optimize", scipy.OPTIMIZE),
    "jax.scipy.spatial.transform": ("scipy.spatial.transform", ""),
    "jax.scipy.sparse.linalg": ("scipy.sparse.linalg", scipy.SPARSE), "jax.ops": ("ops", scipy.OPS),
    "jax.image": ("image", scipy.IMAGE),
}
DISTRIBUTIONS = {f"jax.scipy.stats.{name}": name for name in scipy.DISTRIBUTIONS}

_NO_CALL = "no function: a constant, an abstract class or an object, tested where it is defined"
_FILES = "reads or writes a file"
_MAPPED = "over a mapped axis: tests/api and tests/ops"
WITHOUT = {
    "jax.numpy": {**dict.fromkeys((
        "ComplexWarning c_ character complexfloating e euler_gamma flexible floating generic index_exp inexact inf "
        "integer mgrid nan ndarray newaxis number object_ ogrid pi r_ s_ signedinteger unsignedinteger"
        ).split(), _NO_CALL),
        **dict.fromkeys("fromfile load save savez".split(), _FILES),
        "set_printoptions": "changes the state of the process"},
    "jax.lax": {**dict.fromkeys((
        "AccuracyMode DotAlgorithm DotDimensionNumbers GatherDimensionNumbers PrecisionLike RaggedDotDimensionNumbers "
        "ScatterDimensionNumbers Tolerance").split(), _NO_CALL),
        **dict.fromkeys((
            "all_gather all_to_all pbroadcast pcast pmax pmean pmin ppermute precv psend pshuffle psum psum_scatter "
            "pswapaxes ragged_all_to_all").split(), _MAPPED)},
    "jax.lax.linalg": dict.fromkeys("EigImplementation EighImplementation SvdAlgorithm".split(), _NO_CALL),
    "jax.nn": {"get_scaled_dot_general_config": "makes the argument of scaled_dot_general: tests/nn/test_scaled.py",
               "scaled_dot_general": "needs a configuration: tests/nn/test_scaled.py"},
    "jax.nn.initializers": {"Initializer": _NO_CALL},
    "jax.tree": {"static": "marks fields of a dataclass: tests/core/test_nodes.py"},
    "jax.tree_util": dict.fromkeys("KeyEntry KeyPath PyTreeDef default_registry".split(), _NO_CALL),
    "jax.scipy.optimize": {"OptimizeResults": "the result of minimize"},
    "jax.scipy.spatial.transform": {"Slerp": "takes rotations: tests/scipy/test_rotation.py",
                                    "Rotation": "made by class methods: tests/scipy/test_rotation.py"},
}


def public(namespace):
    """The names of a namespace that count, as scripts/compat counts them."""
    module = importlib.import_module(namespace)
    return [n for n in dir(module) if not n.startswith("_") and not n.endswith("_p")
            and not inspect.ismodule(getattr(module, n, None)) and not n.startswith("jax2tf")]


def lines(namespace):
    """{name: argument lists} of a namespace."""
    found = {}
    if namespace in DISTRIBUTIONS:
        distribution = DISTRIBUTIONS[namespace]
        for name in public(namespace):
            text = scipy.DISTRIBUTIONS[distribution]
            if name == "entropy":
                text = scipy.ENTROPY[distribution]
            elif name in scipy.QUANTILES:
                first, *rest = text.split(" | ")[0].split(", ")
                text = ", ".join([scipy.QUANTILES[name], *rest])
            found[name] = text.split(" | ")
        return found
    for line in re.sub(r"\n +", " ", TABLES[namespace][1]).strip().splitlines():
        names, _, text = line.partition(":")
        for name in names.split():
            found.setdefault(name, []).extend(part.strip() for part in re.split(r" \|(?= |$)", text))
    return found


NAMESPACES = (*TABLES, *DISTRIBUTIONS)


def calls(namespace, name, wide=False):
    """The cases of one name."""
    function = getattr(importlib.import_module(namespace), name)
    prefix = TABLES[namespace][0] if namespace in TABLES else f"scipy.stats.{DISTRIBUTIONS[namespace]}"
    found = cases.calls(f"{prefix}.{name}", lines(namespace)[name], function, wide)
    if namespace == "jax.nn.initializers" and name not in ("zeros", "ones") and not wide:
        found += [f"{call}({cases.expanded(shape)})" for call in found[:1] for shape in lax.INITIALIZED_SHAPES]
    return found


def specified():
    """Every (namespace, name) that has calls."""
    return [(namespace, name) for namespace in NAMESPACES
            for name in public(namespace) if name in lines(namespace)]
