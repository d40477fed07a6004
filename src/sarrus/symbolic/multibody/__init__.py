"""Multibody equations traced over CasADi scalars: kinematics, RNEA, CRBA, closures, contacts, forces, sensors.

In: a `Mechanism`. Out: `sarrus.symbolic.equations.equations.Equations`. Start with
`sarrus.symbolic.multibody.model.trace`.
"""
