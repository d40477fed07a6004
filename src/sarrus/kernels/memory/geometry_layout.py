"""Table of the geometries of a run: pairs that may come into contact, MuJoCo's arrays, contact points.

Only moving bodies with geometries are counted. Velocities that no force couples with other velocities form
components, such as the velocities of a free body or of a robot. A contact row has entries for the velocities of two
components at most, its parts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sarrus.kernels.memory.record import Floats, Integers, Record, view_fields


class Geometries(Record, of=int):
    """Addresses of MuJoCo's arrays of the geometries of a run, and of the bodies that have them."""

    mj_model: int  # address of the mjModel that holds the geometries
    mj_data: int  # and of an mjData of this run alone
    positions: Floats  # geom_xpos of that
    rotations: Floats  # geom_xmat
    contacts: Floats  # room for the mjContacts that MuJoCo's functions write
    stride: int  # numbers of an mjContact
    placement: int  # native: position and rotation of every body
    motion: int  # native: of every body the velocity that it has by itself, and its Jacobian: see `Moving`
    bodies: int
    moving: int  # geometries that bodies carry
    geoms: Integers  # their numbers in the model
    carriers: Integers  # their bodies
    poses: Floats  # their positions and rotations there
    extents: Floats  # of each body, how far its geometries reach from its origin


class GeometryFaces(Geometries, of=int):
    """Flat faces of boxes, cylinders and meshes, and room for the corners of their overlaps."""

    flats: Integers  # whether both geometries of a pair have flat faces
    face_starts: Integers  # where the faces of each geometry begin, and the end
    face_normals: Floats  # outward, in axes of the geometry
    face_firsts: Integers  # where the corners of each face begin, and the end
    face_corners: Floats  # [m] in axes of the geometry, counterclockwise about the normal
    rounds: Integers  # whether the faces of a geometry are circles, with corners on them
    polygon: Floats  # room for the corners of three polygons
    polygon_size: int  # numbers of the largest polygon that clipping makes
    radii: Floats  # of the geometries [m], 0 for a plane


class GeometrySupports(GeometryFaces, of=int):
    """Ellipsoids, cylinders, capsules, balls and boxes as sums of ellipsoids, for `support_contacts`."""

    sums: Integers  # 1: both geometries of a pair are such, with MuJoCo's general function; `HAS_LINES`: without curves
    term_firsts: Integers  # where the terms of each geometry begin, and the end
    terms: Floats  # [m] half-axes of each term along the axes of its geometry
    balls: Floats  # [m] radius of the ball that is added to the terms of a geometry
    search: Floats  # room for one search


class GeometryTable(GeometrySupports, of=int):
    """Geometries of a run and their pairs; pairs and their contacts are in ascending order."""

    pairs: int
    ones: Integers  # geometries of each pair, as the functions of MuJoCo expect them
    others: Integers
    functions: Integers  # addresses; 0: the narrow phase of boxes
    general: Integers  # whether the function is the one for convex bodies of any kind
    bodies1: Integers  # −1: it does not move
    bodies2: Integers
    reaches: Floats  # sum of the bounding radii; negative where one has none
    widths: Integers  # rows
    friction: Floats
    static: Floats  # coefficients up to which they stick
    torsion: Floats
    rolling: Floats
    event_functions: Floats
    restitution: Floats
    components: int
    widest: int  # velocities of the largest component
    order: Integers  # velocities, component by component
    starts: Integers  # where each component begins there, and the end
    blocks: Integers  # where its response begins among those of all
    owners: Integers  # component of each body
    offsets: Integers  # where each body begins in what ``motion`` writes, and the end
    shared: Integers  # two components of every other row, −1: none
    room: int  # contacts that there is room for
    motion_size: int  # numbers that ``motion`` writes
    block_size: int  # numbers of the responses of all components
    work: Floats


class RawContact(Record):
    """First entries of MuJoCo's mjContact: distance [m], point [m] and normal."""

    distance: float
    x: float
    y: float
    z: float
    nx: float
    ny: float
    nz: float


class ContactPoint(Record):
    """Contact found at a configuration: pair, gap [m], point [m] and normal."""

    pair: float
    gap: float
    x: float
    y: float
    z: float
    nx: float  # from the first geometry to the second one
    ny: float
    nz: float


class StoredContact(Record):
    """Contact at the end of a step, with the mean force on its second geometry during the step."""

    pair: float
    gap: float
    x: float
    y: float
    z: float
    nx: float
    ny: float
    nz: float
    fx: float
    fy: float
    fz: float
    mx: float
    my: float
    mz: float
    lasts: float  # whether the force is one that lasts


N_MET, N_SEEN, N_KEPT = len(RawContact.fields), len(ContactPoint.fields), len(StoredContact.fields)
# Numbers of an entry of the log, a time before what is kept, and of a pose.
N_LOGGED, N_POSE = 1 + N_KEPT, 12
# Both geometries of a pair have edges or straight sides, along which they may lie.
HAS_LINES = 2
# Terms of two geometries at the most, and the numbers of a search.
MOST_TERMS = 6
N_SEARCH = 4 * MOST_TERMS + 18
# Rows of a contact at the most: normal, two tangents, torsion, two of rolling.
WIDEST = 6


class GeometryWork(NamedTuple):
    """Arrays of the contacts between geometries in a step; rows are all rows of the contact table."""

    places: Any  # of bodies
    motion: Any  # of bodies, in the middle
    ahead: Any  # and at the end
    found: Any  # contacts in the middle
    later: Any  # and at the end
    parts: Any  # two of each row
    turned: Any  # change of the parts up to the end of the step
    compliance_column: Any  # the acceleration by a unit force on the row, of the same components
    shared: Any  # components of each row, −1: none
    own: Any  # velocity of each row by prescribed motion
    own_turned: Any
    rates: Any  # velocity of each row in the middle
    bias: Any
    block: Any  # acceleration of every component by unit forces on its velocities
    moved: Any  # displacement from the middle to the end
    leader: Any  # of each component, a component of its island; itself if it represents the island
    ready: Any  # whether ``block`` is known
    # of an island
    chosen: Any  # its rows among those that take part
    numbered: Any  # and among all
    given: Any
    turn: Any
    numbers: Any
    impulses: Any


def geometry_sizes(geometry: GeometryTable, rows: int, nv: int):
    """Return the lengths of the arrays of `GeometryWork`."""
    room, part = geometry.room, 2 * geometry.widest
    moved, components = geometry.motion_size, geometry.components
    return GeometryWork(
        places=N_POSE * geometry.bodies, motion=moved, ahead=moved, found=room * N_SEEN, later=room * N_SEEN,
        parts=rows * part, turned=rows * part, compliance_column=rows * part, shared=2 * rows, own=rows,
        own_turned=rows, rates=rows, bias=rows, block=geometry.block_size, moved=nv, leader=components,
        ready=1, chosen=rows, numbered=rows, given=rows, turn=rows, numbers=rows, impulses=rows,
    )  # fmt: skip


def geometry_work(geometry: GeometryTable, rows: int, nv: int):
    """Return the arrays of a search for contact points, views of the workspace."""
    return view_fields(geometry.work, geometry_sizes(geometry, rows, nv))
