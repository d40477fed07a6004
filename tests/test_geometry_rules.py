"""Which geometries touch, as the file says and as MuJoCo finds; how they are written; what is refused."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import sarrus as sr
from geometry_scenes import add_free, cube, run, scene
from support_pairs import largest_separation

# --- which geoms touch -----------------------------------------------------------------------------

FILTERED = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="fixed"><geom name="post" type="box" size=".1 .1 .1"/></body>
    <body name="base" pos="0 0 1"><freejoint/>
      <geom name="a" size=".1" contype="2" conaffinity="1" condim="4" friction="0.7 0.02 0.001"/>
      <geom name="b" size=".1" priority="2" condim="1"/>
      <body name="arm"><joint axis="0 1 0"/>
        <geom name="c" type="capsule" size=".1 .1" condim="6" friction="0.3 0.01 0.002" margin="0.01"/>
        <body name="welded"><geom name="d" size=".1"/></body>
        <body name="tip"><joint axis="1 0 0"/>
          <geom name="e" type="cylinder" size=".1 .1" contype="0" conaffinity="2"/>
          <geom name="f" type="ellipsoid" size=".1 .1 .2" friction="0.9"/></body></body></body>
    <body name="other" pos="1 0 1"><freejoint/><geom name="g" type="box" size=".1 .1 .1" friction="0.2" margin="0.02"/>
    </body>
  </worldbody>
  <contact><exclude body1="base" body2="other"/><pair geom1="a" geom2="c" condim="3" friction="0.4 0.4 0.1 0.2 0.2"/>
  </contact>
</mujoco>
"""


def test_the_file_says_which_geoms_touch(tmp_path):
    path = tmp_path / "filtered.xml"
    path.write_text(FILTERED)
    mechanism = sr.load(path)
    contacts = mechanism.add_geometry_contacts()
    model = mujoco.MjModel.from_xml_string(FILTERED)
    model.geom_margin[:], model.pair_margin[:], model.body_margin[:] = 0.2, 0.2, 0.4
    data, seen, rng = mujoco.MjData(model), {}, np.random.default_rng(0)
    for _ in range(300):
        data.qpos[:] = 0.4 * rng.normal(size=model.nq)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_collision(model, data)
        for k in range(data.ncon):
            pair = frozenset(model.geom(int(g)).name for g in data.contact.geom[k])
            seen[pair] = int(data.contact.dim[k]), data.contact.friction[k].copy()
    assert {frozenset((c.geom1, c.geom2)) for c in contacts} == set(seen)
    for contact in contacts:
        condim, friction = seen[frozenset((contact.geom1, contact.geom2))]
        mu = contact.friction_coefficient
        assert contact.width == condim
        if condim > 1:
            assert mu == friction[0]
        assert mu * contact.torsion == pytest.approx(friction[2] if condim > 3 else 0.0)
        assert mu * contact.rolling == pytest.approx(friction[3] if condim > 4 else 0.0)


def test_named_geoms_and_bodies():
    mechanism = scene("named")
    for k in range(3):
        add_free(mechanism, f"ball{k}", "sphere", (0.1,), (0.3 * k, 0.0, 0.1), contype=0, conaffinity=0)
    with pytest.raises(sr.ModelError, match="none of the geoms can touch"):
        mechanism.add_geometry_contacts(friction_coefficient=0.5)
    contacts = mechanism.add_geometry_contacts("world", ["ball0", "ball2"], friction_coefficient=0.5)
    assert [c.name for c in contacts] == ["floor-ball0", "floor-ball2"]
    with pytest.raises(sr.ModelError, match="ball7"):
        mechanism.add_geometry_contacts(["ball7"])
    with pytest.raises(sr.ModelError, match="give friction_coefficient"):
        mechanism.add_geometry_contacts("ball0", "ball1")


# --- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"kind": "sphere", "size": (np.nan,)}, "size"),
        ({"kind": "sphere", "size": (-1.0,)}, "must be positive"),
        ({"kind": "cone", "size": (1.0,)}, "cone"),
        ({"kind": "sphere", "size": (1.0,), "friction": np.nan}, "friction"),
        ({"kind": "sphere", "size": (1.0,), "condim": 2}, "condim"),
        ({"kind": "mesh"}, "points"),
        ({"kind": "hfield", "size": (1, 1, 1, 1), "heights": [[0, 2], [0, 0]]}, "heights"),
    ],
)
def test_geometries_that_are_none(given, text):
    mechanism = scene("wrong")
    with pytest.raises(sr.ModelError, match=text):
        mechanism.add_geom("geom", "world", **given)


