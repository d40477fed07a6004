"""Tolerances of the room ``analysis/configurations``: equal, closed, at rest, at a limit; steps of searches."""

from __future__ import annotations

# [rad, characteristic lengths] Two assembly modes nearer to each other are one. Double zeros are found to the
# root of rounding, 1e-8, after some twenty steps, and searches end before.
SAME_ASSEMBLY = 1e-4

# [rad, characteristic lengths] Step of the walks that join two answers along a motion. Loops close in a few
# Newton steps from there.
JOINING_STEP = 0.2

# [rad, characteristic lengths] A search this near to a known isolated configuration goes to it. The residual
# of a double zero goes with the square of the distance, so that the last digits take some twenty steps.
NEAR_ISOLATED = 1e-3

# [rad, characteristic lengths] Residual below which a search near a known isolated configuration ends. No
# other zero is as near.
ISOLATED_RESIDUAL = 1e-4

# [rad, characteristic lengths] Answers farther apart are never one. The walk between them is not tried.
NEVER_SAME = 0.1

# [1, of the distance left] A walk is stuck if the motion towards the other answer is a smaller part. It
# stands across the motion.
STUCK_STEP = 0.01

# [1, of the step] A walk is stuck if a step brings it nearer by less. Steps along a motion gain nearly their
# length.
NO_PROGRESS = 1e-3

# [rad, characteristic lengths] A coordinate whose range along a curve is smaller rests. Stations are closed
# to 1e-12.
COORDINATE_RESTS = 1e-9

# [1, of the largest rate] A rate along a curve below this part is zero: the station lies on a turning point.
# Tangents are found to 1e-14.
NO_RATE = 1e-11

# [1, of the bracket] A search for a zero between two stations ends at this part of their distance. It is
# rounding.
BRACKET_END = 1e-15

# [1, of the inputs] Weight of the force to be held against the size of the inputs, where limits of inputs are
# reached. Six digits of the force come first.
HOLDING_WEIGHT = 1e6

# [1/s, of the activation] An activation that changes faster is not at rest, at the start of a search.
# Activations set by u itself leave rounding.
ACTIVATION_AT_REST = 1e-12

# [1, of the cost] Least squares with bounds end at this relative change. It is rounding.
LEAST_SQUARES_END = 1e-14

# [1, of the forces at work] A configuration is at rest if the force left along its motions is smaller.
# Newton's method reaches 1e-14.
FORCE_BALANCED = 1e-10

# [1, steps] Newton's method for an equilibrium takes at most so many steps. It converges in ten or not at
# all.
EQUILIBRIUM_STEPS = 60

# [1, steps] The descent to a stable equilibrium takes at most so many steps. Chains that hang take a hundred.
DESCENT_STEPS = 400

# [rad, m or characteristic lengths] No step to an equilibrium is longer. Loops close from there onto the same
# branch.
LONGEST_STEP = 0.3

# [1, of the largest stiffness] A smaller stiffness is zero: neutral. It is the root of rounding, as stiffness
# of a loop is a second derivative.
NEUTRAL_STIFFNESS = 1e-8

# [1, of the forces at work over a length] A stiffness below this part may be rounding of forces that cancel.
# A force at work is known to 1e-15, over some hundred terms.
STIFFNESS_ROUNDING = 1e-13

# [1, of the forces at work] Newton's method for an equilibrium ends at this residual. It is rounding.
FORCE_ROUNDING = 1e-14

# [1, of the largest stiffness] First damping of Newton's method for an equilibrium. Two digits a step are
# gained where it is regular.
EQUILIBRIUM_DAMPING = 1e-3

# [1, of the largest stiffness] Least damping of Newton's method for an equilibrium. Below it the damping
# moves no digit that counts.
EQUILIBRIUM_LEAST_DAMPING = 1e-9

# [1, of the largest stiffness] Directions with a smaller stiffness get this one in a descent. Steps along
# neutral directions so stay finite.
SOFT_DIRECTION = 1e-6

# [N m/rad, N/m] The largest stiffness counts as at least this where it scales others. Mechanisms without
# weight and springs have none.
LEAST_STIFFNESS = 1e-12

# [1, of the forces at work] A descent ends at this residual, if the place is a minimum. Newton's method goes
# on from there.
DESCENDED = 1e-7

# [rad, characteristic lengths] A search for an equilibrium ends if its step is shorter. Energy is then flat
# to rounding: it goes with the square.
SHORTEST_REST_STEP = 1e-9

# [1, of the largest stiffness] A stiffness is symmetric if entries across the diagonal differ by less. Forces
# then have a potential; rounding leaves 1e-13.
SYMMETRIC_STIFFNESS = 1e-9

# [1, of the trace] A mass matrix with a smaller eigenvalue is singular, and flutter is not examined. Rounding
# leaves 1e-15.
SINGULAR_FLUTTER_MASS = 1e-12

# [1, of the length of the step] A step along a motion may end so far beside where it aimed. Beyond it another
# branch may have been reached.
STEP_ASIDE = 0.3

