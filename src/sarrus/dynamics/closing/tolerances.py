"""Tolerances of the room ``closing``: closed loops, same configurations, vanishing curvature."""

from __future__ import annotations

# [rad, characteristic lengths] Contradictions of redundant rows below it are rounding of the data: robot
# files print six to eight digits.
DATA_TOLERANCE = 1e-6

# [rad, characteristic lengths] An assembly of an exact model is closed. Newton's method reaches 1e-15, and
# a few digits less in long chains.
ASSEMBLED = 1e-12

# [rad, characteristic lengths] Size of seeded steps from an assembly with opposite axes, to find one with
# parallel axes: large enough to leave its branch.
PARALLEL_TURN = 2.0

# [steps] Number of these seeded steps.
PARALLEL_TURNS = 24

# [rad, characteristic lengths] Length of the step to a neighbour along the tangent space: beyond a singular
# configuration, near enough for Newton's method.
NEIGHBOUR_STEP = 0.03

# [directions] Number of neighbours that are drawn.
NEIGHBOUR_DRAWS = 12

# [iterations] Iterations with which a neighbour closes at most.
QUICK_CLOSING = 20

# [rad/s, characteristic lengths/s] A faster velocity is a direction to go along.
MOVING = 1e-12

# [rad, characteristic lengths] Loops open by less are closed on a walk, and by ten times as much as they
# are where the walk starts.
NEAR_CLOSED = 1e-10

# [rad, characteristic lengths] Length of the step that tries a direction of a branch.
BRANCH_STEP = 0.02

# [1, of the step] A step that tries a direction of a branch may end beside it by this part.
BRANCH_ASIDE = 0.3

# [1, of the curvature of φ] Quadratic forms below it vanish: looser than printed digits of models.
FLAT_FORMS = 1e-6

# [1, difference of projectors] Two tangent spaces from forms are one; a singular value below it is one of
# their kernel.
SAME_TANGENTS = 1e-4

# [1, difference of projectors] Two tangent spaces from steps of `BRANCH_STEP` are one.
ALIKE_TANGENTS = 0.15

# [1, of forms of size one] A direction is a common zero of the forms.
ROOT_OF_FORMS = 1e-12

# [rad, characteristic lengths] A state farther from the constraints is an error, where the digits of the
# model close its loops better.
OPEN = 1e-5

# [rad/s, characteristic lengths/s] Rows that move faster at v = 0 leave nothing at rest.
MOVING_ROWS = 1e-9

# [configurations] Places around q at which rows must be unmoved too.
PLACES_AROUND = 3

# [1, of the largest gap] Unmoved rows must be open by this part of it to be what keeps a state open.
NEARLY_ALL_OF_GAP = 0.9

# [rad, characteristic lengths] Longest step of a continuation.
CONTINUATION_STEP = 0.2

# [1, of the step] Newton's method may move aside by this.
CONTINUATION_ASIDE = 0.1

# [1, of the tangent] The tangent may change by this in one step.
CONTINUATION_TURN = 0.3

# [rad, characteristic lengths] Shorter steps are given up.
SHORTEST_CONTINUATION = 1e-9

# [rad, characteristic lengths] A shorter step cannot jump to another branch, whatever the tangent does.
NO_JUMP_STEP = 1e-6

# [steps] Steps of a continuation at most.
CONTINUATION_STEPS = 5000

# [iterations] Newton iterations of one step of a continuation at most.
CONTINUATION_ITERATIONS = 8

# [1, of the correction before] A correction must be shorter (Newton–Kantorovich).
CONTINUATION_CONTRACTION = 0.5

# [rad, characteristic lengths] After a shorter correction the rest is rounding, as Newton's method squares
# it.
CONTINUATION_CONVERGED = 1e-9

# [1, of the largest singular value] Directions with a smaller one move no locked coordinate.
UNMOVED_DIRECTION = 1e-11

# [1, of its gap] A guess belongs to a configuration if moving its locked coordinates alone closes it to
# this.
GUESS_SHARE = 0.1

# [rad, characteristic lengths] Gap at most of a guess whose locked coordinates alone were moved to close
# it.
GUESS_GAP = 0.02

# [starts] Starts of the search for such configurations.
GUESS_STARTS = 8

# [rad, characteristic lengths] Two configurations that differ by less are one.
SAME_CONFIGURATION = 1e-6

# [rad, characteristic lengths] Next to a configuration nearer than this, far ones are not meant.
NEAR_GUESS = 0.02

