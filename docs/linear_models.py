"""Linear models of closed mechanisms, in numbers; writes linear_models.md beside this file.

python docs/linear_models.py
"""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from types import ModuleType

import mujoco
import numpy as np
from numpy.typing import NDArray

import sarrus as sr

Array = NDArray[np.float64]

PAGE = Path(__file__).with_suffix(".md")
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
CHOICES = {"angles of boom and bucket": ["boom", "bucket"], "lengths of the cylinders": ["lift", "tilt"]}
POSE = -0.2, 0.3  # boom and bucket's floor [rad]
HORIZON, STEPS, PUSH = 0.2, 100, 1e-3  # s, number, rad/s


def example(name: str) -> ModuleType:
    """Return a module of examples/."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- how numbers are written ----------------------------------------------------------------------------


def number(x: float, scale: float = 1.0) -> str:
    """Return five significant digits, and 0 for rounding of a ``scale``."""
    return "0" if abs(x) < 1e-10 * scale else f"{x:.5g}"


def matrix(name: str, values: Array) -> str:
    """Return a matrix as a code block, columns aligned."""
    scale = float(np.abs(values).max(initial=0.0))
    cells = [[number(x, scale) for x in row] for row in values]
    width = max(len(cell) for row in cells for cell in row)
    lines = ["  ".join(cell.rjust(width) for cell in row) for row in cells]
    return "\n".join(["```text", f"{name} =", *(f"    {line}" for line in lines), "```"])


def eigenvalues(values: np.ndarray) -> str:
    """Return eigenvalues, pairs as a ± b i."""
    scale = float(np.abs(values).max(initial=0.0))
    pairs = sorted(
        {(number(z.real, scale), number(abs(z.imag), scale)) for z in values},
        key=lambda p: tuple(map(float, p)),
    )
    return ", ".join(real if imag == "0" else f"{real} ± {imag}i".removeprefix("0 ") for real, imag in pairs)


# --- measurements --------------------------------------------------------------------------------------


def loader_section(system: sr.System, q: Array) -> list[str]:
    """Return the models of the front loader in both choices of coordinates, sinking and held."""
    hold = held_by(system, q)
    forces = f"Held: {hold[0] / 1e3:.4g} kN in the lift cylinder, {hold[1] / 1e3:.4g} kN in the tilt cylinder"
    out = []
    for title, u, at_rest in (
        ("At rest, no force in the cylinders", np.zeros(2), False),
        (forces, hold, True),
    ):
        out.append(f"### {title}\n")
        for label, names in CHOICES.items():
            model = (
                sr.linearize(system, q, u, coordinates=names)
                if at_rest
                else sr.linearize_at(system, q, u=u, coordinates=names)
            )
            out.append(f"Independent coordinates: the {label}; x = ({', '.join(model.names)}).\n")
            out += [matrix("Â", model.A), matrix("B̂", model.B)]
            out.append(f"\nEigenvalues: {eigenvalues(model.eigenvalues)}\n")
    return out


def held_by(system: sr.System, q: Array) -> Array:
    """Return the forces in the cylinders at which the loader rests."""
    return system.inverse_dynamics(q, np.zeros(system.nv), np.zeros(system.nv)).u


def along_section(system: sr.System, q: Array) -> tuple[Array, Array, float, float]:
    """Return times and slowest growth along the sinking motion, and error and size of a predicted deviation."""
    run = sr.simulate(system, q, duration=HORIZON, dt=HORIZON / STEPS)
    models = sr.linearize_along(system, run.q, run.v, t=run.t, coordinates=["boom", "bucket"])
    first = sr.linearize_at(system, q, coordinates=["boom", "bucket"])
    beside = system.project_velocity(q, PUSH * np.eye(system.nv)[system.velocity_names.index("boom")])
    x = first.deviation(q, beside)
    dt = HORIZON / STEPS
    for here, there in zip(models.A[:-1], models.A[1:]):  # midpoint rule
        step = dt / 4 * (here + there)
        x = np.linalg.solve(np.eye(4) - step, (np.eye(4) + step) @ x)
    other = sr.simulate(system, q, beside, duration=HORIZON, dt=HORIZON / STEPS)
    true = first.deviation(other.q[-1], other.v[-1]) - first.deviation(run.q[-1], run.v[-1])
    growth = np.array([np.linalg.eigvals(a).real.max() for a in models.A])
    at = np.array([0, STEPS // 2, STEPS])
    return run.t[at], growth[at], float(np.abs(x - true).max()), float(np.abs(true).max())


def disc_rows() -> list[str]:
    """Return table rows of the rolling disc: speed, the eigenvalues of the model, and κ of the textbook."""
    disc = example("rolling_disc")
    system = disc.build()
    rows = []
    for part in (0.5, 0.9, 1.1, 2.0):
        spin = part * disc.CRITICAL
        model = sr.linearize_at(system, *disc.straight(spin), coordinates=["heading", "tilt", "spin"])
        kappa = disc.stiffness(spin)
        own = np.linalg.eigvals(disc.block(model))
        book = f"±{number(np.sqrt(-kappa))}" if kappa < 0 else f"± {number(np.sqrt(kappa))}i"
        rows.append(f"| {spin * disc.RADIUS:.4g} | {eigenvalues(own[np.abs(own) > 1e-6])} | {book} |")
    return rows


def four_bar() -> sr.Mechanism:
    """Return a planar four-bar that hangs from two pivots, which MuJoCo can read too."""
    mechanism = sr.Mechanism("four_bar", gravity=(0, 0, -9.81))
    for name, length, parent, x in (
        ("crank", 0.4, "world", 0.0),
        ("coupler", 1.1, "crank", 0.4),
        ("rocker", 0.8, "world", 1.0),
    ):
        moment = length**3 / 12
        mechanism.add_body(name, length, com=(length / 2, 0, 0), inertia=(1e-3, moment, moment))
        mechanism.add_joint(name, "revolute", parent, name, axis=(0, -1, 0), parent_pose=(x, 0, 0))
    mechanism.add_closure("pin", "point", "coupler", "rocker", pose1=(1.1, 0, 0), pose2=(0.8, 0, 0))
    return mechanism


def mujoco_eigenvalues(system: sr.System, q: Array) -> np.ndarray:
    """Return log(z) / dt of the eigenvalues z of MuJoCo's finite-difference step at rest at q."""
    assert system.mechanism is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "four_bar.xml"
        system.mechanism.to_mjcf(path)
        model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    data.qpos[:] = q
    size = 2 * model.nv + model.na
    step = np.zeros((size, size))
    mujoco.mjd_transitionFD(model, data, 1e-6, True, step, None, None, None)
    return np.log(np.linalg.eigvals(step).astype(complex)) / model.opt.timestep


