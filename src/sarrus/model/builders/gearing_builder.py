"""`GearingBuilder`: adds gears, racks, worms and screws with friction between their flanks and backlash."""

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

# A coordinate, or a sum of coordinates with factors: a gear relative to its carrier is {"gear": 1, "carrier": -1}.
Way = str | Mapping[str, float]


class GearingBuilder(Description):
    """The methods of `Mechanism` that add transmissions with losses.

    Each ties two quantities (coordinates, or sums of coordinates with factors) by two opposite unilateral flanks with
    Coulomb friction; see `sarrus.mechanism.Gearing`. Gearings are contacts, not constraints: they act wherever
    contacts with Coulomb friction act, can be self-locking, and lose energy in both directions of power flow.
    ``System.assemble`` does not close them: give coordinates that satisfy them to 1e-5 characteristic lengths, such
    as coordinates of the mechanism `without_losses`.
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
        """Add a gear pair with losses: one = ratio × other.

        Parameters
        ----------
        one, other : each a coordinate, or several with factors. In planetary gears take the gears relative to the
            carrier and the efficiency with the carrier fixed (Müller, Epicyclic Drive Trains, 1982).
        ratio : turns of one per turn of the other, negative if they turn in opposite directions.
        efficiency : η of the mesh, 0 < η ≤ 1: output power = η × input power, in both directions of power flow. The
            equivalent friction coefficient is 2 (1 − η) / (1 + η), with the mean of both pitch line velocities as
            slip velocity.
        static_efficiency : ≤ ``efficiency``. At rest the pair sticks while the quotient of output and input torque (in
            units of the ratio) is between this value and its inverse. By default equal to ``efficiency``.
        backlash : rotation of one with the other fixed [rad]. 0 gives 1e-8 × radius, below every tolerance.
        radius : pitch radius of one [m], to which the flank forces refer; with 1 m they equal torques.
        restitution : Newton's coefficient e of impacts of the flanks, from 0 to 1.
        references : the coordinates at which the flanks are in the middle of the backlash; default 0.

        Raises `ModelError` for unknown coordinates and for numbers out of these ranges.
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
        """Add a rack and pinion with losses: slide = radius × pinion, ``radius`` [m] the pitch radius of the pinion.

        ``radius`` is negative if the rack moves backwards when the pinion turns forwards; ``backlash`` is the travel of
        the rack with the pinion fixed [m]. The other arguments and the errors are as in `add_gear_pair`.
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
        """Add a lead screw with friction in the thread: travel = pitch × turn / 2π.

        Parameters
        ----------
        travel, turn : translation of the nut along the screw [m] and rotation of the screw in the nut [rad]: each a
            coordinate, or several with factors, such as the translation and the angle of a cylindrical joint.
        pitch : travel per turn [m] (the lead: thread pitch × number of starts); negative for a left-hand thread.
        diameter : mean diameter of the thread [m]; the lead angle λ has tan λ = |pitch| / (π diameter).
        friction_coefficient : μ ≥ 0 of the thread; or instead ``efficiency``, 0 < η ≤ 1, of the screw driving the nut,
            from which μ is computed.
        static_coefficient : coefficient of static friction, ≥ μ; by default μ.
        flank_angle : of the flank in the section normal to the thread [rad], from 0 (square) to below π/2. The
            effective friction angle φ' has tan φ' = μ / cos(flank_angle).
        backlash : axial play [m]; 0 gives a play below every tolerance.
        restitution, references : see `add_gear_pair`.

        Raising a load F takes the torque F (diameter/2) tan(λ + φ'), lowering it F (diameter/2) tan(φ' − λ). The
        efficiency is η = tan λ / tan(λ + φ'), and tan(λ − φ') / tan λ if the load drives. For φ' ≥ λ, that is
        η ≤ (1 − tan² λ) / 2, the screw is self-locking (Shigley, Mechanical Engineering Design, chapter 8).

        Raises `ModelError` for unknown coordinates, for numbers out of these ranges, and unless one of μ and η is
        given.

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
        """Add a worm gear with friction between the flanks: worm = ratio × wheel.

        Parameters
        ----------
        ratio : teeth of the wheel / threads of the worm, negative if positive rotations of the two are opposite.
        diameter : pitch diameter of the worm [m]; the wheel has |ratio| × diameter × tan(lead_angle).
        lead_angle : λ of the thread on the pitch cylinder of the worm [rad], between 0 and π/2.
        flank_angle : the normal pressure angle α [rad], by default 20 degrees.
        backlash : rotation of the wheel with the worm fixed [rad].

        ``efficiency`` is for the worm driving, η = (cos α − μ tan λ) / (cos α + μ cot λ) (Shigley, Mechanical
        Engineering Design, worm gearing). The other arguments and the errors are as in `add_lead_screw`; the travel is
        the arc on the pitch circle of the wheel.
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
        arm = turns * lead  # pitch radius of the wheel [m]
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
        """Tie coordinates by two opposite flanks with Coulomb friction, given by their normal approach and their slip.

        ``approach`` are factors of coordinates: their sum is the approach of the flanks along the normal [m].
        ``sliding`` are factors of rates: their sum is the slip velocity [m/s]. ``backlash`` is along the normal [m].
        Friction is at most ``friction_coefficient`` × normal force, against the slip, and at most
        ``static_coefficient`` × normal force while sticking. The other methods compute these factors for gears, racks
        and screws.

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
        """Return a copy with each gearing replaced by a coupling of the same name: no friction, no backlash.

        Functions that need constraints (``System.assemble``, linear models, control laws) take this copy; its
        coordinates are those of the original mechanism. The multiplier of a coupling is the force or torque on the
        first coordinate of the gearing.

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
        """Add a gearing with checked flanks."""
        known = flanks.approach
        if not any(known.values()):
            raise fault(label, "ties no coordinates: all factors of its normal approach are zero")
        if (flanks.friction or flanks.static) and not any(flanks.sliding.values()):
            raise fault(label, "has friction without slip: all factors of its slip are zero")
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
        """Return a coordinate, or a sum of coordinates, as pairs of a name and a factor."""
        return dict(self._weights({given: 1.0} if isinstance(given, str) else given, what, label))
