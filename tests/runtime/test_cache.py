"""The cache of compiled programs: bounded, shared by processes, and never trusted."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from pullback.runtime import cache, pjrt

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PULLBACK_CACHE", str(tmp_path / "programs"))
    monkeypatch.delenv("PULLBACK_CACHE_BYTES", raising=False)
    return tmp_path / "programs"


def counted(name):
    return cache.statistics()[name]


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_is_stored_is_loaded(folder):
    blob = os.urandom(1000) + b"0" * 100_000
    misses, hits = counted("misses"), counted("hits")
    assert cache.load("a" * 64) is None
    cache.store("a" * 64, blob)
    assert cache.load("a" * 64) == blob
    assert cache.load("b" * 64) is None
    assert (counted("misses") - misses, counted("hits") - hits) == (2, 1)
    found = cache.statistics()
    assert found["directory"] == str(folder) and found["entries"] == 1
    assert 1000 < found["bytes"] < 3000  # compressed
    assert folder.stat().st_mode & 0o777 == 0o700


def test_an_empty_value_is_a_value(folder):
    cache.store("e", b"")
    assert cache.load("e") == b""


def test_off(monkeypatch, tmp_path):
    monkeypatch.setenv("PULLBACK_CACHE", "off")
    monkeypatch.chdir(tmp_path)
    cache.store("a", b"blob")
    assert cache.load("a") is None
    assert cache.statistics()["directory"] is None and files(tmp_path) == []


def test_the_default_is_in_the_home_directory(monkeypatch, tmp_path):
    monkeypatch.delenv("PULLBACK_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    cache.store("a", b"blob")
    assert files(tmp_path / ".cache" / "pullback") == ["a.xla"]


@pytest.mark.parametrize("damage", [
    lambda data: data[:-1], lambda data: data + b"x", lambda data: b"", lambda data: data[:10],
    lambda data: data[:-3] + bytes([data[-3] ^ 1]) + data[-2:], lambda data: b"P" + data[1:],
], ids=["cut", "longer", "empty", "head", "flipped", "other format"])
def test_a_damaged_entry_is_a_miss_and_is_replaced(folder, damage):
    cache.store("a", b"blob" * 50)
    path = folder / "a.xla"
    path.write_bytes(damage(path.read_bytes()))
    before = counted("corrupt")
    assert cache.load("a") is None
    assert counted("corrupt") == before + 1
    cache.store("a", b"other")
    assert cache.load("a") == b"other"


def test_the_size_is_bounded_and_the_longest_unused_goes_first(folder, monkeypatch):
    monkeypatch.setenv("PULLBACK_CACHE_BYTES", "12000")
    dropped = counted("dropped")
    for i in range(8):
        cache.store(f"entry{i}", os.urandom(1000))
        when = time.time() - 1000 + i
        os.utime(folder / f"entry{i}.xla", (when, when))
    assert cache.statistics()["entries"] == 8
    assert cache.load("entry0") is not None  # used just now
    for i in range(8, 40):
        cache.store(f"entry{i}", os.urandom(1000))
        assert cache.statistics()["bytes"] <= 12000
        assert cache.load("entry0") is not None
    assert cache.load("entry1") is None and cache.load("entry39") is not None
    assert counted("dropped") - dropped == 40 - cache.statistics()["entries"]


def test_what_is_larger_than_the_bound_is_not_stored(folder, monkeypatch):
    cache.store("small", b"blob")
    monkeypatch.setenv("PULLBACK_CACHE_BYTES", "1000")
    before = counted("too_large")
    cache.store("large", os.urandom(2000))
    assert files(folder) == ["small.xla"] and counted("too_large") == before + 1


def test_the_bound_must_be_a_number(folder, monkeypatch):
    monkeypatch.setenv("PULLBACK_CACHE_BYTES", "1G")
    with pytest.raises(ValueError, match="got '1G', a count of bytes is required"):
        cache.store("a", b"blob")


def test_what_dead_writers_left_goes(folder):
    folder.mkdir(mode=0o700)
    for name, age in (("old", 7200), ("new", 10)):
        path = folder / f".writing-{name}"
        path.write_bytes(b"half")
        os.utime(path, (time.time() - age, time.time() - age))
    cache.store("a", b"blob")
    assert files(folder) == [".writing-new", "a.xla"]


def test_a_directory_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PULLBACK_CACHE", str(tmp_path / "file" / "below"))
    before = counted("errors")
    cache.store("a", b"blob")
    assert cache.load("a") is None
    assert counted("errors") > before
    assert cache.statistics()["entries"] == 0


def test_a_directory_that_all_may_write_is_refused(folder):
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.warns(UserWarning, match="writable by all"):
        cache.store("a", b"blob")
    assert files(folder) == [] and cache.load("a") is None  # and says so only once


def test_processes_may_share_a_directory(folder):
    code = """
import hashlib, sys
from pullback.runtime import cache
def content(i):
    return hashlib.sha256(str(i).encode()).digest() * 200
wrong = 0
for round in range(30):
    for i in range(10):
        cache.store(f"k{i}", content(i))
        found = cache.load(f"k{(i + 3) % 10}")
        wrong += found is not None and found != content((i + 3) % 10)
counts = cache.statistics()
print(wrong, counts["corrupt"], counts["errors"])
"""
    environment = {**os.environ, "PULLBACK_CACHE_BYTES": "900"}  # entries are dropped all the time
    writers = [subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    for writer in writers:
        output, errors = writer.communicate(timeout=120)
        assert (output.strip(), errors, writer.returncode) == ("0 0 0", "", 0)
    assert all(name.endswith(".xla") for name in files(folder))


def test_the_key_holds_all_that_matters():
    keys = [cache.key("text", None), cache.key("text2", None), cache.key("text", {"a": 1}),
            cache.key("text", {"a": "1"}), cache.key("text", {"a": 1, "b": 2}),
            cache.key("text", None, n_devices=2)]
    assert len(set(keys)) == len(keys)
    assert all(len(key) == 64 and key.isalnum() for key in keys)
    assert cache.key("text", {}) == cache.key("text", None) == keys[0]
    assert cache.key("text", {"b": 2, "a": 1}) == keys[4]


def test_the_key_depends_on_the_installation(monkeypatch):
    before = cache.key("text", None)
    parts = pjrt.cache_key_parts()
    for i in range(len(parts)):
        changed = (*parts[:i], parts[i] + " other", *parts[i + 1:])
        monkeypatch.setattr(cache, "cache_key_parts", lambda changed=changed: changed)
        assert cache.key("text", None) != before


def test_a_program_comes_back_from_disk_in_another_process(folder):
    text = """module { func.func public @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %0 = stablehlo.multiply %x, %x : tensor<3xf32>  return %0 : tensor<3xf32> } }"""
    types = [((3,), np.float32)]
    key = cache.key(text, None)
    cache.store(key, pjrt.compile(text, types).serialize())
    code = f"""
import numpy as np
from pullback.runtime import cache, pjrt
blob = cache.load(cache.key({text!r}, None))
program = pjrt.deserialize(blob, [((3,), np.float32)])
print(pjrt.to_numpy(program([pjrt.put(np.arange(3, dtype=np.float32), copy=True)])[0]).tolist())
"""
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True,
                            timeout=120)
    assert (result.stdout.strip(), result.stderr) == ("[0.0, 1.0, 4.0]", "")
