"""Tolerances of the wing ``motion``: accuracy of a run, determinacy, what contacts may create."""

from __future__ import annotations

# [1, of the mean step of the run] Longest step of a run that is repeated with shorter ones.
SHORTER_STEP = 0.6

# [steps] Stretches between switches with no more steps may have the same steps with another tolerance; the
# run is compared with a finer one then.
STEPS_OF_STRETCH = 12.0

# [1, of the tolerance of the run] Tolerance of the finer run where stretches between switches have few
# steps.
FINER_TOLERANCE = 0.3

# [1, of the length of a stretch] Longest step of the finer run where stretches between switches have few
# steps.
PART_OF_STRETCH = 0.45

# [1, of a coordinate] Below this relative tolerance a finer run is a coarser one: rounding of a step.
TIGHTEST_TOLERANCE = 1e-12

# [1, of 1 + the coordinate] Change of the start of the repetition: some units of rounding.
CHANGED_START = 1e-15

# [1, of a coordinate] Motions farther apart have parted, unless the tolerance of the run is more.
PARTED_MOTIONS = 1e-6

# [1, of the distance from the singular configuration] Two motions that are farther apart before a passage
# leave open on which side of it they pass.
OPEN_SIDE = 0.01

# [1, of the fixed step of the run] Fixed step of the repetition.
REPEATED_STEP = 0.95

# [1, of the tolerance of the run] Tolerance of the repetition.
REPEATED_TOLERANCE = 4.0

# [1, of the fixed step of the run] Fixed step of the coarser run.
COARSE_STEP = 4.0

# [1, of the tolerance of the run] Tolerance of the coarser run.
COARSE_TOLERANCE = 16.0

# [1, of the error of the run] Error of the coarser run: errors are nearly proportional to the tolerance.
COARSE_EXCESS = 8.0

# [1, of the steps of the run] Steps of the coarser run at most, where its longest steps are parts of the
# whole run.
MORE_STEPS = 1.25

# [1, of the duration] A run with a longest step of its own takes so many steps at least: a number that
# divides no round one.
OWN_STEPS = 36.7

# [1, of the steps of the run] Steps of a coarser run may be so much longer.
LONGER_STEPS = 4.0

# [steps] More steps of one length are no parts of the run.
MANY_STEPS = LONGER_STEPS * OWN_STEPS

# [1, of the widest gap between stages] The repetition has a singular configuration at this place: elsewhere
# it makes other errors than the run.
SINGULAR_PLACE = 0.3

# [1, of the number of samples] A last sample that is short by less is whole: rounding of the quotient.
WHOLE_SAMPLES = 1e-12

# [1, of the change of energy and loss in the run] Contacts may create this energy by errors of steps.
CREATED_ENERGY = 1e-2

# [1, of the energy of the mechanism, raised by its length, pressed over its length or as it is] Contacts
# may create this energy where nothing moves.
CREATED_BY_ROUNDING = 1e-9

# [1, of the energy of the mechanism, as for `CREATED_BY_ROUNDING`] Contacts between geometries may create
# this energy, as their normals turn.
CREATED_ON_CURVED = 1e-4

# [rad, characteristic lengths] Limits that hold are crossed by less.
LIMITS_KEPT = 1e-7

# [1, of the size in lengths, of one radian in angles] Beyond this difference of two motions no digit that
# counts is left.
NO_DIGITS = 3e-4

# [characteristic lengths] A coordinate that stays below it is no length to measure differences by.
NO_LENGTH = 1e-4

# [1, of the steps of the run, inverse] Two motions are compared after one in this number of the steps.
LOOK_SHARE = 16

# [steps] Two motions are not compared before this number of steps.
LOOK_STEPS = 32.0

# [switches] Switches in a row that are a chatter, which no motion follows.
CHATTER_SWITCHES = 50

# [s] Switches that follow each other sooner count as a chatter.
CHATTER_TIME = 1e-9