def measure() -> dict[str, str]:
    """Return the parts of the page by name."""
    loader = example("front_loader")
    system = sr.System(loader.build())
    q = loader.pose(system, *POSE)
    times, growth, error, size = along_section(system, q)
    held = sr.linearize(system, q, held_by(system, q), coordinates=["boom", "bucket"])
    step = held.discretize(0.01)
    linkage = sr.System(four_bar())
    rest = sr.equilibrium(linkage, linkage.assemble([-1.0, 1.0, -1.5]).q, stable=True)
    ours = sr.linearize(linkage, rest.q)
    theirs = mujoco_eigenvalues(linkage, np.array(rest.q))
    swings = theirs[np.argsort(np.abs(np.abs(theirs.imag) - np.abs(ours.eigenvalues[0].imag)))[:2]]
    others = np.array([z for z in theirs if not np.isclose(z, swings).any()])
    return {
        "loader": "\n".join(loader_section(system, q)),
        "times": ", ".join(f"{t:.2g}" for t in times),
        "growth": ", ".join(number(g) for g in growth),
        "error": f"{error:.1e}",
        "size": f"{size:.1e}",
        "step": matrix("A(0.01 s)", step.A) + "\n" + matrix("B(0.01 s)", step.B),
        "disc": "\n".join(disc_rows()),
        "ours": eigenvalues(ours.eigenvalues),
        "theirs": f"± {abs(swings[0].imag):.4g}i",
        "others": ", ".join(f"{z.real:.3g}" for z in sorted(others, key=lambda z: z.real)),
    }


