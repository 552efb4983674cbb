"""How arrays lie on devices: meshes of devices, and which axes of an array go along which of their axes.

Arrays are computed on one device, so a sharding is met where its mesh has one device; one over several is refused
where an array is put.
"""

from __future__ import annotations

import enum
import math
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pullback.core import errors
from pullback.core.types import ArrayType
from pullback.runtime import pjrt

__all__ = ["AbstractMesh", "AxisType", "Mesh", "NamedSharding", "PartitionSpec", "Shard", "Sharding",
           "SingleDeviceSharding", "P", "get_abstract_mesh", "get_mesh", "make_mesh",
           "make_single_device_sharding", "set_mesh"]

Shape = tuple[int, ...]


class AxisType(enum.Enum):
    """Who decides how arrays are cut along an axis of a mesh: the compiler, the types of arrays, or the user."""

    Auto = "auto"
    Explicit = "explicit"
    Manual = "manual"

    def __repr__(self) -> str:
        return self.name


class _Unconstrained:
    """In a PartitionSpec: the compiler decides about this axis."""

    def __repr__(self) -> str:
        return "UNCONSTRAINED"


class PartitionSpec:
    """For each axis of an array, the axis of a mesh that it is cut along: a name, several, or None.

    Axes that are not named are not cut. Equal specs are equal as keys.

    Example:
      >>> jax.P("x", None)
      P('x', None)
    """

    UNCONSTRAINED = _Unconstrained()

    def __init__(self, *partitions: Any, unreduced: Any = frozenset(), reduced: Any = frozenset(),
                 unreduced_kind: Any = None) -> None:
        if unreduced or reduced or unreduced_kind is not None:
            raise errors.value_error("unreduced or reduced axes are named; pullback computes on one device",
                                     op="PartitionSpec", fix="leave them out")
        self.partitions = tuple([self._entry(p) for p in partitions])

    @staticmethod
    def _entry(partition: Any) -> Any:
        if isinstance(partition, (tuple, list)):
            return partition[0] if len(partition) == 1 else tuple(partition)
        return partition

    def __iter__(self) -> Iterator[Any]:
        return iter(self.partitions)

    def __len__(self) -> int:
        return len(self.partitions)

    def __getitem__(self, index: Any) -> Any:
        return self.partitions[index]

    def __add__(self, other: Any) -> PartitionSpec:
        return PartitionSpec(*self.partitions, *other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionSpec) and self.partitions == other.partitions

    def __hash__(self) -> int:
        return hash(self.partitions)

    def __repr__(self) -> str:
        return f"P{self.partitions}"

    def index(self, value: Any) -> int:
        return self.partitions.index(value)

    def count(self, value: Any) -> int:
        return self.partitions.count(value)

    def names(self) -> list[Any]:
        """The names of mesh axes, in order."""
        return [name for p in self.partitions if p is not None and p is not self.UNCONSTRAINED
                for name in (p if isinstance(p, tuple) else (p,))]


P = PartitionSpec