# [1, of the distance of the nearest one] A configuration is far, and not meant, beyond this multiple.
FARTHER_GUESS = 20.0

# [rad, characteristic lengths; 1, of the way] Step of the difference that finds tangents along a motion.
TANGENT_DIFFERENCE = 1e-3

# [rad, characteristic lengths] Loops open by less are closed by Newton's method.
NEWTON_GAP = 1e-3

# [rad, characteristic lengths] Error of one step of the gradient flow: `NEWTON_GAP` over ten.
FLOW_ERROR = 1e-4

# [rad, characteristic lengths] Longest step of the gradient flow.
FLOW_STEP = 0.2

# [steps] Steps of the gradient flow at most.
FLOW_STEPS = 400

# [1, of the gap] A slower flow closes nothing.
FLOW_AT_REST = 1e-4

# [1, of the largest entry] Smaller entries are zero: coordinates that a loop does not contain.
FLOW_LINKED = 1e-9

# [rad, characteristic lengths] Shorter steps of the flow are given up.
SHORTEST_FLOW = 1e-9

# [1, of a residual below the tolerance of data] A step that leaves more gains little.
LITTLE_GAIN = 0.9

# [steps] Steps with little gain in a row before the descent ends, beside a zero of high order.
CRAWL_STEPS = 10

# [1, of the residual] No step with little gain is longer: rows that contradict each other by printed digits
# are nearly met, or not, anywhere along the motions.
CRAWL_REACH = 1e3

# [characteristic lengths] A wider gap where no configuration of the file closes the loop is one of other
# dimensions: three digits, as 1.57 for π/2, explain no more.
OFFSET_GAP = 8e-4

# [rad, characteristic lengths] Lengths of seeded steps from which the precision of a model is judged.
JUDGING_KICKS = (0.3, 0.6, 1.0, 1.5, 2.0, 3.0)

# [configurations] Each length is tried from so many places.
JUDGING_STARTS = 2

# [iterations] Iterations of each at most.
JUDGING_ITERATIONS = 100

# [1, of ‖φ‖²] Least damping of a step: it falls tenfold with each step that gains.
LEAST_DAMPING = 1e-4

# [1, of the reach of the mechanism] A smaller residual is rounding.
DESCENT_ROUNDING = 1e-15

# [rad, characteristic lengths] A shorter step is rounding.
SHORTEST_DESCENT = 1e-16

# [1, of the reach of the mechanism] A residual above it without gain lets weaker singular values close the
# rest.
DESCENT_SPLIT = 1e-13

# [1, of the residual] A step that gains less has stalled.
DESCENT_STALLED = 1e-9

# [1, of the time in which H z would change by itself] Length of a step along the local quadric.
QUADRIC_STEP = 0.05

# [steps] Steps along the local quadric at most.
QUADRIC_STEPS = 4000

# [1, of the first |H z|] The centre is reached.
QUADRIC_CENTRE = 1e-6

# [1, of |ż| |H ż|] żᵀH ż at the centre above it does not vanish with σ.
QUADRIC_REMAINS = 1e-2

# [1, of its value] σ falls to this at least where a motion nears the centre.
QUADRIC_NEARS = 0.9

# [rad, characteristic lengths] Length of one step of a walk along the constraints, where the caller gives
# none.
WALK_STEP = 0.05

# [1, cosine] A walk bends by less in one step: 11 degrees.
WALK_STRAIGHT = 0.98

# [1, of the first step] A walk takes no shorter steps.
WALK_SHORTEST = 1e-3

# [1, characteristic units] A coordinate is an angle where a turn changes the functions of the model by
# less.
SAME_FINGERPRINT = 1e-9

# [directions] Directions that are probed for curvature.
RIGIDITY_PROBES = 3

# [1, of the curvature of φ] A smaller curvature is none.
RIGIDITY_CURVATURE = 1e-7

# [1, of the acceleration + speed²] An acceleration in a closed direction below it is error of the
# difference by `TANGENT_DIFFERENCE`.
RIGIDITY_ACCELERATION = 1e-4

# [1, of the speed] A velocity in a closed direction below it is rounding.
RIGIDITY_SPEED = 1e-6

# [rad, characteristic lengths] A configuration beyond a limit or a plane by less is inside.
INSIDE = 1e-10

# [starts] Seeded starts beside the configuration that are tried where the way from there does not lead
# inside.
INSIDE_STARTS = 8

# [rad, characteristic lengths] Distance of the first of them; later ones are farther away in proportion.
INSIDE_BESIDE = 0.1
