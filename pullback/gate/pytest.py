"""The plugin for pytest: each check of a model is a test.

    pytest --pullback model.py

or, in a test file,

    @pytest.mark.gate("model.py", engine="jax")
    def test_model(gate_check):
        gate_check()

pytest loads this module in every run, so it imports nothing; what does the work is loaded when there is some, and an
engine only in the process that a model is checked in. PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

__all__ = ["gate_check", "pytest_addoption", "pytest_configure", "pytest_generate_tests",
           "pytest_pycollect_makemodule"]

_ITEMS = "pullback.gate.items"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("pullback", "the verification gate")
    group.addoption("--pullback", action="append", default=[], metavar="TARGET",
                    help="check this model, file.py or file.py:model, each check a test; may be repeated. Without "
                    "paths to tests nothing else is run")
    group.addoption("--pullback-engine", default="pullback", choices=("pullback", "jax"),
                    help="what runs it (default: %(default)s)")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gate(target, engine='pullback', only=()): the checks of the model are the "
                            "cases of this test, which calls its fixture gate_check")
    if config.option.pullback:
        given = config.args if config.args_source is pytest.Config.ArgsSource.ARGS else []
        config.args = [*given, *(path for path in _targets(config) if path not in given)]


def _loaded(config: pytest.Config) -> Any:
    config.pluginmanager.import_plugin(_ITEMS)
    return config.pluginmanager.get_plugin(_ITEMS)


def _targets(config: pytest.Config) -> dict[str, list[str]]:
    """The models that are asked for, by their files."""
    found: dict[str, list[str]] = {}
    for target in config.option.pullback:
        found.setdefault(target.partition(":")[0], []).append(target)
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> Any:
    """A file with a model has the checks for tests, and is not imported here."""
    for path, targets in _targets(parent.config).items():
        if module_path == parent.config.invocation_params.dir / path:
            return _loaded(parent.config).File.from_parent(parent, path=module_path, targets=targets)
    return None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "gate_check" in metafunc.fixturenames:
        _loaded(metafunc.config).parametrize(metafunc)


@pytest.fixture
def gate_check(request: pytest.FixtureRequest) -> Callable[[], None]:
    """A function that fails if the check of this case does."""
    run, check = request.param
    return lambda: _loaded(request.config).judge(run.result(request.config, check))
