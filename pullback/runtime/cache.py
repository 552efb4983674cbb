"""Compiled programs kept on disk, so that the next process need not compile them again.

The environment variable PULLBACK_CACHE names the directory (default ~/.cache/pullback), or is "off";
PULLBACK_CACHE_BYTES bounds its size (default 1 GiB). One file per program, written under another name and
then renamed, with a checksum inside: processes may share the directory, and a damaged file is a miss. No
failure to read or write reaches the caller: the cache then merely misses.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import threading
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pullback.runtime.pjrt import cache_key_parts

__all__ = ["key", "load", "statistics", "store"]

_MAGIC = b"pullback executable 1\n"
_SUFFIX = ".xla"
_TEMPORARY = ".writing-"
_DEFAULT_BYTES = 1 << 30
_STORES_PER_SCAN = 16  # other processes write too: look again at the whole directory after so many stores
_ABANDONED_SECONDS = 3600.0  # a temporary file this old belongs to a process that died

_lock = threading.Lock()
_counts: Counter[str] = Counter()
_sizes: dict[Path, tuple[int, int]] = {}  # directory -> (bytes in it as known, stores until the next scan)
_refused: set[Path] = set()


def key(text: str, options: Mapping[str, Any] | None, *, n_devices: int = 1) -> str:
    """The name of a program in the cache.

    Args: text: the program without source locations. options, n_devices: as it is compiled.
    """
    digest = hashlib.sha256()
    chosen = repr(sorted((options or {}).items()))
    for part in (*cache_key_parts(), chosen, str(n_devices), text):
        data = part.encode()
        digest.update(b"%d:" % len(data))  # with its length, so that parts cannot run into each other
        digest.update(data)
    return digest.hexdigest()


def load(key: str) -> bytes | None:
    """What was stored under `key`, or None."""
    directory = _directory()
    if directory is None:
        return None
    path = directory / (key + _SUFFIX)
    blob = None
    try:
        blob = _unpacked(path.read_bytes())
        if blob is None:
            _count("corrupt")
        else:
            os.utime(path)  # the time of last use decides what is dropped first
    except FileNotFoundError:
        pass
    except OSError:
        _count("errors")
    _count("misses" if blob is None else "hits")
    return blob


def store(key: str, blob: bytes) -> None:
    """Keep `blob` under `key`, dropping the longest unused entries where the directory grows too large."""
    directory = _directory()
    if directory is None:
        return
    data = _packed(blob)
    if len(data) > _limit():
        _count("too_large")
        return
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(directory, directory / (key + _SUFFIX), data)
        _count("stores")
        _bound(directory, len(data))
    except OSError:
        _count("errors")


def statistics() -> dict[str, Any]:
    """What the cache did in this process (hits, misses, stores, dropped, corrupt, too_large, errors), its
    directory (None if off), and the entries and bytes in it."""
    directory = _directory()
    files = _entries(directory) if directory is not None else []
    with _lock:
        counts = {name: _counts[name] for name in
                  ("hits", "misses", "stores", "dropped", "corrupt", "too_large", "errors")}
    return {**counts, "directory": None if directory is None else str(directory), "entries": len(files),
            "bytes": sum([size for _, size, _ in files])}


def _directory() -> Path | None:
    setting = os.environ.get("PULLBACK_CACHE", "").strip()
    if setting.lower() == "off":
        return None
    try:
        directory = Path(setting or "~/.cache/pullback").expanduser()
        status = directory.stat()
    except RuntimeError:  # no home directory
        return None
    except OSError:
        return directory  # not there yet
    # XLA runs what it loads: a directory that others write to would let them run code as this user.
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o002):
        with _lock:
            first = directory not in _refused
            _refused.add(directory)
        if first:
            warnings.warn(f"pullback: compiled programs are not cached: {directory} belongs to another user "
                          f"or is writable by all; set PULLBACK_CACHE to a directory of your own, or to off",
                          stacklevel=3)
        return None
    return directory


def _limit() -> int:
    text = os.environ.get("PULLBACK_CACHE_BYTES", "").strip()
    if text and not text.isdecimal():
        raise ValueError(f"PULLBACK_CACHE_BYTES: got {text!r}, a count of bytes is required, such as 1000000")
    return int(text) if text else _DEFAULT_BYTES


def _packed(blob: bytes) -> bytes:
    body = zlib.compress(blob, 1)
    return _MAGIC + hashlib.sha256(body).digest() + body


def _unpacked(data: bytes) -> bytes | None:
    start = len(_MAGIC) + hashlib.sha256().digest_size
    body = data[start:]
    if data[:start] != _MAGIC + hashlib.sha256(body).digest():
        return None
    return zlib.decompress(body)


def _write(directory: Path, path: Path, data: bytes) -> None:
    descriptor, name = tempfile.mkstemp(prefix=_TEMPORARY, dir=directory)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _bound(directory: Path, added: int) -> None:
    limit = _limit()
    with _lock:
        known, left = _sizes.get(directory, (0, 0))
        known += added
        _sizes[directory] = known, left - 1
    if left > 0 and known <= limit:
        return
    entries = sorted(_entries(directory, clean=True))
    total = sum([size for _, size, _ in entries])
    if total > limit:
        for _, size, path in entries[:-1]:  # the newest, just written, stays
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
                _count("dropped")
            total -= size
            if total <= limit * 9 // 10:  # some room, so that not every store has to scan
                break
    with _lock:
        _sizes[directory] = total, _STORES_PER_SCAN


def _entries(directory: Path, *, clean: bool = False) -> list[tuple[int, int, str]]:
    """(time of last use in ns, size, path) of each stored program; `clean` removes what dead writers left."""
    found = []
    try:
        with os.scandir(directory) as items:
            for item in items:
                with contextlib.suppress(FileNotFoundError):  # dropped by another process meanwhile
                    if item.name.endswith(_SUFFIX):
                        status = item.stat()
                        found.append((status.st_mtime_ns, status.st_size, item.path))
                    elif clean and item.name.startswith(_TEMPORARY):
                        if time.time() - item.stat().st_mtime > _ABANDONED_SECONDS:
                            os.unlink(item.path)
    except OSError:  # no directory, or none that can be read
        pass
    return found


def _count(name: str) -> None:
    with _lock:
        _counts[name] += 1
