"""Tolerances of contacts, stops, dry friction, play of gears and cables.

States, accelerations, statics, runs by events, time stepping, exported C and FMI units and constraints that switch
read these constants, so that a state has one meaning everywhere.

Gaps are in units of the block: the characteristic length of the mechanism for contacts, for stops of translations
and for their friction, 1 rad for rotations. Speeds are in these units a second. Models in metres and in millimetres
therefore have equal results.
"""

from __future__ import annotations

# [1, of the range of a stop or the characteristic length] A coordinate beyond its bound by less is at the
# bound, and a gap at rest is closed; a deeper one is an error, or a stop that begins beyond. Printed digits
# of model files and keyframes explain that much.
AT_BOUND = 1e-6

# [1, of the unit of the block] An approaching contact with a smaller gap is closed, and there is an impact;
# with a larger gap it is open. Far above rounding, 1e-16, and far below the error of printed digits, 1e-6.
ARRIVED = 1e-9

# [m] Gap of a contact that takes no part: of a flank that opens, of a place whose features (corner, edge, rim) are not
# those that may touch.
OUT_OF_REACH = 1e100

# [1, of the smallest half size of two boxes] Edges go before faces if their separation is larger by this: faces that
# are flush to rounding have common normals of edges beside the normals of the faces.
EDGES_BEFORE_FACES = 1e-6

# [1, sine] Edges of boxes at a smaller angle have no common normal.
PARALLEL_AXES_OF_BOXES = 1e-6

# [1, of `ARRIVED`] An open gap below zero by more is an event. Contacts may open after an impact from
# slightly below their planes, which is no event.
EVENT_SLACK = 1e-2

# [1, of the unit of the block] Runs by events begin an impact at this gap, whatever its sign: the instant
# of contact is found to the digits of the coordinates, as errors of it add up from hit to hit.
IMPACT_GAP = 1e-15

# [units/s, of 1 + the largest velocity in these units] A contact with a slower slip sticks, and a contact
# that separates more slowly is closed. Projections leave 1e-14 and instants of stopping are found to
# 1e-11 s; at 1 m/s² this speed is reached after 1e-8 s.
STILL = 1e-8

# [units/s] Slower slips take the direction of friction that keeps a_t ∥ d
# (`sarrus.kernels.contact.slow_slip`): the direction of the slip itself would turn at a rate a/v above 1e6
# 1/s.
SLOW_SLIP = 1e-6

# [units/s] A contact whose slip has reversed or passed zero may stick below this speed, which the rest of
# the step after the reversal has left.
RESTICK_SPEED = 1e-5

# [units/s] A contact leaves an impact no slower, where `sarrus.Switching` says nothing else. The bounces
# left out last rest_speed / g · 2 / (1 − e), a few ms.
REST_SPEED = 1e-3

# [1, of 1 + speed² + the largest acceleration, in characteristic units] An acceleration below it is zero.
# Accelerations are right to 1e-10 in this unit even with loops that are nearly singular.
STEADY = 1e-6

# [1, of the largest force, impulse or velocity of the contact problem] A force, impulse or velocity below it is zero
# where modes are decided. The residual of a contact problem is 1e-13 to 1e-10.
UNLOADED = 1e-9

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

# [rows] Largest number of rows of a contact problem that is solved with dense W.
FEW_ROWS = 36

# [1, of the largest term of a law of contact] Residual that ends the tries for an answer that is asked for by itself.
RESIDUAL_ASKED = 1e-13

# [1, of the largest term of a law of contact] Residual of an answer that is accepted where rounding ends the tries.
RESIDUAL_ACCEPTED = 1e-10

# [1, of the largest term of a law of contact] A residual at which rounding may end the iterations.
RESIDUAL_AT_ROUNDING = 2e-11

# [1, of the largest term of a law of contact] Forces of given modes with a residual from rounding to here are refined
# by the residuals of their rows: compliances of one contact may differ by many decades (lengths of rolling friction).
REFINED_RESIDUAL = 1e-3

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

# [1, of the diagonal of W] Smallest ridge that Newton's method adds to the diagonal of W.
LEAST_RIDGE = 1e-16

# [1, of the diagonal of W] Largest ridge that Newton's method adds to the diagonal of W. The ridge follows
# the residual, so that steps far from the solution are short and equal on redundant rows.
MOST_RIDGE = 10.0

