"""A store on disk: numbered revisions, each a manifest, an array file and its programs as text.

    0001.json                    the manifest: cases, digests, environment, tolerances, reason; digest of the one before
    0001-5f0c2a91.safetensors    every array that is kept
    0001-77e1b03d.txt            the programs

The manifest is written last and makes the revision valid, so an interrupted write leaves the store as it was. Nothing
is overwritten: the other files have their digest in their name. All are flushed to disk before they get their name.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from pullback.gate.errors import UsageError
from pullback.gate.store.arrays import file_digest, library, pack, unpack

__all__ = ["SCHEMA", "Revision", "Store"]

SCHEMA = "pullback-gate-record-1"
_NAME = re.compile(r"(\d{4,})\.json")


class Revision(NamedTuple):
    """One recorded state: its number, manifest, arrays by name, and programs by part."""

    number: int
    manifest: dict[str, Any]
    arrays: dict[str, Any]
    programs: dict[str, str]


class Store:
    """A folder of revisions.

    Raises:
      UsageError: by every method, where the folder cannot be used, or its contents are not what was written.
    """

    def __init__(self, folder: str | os.PathLike[str], schema: str = SCHEMA) -> None:
        self.folder, self.schema = Path(folder), schema

    def _there(self) -> list[int]:
        try:
            return self.numbers()
        except UsageError:
            return []

    def numbers(self) -> list[int]:
        """The revisions that are there."""
        try:
            names = [entry.name for entry in os.scandir(self.folder)]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._refused("cannot be read", error) from error
        return sorted(int(found[1]) for name in names if (found := _NAME.fullmatch(name)))

    def read(self, number: int | None = None) -> Revision:
        """A revision, by default the last, after every digest of it and of the chain before it has been checked."""
        numbers = self.numbers()
        if not numbers:
            raise UsageError(f"there is no record in {str(self.folder)!r}",
                             "check the path, or make one: pullback record model.py --store DIR")
        chosen = numbers[-1] if number is None else number
        if chosen not in numbers:
            raise UsageError(f"{str(self.folder)!r} has no revision {chosen}; it has {numbers}", "choose one of them")
        if numbers != list(range(1, len(numbers) + 1)):
            raise self._damaged(f"revision {min(set(range(1, numbers[-1])) - set(numbers))} is missing")
        before = ""
        for n in range(1, chosen + 1):
            manifest = self.manifest(n)
            if manifest["previous"] != before:
                raise self._damaged(f"{n:04}.json does not follow the revision before it")
            before = manifest["digest"]
        arrays, programs = sorted(manifest["files"])
        if programs.endswith(".safetensors"):
            arrays, programs = programs, arrays
        data, text = self._file(arrays, manifest), self._file(programs, manifest)
        try:
            return Revision(chosen, manifest, unpack(data, manifest["arrays"]), _split(text.decode()))
        except ValueError as error:
            raise self._damaged(f"{arrays}: {error}") from error

    def manifest(self, number: int) -> dict[str, Any]:
        """The manifest of a revision, with the digest that it says it has."""
        name = f"{number:04}.json"
        try:
            data = (self.folder / name).read_bytes()
        except OSError as error:
            raise self._refused(f"has {name}, which cannot be read", error) from error
        msgspec = library("msgspec")
        try:
            manifest = msgspec.json.decode(data, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise self._damaged(f"{name} is no JSON: {error}") from error
        if manifest.get("schema") != self.schema:
            raise UsageError(f"{self.folder / name} has the schema {manifest.get('schema')!r}, not {self.schema!r}",
                             "read it with the version of pullback that wrote it")
        if _manifest_digest(manifest) != manifest.get("digest"):
            raise self._damaged(f"{name} has been edited: its contents do not have its digest")
        return dict(manifest)

    def _file(self, name: str, manifest: dict[str, Any]) -> bytes:
        try:
            data = (self.folder / name).read_bytes()
        except FileNotFoundError as error:
            raise self._damaged(f"{name} is missing") from error
        except OSError as error:
            raise self._refused(f"has {name}, which cannot be read", error) from error
        said = manifest["files"][name]
        if len(data) != said["bytes"]:
            raise self._damaged(f"{name} has {len(data)} bytes, {said['bytes']} were written")
        if file_digest(data) != said["sha256"]:
            raise self._damaged(f"{name} has been changed: its contents do not have its digest")
        return data

    def append(self, manifest: dict[str, Any], arrays: dict[str, Any], programs: dict[str, str]) -> int:
        """Adds a revision, whole or not at all; returns its number."""
        numbers = self.numbers()
        number = numbers[-1] + 1 if numbers else 1
        previous = self.read().manifest["digest"] if numbers else ""
        parts = {"safetensors": pack(arrays), "txt": _joined(programs).encode()}
        files = {f"{number:04}-{file_digest(data)[:8]}.{kind}": data for kind, data in parts.items()}
        manifest = {"schema": self.schema, "revision": number, "previous": previous, **manifest,
                    "files": {name: {"bytes": len(data), "sha256": file_digest(data)} for name, data in files.items()}}
        manifest["digest"] = _manifest_digest(manifest)
        text = library("msgspec").json.format(library("msgspec").json.encode(manifest, order="sorted"), indent=1)
        written = []
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for name, data in files.items():
                if not (self.folder / name).exists():
                    written.append(name)
                self._write(name, data, replace=True)  # what has this name has these contents
            self._write(f"{number:04}.json", text + b"\n", replace=False)
        except BaseException as error:
            if number not in self._there():
                for name in written:  # they belong to no revision
                    with contextlib.suppress(OSError):  # what cannot be written may not be removed either
                        (self.folder / name).unlink()
            self._told(error, number)
            raise
        return number

    def _told(self, error: BaseException, number: int) -> None:
        """Raises what a failure to write is called, if it is one."""
        if isinstance(error, FileExistsError):
            raise UsageError(f"revision {number} was written to {str(self.folder)!r} by another process meanwhile",
                             "compare with it, then record again if it is still needed") from error
        if isinstance(error, OSError):
            raise self._refused("cannot be written", error) from error

    def _write(self, name: str, data: bytes, replace: bool) -> None:
        handle, temporary = tempfile.mkstemp(prefix=f".{name}-", dir=self.folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o644)
            if replace:
                os.replace(temporary, self.folder / name)
            else:
                os.link(temporary, self.folder / name)  # fails where the name is taken, unlike rename
        finally:
            if os.path.exists(temporary):
                os.unlink(temporary)
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _damaged(self, how: str) -> UsageError:
        return UsageError(f"the store {str(self.folder)!r} is damaged: {how}",
                          "restore the folder from version control or a backup; nothing of it is used as it is")

    def _refused(self, how: str, error: OSError) -> UsageError:
        return UsageError(f"the store {str(self.folder)!r} {how}: {error.strerror}",
                          "give a folder that can be read and written and has room; no revision in it was changed")


def _manifest_digest(manifest: dict[str, Any]) -> str:
    body = {name: value for name, value in manifest.items() if name != "digest"}
    return file_digest(library("msgspec").json.encode(body, order="sorted"))


_TITLE = "==== "


def _joined(programs: dict[str, str]) -> str:
    return "".join(f"{_TITLE}{name}\n{text.rstrip()}\n" for name, text in programs.items())


def _split(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in ("\n" + text).split(f"\n{_TITLE}")[1:]:
        name, _, body = part.partition("\n")
        found[name] = body.rstrip()
    return found
