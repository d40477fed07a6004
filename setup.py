"""The kernels are compiled when a wheel or an editable install is built: docs/decisions/0032-kernels-in-the-wheel.md.

All else about the package is in pyproject.toml.
"""

import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

SOURCES = Path(__file__).resolve().parent / "src"
COMPILE = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from sarrus.kernels.platform.build_prebuilt import main; main()"
)


class BuildWithKernels(build_py):
    """Puts the compiled kernels among the sources, from where they go into a wheel as the package's data.

    An editable install gets those of a first simulation; the others are compiled when they are first called.
    """

    def run(self):
        # Not by PYTHONPATH: pip takes the sources out of it where they are installed, editable, already.
        which = ["first"] if self.editable_mode else []
        done = subprocess.run([sys.executable, "-c", COMPILE, str(SOURCES), *which], check=False)
        if done.returncode:  # no exception: setuptools ignores those of editable installs
            sys.exit("sarrus: the kernels could not be compiled, see above")
        super().run()


class Wheel(bdist_wheel):
    """A wheel for one kind of machine and any Python 3."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class WithObjectCode(Distribution):
    """A package that is not the same on all machines."""

    def has_ext_modules(self):
        return True


setup(cmdclass={"build_py": BuildWithKernels, "bdist_wheel": Wheel}, distclass=WithObjectCode)
