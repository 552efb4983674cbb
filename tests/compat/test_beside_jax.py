"""pullback and real jax in one process, imported in either order: each does what it does alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

JAX = """
def check_jax():
    import collections, numpy as np, jax, jax.numpy as jnp
    assert jax.jit(jax.vmap(jax.grad(lambda x: jnp.sin(x) ** 2)))(jnp.arange(3.0)).dtype == np.float32
    assert jnp.arange(3).dtype == np.int32 and not jax.config.jax_enable_x64
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        assert jnp.arange(3.0).dtype == np.float64
    assert jnp.arange(3.0).dtype == np.float32
    assert repr(jnp.array([1.0, 2.0])) == "Array([1., 2.], dtype=float32)"
    assert "lambda" in str(jax.make_jaxpr(jnp.sin)(1.0))
    class Node(tuple):
        pass
    jax.tree_util.register_pytree_node(Node, lambda n: (tuple(n), None), lambda _, c: Node(c))
    assert jax.tree.leaves(Node((1, 2))) == [1, 2]
    assert jax.tree.leaves(collections.OrderedDict(b=1, a=2)) == [1, 2]
    assert float(jax.random.normal(jax.random.key(0))) == float(jax.random.normal(jax.random.key(0)))
    assert len(jax.devices()) == 1 and isinstance(jnp.ones(2), jax.Array)
    assert type(jnp.ones(2) * np.float32(2)).__module__.startswith("jax")
    return Node
"""

PULLBACK = """
def check_pullback():
    import numpy as np, pullback, pullback.numpy as jnp
    f = lambda x: jnp.sin(x) ** 2
    assert pullback.jit(pullback.vmap(pullback.grad(f)))(jnp.arange(3.0)).dtype == np.float32
    with pullback.enable_x64(True):
        assert jnp.arange(3.0).dtype == np.float64
        assert pullback.jit(f)(jnp.arange(3.0)).dtype == np.float64
    assert repr(jnp.array([1.0, 2.0])) == "Array([1., 2.], dtype=float32)"
    assert pullback.jit(lambda k: pullback.random.normal(k, (3,)))(pullback.random.key(1)).shape == (3,)
"""

TOGETHER = """
def check_together(Node):
    import numpy as np, jax, jax.numpy, pullback, pullback.numpy
    assert pullback.tree.leaves(Node((1, 2))) == [(1, 2)]  # registered with jax, not with pullback
    ours, theirs = pullback.numpy.arange(3.0), jax.numpy.arange(3.0)
    assert not isinstance(ours, jax.Array) and not isinstance(theirs, pullback.Array)
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
    with pullback.enable_x64(True):
        assert jax.numpy.arange(3.0).dtype == np.float32
    pullback.config.update("jax_enable_x64", True)
    assert jax.numpy.ones(1).dtype == np.float32 and pullback.numpy.ones(1).dtype == np.float64
    pullback.config.update("jax_enable_x64", False)
    import jax.core
    assert "pullback" not in jax.core.__file__
"""

ORDERS = {
    "jax first": "import jax, pullback\nn = check_jax()\ncheck_pullback()\ncheck_together(n)\ncheck_jax()",
    "pullback first": "import pullback, jax\ncheck_pullback()\nn = check_jax()\ncheck_together(n)\ncheck_pullback()",
    "pullback used before jax is imported": "check_pullback()\nimport sys\nassert 'jax' not in sys.modules\n"
                                            "n = check_jax()\ncheck_together(n)\ncheck_pullback()\ncheck_jax()",
}


@pytest.mark.parametrize("order", ORDERS)
def test_orders(order):
    code = JAX + PULLBACK + TOGETHER + ORDERS[order] + "\nprint('both')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"})
    assert done.stdout == "both\n", done.stderr
