"""Units of FMI 3.0: states, instances, files, and what is wrong with a call."""

from __future__ import annotations

import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import fmpy
import numpy as np
import pytest
from fmpy.fmi1 import FMICallException
from fmpy.validation import validate_fmu

import sarrus as sr
from c_code import STRICT, compiler
from fmi_units import DISCARD, ERROR, Unit, model, quickly, unit
from sarrus.base.errors import ArgumentError
from sarrus.export.fmi import compiling


def test_states_are_taken_back_and_carried_as_bytes(units) -> None:
    _, _, _, path, folder = units("five_bar")
    with unit(path, folder) as one, unit(path, folder) as other:
        one.begin()
        one.fmu.doStep(0.0, 0.05)
        state = one.fmu.getFMUState()
        data = one.fmu.serializeFMUState(state)
        one.fmu.doStep(0.05, 0.05)
        end = one.all("q.")
        one.fmu.setFMUState(state)
        one.fmu.doStep(0.05, 0.05)
        np.testing.assert_array_equal(one.all("q."), end)
        other.begin()
        other.fmu.setFMUState(other.fmu.deserializeFMUState(data))
        other.fmu.doStep(0.05, 0.05)
        np.testing.assert_array_equal(other.all("q."), end)
        one.fmu.freeFMUState(state)
        with pytest.raises(FMICallException):
            other.fmu.deserializeFMUState(b"x" * len(data))
        assert "no state of this unit" in other.log[-1][1]


def test_instances_in_threads_do_not_meet(units) -> None:
    _, _, _, path, folder = units("three_leg_platform")

    def run(one: Unit, found: list) -> None:
        for k in range(40):
            one.fmu.doStep(0.005 * k, 0.005)
        found.append(one.all("q."))

    alone: list = []
    with unit(path, folder) as one:
        run(one.begin(), alone)
    with unit(path, folder) as one, unit(path, folder) as other:
        pair: list = []
        threads = [threading.Thread(target=run, args=(x.begin(), pair)) for x in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    np.testing.assert_array_equal(pair[0], alone[0])
    np.testing.assert_array_equal(pair[1], alone[0])


def test_the_same_model_gives_the_same_bytes(tmp_path) -> None:
    compiler()
    first = sr.export.fmu(model("five_bar"), tmp_path / "a.fmu")
    again = sr.export.fmu(model("five_bar"), tmp_path / "b.fmu")
    assert first.token == again.token
    assert first.path.read_bytes() == again.path.read_bytes()
    other = sr.export.fmu(model("five_bar"), tmp_path / "c.fmu", step=2e-3, binary=False)
    assert other.token != first.token


def test_it_runs_without_sarrus(units) -> None:
    """An interpreter that knows fmpy alone, of a file that has moved."""
    system, q, v, path, _ = units("five_bar")
    program = (
        "import sys; sys.modules['sarrus'] = None; sys.path.append(sys.argv[1]); import fmpy\n"
        "r = fmpy.simulate_fmu(sys.argv[2], stop_time=0.1, output_interval=0.01, fmi_type='CoSimulation')\n"
        "print(repr(float(r['q.' + sys.argv[3]][-1])))"
    )
    site = str(Path(fmpy.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, site, path, system.coordinate_names[0]],
        capture_output=True,
        text=True,
        check=True,
    )
    motion = sr.simulate(system, q, v, duration=0.1, dt=1e-3, switching=False)
    assert float(done.stdout) == pytest.approx(motion.q[-1, 0], abs=1e-12)


def test_the_sources_compile_alone_without_a_warning(units, tmp_path) -> None:
    """Nothing but the C library is called, and nothing but functions of the standard can be."""
    _, _, _, path, _ = units("three_leg_platform")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path)
    sources = sorted((tmp_path / "sources").glob("*.c"))
    command = [compiler(), *STRICT, "-O1", "-fPIC", "-fvisibility=hidden", "-shared", "-o", tmp_path / "a.so"]
    done = subprocess.run([*command, *sources, "-lm"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]
    table = subprocess.run(["nm", "-D", tmp_path / "a.so"], capture_output=True, text=True, check=True).stdout
    public = {line.split()[-1] for line in table.splitlines() if " T " in line}
    assert {name for name in public if not name.startswith("_")} >= {
        "fmi3DoStep",
        "fmi3GetDirectionalDerivative",
    }
    assert all(name.startswith(("fmi3", "_")) for name in public)
    described = (tmp_path / "sources" / "buildDescription.xml").read_text()
    assert all(source.name in described for source in sources)


def test_units_made_from_their_sources_run_with_the_options_of_their_own_description(units, tmp_path) -> None:
    """No global name is without the unit's: glibc has a function ``advance``, which stood in for the unit's."""
    system, q, v, path, _ = units("five_bar")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path)
    build = ElementTree.parse(tmp_path / "sources" / "buildDescription.xml").getroot()
    files = [tmp_path / "sources" / file.attrib["name"] for file in build.iter("SourceFile")]
    options = next(build.iter("SourceFileSet")).attrib["compilerOptions"].split()
    libraries = [f"-l{one.attrib['name']}" for one in build.iter("Library")]
    name = next(build.iter("BuildConfiguration")).attrib["modelIdentifier"]
    (library,) = (tmp_path / "binaries").glob("*/*")
    library.unlink()
    command = [compiler(), "-std=c99", *options, "-fPIC", "-shared", "-o", library, *files, *libraries]
    subprocess.run(command, check=True)
    table = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
    public = {
        line.split()[-1]
        for line in table.splitlines()
        if len(line.split()) == 3 and line.split()[1] in "TDBR"
    }
    assert {one for one in public if not one.startswith(("fmi3", f"{name}_", "_"))} == set()
    with unit(path, tmp_path) as one:
        one.begin().fmu.doStep(0.0, 0.1)
        end = one.all("q.")
    motion = sr.simulate(system, q, v, duration=0.1, dt=1e-3, switching=False)
    np.testing.assert_allclose(end, motion.q[-1], atol=1e-12)


