"""Tolerances of contacts, stops, dry friction, play of gears and cables: what is at a bound, closed, still, unloaded.

One number for each, read at every level: states (`sarrus.dynamics.contacts.contact_state`), accelerations
(`sarrus.dynamics.solve.accelerate`), statics (`sarrus.analysis.configurations.static_contacts`), runs by events
(`sarrus.motion.contacts.event_driven`, `sarrus.kernels.integrate.contact_modes`,
`sarrus.kernels.contact.event_functions`), steps in time (`sarrus.kernels.integrate.time_stepping`, which `rollout`,
gyms, exported C and FMI units take), constraints that switch (`sarrus.motion.switching`). So a state means the same
everywhere.

Gaps are measured in units of the block: the characteristic length of the mechanism for contacts, stops of translations
and their friction, 1 rad for rotations. Speeds are units a second. Metres and millimetres so have the same answer.
"""

from __future__ import annotations

# Gaps, relative to the unit. Part of the range of a stop, or of a characteristic length, by which a bound may be passed
# and the coordinate still be at the bound: printed digits of model files and keyframes explain that much. A gap of that
# size at rest is closed, whatever its sign; what begins deeper is an error, or a stop that is begun beyond.
# Read by: states, accelerations, statics, the first instant of runs by events and of steps.
AT_BOUND = 1e-6
# Gap with which what approaches has arrived, relative to the unit: then there is an impact, farther away flight. It is
# far above rounding (1e-16) and far below what digits explain.
# Read by: states, accelerations, runs by events, steps.
ARRIVED = 1e-9
# Part of that by which an open gap falls below zero before that is an event: contacts that an impact has left may open
# from a little below their planes. Read by: runs by events.
SLACK = 1e-2
# Gap, relative to the unit, at which runs by events begin an impact, whatever its sign: the instant of contact is found
# to the digits of the coordinates, as what is missed there adds up from hit to hit. Read by: runs by events.
MET = 1e-15

# Speeds, in units a second and relative to (1 + the largest velocity of the mechanism in these units). What slips, or
# moves off, slower than this is at rest: it sticks with the static coefficient, or is pressed. Projections leave 1e-14
# and instants of stopping are found to 1e-11 s, so 1e-8 is above both; at 1 m/s² it is reached after 1e-8 s.
# Read by: states, accelerations, runs by events, steps, impacts (velocities that are none after one).
STILL = 1e-8
# Slips below this [units/s] have the direction of friction that keeps a_t ∥ d (`sarrus.kernels.contact.slow_slip`):
# that of the slip itself would turn at a rate a/v > 1e6 1/s there. Read by: runs by events.
SLOW = 1e-6
# A contact that slid and whose slip turned round, or passed zero, may stick below this [units/s]: slower is the rest of
# the step in which it did. Read by: runs by events.
STOPPED = 1e-5
# Speed after an impact [units/s] below which a contact does not leave, where `sarrus.Switching` says nothing else; the
# bounces left out last rest_speed / g · 2 / (1 − e), a few ms. Read by: runs by events, steps.
REST_SPEED = 1e-3

# Accelerations, relative to (1 + speed² + the largest acceleration in characteristic units): none. Solves of states are
# right to 1e-10 of that with loops that are nearly singular. Read by: states, accelerations, runs by events.
STEADY = 1e-6
# Forces, relative to the largest one of a contact problem, that are none; its residual is 1e-13 to 1e-10.
# Read by: accelerations, runs by events.
UNLOADED = 1e-9
# Acceleration of what slides, in those of the largest row, where a contact problem of accelerations is asked what else
# does: that it goes on sliding is then decided beforehand. Read by: accelerations, runs by events.
GOING = 1e4
# Acceleration of the characteristic mass by the forces with which responses are found [m/s²]: near that of gravity, so
# that differences of accelerations keep their digits; where these are far larger it grows with them
# (`sarrus.kernels.contact.rows.lift_of`). Read by: accelerations, runs by events, steps.
LIFT = 10.0


def still_speed(speed: float) -> float:
    """Return the speed that is none [units/s] where the largest velocity of the mechanism is ``speed``, in units/s."""
    return STILL * (1.0 + speed)
