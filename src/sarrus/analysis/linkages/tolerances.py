"""Tolerances of the room ``analysis/linkages``: paths, double points, maps, workspaces, transmission."""

from __future__ import annotations

# [1, of the extent] A path within this part of a plane is planar. Stations are closed to 1e-12.
PLANAR_PATH = 1e-9

# [1, of a unit vector] The first entry of a normal above decides its sign. Singular vectors of points that
# are planar to PLANAR_PATH are known to that.
SIGN_ENTRY = 1e-7

# [1, steps] Newton's method for a double point takes at most so many steps. It starts between neighbouring
# stations and takes four.
DOUBLE_POINT_STEPS = 20

# [1, of the extent of the path] A double point is found if its two branches miss each other by less. Stations
# are closed to 1e-13.
DOUBLE_POINT_MET = 1e-12

# [rad, characteristic lengths] The two configurations of a double point are farther apart. Nearer ones are
# one configuration that is met twice.
APART = 1e-3

# [1, sine of the angle] Branches that cross at a smaller angle lie on each other. An arc that is traced to
# and fro does.
CROSSING_ANGLE = 1e-6

# [1, of the fastest rate of the point] A slower point stands still: a cusp. Rates at a turning point go with
# the distance to it, which is found to 1e-12.
STANDS_STILL = 1e-8

# [1, sine of the angle] Two pieces of a path, or two tangents, are parallel below this sine. Sines of rounded
# vectors are known to 1e-16.
PARALLEL_BRANCHES = 1e-12

# [1, of the characteristic length, for each unit of the curve] A path whose point moves slower is a point.
# Tangents are found to 1e-14.
PATH_RESTS = 1e-12

# [1, of the step] The search for the point across a cusp ends at this part of a step. Paths are closed to
# 1e-13.
CUSP_END = 1e-12

# [1, of the distance to the cusp] A cusp has two branches that are farther apart. A path that is traced to
# and fro has one.
CUSP_OPEN = 1e-6

# [1, of the length of the step] A step to the next node comes to where it was predicted by this part. Beyond
# it another sheet may have been reached.
STEP_OFF = 0.5

# [rad, characteristic lengths] A step to the next node of a map may also be off by this. Steps of length zero
# round.
STEP_OFF_REST = 1e-9

# [rad, characteristic lengths] Configurations at one node that are closer are the same. Nodes are met to
# NODE_MET, and sheets near a fold are the root of that apart.
SAME_NODE = 1e-5

# [rad, characteristic lengths] How far from a node sheets beyond a fold are looked for. Near ones first; a
# fold is a root, so that steps double.
BEYOND_FOLDS = (0.1, 0.2, 0.4, 0.8)

# [rad, characteristic lengths] How far from a node sheets beyond a common point are looked for. Links turn
# half round there.
BEYOND_POINTS = (0.8, 1.6, 2.4, 3.2, 4.0, 4.8)

# [1, of the median of the smallest singular value of T] Nodes with a smaller value, inside of a sheet, are
# near a point where sheets meet. The value falls to zero there linearly.
INSIDE_SHEET = 0.3

# [rad] A range this near to 2π is a whole turn. Limits are given as 6.28… or π with ten digits.
WHOLE_TURN = 1e-9

# [1, nodes] Nodes along each coordinate of the coarse grid, which finds how far coordinates go. Ranges need
# few digits.
COARSE_NODES = 32

# [1, times] How often the coarse grid of a map is widened at most. Ranges grow by half each time.
WIDENINGS = 24

# [1, of the longer side] The shorter side of the coarse grid of a map is at least this part. A coordinate
# that rests would have none.
LEAST_SIDE = 1e-3

# [1, times] A coarse grid of a map that was widened more often is laid again over what it reached. It may be
# too large.
OFTEN_WIDENED = 6

# [1, of the side before] A grid is laid again until its sides shrink by less. It may be too large by so much,
# where travels are longer than bodies.
SETTLED_SIDE = 0.85

# [1, walks] Walks over the motions, along each direction, that look for modes and for how far coordinates go.
RAYS = 2

# [1, configurations] Of the configurations of walks that look for modes every so many-th is looked at.
# Neighbours are of one mode.
WALK_EVERY = 4

# [rad, characteristic lengths] A configuration nearer to one that is known is no new mode. Modes are half
# turns of links apart, but near folds.
LIKE_MODE = 0.5

# [1, steps] Newton's method to a node takes at most so many steps. It takes four from a neighbour.
NODE_STEPS = 8

# [rad, characteristic lengths] A node missed by less is met. Newton's method reaches 1e-14, and maps show
# three digits.
NODE_MET = 1e-10

# [1, of what is open at the start] A node is met if it is missed by less than this multiple of what digits of
# the model leave open. Digits act differently in each configuration.
NODE_AS_OPEN = 10.0

# [1, of the miss before] The miss has to fall to this part with each step, after two. Newton's method squares
# it.
NODE_FALLS = 0.7

# [rad, characteristic lengths] Newton's method to a node takes no longer steps, but for those that lead there
# at once along a straight motion. A linear model says nothing beyond.
FARTHEST = 1.0

# [1, of the trace of TᵀT] Part that is added to the diagonal of TᵀT. Then it has an inverse.
NODE_RIDGE = 1e-15

# [1, of the step] A node is known if a configuration there is within this part of the step that leads to it.
# Other sheets are farther.
KNOWN_PART = 0.25

# [1, of the configurations of walks] A workspace is covered if nodes next to this share are reached. Else the
# grid is too coarse.
COVERED = 0.9

# [1, of the extent] Points within this part of a plane or a line lie on it. Walks close their configurations
# to 1e-9.
PLANAR_POINTS = 1e-7

# [1, of the largest value] Values of a map that differ by less are equal. Mirror images are, up to rounding.
EQUAL_VALUES = 1e-9

# [1, of its terms] A force below this part of what it is made of is zero. Solves leave 1e-13.
NO_FORCE = 1e-9

# [1, of the largest power of the force] A couple with less power does no work. The force alone then drives
# the output.
DOES_WORK = 1e-6

# [rad] Transmission angles that differ by less are equal. Angles of one curve repeat to rounding.
EQUAL_ANGLES = 1e-12

# [1, of the bracket] The search for the least transmission angle ends at this part. Near a minimum the angle
# is then flat.
ANGLE_SEARCH = 1e-10

# [1, nodes] Nodes along the longest side of the grid that finds how large a workspace is. The size needs one
# digit.
WORKSPACE_NODES = 8

# [1, of the characteristic length] A workspace that is larger has no end. No mechanism reaches as far.
ENDLESS = 1e5
