"""Tolerances of the room ``contacts``: what begins to slide, turns round or breaks loose."""

from __future__ import annotations

from sarrus.kernels.contact.tolerances import SLACK_OF_SPEEDS

# [1, cosine] A slip with this cosine or less to the one before has turned round, and may stick below
# `RESTICK_SPEED`.
TURNED_SLIP = 0.1

# [1, of the largest acceleration without contact forces] A larger acceleration into a contact is held by
# nothing.
PRESSED = 1e-6

# [1, of the friction that a contact can take] A contact that sticks with less than this left begins to
# slide.
CRITICAL_FRICTION = 1e-9

# [1, of the friction that a contact can take] A contact that sticks with less than this left may begin to
# slide together with others.
NEARLY_CRITICAL_FRICTION = 1e-7

# [1, of the accelerations by friction] A contact that would slide back faster sticks: rounding of
# compliances.
SLIDING_BACK = 1e-12

# [1, of the friction that a contact can take] With less than this left, forces of redundant rows are shared
# anew.
SPENT_FRICTION = 1e-3

# [s] Phases of contacts that are shorter count as short.
SOON = 1e-7

# [phases] Short phases in a row after which event functions are taken ten times less exactly.
PATIENCE = 4

# [1] Event functions are taken less exactly by this factor at most.
MOST_EVENT_SLACK = 1e6

# [1, of the largest force] Phases in which forces change by less and no mode changes are idle: forces of
# redundant rows are known to this.
SAME_FORCES = 1e-8

# [phases] Idle phases after which event functions are no longer taken less exactly; each makes them ten
# times less exact.
IDLE_PHASES = 4

# [1, of the speed that is zero, `STILL`] A contact that slid and turned round moves back faster than this:
# half of where event functions end a phase.
REVERSED_SLIP = 0.5 * SLACK_OF_SPEEDS

# [s] Length of a last step of zero length, by which accelerations of contacts are divided.
SHORTEST_LAST_STEP = 1e-9

# [steps] Newton steps for directions of slips.
DIRECTION_STEPS = 40

# [halvings] Halvings of one step.
DIRECTION_HALVINGS = 8

# [1, of the accelerations by friction] A residual that is rounding.
DIRECTION_CONVERGED = 1e-14

# [1, of the accelerations by friction] A residual with which rounding may end the steps.
DIRECTION_AT_ROUNDING = 1e-9

# [1, of the length 1] Longest change of the unknowns in one step.
DIRECTION_STEP = 0.5

# [1, cosine] Accelerations nearer to the directions before are a start.
DIRECTION_NEAR = 0.9

# [1, of the compliance without held rows] A contact with less left is kept from moving by what is held.
HELD_FAST = 1e-9