class _Grid:
    """Named axes with sizes."""

    axis_names: tuple[Any, ...]
    axis_sizes: Shape
    axis_types: tuple[AxisType, ...]

    @property
    def shape(self) -> OrderedDict[Any, int]:
        """The sizes of the axes by name."""
        return OrderedDict(zip(self.axis_names, self.axis_sizes))

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        return tuple(zip(self.axis_names, self.axis_sizes))

    @property
    def size(self) -> int:
        """The number of devices."""
        return math.prod(self.axis_sizes) if self.axis_names else 0

    @property
    def empty(self) -> bool:
        return not self.axis_names

    def _axes(self, kind: AxisType) -> tuple[Any, ...]:
        return tuple([name for name, t in zip(self.axis_names, self.axis_types) if t is kind])

    @property
    def auto_axes(self) -> tuple[Any, ...]:
        return self._axes(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[Any, ...]:
        return self._axes(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple[Any, ...]:
        return self._axes(AxisType.Manual)

    @property
    def are_all_axes_auto(self) -> bool:
        return len(self.auto_axes) == len(self.axis_names) > 0

    @property
    def are_all_axes_explicit(self) -> bool:
        return len(self.explicit_axes) == len(self.axis_names) > 0

    @property
    def are_all_axes_manual(self) -> bool:
        return len(self.manual_axes) == len(self.axis_names) > 0

    def __str__(self) -> str:
        sizes = "".join([f"{name!r}: {size}, " for name, size in self.shape_tuple]) or "(), "
        return f"{type(self).__name__}({sizes}axis_types={self.axis_types})"


class AbstractMesh(_Grid):
    """A mesh without its devices: names, sizes and types of its axes.

    Args:
      axis_sizes: an int for each axis.
      axis_names: a name for each.
      axis_types: an AxisType for each; Explicit if not given.

    Raises:
      ValueError: if there are not as many sizes or types as names.

    Example:
      >>> jax.sharding.AbstractMesh((1,), ("x",)).size
      1
    """

    def __init__(self, axis_sizes: Sequence[int], axis_names: Sequence[Any],
                 axis_types: Sequence[AxisType] | None = None, *, abstract_device: Any = None) -> None:
        self.axis_sizes = tuple(axis_sizes)
        self.axis_names = tuple(axis_names)
        self.axis_types = (AxisType.Explicit,) * len(self.axis_names) if axis_types is None else tuple(axis_types)
        self.abstract_device = abstract_device
        if not len(self.axis_sizes) == len(self.axis_names) == len(self.axis_types):
            raise errors.value_error(f"got {len(self.axis_sizes)} sizes, {len(self.axis_names)} names and "
                                     f"{len(self.axis_types)} types, equal numbers are required", op="AbstractMesh",
                                     fix="give a size, and a type or none at all, for each name")

    @property
    def abstract_mesh(self) -> AbstractMesh:
        return self

    def _key(self) -> tuple[Any, ...]:
        return self.axis_names, self.axis_sizes, self.axis_types

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractMesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    __repr__ = _Grid.__str__


class _Meshes(threading.local):
    def __init__(self) -> None:
        self.entered: list[Mesh] = []  # by `with mesh:`
        self.set: Mesh | None = None   # by set_mesh


_meshes = _Meshes()


class Mesh(_Grid):
    """Devices in a grid with named axes. `with mesh:` lets PartitionSpecs alone name its axes.

    Args:
      devices: an array of devices, or a sequence of them.
      axis_names: a name for each of its axes.
      axis_types: an AxisType for each; Auto if not given.

    Raises:
      ValueError: if there are not as many names as axes.

    Example:
      >>> dict(jax.sharding.Mesh(jax.devices()[:1], "x").shape)
      {'x': 1}
    """

    def __init__(self, devices: Any, axis_names: str | Sequence[Any], axis_types: Sequence[AxisType] | None = None
                 ) -> None:
        grid = np.array(devices, dtype=object)
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if grid.ndim != len(names):
            raise errors.value_error(f"the devices have {grid.ndim} axes and there are {len(names)} names, one for "
                                     "each axis is required", op="Mesh", fix="reshape the array of devices")
        self.axis_types = (AxisType.Auto,) * grid.ndim if axis_types is None else tuple(axis_types)
        if len(self.axis_types) != grid.ndim:
            raise errors.value_error(f"there are {len(self.axis_types)} axis types for {grid.ndim} axes", op="Mesh",
                                     fix="give one for each axis")
        grid.flags.writeable = False
        self.devices = grid
        self.axis_names = names

    @property
    def axis_sizes(self) -> Shape:  # type: ignore[override]
        return self.devices.shape

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh without its devices."""
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types)

    @property
    def device_ids(self) -> np.ndarray:
        return np.vectorize(lambda device: device.id, otypes=[int])(self.devices)

    @property
    def local_devices(self) -> list[Any]:
        return list(self.devices.flat)

    @property
    def local_mesh(self) -> Mesh:
        return self

    is_multi_process = False

    def __enter__(self) -> Mesh:
        _meshes.entered.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _meshes.entered.pop()

    def _key(self) -> tuple[Any, ...]:
        return self.axis_names, self.devices.shape, tuple(self.devices.flat), self.axis_types

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        if self.empty:
            return "Mesh(axis_sizes=(), axis_names=())"
        return f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}, axis_types={self.axis_types})"

_NO_MESH = Mesh(np.array(None, dtype=object), ())


def make_mesh(axis_sizes: Sequence[int], axis_names: Sequence[str], axis_types: Sequence[AxisType] | None = None, *,
              devices: Sequence[Any] | None = None) -> Mesh:
    """A mesh of the first devices.

    Args:
      axis_sizes: as many ints as names.
      axis_types: Explicit for each if not given.
      devices: None: all.

    Raises:
      ValueError: if there are fewer devices, or not as many sizes as names.

    Example:
      >>> jax.make_mesh((1, 1), ("x", "y")).size
      1
    """
    sizes = tuple(axis_sizes)
    places = list(pjrt.devices() if devices is None else devices)
    if math.prod(sizes) > len(places):
        raise errors.value_error(f"sizes {sizes} ask for {math.prod(sizes)} devices, there are {len(places)}",
                                 op="make_mesh", fix="ask for fewer")
    if len(sizes) != len(axis_names):
        raise errors.value_error(f"got {len(sizes)} sizes and {len(axis_names)} names, equal numbers are required",
                                 op="make_mesh", fix="name each axis")
    grid = np.empty(sizes, dtype=object)
    grid.flat[:] = places[: math.prod(sizes)]
    return Mesh(grid, axis_names, (AxisType.Explicit,) * len(sizes) if axis_types is None else axis_types)


class set_mesh:  # noqa: N801  # jax's name
    """Sets the mesh whose axes PartitionSpecs name, from now on; as a context, inside it."""

    def __init__(self, mesh: Mesh | None) -> None:
        if mesh is not None and not isinstance(mesh, Mesh):
            raise errors.type_error(f"got a {type(mesh).__name__}, a Mesh or None is required", op="set_mesh",
                                    fix="make one with make_mesh")
        self._before = _meshes.set
        _meshes.set = mesh

    def __enter__(self) -> Mesh:
        return get_mesh()

    def __exit__(self, *exc: object) -> None:
        _meshes.set = self._before


def get_mesh() -> Mesh:
    """The mesh that set_mesh has set, or one without axes."""
    return _meshes.set or _NO_MESH


def get_abstract_mesh() -> AbstractMesh:
    """The mesh that set_mesh has set, without its devices, or one without axes.

    Example:
      >>> with jax.set_mesh(jax.make_mesh((1,), ("x",))):
      ...     jax.sharding.get_abstract_mesh().axis_names
      ('x',)
    """
    return get_mesh().abstract_mesh


class Sharding:
    """Where the parts of an array lie."""

    memory_kind: str | None = None

    @property
    def _devices(self) -> tuple[Any, ...]:
        raise AssertionError("every sharding has devices")

    @property
    def device_set(self) -> set[Any]:
        return set(self._devices)

    @property
    def addressable_devices(self) -> set[Any]:
        return self.device_set

    @property
    def num_devices(self) -> int:
        return len(self.device_set)

    has_addressable_devices = True
    is_fully_addressable = True

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device holds the whole array."""
        return self.num_devices == 1

    def cuts(self, ndim: int) -> Shape:
        """Into how many parts each axis of an array is cut."""
        return (1,) * ndim

    def check(self, t: ArrayType, op: str) -> None:
        """A ValueError unless arrays of this type can be cut so."""

    def check_compatible_aval(self, aval_shape: Shape) -> None:
        """A ValueError unless arrays of this shape can be cut so."""
        self.check(ArrayType(tuple(aval_shape), np.dtype(np.float32)), "check_compatible_aval")

    def shard_shape(self, global_shape: Shape) -> Shape:
        """The shape of the part that each device holds."""
        return tuple([n // parts for n, parts in zip(global_shape, self.cuts(len(global_shape)), strict=True)])

    def devices_indices_map(self, global_shape: Shape) -> Mapping[Any, tuple[slice, ...]]:
        """For each device the part of the array that it holds. Raises ValueError for several devices."""
        return {single_device(self, "devices_indices_map"): (slice(None),) * len(global_shape)}

    addressable_devices_indices_map = devices_indices_map

    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        """Whether arrays of so many axes lie the same way in both."""
        return self._devices == other._devices and self.cuts(ndim) == other.cuts(ndim)


class SingleDeviceSharding(Sharding):
    """The whole array lies on one device."""

    def __init__(self, device: Any, *, memory_kind: str | None = None) -> None:
        self._device = device
        self.memory_kind = memory_kind

    @property
    def _devices(self) -> tuple[Any, ...]:
        return (self._device,)

    def with_memory_kind(self, kind: str) -> SingleDeviceSharding:
        return SingleDeviceSharding(self._device, memory_kind=kind)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SingleDeviceSharding) and self._device == other._device

    def __hash__(self) -> int:
        return hash(self._device)

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r})"


def make_single_device_sharding(device: Any, *, memory_kind: str | None = None) -> SingleDeviceSharding:
    """The sharding of arrays that lie on `device`."""
    return SingleDeviceSharding(device, memory_kind=memory_kind)


class NamedSharding(Sharding):
    """An array cut along the axes of a mesh as a PartitionSpec says.

    Args:
      mesh: a Mesh.
      spec: a PartitionSpec whose names are axes of the mesh, each once.

    Raises:
      ValueError: if a name is no axis of the mesh, or stands twice. TypeError: if the spec is no PartitionSpec.

    Example:
      >>> mesh = jax.make_mesh((1,), ("x",))
      >>> jax.NamedSharding(mesh, jax.P("x")).shard_shape((4, 2))
      (4, 2)
    """

    def __init__(self, mesh: Mesh, spec: PartitionSpec, *, memory_kind: str | None = None) -> None:
        if not isinstance(mesh, Mesh) or not isinstance(spec, PartitionSpec):
            raise errors.type_error(f"got a {type(mesh).__name__} and a {type(spec).__name__}, a Mesh and a "
                                    "PartitionSpec are required", op="NamedSharding", fix="write P('x') for the spec")
        names = spec.names()
        for name in names:
            if name not in mesh.axis_names:
                raise errors.value_error(f"{spec} names the axis {name!r}, the mesh has {mesh.axis_names}",
                                         op="NamedSharding", fix="use the names of the mesh")
            if names.count(name) > 1:
                raise errors.value_error(f"{spec} names the axis {name!r} twice", op="NamedSharding",
                                         fix="cut one axis of the array along each axis of the mesh")
        self.mesh, self.spec, self.memory_kind = mesh, spec, memory_kind

    @property
    def _devices(self) -> tuple[Any, ...]:
        # Along no axis of a mesh, as types are: on the device there is.
        return tuple(pjrt.devices()[:1]) if self.mesh.empty else tuple(self.mesh.devices.flat)

    @property
    def is_fully_replicated(self) -> bool:
        return all([self.mesh.shape[name] == 1 for name in self.spec.names()])

    def cuts(self, ndim: int) -> Shape:
        entries = [[] if p is None or p is PartitionSpec.UNCONSTRAINED else p if isinstance(p, tuple) else [p]
                   for p in self.spec]
        parts = [math.prod([self.mesh.shape[name] for name in names]) for names in entries[:ndim]]
        return tuple(parts + [1] * (ndim - len(parts)))

    def check(self, t: ArrayType, op: str) -> None:
        if len(self.spec) > t.ndim:
            raise errors.value_error(f"{self.spec} is for {len(self.spec)} axes or more, the array is {t}", op=op,
                                     fix="leave axes out of the spec")
        for axis, (n, parts) in enumerate(zip(t.shape, self.cuts(t.ndim), strict=True)):
            if n % parts:
                raise errors.value_error(f"axis {axis} of {t} is cut into {parts} parts by {self.spec}, of which its "
                                         "size is no multiple", op=op, fix="pad the axis")

    def with_memory_kind(self, kind: str) -> NamedSharding:
        return NamedSharding(self.mesh, self.spec, memory_kind=kind)

    def update(self, *, mesh: Mesh | None = None, spec: PartitionSpec | None = None, **kwargs: Any) -> NamedSharding:
        return NamedSharding(mesh or self.mesh, spec or self.spec, **{"memory_kind": self.memory_kind, **kwargs})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedSharding) and self.mesh == other.mesh and self.spec == other.spec

    def __hash__(self) -> int:
        return hash((self.mesh, self.spec))

    def __repr__(self) -> str:
        return f"NamedSharding(mesh={self.mesh}, spec={self.spec})"


