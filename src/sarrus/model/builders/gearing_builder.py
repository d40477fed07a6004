"""Adding transmissions with losses: gears, racks, worms and screws with friction between their flanks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np

from sarrus.model.mechanism import checks
from sarrus.model.mechanism.description import Description
from sarrus.model.mechanism.elements import Coupling, CouplingTerm
from sarrus.model.mechanism.faults import Label, fault
from sarrus.model.mechanism.gearing import Gearing
from sarrus.model.mechanism.pose import scalar
from sarrus.model.mechanism.tolerances import LEAST_PLAY
from sarrus.model.mechanism.tooth_flanks import Flanks, Weights, teeth, thread, total

# A coordinate, or what several are together: the turn of a gear relative to its carrier is {"gear": 1, "carrier": -1}.
Way = str | Mapping[str, float]


class GearingBuilder(Description):
    """The methods of a mechanism that add transmissions with losses.

    Each ties two ways, coordinates or sums of coordinates with factors, by two opposite flanks that only push, with
    Coulomb friction; see `sarrus.model.mechanism.Gearing`. They are contacts, not constraints: they act where
    contacts with Coulomb friction do, hold where friction is enough, and lose energy whichever way power flows.
    ``System.assemble`` does not close them: coordinates that fit each other to 1e-5 characteristic lengths are given,
    such as those that the mechanism `without_losses` has.
    """

    def add_gear_pair(
        self,
        name: str,
        one: Way,
        other: Way,
        ratio: float,
        *,
        efficiency: float,
        static_efficiency: float | None = None,
        backlash: float = 0.0,
        radius: float = 1.0,
        restitution: float = 0.0,
        references: Mapping[str, float] | None = None,
    ) -> Gearing:
        """Let two gears mesh with losses: one = ratio × other.

        Parameters
        ----------
        one, other : a coordinate each, or several with factors: of planetary gears those relative to the carrier,
            with the efficiency of the standing carrier (Müller, Epicyclic Drive Trains, 1982).
        ratio : turns of one for a turn of the other, negative where they turn against each other.
        efficiency : η of the mesh, above 0 and up to 1: the power that comes out is η times the one that goes in,
            whichever drives. The friction that does this has the coefficient 2 (1 − η) / (1 + η) and the mean of both
            speeds as its slip.
        static_efficiency : up to ``efficiency``: at rest nothing turns while the quotient of what comes out and what
            goes in is between it and its inverse. By default the same.
        backlash : how far one turns while the other stands [rad]; 0: as little as counts nowhere, 1e-8 × radius.
        radius : of the pitch circle of one [m], at which forces of flanks are given: at 1 m they are torques.
        restitution : e from 0 to 1, Newton's, of flanks that hit.
        references : of coordinates, where the flanks are in the middle of their play; default 0.

        Raises `ModelError` for unknown coordinates and for numbers that no pair has.
        """
        label = self._fresh_constraint(name, "gear pair")
        size, number = checks.positive(radius, "radius", label), checks.nonzero(ratio, "ratio", label)
        ways = self._way(one, "one", label), self._way(other, "other", label)
        flanks = teeth(*ways, number, size, efficiency, static_efficiency, backlash, label)
        return self._gearing(label, "gear pair", flanks, restitution, references)

    def add_rack(
        self,
        name: str,
        slide: Way,
        pinion: Way,
        radius: float,
        *,
        efficiency: float,
        static_efficiency: float | None = None,
        backlash: float = 0.0,
        restitution: float = 0.0,
        references: Mapping[str, float] | None = None,
    ) -> Gearing:
        """Let a pinion of a ``radius`` [m] mesh with a rack, with losses: slide = radius × pinion.

        ``radius`` is negative where the rack goes back as the pinion turns forwards; ``backlash`` is how far the rack
        goes while the pinion stands [m]. All else is that of `add_gear_pair`, and so are the errors.
        """
        label = self._fresh_constraint(name, "rack")
        ways = self._way(slide, "slide", label), self._way(pinion, "pinion", label)
        arm = checks.nonzero(radius, "radius", label)
        flanks = teeth(*ways, arm, 1.0, efficiency, static_efficiency, backlash, label)
        return self._gearing(label, "rack", flanks, restitution, references)

    def add_lead_screw(
        self,
        name: str,
        travel: Way,
        turn: Way,
        pitch: float,
        *,
        diameter: float,
        friction_coefficient: float | None = None,
        efficiency: float | None = None,
        static_coefficient: float | None = None,
        flank_angle: float = 0.0,
        backlash: float = 0.0,
        restitution: float = 0.0,
        references: Mapping[str, float] | None = None,
    ) -> Gearing:
        """Let a nut run on a screw, with friction in the thread: travel = pitch × turn / 2π.

        Parameters
        ----------
        travel, turn : of the nut along the screw, and of the screw in the nut: a coordinate each, or several with
            factors, such as the translation and the angle of a cylindrical joint.
        pitch : travel per turn [m], that of one thread times their number; negative of a left-hand thread.
        diameter : mean diameter of the thread [m]; tan λ = |pitch| / (π diameter) is that of the lead angle.
        friction_coefficient : μ ≥ 0 of the thread; or ``efficiency``, η above 0 and up to 1 of turning that drives,
            which says what μ is.
        static_coefficient : ≥ μ, up to which it sticks; by default the same.
        flank_angle : of the flank in the section normal to the thread [rad], from 0 (square) to below π/2: μ counts
            as tan φ' = μ / cos(flank_angle).
        backlash : axial play [m]; 0: as little as counts nowhere.
        restitution, references : see `add_gear_pair`.

        Lifting a load F takes the torque F (diameter/2) tan(λ + φ'), letting it down F (diameter/2) tan(φ' − λ). The
        efficiency is η = tan λ / tan(λ + φ'), and tan(λ − φ') / tan λ where the load drives. For φ' ≥ λ, where
        η ≤ (1 − tan² λ) / 2, the load does not drive it: it locks by itself (Shigley, Mechanical Engineering Design,
        chapter 8).

        Raises `ModelError` for unknown coordinates, for numbers that no thread has, and unless μ or η is given.
        """
        label = self._fresh_constraint(name, "lead screw")
        flanks = thread(
            self._way(travel, "travel", label),
            self._way(turn, "turn", label),
            checks.nonzero(pitch, "pitch", label) / (2.0 * np.pi),
            0.5 * checks.positive(diameter, "diameter", label),
            friction_coefficient,
            efficiency,
            static_coefficient,
            flank_angle,
            backlash,
            label,
        )
        return self._gearing(label, "lead screw", flanks, restitution, references)

    def add_worm_gear(
        self,
        name: str,
        wheel: Way,
        worm: Way,
        ratio: float,
        *,
        diameter: float,
        lead_angle: float,
        friction_coefficient: float | None = None,
        efficiency: float | None = None,
        static_coefficient: float | None = None,
        flank_angle: float = np.pi / 9,
        backlash: float = 0.0,
        restitution: float = 0.0,
        references: Mapping[str, float] | None = None,
    ) -> Gearing:
        """Let a worm drive a wheel, with friction between their flanks: worm = ratio × wheel.

        Parameters
        ----------
        ratio : teeth of the wheel over threads of the worm, negative where they turn the other way.
        diameter : of the pitch cylinder of the worm [m]; that of the wheel is |ratio| × diameter × tan(lead_angle).
        lead_angle : λ of the thread on that cylinder [rad], between 0 and π/2.
        flank_angle : the normal pressure angle α [rad], by default 20 degrees.
        backlash : how far the wheel turns while the worm stands [rad].

        The efficiency is that of the worm driving, η = (cos α − μ tan λ) / (cos α + μ cot λ) (Shigley, Mechanical
        Engineering Design, worm gearing). All else is that of `add_lead_screw`: this is its thread, with the way of
        the wheel's pitch circle as the travel.
        """
        label = self._fresh_constraint(name, "worm gear")
        turns, radius = (
            checks.nonzero(ratio, "ratio", label),
            0.5 * checks.positive(diameter, "diameter", label),
        )
        angle = scalar(lead_angle, "lead_angle", label)
        if not 0.0 < angle < 0.5 * np.pi:
            raise fault(label, f"lead_angle must be between 0 and π/2, got {angle:g}")
        lead = float(np.copysign(radius * np.tan(angle), turns))
        arm = turns * lead  # radius of the wheel
        flanks = thread(
            total((arm, self._way(wheel, "wheel", label))),
            self._way(worm, "worm", label),
            lead,
            radius,
            friction_coefficient,
            efficiency,
            static_coefficient,
            flank_angle,
            arm * checks.nonnegative(backlash, "backlash", label),
            label,
        )
        return self._gearing(label, "worm gear", flanks, restitution, references)

    def add_gearing(
        self,
        name: str,
        approach: Mapping[str, float],
        sliding: Mapping[str, float],
        *,
        friction_coefficient: float,
        static_coefficient: float | None = None,
        backlash: float = 0.0,
        restitution: float = 0.0,
        references: Mapping[str, float] | None = None,
        kind: str = "gearing",
    ) -> Gearing:
        """Tie coordinates by two opposite flanks with friction: what the other methods work out, given by itself.

        ``approach`` are factors of coordinates whose sum is the way of one flank to the other along their normal [m],
        ``sliding`` those of rates whose sum is their slip [m/s]; ``backlash`` is along the normal [m]. Friction is up
        to ``friction_coefficient`` × push, against the slip, and up to ``static_coefficient`` × push where it sticks.
        """
        label = self._fresh_constraint(name, kind)
        friction = checks.nonnegative(friction_coefficient, "friction_coefficient", label)
        flanks = Flanks(
            self._way(approach, "approach", label),
            self._way(sliding, "sliding", label),
            friction,
            checks.static_coefficient(static_coefficient, friction, label),
            checks.nonnegative(backlash, "backlash", label),
        )
        return self._gearing(label, kind, flanks, restitution, references)

    def without_losses(self) -> Self:
        """Return a copy in which couplings of the same names take the place of gearings: no friction, no play.

        It is for what asks for constraints, such as ``System.assemble``, linear models and control laws; its
        coordinates are those of this mechanism. The multiplier of such a coupling is the force or torque on the first
        coordinate of the gearing.
        """
        copy = self.snapshot()
        copy.gearings = {}
        for gearing in self.gearings.values():
            first = next(weight for _, weight in gearing.approach if weight)
            ways, references = dict(gearing.approach), dict(gearing.references)
            terms = tuple(
                CouplingTerm(coordinate, (0.0, weight / first), references.get(coordinate, 0.0))
                for coordinate, weight in ways.items()
            )
            copy.couplings[gearing.name] = Coupling(gearing.name, terms)
        return copy

    def _gearing(
        self,
        label: Label,
        kind: str,
        flanks: Flanks,
        restitution: float,
        references: Mapping[str, float] | None,
    ) -> Gearing:
        """Add a gearing with flanks whose numbers are checked."""
        known = flanks.approach
        if not any(known.values()):
            raise fault(label, "ties nothing: the factors of all its coordinates are zero")
        if (flanks.friction or flanks.static) and not any(flanks.sliding.values()):
            raise fault(label, "has friction and no slip: the factors of all its rates are zero")
        for coordinate in references or ():
            if coordinate not in known:
                raise fault(label, f"references: {coordinate!r} is none of {', '.join(map(repr, known))}")
        gearing = Gearing(
            name=label.name,
            kind=kind,
            approach=tuple(known.items()),
            sliding=tuple(flanks.sliding.items()),
            references=tuple(
                (c, scalar(x, f"reference of {c!r}", label)) for c, x in (references or {}).items()
            ),
            friction_coefficient=flanks.friction,
            static_coefficient=flanks.static,
            play=max(flanks.play, LEAST_PLAY),
            restitution=checks.fraction(restitution, "restitution", label),
        )
        self.gearings[gearing.name] = gearing
        return gearing

    def _way(self, given: Way, what: str, label: Label) -> Weights:
        """Return the factors of coordinates of a way."""
        return dict(self._weights({given: 1.0} if isinstance(given, str) else given, what, label))
