"""Tolerances of the room ``inputs``: breaks of functions of time, jumps of drives, options of a run."""

from __future__ import annotations

# [s] Step of a run with fixed steps, and interval of its samples, where neither the caller nor the model
# file names one.
DEFAULT_STEP = 1e-3

# [1, of a coordinate] Default relative tolerance of adaptive steps: half the digits of double precision.
RELATIVE_TOLERANCE = 1e-8

# [1, of the relative tolerance] Default absolute tolerance, in characteristic units.
ABSOLUTE_SHARE = 1e-2

# [1, of the distance between neighbouring numbers near t0] A run and its fixed steps last longer: three
# digits of a step.
RESOLVED_TIME = 1e3

# [B] Default size that a recorded run may have.
MOST_BYTES = 2e9

# [1, units of rounding of the times] Breaks are sought so far beyond the ends of a run, and so belong to
# it.
WIDER_RUN = 100.0

# [1, of the largest singular value of M] A direction with a smaller singular value has no mass.
MASSLESS_DIRECTION = 1e-12

# [rad, characteristic lengths] Rows of drives are evaluated before a run at its start and at changes of
# this size.
CONFIGURATIONS_BESIDE = 0.1

# [rad/s, characteristic lengths/s, of 1 + the largest velocity] Velocities that are off by less obey their
# constraints.
VELOCITY_OBEYS = 1e-5

# [1, of the ends of the interval] Enclosures are widened by it: a few units of rounding of each operation.
OUTWARD = 2e-15

# [1, of 1 + the argument] Enclosures of cosines are widened by it: rounding of the argument.
OUTWARD_COSINE = 1e-15

# [states] Seeded states at which gradients give the size of an invariant.
GRADIENT_STATES = 4

# [rad, κ] Size of the steps to them.
GRADIENT_STEP = 0.3

# [stretches] Equal stretches into which the time is cut at first.
FIRST_STRETCHES = 32

# [1, units of rounding of the time] A break is found to this.
SHORTEST_STRETCH = 2.0

# [1, of the largest signal] A change of a signal that is a break.
JUMP = 1e-9

# [1, of the largest slope] A change of its slope that is a break.
KINK = 1e-9

# [1, of the largest curvature] A change of its curvature that is a break: curvatures by differences have
# fewer digits.
BEND = 1e-6

# [1, of the largest signal, slope or curvature] Smaller ones are zero.
NO_SIGNAL = 1e-13

# [1, of the range of the function] A function may vary by this in a stretch.
VARYING_TERM = 0.5

# [1, of the range of the term] A term that varies by less rests.
RESTING_TERM = 1e-10

# [1, of the rounding of the term] A term that varies by less rests whatever its range is.
RESTING_RANGE = 1e-3

# [1, of a period of sine and cosine] Counts as one stretch.
STRETCH_OF_PERIOD = 1.0 / 4.0

# [stretches] With more open stretches than this an enclosure is suspected to be wide by how it is written,
# as that of sin² + cos² is.
MANY_STRETCHES = 512

# [1, of the range of the function] A wide enclosure is dropped where no value is seen to vary by this
# within its stretches.
SEEN_TO_VARY = 0.05

# [1, ratio] Neighbours with longest steps in this ratio are one stretch: a factor of two, and rounding.
ALIKE_STRETCHES = 2.1

# [values] With more values times stretches all terms are taken to vary everywhere: their enclosures would
# take too much memory and time.
LARGE_COURSE = 2e7

# [places] Contacts between geometries with more places in closed form that steps in time leave to the narrow phase are
# refused in runs by events: 84 places of two boxes take 4 s to compile.
MOST_PLACES = 4000