# [1, cosine] A step along a curve bends by less than this cosine (18 degrees), else it is halved. Branches
# that cross do so at larger angles.
STRAIGHT = 0.95

# [1, of the first step] Steps that are shorter are given up. No branch of a mechanism bends within that
# length.
SHORTEST_PART = 1e-6

# [1, steps] Walks with more steps are given up. At 0.1 rad a step this is sixty turns.
FOLLOW_STEPS = 4000

# [rad, characteristic lengths] Loops may stay open by this during a drag. Newton's method leaves 1e-15, a
# hundred links lose two digits.
FOLLOW_OPEN = 1e-11

# [1, of what is open at the start] Loops may stay open by this multiple of what printed digits of the model
# leave open. The digits act differently in each configuration.
DATA_OPEN = 3.0

# [rad, characteristic lengths] A coordinate nearer to its target is there. Loops are closed to 1e-13.
THERE = 1e-12

# [1, of a unit tangent] A coordinate with a smaller share in a tangent is not moved by it: a dead point.
# Tangents are found to 1e-12.
DEAD_POINT = 1e-9

# [rad, m] A drag goes on along the last tangent if its start differs less from where the last one ended.
# Users hand on the configuration unchanged.
SAME_PLACE = 1e-9

# [rad, characteristic lengths] Distance beside a configuration at which the rank of its neighbourhood is
# taken. Singular values that vanish at the configuration are then above 1e-3.
KICK = 0.01

# [rad, characteristic lengths] Targets of inverse kinematics missed by less are met. Newton's method reaches
# 1e-14.
TARGET_MET = 1e-9

# [rad, characteristic lengths] Loops open by less are closed, in inverse kinematics. Newton's method reaches
# 1e-14.
LOOPS_CLOSED = 1e-9

# [1, of the targets] Weight of closures against targets of inverse kinematics, in a step and in the measure
# of progress. Loops close first, to six digits, and targets that are out of reach are met as well as they can
# be.
CLOSURE_WEIGHT = 1e6

# [1, steps] Inverse kinematics takes at most so many steps from a start. It converges in ten to thirty.
KINEMATICS_STEPS = 200

# [rad, characteristic lengths] No entry of a step of inverse kinematics is larger. Beyond one radian a linear
# model says nothing.
KINEMATICS_LONGEST = 1.0

# [1, starts] Inverse kinematics is tried from so many seeded starts after the given one. Assembly modes of
# common robots are four to sixteen.
FRESH_STARTS = 8

# [rad, characteristic lengths, of 1 + the coordinates] Errors and steps of inverse kinematics below this are
# rounding, and end it. Sums of ten terms of size one leave it.
KINEMATICS_ROUNDING = 1e-14

# [1, of the error] First damping of inverse kinematics. Steps near singular configurations stay within a
# radian.
KINEMATICS_DAMPING = 1e-2

# [1, of the error] Least damping of inverse kinematics. Below it the damping moves no digit that counts.
KINEMATICS_LEAST_DAMPING = 1e-8

# [1, of the measure of progress] Inverse kinematics ends if a step gains less. It is rounding of the measure.
STALLED = 1e-13

# [1, of the residual] Damping of steps that close loops alone. It vanishes with the residual, so that they
# converge quadratically.
CLOSING_DAMPING = 1e-3

# [1, of the largest pivot] Rank cut of weighted least squares. Closures weigh CLOSURE_WEIGHT times as much as
# targets, and a looser cut would drop targets.
WEIGHTED_CUT = 1e-14

# [rad, characteristic lengths] A coordinate nearer to its limit is said to be at it. Steps end on a limit
# exactly, but for rounding.
AT_LIMIT = 1e-9

# [rad, characteristic lengths] A limit passed by less is met, in searches along motions. Closing a step moves
# coordinates by 1e-12.
LIMIT_MET = 1e-9

# [1, steps] A search for rest on contacts takes at most so many steps. It converges in ten to fifty.
CONTACT_STEPS = 300

# [rad, characteristic lengths] A step this short ends a search for rest on contacts. It is rounding.
SETTLED_STEP = 1e-13

# [1, of the largest force] A contact problem that did not converge serves for a step if its residual is
# below. The next step solves it anew.
CONTACTS_SOLVED = 1e-6

# [1, of the load or of the limit of friction] Contacts this near to opening or to slipping are on the verge
# of it. Contact problems are solved to 1e-9.
ON_VERGE = 1e-6

# [1, of the unit of the contact] Contacts are on their planes if all gaps are below. It is rounding.
CONTACT_PLACED = 1e-14

# [characteristic lengths] A larger gap counts as this one in a step of the search for rest, `LONGEST_STEP` long at
# the most: contacts without a place have infinite gaps.
FAR_GAP = 1e3

# [1, sine of half the angle] Below this sine a rotation vector is twice the vector part of its quaternion.
# The relative error is the square.
NO_ROTATION = 1e-12

# [rad] Below this angle two terms of a series replace the inverse left Jacobian. The next term is θ⁴ / 720,
# below rounding.
SERIES_ANGLE = 1e-4
