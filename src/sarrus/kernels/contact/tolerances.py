"""Tolerances of the room ``contact``: contacts, stops, dry friction, play of gears and cables.

Every level reads the same numbers: states, accelerations, statics, runs by events, steps in time, exported C and FMI
units, constraints that switch. A state means the same everywhere.

Gaps are in units of the block: the characteristic length of the mechanism for contacts, for stops of translations
and for their friction, 1 rad for rotations. Speeds are in these units a second. Metres and millimetres have the same
answer.
"""

from __future__ import annotations

# [1, of the range of a stop or the characteristic length] A coordinate beyond its bound by less is at the
# bound, and a gap at rest is closed; a deeper one is an error, or a stop that begins beyond. Printed digits
# of model files and keyframes explain that much.
AT_BOUND = 1e-6

# [1, of the unit of the block] What approaches with a smaller gap has arrived, and there is an impact; with
# a larger one it flies. It is far above rounding, 1e-16, and far below what printed digits explain.
ARRIVED = 1e-9

# [1, of `ARRIVED`] An open gap may fall below zero by so much before that is an event: contacts that an
# impact has left may open from a little below their planes.
EVENT_SLACK = 1e-2

# [1, of the unit of the block] Runs by events begin an impact at this gap, whatever its sign: the instant
# of contact is found to the digits of the coordinates, as errors of it add up from hit to hit.
IMPACT_GAP = 1e-15

# [units/s, of 1 + the largest velocity in these units] A contact that slips or moves off slower is at rest:
# it sticks, or is pressed. Projections leave 1e-14 and instants of stopping are found to 1e-11 s; at 1 m/s²
# it is reached after 1e-8 s.
STILL = 1e-8

# [units/s] Slower slips take the direction of friction that keeps a_t ∥ d
# (`sarrus.kernels.contact.slow_slip`): the direction of the slip itself would turn at a rate a/v above 1e6
# 1/s.
SLOW_SLIP = 1e-6

# [units/s] A contact whose slip has turned round or passed zero may stick below it: that is what the rest
# of the step in which it turned has left.
RESTICK_SPEED = 1e-5

# [units/s] A contact leaves an impact no slower, where `sarrus.Switching` says nothing else. The bounces
# left out last rest_speed / g · 2 / (1 − e), a few ms.
REST_SPEED = 1e-3

# [1, of 1 + speed² + the largest acceleration, in characteristic units] An acceleration below it is zero.
# Solves of states are right to 1e-10 of that with loops that are nearly singular.
STEADY = 1e-6

# [1, of the largest force of the contact problem] A force below it is zero. The residual of a contact
# problem is 1e-13 to 1e-10.
UNLOADED = 1e-9

# [1, of the acceleration of the largest row] A contact that slides is given this acceleration in a contact
# problem of accelerations, so that it goes on sliding whatever the forces are.
SLIDING_ACCELERATION = 1e4

# [m/s²] Acceleration of the characteristic mass by the forces with which compliances are found: near
# gravity, so that differences of accelerations keep their digits. It grows where accelerations are far
# larger (`sarrus.kernels.contact.rows.lift_of`).
LIFT = 10.0

# [1, of the largest term of a law of contact] Newton's method aims at this residual: a few units of
# rounding.
RESIDUAL_AIM = 1e-15

# [1, of the largest term of a law of contact] Forces that redundant rows share may have this residual, and
# a problem by parts aims at it.
RESIDUAL_OF_SHARED_FORCES = 1e-13

# [1, of the largest term of a law of contact] A residual at which rounding may end the iterations.
RESIDUAL_AT_ROUNDING = 2e-11

# [1, of the largest term of a law of contact] Many contacts between geometries may have this residual where
# nothing solves them better; the run says so.
RESIDUAL_OF_MANY = 1e-4

# [steps] Newton steps from each start at most.
NEWTON_STEPS = 60

