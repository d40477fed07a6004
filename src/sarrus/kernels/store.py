"""``python -m sarrus.kernels.store MODULE NAME``: compile a kernel into the cache, for a process that needs it soon."""

import sys

from sarrus.kernels.c_function import Kernel

if __name__ == "__main__":
    Kernel(*sys.argv[1:3]).store()