def test_units_with_a_prefix_of_functions_can_be_linked_into_one_program(units, tmp_path) -> None:
    objects = []
    for one in ("five_bar", "three_leg_platform"):
        folder = tmp_path / one
        with zipfile.ZipFile(units(one)[3]) as archive:
            archive.extractall(folder)
        for source in sorted((folder / "sources").glob("*.c")):
            objects.append(folder / f"{source.stem}.o")
            command = [compiler(), *STRICT, f"-DFMI3_FUNCTION_PREFIX={one}_", "-fPIC", "-c", source]
            subprocess.run([*command, "-o", objects[-1]], check=True)
    both = tmp_path / "both.so"
    subprocess.run([compiler(), "-shared", "-o", both, *objects, "-lm"], check=True)
    table = subprocess.run(["nm", "-D", both], capture_output=True, text=True, check=True).stdout
    assert " T five_bar_fmi3DoStep" in table
    assert " T three_leg_platform_fmi3DoStep" in table
    assert " T fmi3" not in table


# --- what is wrong ----------------------------------------------------------------------------------------


def test_open_loops_are_an_error_that_names_the_row(units) -> None:
    system, q, _, path, folder = units("five_bar")
    with unit(path, folder) as one:
        one.set({f"q.{system.coordinate_names[0]}": q[0] + 0.1})
        one.fmu.enterInitializationMode()
        with pytest.raises(FMICallException):
            one.fmu.exitInitializationMode()
        assert one.log[-1][0] == ERROR
        assert any(f"'{row}'" in one.log[-1][1] for row in system.constraint_names)
    with unit(path, folder) as one:
        with pytest.raises(FMICallException):
            one.set({f"q.{system.coordinate_names[0]}": np.nan})
        assert f"q.{system.coordinate_names[0]} is set to a value that is not finite" in one.log[-1][1]


def test_a_step_without_an_answer_is_discarded(units) -> None:
    """The state stays, the time of the last good step comes back, and no number is not finite."""
    system, _, _, path, folder = units("five_bar")
    with unit(path, folder) as one:
        one.set({f"u.{system.actuator_names[0]}": 1e200})
        one.begin()
        before = one.all("q.")
        with pytest.raises(FMICallException):
            one.fmu.doStep(0.0, 0.01)
        assert one.log[-1][0] == DISCARD
        assert "a step at t = 0" in one.log[-1][1]
        np.testing.assert_array_equal(one.all("q."), before)
        one.set({f"u.{system.actuator_names[0]}": 0.0})
        one.fmu.doStep(0.0, 0.01)


def test_a_step_that_is_too_long_is_discarded(tmp_path) -> None:
    compiler()
    mechanism = sr.Mechanism("damped")
    mechanism.add_body("rod", 1.0, (0, 0, -1), (0.1, 0.1, 0.01))
    mechanism.add_joint("hinge", "revolute", "world", "rod", axis=(0, 1, 0), damping=4.0 * 1.1 / 1e-2)
    path = tmp_path / "damped.fmu"
    with quickly():
        sr.export.fmu(sr.System(mechanism), path, v=[1e-3], step=1e-2)
    with unit(path, tmp_path / "unpacked") as one:
        one.begin()
        with pytest.raises(FMICallException):
            one.fmu.doStep(0.0, 1.0)
        assert "UNSTABLE_STEP" in one.log[-1][1]
        assert abs(one.get("q.hinge")[0]) < 1.0


def test_massless_bodies_have_no_rates(tmp_path) -> None:
    compiler()
    mechanism = sr.Mechanism("massless")
    mechanism.add_body("link", 0.0)
    mechanism.add_joint("hinge", "revolute", "world", "link")
    path = tmp_path / "massless.fmu"
    with quickly():
        sr.export.fmu(sr.System(mechanism), path)
    with unit(path, tmp_path / "unpacked", "ModelExchange") as one:
        one.begin()
        with pytest.raises(FMICallException):
            one.get("der(v.hinge)")
        assert one.log[-1][0] == DISCARD
        assert "ILL_POSED" in one.log[-1][1]