TEXT = """\
# Linear models of closed mechanisms

Written by `python docs/linear_models.py`; all numbers are from that run.

A mechanism with nv velocities and loops of rank r has nv − r degrees of freedom, and its motion stays on the manifold
of closed configurations. A linear model describes the motion **on this manifold**. In independent coordinates y it has
2 (nv − r) states, for any number of coordinates, rows or redundant rows:

    d/dt δx = affine + Â δx + B̂ δu + E δt,    x = (y, ẏ).

`sr.linearize` is for equilibria, where the affine part vanishes. `sr.linearize_at` is for any state of a motion.
`sr.linearize_along` is for many states at once, also in coordinates of a `Relation` and with nonholonomic rows.
Derivatives are exact: derivatives of the equations of motion at given accelerations and multipliers, by automatic
differentiation, and then one elimination. They include the second derivatives of the loops, by which the force in a
closure acts as a stiffness. The source is Spencer 2004, chapter 4.

## The front loader, in two choices of coordinates

Eight bodies, three loops, two degrees of freedom: `examples/front_loader.py`, with the topology of the loader in
Spencer's section 4.5 and other dimensions. As there it is linearised in the angles of boom and bucket, and in the
lengths of the two cylinders. The boom is {boom} rad from the horizontal, the floor of the bucket {floor} rad.

```python
import sarrus as sr
from examples.front_loader import build, pose

system = sr.System(build())
q = pose(system, boom=-0.2, bucket=0.3)
model = sr.linearize_at(system, q, coordinates=["boom", "bucket"])
print(model.A, model.B, model.names, model.eigenvalues)
```

{loader}
Without forces in the cylinders the loader accelerates. Then eigenvalues depend on the coordinates, in Spencer's
example as here, because the acceleration enters through the curvature of the change of coordinates. At an equilibrium
the eigenvalues do not depend on the coordinates (theorem 4.1.1 there); B̂ is in the units of the coordinates.
At rest and without damping ÿ does not depend on ẏ, so the eigenvalues are pairs ± s. (In print, the second choice
there has one pair of eigenvalues twice; the other pair has the opposite sign.)

## Coordinates of spherical and free joints

A quaternion has four entries for three degrees of freedom. The independent coordinates of a spherical joint are named
after its velocities (`ball.wx`, `ball.wy`, `ball.wz`). They are twice the vector part of the rotation from the state,
2 vec(q₀⁻¹ q), in axes of the child body. For a free joint the position comes first. The model is exact in these
coordinates: to first order they are the rotation vector θ, and their rates the angular velocity. If the joint rotates,
ÿ and θ̈ differ by −(|ω|² θ + 2 (ω·θ) ω)/12, and so does Â. `coordinates=sr.coordinates.RotationVector("ball")` gives
the model in θ and θ̇:

```python
import numpy as np

top = sr.Mechanism("top")
top.add_body("top", 1.3, (0.0, 0.0, 0.2), (0.03, 0.04, 0.02))
top.add_joint("ball", "spherical", "world", "top")
spinning = sr.System(top)
upright, spin = spinning.neutral(), np.array([1.0, 0.0, 3.0])
plain = sr.linearize_at(spinning, upright, spin)
rotation = sr.coordinates.RotationVector("ball")
theta = sr.linearize_at(spinning, upright, spin, coordinates=rotation)
print(plain.names[:3], theta.names[:3])
differs = -(spin @ spin * np.eye(3) + 2 * np.outer(spin, spin)) / 12
assert np.allclose(plain.A[3:, :3] - theta.A[3:, :3], differs)
```
```text
('ball.wx', 'ball.wy', 'ball.wz') ('ball.rx', 'ball.ry', 'ball.rz')
```

## Along a motion

The loader sinks from rest, without forces in its cylinders, for {horizon} s. The largest real part of the eigenvalues
at t = {times} s is {growth} 1/s. Integrate the {count} models of

```python
run = sr.simulate(system, q, duration=0.2, dt=2e-3)
models = sr.linearize_along(system, run.q, run.v, t=run.t, coordinates=["boom", "bucket"])
```

by the midpoint rule. The prediction for a push of {push} rad/s differs from a second simulation by {error}, of a
deviation of {size}.

## Discrete time, regulators

`model.discretize(dt)` is the exact step with u held, by one matrix exponential. For the held loader in boom and bucket:

{step}

`model.to_control()` converts the model for python-control with its names, `to_scipy()` for SciPy.
`model.deviation(q, v)` returns δx of a state of the whole mechanism, for a feedback u = u₀ − K δx:
`examples/lqr_inverted.py` balances a platform on two parallel legs in this way. `model.A_full` is the model of all
velocities, (4.4) in Spencer, which needs no choice of coordinates; with it `examples/swing_up.py` follows a motion on
which the angles of the motors do not determine the others. `model.mode_shapes` are motions of the whole mechanism,
and `model.animate_vibration_mode(0, "mode.gif")` shows one.

## Nonholonomic constraints

A rolling disc has five coordinates and three velocities, so its model has eight states: `coordinates=["heading",
"tilt", "spin"]` chooses the velocities η, and all five y stay. Upright and rolling straight on, heading rate, tilt and
tilt rate are a block of their own with s (s² + κ) = 0 (Routh, Neimark and Fufaev; `examples/rolling_disc.py`):

| speed [m/s] | eigenvalues of the model | ± √−κ |
| --- | --- | --- |
{disc}

It falls below √(g r / 3) = {critical} m/s.

Position, heading, the angles of the wheels and the speed of a vehicle are neutral: exact zero eigenvalues of A, in
chains or not. `model.neutral` are their indices among the eigenvalues, `model.neutral_velocities` the velocities that
they belong to. `model.stable` refers to the other eigenvalues. It is True for a bicycle between the speeds of weave
and capsize. It is None where the linear model does not decide: for the disc that oscillates without damping, and at
the speed of capsize itself, where a further eigenvalue is zero ([decision 47](decisions/0047-rolling.md)).

## With contacts, stops and dry friction

The linear model is that of the smooth phase that begins at the state: modes stay as they are. Closed contacts and
stops stay closed, and what sticks keeps its place, as with closures. A robot on feet that stick has the model of the
robot on hinges. Sliding contacts keep the friction −μ r_n d; the derivative includes the change of the normal force
r_n and of the slip direction d. So a velocity across the slip of a crate decays at μ g / v:

```python
crate = sr.Mechanism("crate")
crate.add_body("crate", mass=2.0, inertia=(0.1, 0.1, 0.1))
crate.add_joint("float", "free", "world", "crate")
for k, (x, y) in enumerate([(0.2, 0.2), (-0.2, 0.2), (-0.2, -0.2), (0.2, -0.2)]):
    crate.add_contact(f"c{{k}}", "crate", (x, y, -0.1), friction="coulomb", friction_coefficient=0.5)
on_floor = sr.System(crate)
slides = sr.linearize_at(on_floor, [0, 0, 0.1, 1, 0, 0, 0], [2.0, 0, 0, 0, 0, 0])
across = slides.names.index("float.vy.rate")
assert np.isclose(slides.A[across, across], -0.5 * 9.81 / 2.0)
print(slides.coordinates, slides.contacts.modes["c0"].name)
assert sr.linearize(on_floor, [0, 0, 0.1, 1, 0, 0, 0]).names == ()  # at rest it sticks: nothing moves
```

```text
('float.vx', 'float.vy', 'float.wz') SLIDING
```

`model.contacts` has the modes and forces. Its `ambiguous` names contacts whose shares of the load matter for the model
although statics does not determine them; the shares are then those of runs. At a border of modes derivatives are
one-sided: a closed contact without force, slip that begins, a sticking contact with all the friction that it can have.
There the error names the contact. `contacts=False` leaves contacts, stops and dry friction out.

The dry friction of a joint that slides is a constant force. That of a tendon that slides is constant along its path,
which turns, and the derivative includes this. A relation as coordinates (`coordinates=Relation(...)`) cannot: it
refuses a tendon that slides by name.

Boxes, cylinders, capsules, ellipsoids, meshes and height fields keep the features that touch: a corner on a face, two
edges, a rim, two curved sides with their curvatures. An egg that stands on a ball rocks, and falls if it is too high:

```python
for height in (0.1, 0.2):
    egg = sr.Mechanism("egg")
    egg.add_geom("ball", "world", "sphere", (1.0,), pose=(0, 0, -1.0))
    egg.add_body("egg", mass=1.0, inertia=(0.01, 0.01, 0.01))
    egg.add_joint("egg", "free", "world", "egg", parent_pose=(0, 0, height))
    egg.add_geom("egg", "egg", "ellipsoid", (0.15, 0.15, height))
    egg.add_geometry_contacts(friction_coefficient=1.0)
    on_ball = sr.System(egg)
    model = sr.linearize(on_ball, on_ball.neutral())
    radius = 0.15**2 / height  # of curvature below; two curved sides act as one of radius r R / (r + R)
    square = 9.81 * (radius / (radius + 1.0) - height) / (0.01 + height**2)
    rocks = model.eigenvalues[np.argsort(np.abs(model.eigenvalues))[-1]]
    assert np.isclose(rocks**2, -square, rtol=1e-6)
```

## Where there is no linear model

At a singular configuration branches meet, and the manifold is not smooth. `sr.linearize` refuses and names the
branches, such as parallelogram and antiparallelogram of a linkage with all links in line. It also refuses where
constraints contradict each other, and where q is no equilibrium it names the velocity that accelerates.

## Other programs

A planar four-bar at rest has one degree of freedom: two eigenvalues, {ours} here. MuJoCo's `mjd_transitionFD` returns
the step of all three joints, 6 × 6, by finite differences of a soft loop: the pair of the mechanism is {theirs}, with
four eigenvalues of the loop itself with real parts {others}, which come from solver
parameters. This is correct for a soft loop and for simulation with contacts; a regulator must not use these four.
Pinocchio 4.1 has exact derivatives of the constrained acceleration with respect to all coordinates, and leaves the
elimination to the user. Exudyn 1.13 eliminates, but its K lacks the stiffness from forces in the closures (a hanging
pendulum in Cartesian coordinates has none). SymPy 1.14 needs the names of the independent coordinates, and returns NaN
for an unsuitable choice. These programs have features that sarrus has not: contacts in great number, flexible bodies,
symbolic output.
"""


def render(parts: dict[str, str]) -> str:
    """Return the page."""
    disc = example("rolling_disc")
    fixed = {
        "boom": f"{POSE[0]:g}".replace("-", "−"),
        "floor": f"{POSE[1]:g}",
        "horizon": f"{HORIZON:g}",
        "count": f"{STEPS + 1}",
        "push": f"{PUSH:g}",
        "critical": f"{np.sqrt(disc.GRAVITY * disc.RADIUS / 3):.4g}",
    }
    return TEXT.format(**fixed, **parts)


if __name__ == "__main__":
    PAGE.write_text(render(measure()), encoding="utf-8")
