"""Tolerances of the room ``loop``: jumps, jamming, chattering, steps of a call."""

from __future__ import annotations

# [1, of the change of the velocity in one step] The two sides of a jump are evaluated at this distance,
# near the jump.
CHATTER_NEAR = 1e3

# [1, of the change of the velocity in one step] The two sides of a jump are evaluated at this distance, far
# from the jump.
CHATTER_FAR = 1e4

# [1, ratio] A jump is as large far away as near; a slope would be `CHATTER_FAR` / `CHATTER_NEAR` times as
# large.
CHATTER_SAME = 3.0

# [1, of the largest velocity] Distances are larger than this, which is rounding.
CHATTER_ROUNDING = 1e-12

# [characteristic lengths, rad] Smaller jumps of constraints are not sought.
LEAST_JUMP = 1e-4

# [1, of the duration] Records that are nearer to each other are both sides of a jump.
JUMP_MOMENT = 1e-5

# [1, of the way by the largest velocity and acceleration of the run] Between them nothing moves so far
# without a jump.
JUMP_FAST = 100.0

# [units/s] From this speed on the forces of a hundredth of a step are those of what slides.
EVIDENT_SPEED = 1e-2

# [1, of the largest singular value of A] Smaller ones are zero: stages lie a little off the constraints.
FORMULATION_RANK_CUT = 1e-7

# [1, of the run] A thousand steps that come to less get nowhere.
CREEPING = 1e-6

# [1, of the run] A thousand steps that come to less may be held up by a jump.
HELD_UP = 1e-2

# [steps] Steps of which the progress is judged together.
CREEP_STEPS = 1000.0

# [steps] Steps of the first call of the kernel, where nothing tells how long they take.
FIRST_CALL = 64.0

# [steps] Steps of a call of the kernel at most: within seconds, however short they have been.
MOST_STEPS_OF_A_CALL = 1e6

# [1, of the steps of the call before] A call has this multiple of steps at most: steps may come to cost
# more.
MORE_STEPS_OF_A_CALL = 32.0

# [s] A call that took less is taken to have taken this: the resolution of the clock.
SHORTEST_CALL = 1e-9

# [1, of the shortest step] First step after a change of method, at least.
RESTARTED_STEP = 1e3

# [1, of gradients of length one] Gradients depend on each other below this singular value: the root of
# rounding.
DEPENDENT_GRADIENT = 1e-7

# [characteristic lengths] A path is evaluated once in this part of its length.
PATH_LOOK = 1e-2

# [evaluations] At most so often in a step.
PATH_LOOKS = 200

# [characteristic lengths] A jump of a path is what is left of a change over this length.
PATH_SHORT = 1e-7

# [s] A call of the kernel takes about this long, so that interrupts and progress bars have their turn.
CALL_SECONDS = 0.1

# [B] Blocks of records that are held in memory; more go to disk.
RECORDS_IN_MEMORY = 256e6

# [1, of `RECORDS_IN_MEMORY`] A first block may take this for all records that are expected.
FIRST_BLOCK_SHARE = 0.25

# [1, of the largest singular value] Singular values below it vanish together.
CROSSED_TOGETHER = 3e-3

# [1, of the largest pivot] Nearest distance to a singular configuration for which digits are counted:
# sixteen.
LEAST_DISTANCE = 1e-16

# [1, of the time until σ is at its bound or has changed] σ is evaluated again then.
WATCH_SHARE = 0.25

# [1, of the bound] From this σ on the run may come near anew.
WATCH_AGAIN = 1.25

# [steps] Steps between two evaluations at most, where nothing is constrained.
WATCH_STEPS = 1e6

# [1, of the steps before] Steps between two evaluations of σ grow by this at most.
WATCH_GROWTH = 4.0

# [1, of the step] Times that differ by less from a whole number of steps are at one.
WHOLE_STEPS = 1e-6

# [s] First step of adaptive methods at most; the error estimate lengthens it at once.
FIRST_STEP = 1e-4

# [1, of the largest value in the run] The smallest pivot is below it everywhere: adaptive methods take all
# states as near a singular configuration, as stages of long steps are far off the constraints.
NEAR_EVERYWHERE = 2.0

# [1, of 1 s, or of the time and duration of the run] Shortest step of adaptive methods: a hundred units of
# rounding of the time.
SHORTEST_STEP = 1e-14

# [characteristic lengths, rad] Rows that are given as functions of time move so far until the loops must
# close.
UNREACHABLE_AHEAD = 1e-3

# [1, of the impulse that the softest row's velocity takes at the stiffest row] Limit of friction without a limit,
# where a contact problem is solved outside of the kernel: it is not reached.
UNREACHED = 1e6

# [characteristic lengths, rad] A path that jumps this near beyond a record has stopped the run there.
PATH_NEAR = 1e-6
