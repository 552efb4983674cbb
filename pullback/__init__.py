"""pullback: arrays, automatic differentiation and program transformations with JAX's interface, on XLA.

Names are loaded on first use, so that `import pullback` costs little more than NumPy.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

# Read when jaxlib is loaded, which the pytree registry does: keeps its client from writing to stderr.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

__version__ = "0.1.0"

# Public name -> module that defines it.
_NAMES: dict[str, str] = {
    name: f"pullback.{module}" for module, names in {
        "api.ad": "fwd_and_bwd grad hessian jacfwd jacobian jacrev jvp linear_transpose linearize value_and_grad vjp",
        "api.batch": "vmap",
        "api.devices": "pmap shard_map",
        "api.checkpoint": "checkpoint checkpoint_policies remat residuals",
        "api.custom": "closure_convert custom_gradient custom_jvp custom_vjp",
        "api.environment": "default_device host_id host_ids legacy_prng_key live_arrays "
                           "make_array_from_callback make_array_from_process_local_data "
                           "make_array_from_single_device_arrays print_environment_info process_indices "
                           "softmax_custom_jvp transfer_guard transfer_guard_device_to_device "
                           "transfer_guard_device_to_host transfer_guard_host_to_device typeof",
        "api.flow": "gradient_flow",
        "api.host": "effects_barrier pure_callback",
        "api.inspect": "ensure_compile_time_eval eval_shape make_jaxpr named_call named_scope",
        "api.jit": "jit",
        "api.settings": "check_bounds check_tracer_leaks checking_leaks clear_caches config debug_infs "
                        "debug_key_reuse debug_nans default_matmul_precision default_prng_impl disable_jit "
                        "enable_checks enable_custom_prng enable_x64 explain_cache_misses log_compiles no_tracing "
                        "numpy_dtype_promotion numpy_rank_promotion strong_zeros threefry_partitionable",
        "experimental.sparsity": "jacobian_pattern sparse_hessian sparse_jacobian",
        "api.stages": "ShapeDtypeStruct",
        "core.array": "Array",
        "core.dtypes": "float0",
        "runtime.device": "block_until_ready copy_to_host_async default_backend device_count device_get device_put "
                          "devices host_count local_device_count local_devices process_count process_index",
        "runtime.pjrt": "Device",
        "runtime.sharding": "NamedSharding P Shard get_abstract_mesh get_mesh make_mesh set_mesh",
        "sharding": "reshard",
        "lax.loops": "while_loop",
        "numpy.positions": "ds",
    }.items() for name in names.split()
}
_MODULES = set("ad_checkpoint api api_util compat core custom_batching custom_derivatives debug dlpack dtypes "
               "errors example_libraries experimental extend flatten_util gate image interpreters lax monitoring "
               "nn numpy ops profiler random scipy sharding stages test_util tree tree_util typing".split())
_LIGHT = set("api compat core dtypes errors gate tree tree_util typing".split())  # run no operations
_ready = False


def _load_engine() -> None:
    """Joins what must know of one another once anything runs: the base trace, and the methods of Arrays."""
    global _ready
    if not _ready:
        _ready = True
        importlib.import_module("pullback.runtime.eager")
        importlib.import_module("pullback.numpy")


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        _load_engine()
        found = getattr(importlib.import_module(_NAMES[name]), name)
        globals()[name] = found
        return found
    if name in _MODULES:
        if name not in _LIGHT:
            _load_engine()
        return importlib.import_module(f"pullback.{name}")
    from pullback.core import errors
    raise errors.unsupported(f"pullback.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES, *_MODULES})