# [halvings] Halvings of one step.
NEWTON_HALVINGS = 8

# [1, of the linear decrease of the squared residual] The decrease of a step must be at least this part
# (rule of Armijo, usual value).
NEWTON_DECREASE = 1e-4

# [steps] Whole steps that need not reduce the residual, across kinks of the laws.
NEWTON_CROSSINGS = 6

# [1, of the diagonal of W] What derivatives add to the diagonal of W is not smaller.
LEAST_RIDGE = 1e-16

# [1, of the diagonal of W] What derivatives add to the diagonal of W is not larger. It follows the
# residual, so that steps far from the answer are short ones which redundant rows share alike.
MOST_RIDGE = 10.0

# [1, of the diagonal of W] A repeated try has a tenth of it or less as its largest ridge.
SECOND_RIDGE = 1e-8

# [1, over the residual] The ridge is the residual, times this times the residual where that is less than
# one: steps converge quadratically once the residual is below 1e-3.
SMALL_RESIDUAL_FACTOR = 1e3

# [1, of the least ridge before] The least ridge grows by this where a step does not help.
RIDGE_GROWTH = 100.0

# [1, of the diagonal of W] The least ridge grows from this value on: the rounding of W.
RIDGE_START = 1e-15

# [1, of the diagonal of W] The least ridge grows up to this value: nine digits of W are left.
RIDGE_END = 1e-9

# [1, in the scale of the problem] Larger forces may be those of contacts that no motion keeps from closing
# further.
UNBOUNDED_FORCE = 1e6

# [1, of the largest pivot] Rows with a smaller pivot depend on others, and share their forces.
DEPENDENT_CONTACT_PIVOT = 1e-9

# [1, of the diagonal of W] Dependent rows share their forces as if W had so much more on its diagonal.
SHARING_RIDGE = 1e-7

# [1, of the diagonal of W] Where nothing else leads to an answer, dependent rows share their forces with
# this ridge, which is reduced tenfold from try to try.
MOST_SHARING_RIDGE = 1e-3

# [1, of the diagonal of W] Ridge with which dependent rows keep the forces that they share.
RIDGE_OF_SHARED = 1e-9

# [1, in the scale of the problem] A smaller velocity is zero: what dry friction stops goes on by less and
# less, down to the least numbers.
VANISHING_VELOCITY = 1e-100

# [1, of the size of forces] Unit of event functions of forces: a force so far below zero is an event.
# Forces are solved to 1e-13.
SLACK_OF_FORCES = 1e-11

# [1, of the speed that is zero, `STILL`] Unit of event functions of speeds: a slip so far below zero is an
# event.
SLACK_OF_SPEEDS = 1e-2

# [1, of the change of the gap within the step] A gap with a minimum within a step is looked at there if the
# minimum is below this.
DIP = 0.1

# [m/s²] Acceleration that bodies may have besides the known one, where it is asked which geometries may
# meet within a step: five times gravity.
SUDDEN_ACCELERATION = 50.0

# [1, cosine] Contacts with normals farther apart are different ones.
SAME_NORMAL = 0.5

# [1, of the closed gap `ARRIVED`] A gap that changes by more than its rate explains belongs to another pair
# of points.
JUMP_OF_GAP = 1e3

# [1, of the diagonal of W] Added to the diagonal so that inconsistent parts of the free velocity stand out;
# its effect is taken back by repetition.
DRIFT_RIDGE = 1e-6

# [rounds] The ridge is taken back so often: 1e-6 to the fourth power is below rounding.
DRIFT_ROUNDS = 4

# [1, of b] An inconsistent part below it is rounding, and stays.
NO_DRIFT = 1e-14

# [1, of the gaps] Gaps are closed to this part by conjugate residuals; the step after it closes the rest.
CLOSING_OF_GAPS = 1e-5

# [steps] Steps of conjugate residuals for that at most.
MOST_CLOSING_STEPS = 60

