"""Models in sessions, for the tests of record, compare and diagnose: in this process, under pullback."""

import contextlib
import linecache
import types

from pullback.gate.diagnose import diagnose
from pullback.gate.diagnose.side import LocalSide
from pullback.gate.engine import load
from pullback.gate.session import Session
from pullback.gate.watch import Watch


@contextlib.contextmanager
def sessions(*builds, engine="pullback"):
    """A session for each function that makes a model of the engine's module."""
    loaded = load(engine)
    with Watch(loaded) as watch:
        yield [Session(build(loaded.module("")), loaded, watch) for build in builds]


def from_text(text, folder, name="model"):
    """The function `build` of a file with this text."""
    path = folder / f"{name}.py"
    path.write_text(text)
    linecache.checkcache(str(path))  # a test may write one name twice
    module = types.ModuleType(name)
    module.__file__ = str(path)
    # Not imported: what Python keeps compiled counts as fresh if the file has the same size and second.
    exec(compile(text, path, "exec"), vars(module))
    return module.build


def diagnosed(good, bad, precision="", engine="pullback"):
    """The diagnosis of two models; a precision for the second says that dtypes may differ."""
    with sessions(good, bad, engine=engine) as (one, other):
        return diagnose(LocalSide(one, "good"), LocalSide(other, "bad", precision), dtypes=not precision)