def test_singular_configurations_are_told(tmp_path, example) -> None:
    """At the fold of a slider-crank with equal links there is a warning; co-simulation goes through."""
    compiler()
    system = sr.System(example("slider_crank").build())
    q, v = np.zeros(2), np.array([8.0, -16.0])
    path = tmp_path / "slider.fmu"
    with quickly():
        sr.export.fmu(system, path, q=q, v=v, contacts=False)
    motion = sr.simulate(system, q, v, duration=2.0, dt=1e-3, switching=False)
    with unit(path, tmp_path / "unpacked") as one:
        one.begin()
        for k in range(200):
            one.fmu.doStep(0.01 * k, 0.01)
        np.testing.assert_allclose(one.all("q."), motion.q[-1], rtol=0, atol=1e-8)
    folded = {f"q.{n}": x for n, x in zip(system.coordinate_names, (np.pi / 2, -np.pi))}
    with unit(path, tmp_path / "unpacked", "ModelExchange") as one:
        one.set(folded)
        one.begin()
        one.all("der(v.")
        assert "SINGULAR" in one.log[-1][1]
        with pytest.raises(FMICallException):
            one.derivatives(["der(v.crank)"], {"q.crank": 1.0})
        assert one.log[-1][0] == DISCARD


def test_it_says_what_it_needs(tmp_path, monkeypatch) -> None:
    system = model("five_bar")
    monkeypatch.setattr(compiling.shutil, "which", lambda name: None)
    with pytest.raises(ArgumentError, match=r"no C compiler.*binary=False"):
        sr.export.fmu(system, tmp_path / "a.fmu")
    written = sr.export.fmu(system, tmp_path / "a.fmu", binary=False)
    assert written.binary is None
    with zipfile.ZipFile(written.path) as archive:
        assert not [name for name in archive.namelist() if name.startswith("binaries")]
    with pytest.raises(ArgumentError, match=r"must end in \.fmu"):
        sr.export.fmu(system, tmp_path / "a.zip", binary=False)
    with pytest.raises(ArgumentError, match="step must be positive"):
        sr.export.fmu(system, tmp_path / "b.fmu", binary=False, step=0.0)
    with pytest.raises(ArgumentError, match="needs a System or a control law"):
        sr.export.fmu("five_bar", tmp_path / "b.fmu", binary=False)
    assert not (tmp_path / "b.fmu").exists()


def test_calls_in_the_wrong_mode_are_errors(units) -> None:
    """And a reset begins anew."""
    system, q, _, path, folder = units("five_bar")
    with unit(path, folder) as one:
        with pytest.raises(FMICallException):
            one.fmu.doStep(0.0, 0.01)
        assert "fmi3DoStep: not allowed in this mode" in one.log[-1][1]
        one.begin()
        first = f"q.{system.coordinate_names[0]}"
        for wrong in ({first: 0.0}, {"residual": 0.0}, {"step_size": 1e-4}):
            with pytest.raises(FMICallException):
                one.set(wrong)
            assert one.log[-1][0] == ERROR
        for current, size in ((0.5, 0.01), (0.0, -0.01)):
            with pytest.raises(FMICallException):
                one.fmu.doStep(current, size)
        one.fmu.doStep(0.0, 0.01)
        assert one.get(first)[0] != q[0]
        one.fmu.reset()
        assert one.get(first)[0] == q[0]
        one.begin(start=2.0, step_size=5e-4)
        one.fmu.doStep(2.0, 0.01)
        assert one.get("time")[0] == 2.01
        with pytest.raises(FMICallException):
            one.fmu.getBoolean([one.references["residual"]])


def test_names_of_any_kind(tmp_path) -> None:
    """Quotes, trigraphs, markup and letters of all kinds; a model that is called like one of the sources."""
    compiler()
    mechanism = sr.Mechanism("mechanism")
    names = ['say "ü" ??/', "a<b>&c", "\\n%s"]
    for k, name in enumerate(names):
        mechanism.add_body(name, 1.0 + k, (0, 0, -0.1), (0.1, 0.1, 0.1))
        mechanism.add_joint(f"j {name}", "revolute", "world", name, axis=(0, 1, 0))
    path = tmp_path / "names.fmu"
    with quickly():
        assert sr.export.fmu(sr.System(mechanism), path).name == "model_mechanism"
    assert validate_fmu(path) == []
    with unit(path, tmp_path / "unpacked") as one:
        for name in names:
            one.set({f"q.j {name}": 0.1})
            with pytest.raises(FMICallException):
                one.set({f"q.j {name}": np.inf})
            assert f"q.j {name} is set to a value that is not finite" in one.log[-1][1]
        one.begin()
        one.fmu.doStep(0.0, 0.01)
        assert np.all(one.all("q.") < 0.1)
