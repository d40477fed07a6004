"""``python -m sarrus.kernels.platform.compile_one MODULE NAME``: compile one kernel into the cache."""

import sys

from sarrus.kernels.platform.c_function import Kernel

if __name__ == "__main__":
    Kernel(*sys.argv[1:3]).store()