# [1, of the mean compliance of gaps] A direction of gaps with a smaller compliance cannot be closed.
UNCLOSABLE = 1e-9

# [1, of the size of a pair] Gaps of general convex bodies up to it are found anew with the bodies pushed
# into each other.
LOOK_AGAIN = 1e-5

# [1, of the size of a pair] The bodies are pushed so much deeper for that.
PUSHED_DEEPER = 1e-8

# [1, cosine] A normal that turns by less needs no further look: 1e-6 rad.
SAME_NORMAL_AGAIN = 1.0 - 1e-12

# [m] Unit of distances that kernels are handed as whole numbers.
MICROMETRE = 1e-6

# [1, of the length of the step] Two times that differ by less are the same.
SAME_TIME = 1e-6

# [1, of the compliance without constraints] A row with a smaller compliance is held by the constraints.
HELD_BY_CONSTRAINTS = 1e-10

# [1, of the accelerations from which a compliance is found] A row with a compliance below it is held by the
# constraints: rounding of the difference of two accelerations.
HELD_ROUNDING = 1e-13

# [characteristic lengths] Least size of the Jacobian row of a contact: across a plane mechanism all entries
# are rounding.
LEAST_REACH = 1e-6

# [1, of the accelerations by usual forces] Accelerations of a row beyond this need larger forces for its
# compliance.
LARGE_ACCELERATIONS = 1e3

# [steps] Steps of Newton's method for the direction of a slow slip at most.
SLOW_SLIP_STEPS = 12

# [1, of the accelerations by unit forces] A residual of that direction is rounding.
SLOW_SLIP_CONVERGED = 1e-13

# [1, of the accelerations by unit forces] Added to the diagonal so that rows are regular.
SLOW_SLIP_RIDGE = 1e-11

# [1, of the diagonal entry of W] A row depends on others when its pivot is smaller.
DEPENDENT_SLIP_PIVOT = 1e-9

# [1/s] Velocities across the direction of a slow slip vanish at this rate: fast beside motions, slow enough
# that steps need not be short.
ACROSS_SLIP_RATE = 3e3

# [1, of `SLOW_SLIP`] A slower contact keeps the direction in which it began to slide where its direction is
# not found.
BEGINNING_SLIP = 0.1

# [1, of `SLOW_SLIP`] Contacts slower than this have the direction of a slow slip; twice the speed leaves
# room for both ends of a step.
SLIP_STEERED = 2.0

# [1, of the length 1] A direction that differs by less from the slip's is that of the slip.
SAME_SLIP_DIRECTION = 1e-12

# [1, of the rows of small problems] Rows of sparse problems are this much longer: the residual function has
# fewer kinks in the way.
SPARSE_STRETCH = 2.0

# [1, of the diagonal of W] Ridge of steps with a line search: the solve leaves six digits of a step.
SPARSE_RIDGE = 1e-6

# [1, of the diagonal of W] Ridges of whole steps, one after the other.
SPARSE_RIDGES = (1e-6, 1e-8, 1e-10)

# [steps] Steps with a line search at most.
SPARSE_STEPS = 40

# [1, of the whole step] The line search tries no less.
SPARSE_LEAST_STEP = 0.1

# [steps] Whole steps for each ridge at most.
SPARSE_WHOLE_STEPS = 12

# [1, of the largest term of a law of contact] Whole steps begin at this residual.
SPARSE_NEAR = 1e-5

# [1, of the residual before] A step that leaves more is ended by rounding, where the residual is small
# enough.
SPARSE_STAGNATION = 0.5

# [1, of the largest compliance] A compliance by which is divided is not smaller.
LEAST_COMPLIANCE = 1e-12


def still_speed(speed: float) -> float:
    """Return the speed that is none [units/s] where the largest velocity of the mechanism is ``speed``, in units/s."""
    return STILL * (1.0 + speed)
