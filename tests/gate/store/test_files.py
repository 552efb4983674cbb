"""The store: what is written is read back, what is damaged is recognised, what is interrupted loses nothing."""

import errno
import json
import os

import numpy as np
import pytest

from pullback.gate.errors import UsageError
from pullback.gate.store import files
from pullback.gate.store.arrays import describe, pack, unpack
from pullback.gate.store.files import Store
from pullback.gate.values import Key, digest

ml_dtypes = pytest.importorskip("ml_dtypes")
LEAVES = {"f": np.array([[1.5, np.nan], [np.inf, -0.0]], "float32"), "half": np.arange(3).astype(ml_dtypes.bfloat16),
          "c": np.array([1 + 2j], "complex64"), "n": np.array(3, "int8"), "b": np.array([True, False]),
          "none": np.zeros((0, 2), "float64"), "int": 7, "float": 0.5, "bool": True, "complex": 1j,
          "key": Key(np.array([1, 2], "uint32"), "threefry2x32"),
          "keys": Key(np.ones((3, 2), "uint32"), "threefry2x32")}


def manifest(**rest):
    return {"arrays": {name: describe(leaf) for name, leaf in LEAVES.items()}, "reason": "why", **rest}


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "record")
    assert made.append(manifest(), LEAVES, {"loss: program": "a = b\nc", "loss: operations": "add\n"}) == 1
    return made


def test_every_kind_of_leaf_comes_back():
    found = unpack(pack(LEAVES), {name: describe(leaf) for name, leaf in LEAVES.items()})
    for name, leaf in LEAVES.items():
        assert type(found[name]) is type(leaf) and digest(found[name]) == digest(leaf), name
        assert getattr(found[name], "shape", ()) == getattr(leaf, "shape", ())
    assert str(found["half"].dtype) == "bfloat16" and found["key"].kind == "threefry2x32"


def test_a_revision_is_read_back(store):
    revision = store.read()
    assert revision.number == 1 and revision.manifest["reason"] == "why" and revision.manifest["previous"] == ""
    assert revision.programs == {"loss: program": "a = b\nc", "loss: operations": "add"}
    assert revision.arrays["float"] == 0.5
    text = (store.folder / "0001.json").read_text()
    assert json.loads(text)["schema"] == files.SCHEMA and len(text.splitlines()) > 50  # a line for each thing
    assert not [name for name in os.listdir(store.folder) if name.startswith(".")]


def test_revisions_are_added_and_chained(store):
    before = (store.folder / "0001.json").read_bytes()
    assert store.append(manifest(reason="other"), LEAVES, {}) == 2
    assert (store.folder / "0001.json").read_bytes() == before
    assert store.read().manifest["previous"] == store.read(1).manifest["digest"] and store.read(1).number == 1
    with pytest.raises(UsageError, match="has no revision 3; it has \\[1, 2\\]"):
        store.read(3)


def edit(pattern, change):
    def damage(folder):
        (path,) = folder.glob(pattern)
        path.write_bytes(change(path.read_bytes()))
    return damage


def reason_with_new_digest(data):
    """An edited manifest whose digest was made to fit; the next revision still knows the old one."""
    body = json.loads(data)
    body["reason"] = "nothing to see"
    body["digest"] = files._manifest_digest(body)
    return json.dumps(body).encode()


@pytest.mark.parametrize("damage, message", [
    (edit("0001.json", lambda data: data.replace(b"why", b"because")), "0001.json has been edited"),
    (edit("0001.json", lambda data: data[:-20]), "0001.json is no JSON"),
    (edit("0001.json", lambda data: data.replace(b"record-1", b"record-9")), "has the schema 'pullback-gate-record-9'"),
    (edit("0002-*.safetensors", lambda data: data[:-1]), r"0002-\w+.safetensors has \d+ bytes"),
    (edit("0002-*.safetensors", lambda data: data[:-1] + b"x"), r"0002-\w+.safetensors has been changed"),
    (edit("0002-*.txt", lambda data: data.replace(b"add", b"sub")), r"0002-\w+.txt has been changed"),
    (edit("0001.json", reason_with_new_digest), "0002.json does not follow the revision before it"),
    (lambda folder: os.unlink(next(folder.glob("0002-*.safetensors"))), r"0002-\w+.safetensors is missing"),
    (lambda folder: os.unlink(folder / "0001.json"), "revision 1 is missing"),
    (lambda folder: [os.unlink(folder / f"000{n}.json") for n in (1, 2)], "there is no record"),
])
def test_damage_is_recognised_and_nothing_is_added_to_it(store, damage, message):
    store.append(manifest(), LEAVES, {"loss: operations": "add"})
    damage(store.folder)
    with pytest.raises(UsageError, match=message) as error:
        store.read()
    assert "\n  fix: " in str(error.value)
    if store.numbers():
        before = sorted(os.listdir(store.folder))
        with pytest.raises(UsageError):
            store.append(manifest(), LEAVES, {})
        assert sorted(os.listdir(store.folder)) == before


@pytest.mark.parametrize("code, message", [(errno.ENOSPC, "No space left on device"), (errno.EROFS, "Read-only"),
                                           (errno.EACCES, "Permission denied")])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_write_that_fails_loses_nothing(store, monkeypatch, code, message, at):
    """A full disk, or a folder that cannot be written, at each of the three files."""
    calls = [0]
    original = os.fsync

    def fails(handle):
        calls[0] += 1
        if calls[0] == 2 * at - 1:  # the file itself, then its folder
            raise OSError(code, os.strerror(code))
        original(handle)

    monkeypatch.setattr(files.os, "fsync", fails)
    with pytest.raises(UsageError, match=f"cannot be written: {message}"):
        store.append(manifest(), LEAVES, {})
    monkeypatch.undo()
    assert store.numbers() == [1] and store.read().number == 1
    assert all(name.startswith("0001") for name in os.listdir(store.folder))
    assert store.append(manifest(), LEAVES, {}) == 2 and store.read().number == 2


def test_where_nothing_can_be_removed_either(store, monkeypatch):
    """A file system that becomes read-only in the middle."""
    def fails(*args, **kwargs):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(files.os, "fsync", fails)
    monkeypatch.setattr(files.Path, "unlink", fails)
    with pytest.raises(UsageError, match="cannot be written: Read-only file system"):
        store.append(manifest(), LEAVES, {})
    monkeypatch.undo()
    assert store.read().number == 1


def test_an_interrupted_write_loses_nothing(store, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "link", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.append(manifest(), LEAVES, {})
    monkeypatch.undo()
    assert store.read().number == 1 and store.append(manifest(), LEAVES, {}) == 2


@pytest.mark.parametrize("name", ["0002-", "0002.json"])
def test_two_processes_do_not_overwrite_each_other(store, monkeypatch, name):
    """The other one writes before the first of our files, or before the last."""
    original, raced = files.Store._write, []

    def write(self, file, data, replace):
        if file.startswith(name) and not raced:
            raced.append(file)
            Store(store.folder).append(manifest(reason="first"), LEAVES, {})
        original(self, file, data, replace)

    monkeypatch.setattr(files.Store, "_write", write)
    with pytest.raises(UsageError, match="revision 2 was written to .* by another process"):
        store.append({"arrays": {}, "reason": "second"}, {}, {})
    assert store.read(2).manifest["reason"] == "first"


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "record").write_text("")
    with pytest.raises(UsageError, match="cannot be read: Not a directory"):
        Store(tmp_path / "record").read()