# [1, over the residual] With residual e the ridge is e min(1, 1e3 e): steps converge quadratically once e
# is below 1e-3.
SMALL_RESIDUAL_FACTOR = 1e3

# [1, of the least ridge before] The least ridge grows by this where a step does not help.
RIDGE_GROWTH = 100.0

# [1, of the diagonal of W] The least ridge grows from this value on: the rounding of W.
RIDGE_START = 1e-15

# [1, of the diagonal of W] The least ridge grows up to this value: nine digits of W are left.
RIDGE_END = 1e-9

# [1, in the scale of the problem] Larger forces mean that no solution exists: contacts close whatever the
# motion is.
UNBOUNDED_FORCE = 1e6

# [1, in the scale of the problem] Forces above it are doubted: other answers are sought, with a smaller residual
# relative to the velocities.
LARGE_FORCE = 1e3

# [1, of the largest pivot, singular value or diagonal entry] Rows with a smaller pivot or singular value depend on
# others, and share their forces: printed digits do not matter here.
DEPENDENT_CONTACT_PIVOT = 1e-9

# [1, of the diagonal of W] Ridge on the diagonal of W that makes the forces of redundant rows unique.
SHARING_RIDGE = 1e-7

# [1, of the diagonal of W] If no restart converges, redundant rows share their forces with this ridge,
# which is reduced tenfold at each restart.
MOST_SHARING_RIDGE = 1e-3

# [1, of the diagonal of W] Ridge with which redundant rows keep their shared forces in further iterations.
RIDGE_OF_SHARED = 1e-9

# [1, in the scale of the problem] A smaller velocity is zero: a joint stopped by dry friction keeps a
# decaying velocity, down to the smallest floating-point numbers.
VANISHING_VELOCITY = 1e-100

# [1, of the size of forces] Unit of event functions of forces: a force so far below zero is an event.
# Forces are solved to 1e-13.
SLACK_OF_FORCES = 1e-11

# [1, of the speed that is zero, `STILL`] Unit of event functions of speeds: a slip so far below zero is an
# event.
SLACK_OF_SPEEDS = 1e-2

# [1, of the change of the gap within the step] A gap with a minimum within a step is evaluated at the
# minimum if the minimum is below this.
DIP = 0.1

# [m/s²] Acceleration added to the known velocities in the search for geometries that may come into contact
# within a step: five times gravity.
SUDDEN_ACCELERATION = 50.0

# [1, cosine] Two contact points whose normals have a smaller cosine are different contacts.
SAME_NORMAL = 0.5

# [1, of the closed gap `ARRIVED`] A gap that changes by more than its rate explains belongs to another pair
# of points.
JUMP_OF_GAP = 1e3

# [1, of the diagonal of W] Ridge ρ on the diagonal of W that isolates the inconsistent drift; its effect on
# consistent parts is removed by repetition.
DRIFT_RIDGE = 1e-6

# [rounds] Number of repetitions: the fourth power of the ridge 1e-6 is below rounding.
DRIFT_ROUNDS = 4

# [1, of b] An inconsistent drift below this is rounding, and is not removed.
NO_DRIFT = 1e-14

# [1, of the diagonal of W] The forces of an impact that were not found begin with those of rows that give by this
# ridge, then by ten times this, and so on up to the next number.
IMPACT_RIDGE = 1e-7

# [1, of the diagonal of W] Softer rows say nothing about rigid ones.
MOST_IMPACT_RIDGE = 1e-2

# [1, of the diagonal of W] Ridge with which gaps are closed: a gap that redundant rows cannot close has forces of at
# most the gap over this.
CLOSING_RIDGE = 1e-4

# [rounds] Solves with this ridge: gaps that can be closed shrink to its square, the next time step closes the rest.
CLOSING_ROUNDS = 2

# [1, of the size of a pair] Contacts of general convex bodies with a smaller gap are computed again, with
# the bodies pushed into each other.
LOOK_AGAIN = 1e-5

# [1, of the size of a pair] Depth by which two convex bodies are pushed into each other for their normal.
PUSHED_DEEPER = 1e-8

# [1, cosine] A normal that turns by less than 1e-6 rad is not computed again.
SAME_NORMAL_AGAIN = 1.0 - 1e-12

# [1, cosine] Two faces at a smaller angle to the contact normal, 0.014 rad, touch by the corners of their overlap.
FACES_ALIGNED = 1.0 - 1e-4

