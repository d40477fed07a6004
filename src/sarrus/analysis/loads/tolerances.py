"""Tolerances of the room ``analysis/loads``: powers, shares and peaks of forces."""

from __future__ import annotations

# [1, of all powers of a run] What is left of the power of a run is an applied force if it is larger. Powers
# interpolated between records leave 1e-9.
APPLIED_POWER = 1e-7

# [1, of the work] Work of contacts by name agrees with the work that a run noted, if they differ by less.
# Records are a step apart.
CONTACTS_AGREE = 1e-3

# [1, of the energy] Energy that changes by less at an instant has no impact there. It is rounding.
NO_JUMP = 1e-12

# [1, of the piece of time] A root of a polynomial is real if its imaginary part is smaller. Double roots
# split by the root of rounding, 1e-8.
REAL_ROOT = 1e-6

# [1, of the sample time] A time nearer to an instant is that instant. Sums of sample times round at 1e-13.
AT_INSTANT = 1e-9

# [1, of the entry] A given matrix of weights is symmetric if entries across the diagonal differ by less.
# Users build it with rounding.
SYMMETRIC_WEIGHTS = 1e-12

# [1, of the peak] Peaks that differ by less are one, and the first is reported. Periodic motions repeat up to
# the error of their steps.
SAME_PEAK = 1e-9

# [1, of unit rows, squared] A component whose squared entries in the free directions sum to less is
# determined. Bases of null spaces leave the square of 1e-12.
ABSENT_SHARE = 1e-9

# [1, of the largest entry] Singular values of directions of shares below are zero. Rows computed from q leave
# 1e-14.
DEPENDENT_SHARE = 1e-11

# [1, of the largest load] A load below is zero where a bearing gives way. Solves leave 1e-13.
NO_LOAD = 1e-9

# [1, of the largest load] Loads below are printed as zero. Prints have four digits; solves leave 1e-13.
NEXT_TO_NOTHING = 1e-9

# [1, of the forces] Mean forces of contacts over a step may miss the acceleration by this part: a step that
# turns does. More is an impact.
MEANS_MISS = 1e-2

# [1, of the largest time] Samples that are nearer are the two sides of one instant, before and after an
# impact. Times round at 1e-16.
BOTH_SIDES_OF_INSTANT = 1e-13
