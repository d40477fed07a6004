"""Names are nouns of the field: private words that readers did not understand do not come back."""

from __future__ import annotations

import ast
from pathlib import Path

import sarrus as sr

SOURCE = Path(sr.__file__).parent
# The term of the field beside each: docs/decisions/0083-wings-and-words.md, docs/glossary.md.
PRIVATE = {
    "CarriedLoad": "SupportReactions",
    "Colliding": "GeometryTable",
    "Distribution": "ContactCommand",
    "Follows": "StateDerivatives",
    "Gauge": "Conditioning",
    "Held": "DrivenConfiguration",
    "JointLimits": "JointStops (data), JointLimitBound (of laws)",
    "Kept": "StoredContact",
    "Meetings": "ContactLog",
    "Met": "RawContact",
    "Phases": "EventDrivenContacts",
    "Resting": "StaticContacts",
    "Survey": "ContactProbe",
    "Touch": "ContactEquations, ContactPoint",
    "Touches": "ContactRun",
    "TouchForces": "ContactReactions",
    "Touching": "ContactTable (kernels), ContactElement",
    "agreement": "inconsistent_drift",
    "basis_rate": "basis_bias",
    "beyond_reach": "unreachable_motion",
    "carried_load": "support_reactions",
    "close_nearby": "simplified_newton",
    "colliding_rows": "geometry_rows",
    "damp_joints": "emergency_damping",
    "data_tolerance": "measured_precision",
    "even_scale": "scaled_rows_size",
    "facing": "opposite_flank",
    "facing_pairs": "opposite_flanks",
    "find_replies": "compute_compliance",
    "footing": "touchdown",
    "gauge": "conditioning",
    "glance": "verify_solution",
    "goes_through": "passes_branch_point",
    "inserted": "force_inline",
    "judged_data": "judged_precision",
    "laid": "view_fields",
    "make_agree": "remove_inconsistent_drift",
    "measured_scale": "measured_rows_size",
    "meetings": "contact_log",
    "meetings_of": "contact_log",
    "numba_forms": "llvm_functions",
    "phase_survey": "mode_probe",
    "replies": "compliance_columns",
    "reply": "compliance_column",
    "reply_to": "compliance_of_row",
    "respond": "compliance_column_of_row",
    "ship": "build_prebuilt",
    "touch_names": "contact_names",
    "touch_rows": "contact_row_state",
    "touches": "contact_run, friction_contacts",
    "touching_layout": "contact_layout",
    "touching_of": "contact_elements",
    "touching_problem": "step_problem",
    "touching_rows": "rows",
    "unmet": "unsatisfied",
    "without_dry_friction": "require_no_dry_friction",
    "without_poisson": "require_poisson_in_steps",
    "without_touches": "require_no_contacts",
}


def defined(path: Path) -> set[str]:
    """Return the names that a module defines: itself, functions, classes, arguments, fields, attributes."""
    names = {path.stem}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
    return {name.lstrip("_") for name in names}


def test_private_words_do_not_come_back() -> None:
    found = {
        f"{path.relative_to(SOURCE).as_posix()}: {name}, say {PRIVATE[name]}"
        for path in SOURCE.rglob("*.py")
        for name in defined(path) & PRIVATE.keys()
    }
    assert found == set()


def test_all_kernel_functions_have_annotated_arguments() -> None:
    bare = []
    for path in (SOURCE / "kernels").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef):
                given = [a for a in node.args.args if a.arg not in ("self", "cls") and a.annotation is None]
                bare += [f"{path.relative_to(SOURCE).as_posix()}:{node.lineno} {a.arg}" for a in given]
    assert bare == []
