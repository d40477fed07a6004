"""Tolerances of the wing ``control``: references and samples."""

from __future__ import annotations

# [1, of unit vectors] The two axes of a circle are orthonormal if lengths and cosine are off by less. Files
# with ten digits have it, and a circle is then one to 1e-9.
ORTHONORMAL_AXES = 1e-9

# [1, of the number of samples] A duration may exceed a whole number of sample times by this part without an
# extra sample of noise. Products of times round at 1e-16.
WHOLE_SAMPLE = 1e-9