# [1, sine] The end of a cylinder at a smaller angle to a face has no lowest point.
LEVEL_END = 1e-6

# [1, of the size of a pair] A contact that MuJoCo finds deeper than the overlap of two faces by more belongs to
# other faces: its gaps of cylinders are right to about 1e-6.
ROUND_GAPS = 1e-5

# [1, of the size of a pair] The same for boxes and meshes, whose corners have seven digits.
MESH_GAPS = 1e-7

# [1, of the size of a pair] Corners of an overlap at a smaller distance are one.
SAME_CORNER = 1e-9

# [m] Unit of distances that kernels receive as integers.
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

# [1, of the largest pivot] A smaller pivot of the equations of the forces at a state is rounding: the forces are the
# least ones. `sarrus.kernels.contact.state_forces`.
DETERMINED_PIVOT = 1e-12

# [1, of a free direction of length one] A force that free directions change by less is determined: the root
# of rounding.
UNMOVED_FORCE = 1e-7

# [rounds] Rounds in which directions of slips that begin are found, at most.
SLIP_ROUNDS = 50

# [1, of the length of a direction] Directions of slips are found when they change by less.
SAME_SLIP = 1e-13

# [1, of the largest compliance] A smaller compliance is rounding: rows across a plane mechanism are 1e-17 of the
# others, and compliances are squares.
NO_COMPLIANCE = 1e-24

# [1, of the largest acceleration] A smaller acceleration of a row is rounding.
NO_ACCELERATION = 1e-13

# [steps] Steps of Newton's method for the direction of a slow slip at most.
SLOW_SLIP_STEPS = 12

# [1, of the accelerations by unit forces] A smaller residual of the direction of a slow slip is rounding.
SLOW_SLIP_CONVERGED = 1e-13

# [1, of the accelerations by unit forces] Ridge on the diagonal of Newton's matrix for the direction of a
# slow slip, so that it is regular.
SLOW_SLIP_RIDGE = 1e-11

# [1/s] Rate κ at which the slip velocity across the direction of a slow slip decays: fast relative to the
# motion, slow enough for the step size.
ACROSS_SLIP_RATE = 3e3

# [1, of `SLOW_SLIP`] A slower contact keeps the direction in which it began to slide where its direction is
# not found.
BEGINNING_SLIP = 0.1

# [1, of `SLOW_SLIP`] Contacts slower than this have the direction of a slow slip; twice the speed leaves
# room for both ends of a step.
SLIP_STEERED = 2.0

# [1, component of unit vectors] A friction direction that differs by less from the slip direction equals it.
SAME_SLIP_DIRECTION = 1e-12

# [1, of the rows of small problems] Rows of sparse problems are this much longer: the residual function has
# fewer kinks in the way.
SPARSE_STRETCH = 2.0

# [1, of the diagonal of W] Smallest ridge of the steps of large problems: the solve leaves six digits of a step.
SPARSE_RIDGE = 1e-6

# [1, of the diagonal of W] Ridges of the last steps to forces that press against each other.
LAST_RIDGES = (1e-6, 1e-9, 1e-11)

# [1, of the diagonal of W] Largest ridge of steps with a line search; in between the ridge is the residual.
SPARSE_MOST_RIDGE = 1e-2

# [1, of the largest term of a law of contact] Forces with a smaller residual need no sweeps before Newton's method.
NEAR_SWEPT = 1e-2

# [1, of the largest term of a law of contact] From this residual on a factorized matrix serves for several steps.
REUSED_FACTOR = 1e-6

# [1, of the residual before] A step that leaves more needs a new matrix next.
FAST_DECREASE = 0.1

# [steps] Steps with a line search at most.
SPARSE_STEPS = 15

# [steps] The same in further units of forces.
PATIENT_STEPS = 60

# [1, of the whole step] Shortest step of the line search.
SPARSE_LEAST_STEP = 1e-3

# [steps] Whole steps for each ridge at most.
SPARSE_WHOLE_STEPS = 12

# [1, of the largest term of a law of contact] Whole steps begin at this residual.
SPARSE_NEAR = 1e-5

# [1, of the residual before] An iteration whose step leaves more has reached rounding and ends, if the
# residual is small enough.
SPARSE_STAGNATION = 0.5