def _sharding_of_type(t: ArrayType) -> NamedSharding:
    """What `typeof(x).sharding` is: along no axis of a mesh, for types say nothing of devices."""
    return NamedSharding(_NO_MESH, PartitionSpec(*[None] * t.ndim))


ArrayType.sharding = property(_sharding_of_type)  # type: ignore[attr-defined]  # the core knows no devices


class Shard:
    """The part of an array that lies on one device."""

    def __init__(self, device: Any, sharding: Sharding, global_shape: Shape, data: Any = None) -> None:
        self.device, self.data = device, data
        self._sharding, self._global_shape = sharding, global_shape
        self.replica_id = 0

    @property
    def index(self) -> tuple[slice, ...]:
        """Which part it is."""
        return self._sharding.devices_indices_map(self._global_shape)[self.device]

    def __repr__(self) -> str:
        return f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, data={self.data})"


def single_device(sharding: Sharding, op: str) -> Any:
    """The one device of a sharding; a ValueError where there are several."""
    if sharding.num_devices != 1:
        raise errors.value_error(f"{sharding!r:.120} is over {sharding.num_devices} devices, one over a single device "
                                 "is required", op=op, fix="make the mesh of one device: pullback computes on one")
    return sharding._devices[0]


def as_sharding(given: Any, op: str) -> Sharding:
    """The sharding that a Device, a Sharding, or a PartitionSpec over the mesh in force names.

    Raises: ValueError for a PartitionSpec without a mesh, or no such device. TypeError for anything else.
    """
    if isinstance(given, PartitionSpec):
        mesh = _meshes.entered[-1] if _meshes.entered else get_mesh()
        if mesh.empty:
            raise errors.value_error(f"got {given} and no mesh is set", op=op,
                                     fix="pass NamedSharding(mesh, spec), or call set_mesh(mesh) before")
        given = NamedSharding(mesh, given)
    if not isinstance(given, Sharding):
        if not hasattr(given, "platform"):
            raise errors.type_error(f"got {given!r:.80}, a device, a sharding or a PartitionSpec is required", op=op,
                                    fix="take a device from pullback.devices()")
        given = SingleDeviceSharding(given)
    for device in given._devices:
        if device not in pjrt.devices():
            raise errors.value_error(f"device is {device!r:.80}, one of {pjrt.devices()} is required", op=op,
                                     fix="take one from pullback.devices()")
    return given


def place_of(given: Any, t: ArrayType, op: str) -> tuple[Any, Sharding]:
    """The device on which an array of type `t` must lie to be placed as `given` asks, and the sharding."""
    sharding = as_sharding(given, op)
    sharding.check(t, op)
    return single_device(sharding, op), sharding
