"""Sentences that are put together from parts: statuses with their remedies, counts of imported elements."""

from __future__ import annotations

import pytest

from sarrus.base.status import Status
from sarrus.model.mechanism.report import ImportReport


@pytest.mark.parametrize("status", Status)
def test_a_diagnosis_goes_on_a_sentence_and_a_remedy_is_one(status: Status) -> None:
    assert status.diagnosis[0].islower()
    assert status.remedy[0].isupper()
    assert not status.diagnosis.endswith(".")
    assert not status.remedy.endswith(".")


def test_summary_of_an_import_counts_in_words() -> None:
    report = ImportReport("model.xml")
    for kind in ("body", "actuator", "actuator", "mesh", "mesh", "gravity", "body", "key", "key"):
        report.act(kind, "x")
    report.set_aside("mesh", "y", "not read")
    assert report.summary() == "acts: 2 actuators, 2 bodies, 1 gravity, 2 keys, 2 meshes; aside: 1 mesh"
