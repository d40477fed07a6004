"""Contacts with Coulomb friction in C: their gaps and their rows."""

from __future__ import annotations

import casadi as ca

from sarrus.base.errors import ArgumentError
from sarrus.codegen.c_source import c_number
from sarrus.dynamics.contacts.contact_functions import gap_outputs, motion_outputs
from sarrus.export.c.contents import Member, Natives, SystemPlan
from sarrus.export.c.entry_points import Entry, block, example, function, loaded, loop, prototype
from sarrus.export.c.functions import Kernels
from sarrus.export.c.identifiers import enumeration


def contacts(name: str, plan: SystemPlan, kernels: Kernels, natives: Natives) -> Entry:
    """Return gaps, velocities, biases and rows of all contacts at a state, open or closed."""
    system, upper = plan.system, name.upper()
    frictional = system.equations.friction_contacts
    if not frictional:
        raise ArgumentError(
            f"{system.name}: functions asks for contacts, but the system has none with friction='coulomb'; add_contact",
            element="contacts",
        )
    outputs = gap_outputs(system) | motion_outputs(system)
    natives.add(
        "model_all_contacts",
        lambda: (system.compiled.inputs, {key: ca.densify(part) for key, part in outputs.items()}),
    )
    texts = {
        "gap": "of each contact [m], negative below its plane",
        "rates": "velocities of each row [m/s]: normal, positive where it opens, tangents, torsion, rolling",
        "bias": "of the derivatives of these: rows a + bias",
        "rows": "J by rows, rows x nv: forces r act by J' r",
    }
    rows = [row for contact in frictional for row in contact.row_names]
    firsts = [rows.index(contact.row_names[0]) for contact in frictional]
    sizes = [int(outputs[part].numel()) for part in texts]
    lists = {
        "FIRST_ROWS": map(str, firsts),
        "FRICTION": (c_number(contact.friction_coefficient) for contact in frictional),
        "STATIC_FRICTION": (c_number(contact.static_coefficient) for contact in frictional),
        "RESTITUTION": (c_number(contact.restitution) for contact in frictional),
        "POISSON": (str(int(contact.impact_law == "poisson")) for contact in frictional),
    }
    declaration = "\n".join(
        [
            enumeration("Contacts with friction.", f"{upper}_CONTACT", [t.name for t in frictional], ["m"] *
            len(frictional)), enumeration("Their rows, with the units of their forces.", f"{upper}_TOUCH", rows, ["N"]
            * len(rows)), f"#define {upper}_NCONTACTS {len(frictional)}\n#define {upper}_NCONTACT_ROWS {len(rows)}",
            *(f"#define {upper}_{key} {{{', '.join(values)}}}" for key, values in lists.items()),
            "",
            block(f"{name}_contacts_at", [(part, size, text) for size, (part, text) in zip(sizes, texts.items())]),
        ]
    )  # fmt: skip
    signature = (
        f"void {name}_contacts({name}_workspace *W, const double *q, const double *v, double t, "
        f"{name}_contacts_at *out)"
    )
    text = (
        "Gaps, velocities and rows of the contacts with Coulomb friction at a state, open or closed. What they do, and "
        "their forces, are the caller's: J M^-1 J' and the velocities make the contact problem, which forward_dynamics "
        "and contact_step solve."
    )
    copies, at = [], 0
    for part, size in zip(texts, sizes):
        copies.append(loop(size, f"out->{part}[i] = W->contact[{at} + i]"))
        at += size
    return Entry(
        [Member("contact", at, "what contacts do")],
        f"{declaration}\n{prototype(signature, text)}",
        function(
            signature,
            "    int i = 0;",
            *loaded(name, plan, kernels),
            "    model_all_contacts(W->x, W->contact);",
            *copies,
        ),
        example(
            f"{name}_contacts(&W, q, v, t, &contacts)",
            ("gaps", "contacts.gap", len(frictional)),
            declared=f"static {name}_contacts_at contacts;",
        ),
    )
