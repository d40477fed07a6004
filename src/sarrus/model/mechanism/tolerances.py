"""Tolerances of the room ``model/mechanism``: which numbers describe a body, an axis, a rotation."""

from __future__ import annotations

# [1, of unit vectors] Two axes are perpendicular if their cosine is below this number. Files with ten digits
# have it; an angle of 1e-9 rad moves no result.
PERPENDICULAR = 1e-9

# [1, of unit vectors] Two axes are parallel if their cosine differs from 1 by less than this number. The
# angle is then below 4e-5 rad: the cosine loses half of the digits.
PARALLEL = 1e-9

# [1 and m, of the unit normal and of the origin] Two contact planes are one plane if normals and heights
# differ by less. Planes that were given twice agree to rounding (1e-16).
SAME_PLANE = 1e-9

# [m] A gearing without backlash has this play along the normal of its flanks. It is below any play that
# counts in a machine and above rounding of positions (1e-16 m).
LEAST_PLAY = 1e-8

# [1, of unit entries] An entry of an axis or a rotation this near to −1, 0 or 1 becomes that number. Sines
# and cosines of π/2 leave 1e-16; with exact zeros a planar mechanism is traced as planar.
SNAPPED = 1e-14

# [unit of the quantity] A number of a description above this size is refused. Products of three such numbers
# leave the range of doubles (2e308).
LARGEST = 1e100

# [unit of the vector] A vector that gives a direction is refused as zero if it is shorter. Directions are
# given with lengths near 1, differences of equal points leave 1e-16.
NO_DIRECTION = 1e-12

# [1, of unit quaternions] A quaternion shorter than this is refused as zero. Given quaternions have lengths
# near 1 before they are normalised.
ZERO_QUATERNION = 1e-9

# [1, of unit entries] A 3 × 3 matrix is a rotation if R Rᵀ differs from 1 by less. Files print at least six
# digits.
ORTHONORMAL = 1e-6

# [1, of the largest entry] An inertia is symmetric if entries across the diagonal differ by less. Files with
# ten digits have it.
SYMMETRIC_INERTIA = 1e-9

# [1, of the largest entry] A principal moment may be below zero by this part. Rods and points have moments
# that are zero up to rounding and printed digits.
NEGATIVE_MOMENT = 1e-9

# [1, of the sum of two moments] A principal moment may exceed the sum of the other two by this part. Laminae
# reach the sum, and files print six digits.
TRIANGLE_PART = 1e-6

# [kg m²] A principal moment may exceed the sum of the other two by this amount. Moments that are all zero up
# to rounding so pass.
TRIANGLE_REST = 1e-12

# [1, of the largest entry] A periodic table may begin and end with rows that differ by this part. Tables
# computed from sines differ by rounding (1e-16).
PERIODIC = 1e-12

# [1, 1 − cosine] Faces of a hull at a smaller angle, 1e-4 rad, are one face without an edge between them: the corners
# of files have seven digits.
FLAT_HULL = 1e-8