def test_coincident_balls_and_wrong_numbers_are_refused_by_name():
    mechanism = scene("coincident")
    for k in range(2):
        add_free(mechanism, f"ball{k}", "sphere", (0.1,), (0.0, 0.0, 0.5))
    with pytest.raises(sr.ModelError, match="friction_coefficient"):
        mechanism.add_geometry_contacts(friction_coefficient=np.nan)
    with pytest.raises(sr.ModelError, match="restitution"):
        mechanism.add_geometry_contacts(friction_coefficient=0.5, restitution=1.5)
    for closed_form in (True, False):
        mechanism.add_geometry_contacts("ball0", "ball1", friction_coefficient=0.5, closed_form=closed_form)
        system = sr.System(mechanism)
        with pytest.raises(sr.ArgumentError, match="'ball0-ball1' begin 0\\.2 m in each other"):
            run(system, system.neutral())
        with pytest.raises(sr.ArgumentError, match=r"'ball0-ball1.*begin 0\.2 m in each other"):
            run(system, system.neutral(), method="rk4")


def least_overlap(model, data, names):
    """Return the largest separation [m] of a ball and an ellipsoid over dense directions."""
    geoms = sorted((model.geom(name).id for name in names), key=lambda geom: model.geom_type[geom])
    turns = [Rotation.from_matrix(data.geom_xmat[g].reshape(3, 3)).as_quat(scalar_first=True) for g in geoms]
    q = np.concatenate([each for g, turn in zip(geoms, turns) for each in (data.geom_xpos[g], turn)])
    sizes = model.geom_size[geoms[0], :1], model.geom_size[geoms[1]]
    return largest_separation(("sphere", "ellipsoid"), sizes, q)


def test_contacts_are_those_that_mujoco_finds(tmp_path):
    path = tmp_path / "filtered.xml"
    path.write_text(FILTERED.replace('margin="0.01"', "").replace('margin="0.02"', ""))
    mechanism = sr.load(path)
    contacts = mechanism.add_geometry_contacts()
    system = sr.System(mechanism)
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.ccd_tolerance, model.opt.ccd_iterations = 1e-14, 500
    from sarrus.motion.loop.contact_run import ContactRun

    work = system.workspace().copy()
    geometry_run = ContactRun(work, system.neutral(), 0.0).geometry_run
    assert geometry_run is not None
    data, rng, count = mujoco.MjData(model), np.random.default_rng(1), 0
    for _ in range(200):
        q = system.normalized(system.neutral() + 0.3 * rng.normal(size=system.nq))
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_collision(model, data)
        names = [{model.geom(int(g)).name for g in pair} for pair in data.contact.geom]
        theirs = sorted((sorted(pair), gap) for pair, gap in zip(names, data.contact.dist))
        seen = geometry_run.look(work.pack(q), 0.0)
        own = [(sorted((contacts[int(s.pair)].geom1, contacts[int(s.pair)].geom2)), s.gap) for s in seen]
        own.sort()
        assert [pair for pair, _ in own] == [pair for pair, _ in theirs]
        for (pair, gap), (_, peer) in zip(own, theirs):
            if gap != pytest.approx(
                peer, abs=1e-5
            ):  # MuJoCo's overlap of a ball and an ellipsoid about one centre
                assert gap == pytest.approx(least_overlap(model, data, pair), abs=1e-12)
                kinds = {int(model.geom(name).type[0]) for name in pair}
                assert kinds == {int(mujoco.mjtGeom.mjGEOM_SPHERE), int(mujoco.mjtGeom.mjGEOM_ELLIPSOID)}
        count += len(own)
    assert count > 300


def test_geometries_are_written_for_mujoco(tmp_path):
    mechanism = scene("written")
    add_free(mechanism, "ball", "sphere", (0.1,), (0, 0, 0.2), condim=4, friction=0.6)
    add_free(mechanism, "cube", "mesh", (), (0.5, 0, 0.2), points=cube(0.1), friction=0.4)
    mechanism.add_geometry_contacts()
    with pytest.raises(sr.SarrusError, match="contacts are soft"):
        mechanism.to_mjcf(tmp_path / "refused.xml")
    mechanism.to_mjcf(tmp_path / "written.xml", contacts="geoms")
    again = sr.load(tmp_path / "written.xml")
    assert set(again.add_geometry_contacts()) == set(mechanism.geometry_contacts.values())


def test_contacts_for_which_there_is_no_room_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of contacts grows when the first state has more, as it does within a run."""
    from sarrus.dynamics.contacts import geometry_arrays

    monkeypatch.setattr(geometry_arrays, "_ROOM", 4)
    monkeypatch.setattr(geometry_arrays, "_EACH", 0)
    mechanism = sr.Mechanism("tower")
    mechanism.add_geom("floor", "world", "plane")
    for k in range(3):
        mechanism.add_body(f"b{k}", 1.0, inertia=(0.01, 0.01, 0.01))
        mechanism.add_joint(f"j{k}", "free", "world", f"b{k}", parent_pose=(0, 0, 0.1 + 0.2 * k))
        mechanism.add_geom(f"g{k}", f"b{k}", "box", (0.1, 0.1, 0.1))
    mechanism.add_geometry_contacts(friction_coefficient=0.5)
    system = sr.System(mechanism)
    run = sr.simulate(system, system.neutral(), duration=0.02, dt=2e-3)
    np.testing.assert_allclose(run.q[-1, 2::7], [0.1, 0.3, 0.5], rtol=0, atol=1e-12)
    assert len(run.contact_log.at(len(run.t) - 1)) == 12