# [1, of the largest term of a law of contact; 1, in the units of the problem; sweeps] Further starts of Newton's
# method, one after the other until it converges: at the answer of the interior-point method, the residual up to which
# it goes and the forces and velocities at which it begins, below zero without the shift; or at the best forces after so
# many sweeps.
FURTHER_TRIES = (
    (0.0, 0.0, 80), (1e-4, 1.0, 0), (1e-5, 0.25, 0), (0.0, 0.0, 300), (1e-6, 4.0, 0), (0.0, 0.0, 1000),
    (1e-11, -1.0, 0),
)  # fmt: skip

# [1, of the rows of small problems] Further lengths of rows: where no start has converged, all begin anew with
# another unit of forces. Many contacts of few bodies that press against each other need it.
FURTHER_STRETCHES = (4.0, 0.5, 16.0, 1.0, 64.0, 0.25, 8.0, 128.0, 2.0, 32.0, 512.0, 0.0625, 1024.0, 0.03125)

# [steps] Steps of the interior-point method at most: it takes 5 to 20.
INTERIOR_STEPS = 40

# [1, of the mean product of force and velocity] Smallest slip velocity by which the derivative of the shift is
# smoothed.
INTERIOR_SMOOTHING = 1e-3

# [1, of the way to the boundary of the cones] Longest step of the interior-point method.
INTERIOR_FRACTION = 0.99

# [1, of the whole step] After a shorter step the derivative of the shift is left out for some steps.
INTERIOR_SHORT_STEP = 0.15

# [1, of the velocities] Dry friction with a smaller limit has no force in the interior-point method.
INTERIOR_LEAST_LIMIT = 1e-12

# [1, of the largest term of a law of contact] Residuals from which on sweeps alone are enough, if an answer is asked
# for no better.
ROUGH_BY_SWEEPS = 1e-6

# [1] First value of the sequence x ← 4 x (1 − x) of the vectors without order that are projected on null spaces.
CHAOTIC_START = 0.3

# [1, of the diagonal of W] Ridge that tells the null space of W: smaller eigenvalues are zero.
NULL_RIDGE = 1e-9

# [1, of a vector with entries up to one] A force of which less is left in the null space is unique: the root of
# rounding, and what is left of an eigenvalue of a hundred ridges.
NOT_UNIQUE_FORCE = 1e-6

# [1, of the diagonal of W] Ridge of the steps to least forces: it keeps their matrix regular.
LEAST_FORCES_RIDGE = 1e-9

# [steps] Steps to least forces at most: they take 3 to 10.
LEAST_FORCES_STEPS = 40

# [1, of the largest force] Change of the velocities that ends the steps to least forces.
LEAST_FORCES_FOUND = 1e-14

# [1, of the largest force] Change of the velocities up to which least forces are accepted where rounding ends
# the steps; Newton's method takes it off.
LEAST_FORCES_ACCEPTED = 1e-10

# [1, of the compliance of the row] Tangential compliance in steps in time of contacts that stick whatever the
# friction, with which redundant ones share their impulses: they creep by this part of the velocity that the
# impulses of a step change.
STICKING_COMPLIANCE = 1e-9

# [rounds] Rounds in which the direction of sliding is found.
SLIDING_ROUNDS = 30

# [1, of the length 1] The direction is found when it changes by less: two units of rounding.
SAME_SLIDING = 4e-16

# [1, of the right side] Residual of a sticking contact.
STICKING_RESIDUAL = 1e-12

# [1, of the unit of the block] A gap of a contact that hits is zero.
IMPACT_GAP_ROUNDING = 100.0 * IMPACT_GAP

# [1, of twice the gap] Gaps at an impact are corrected where that moves no gap by more than twice the
# largest, but for rounding.
CORRECTED_GAPS = 1e-9

# [1, of the largest compliance] Lower bound of a compliance used as a divisor.
LEAST_COMPLIANCE = 1e-12


def still_speed(speed: float) -> float:
    """Return the stick speed [units/s] if the largest velocity of the mechanism is ``speed`` [units/s]."""
    return STILL * (1.0 + speed)


# [1, of the terms] A proof that a contact problem has no answer holds to this.
NO_ANSWER_PROVED = 1e-10

# [1, of the size of a pair] Contacts of MuJoCo along a line stay if their least gap differs from the exact one by less:
# its gaps of cylinders are right to about 1e-6.
SAME_GAP = 1e-6
