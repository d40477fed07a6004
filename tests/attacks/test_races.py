"""Several processes on one store; `make attack` does more trials."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from threading import Timer

import pytest
import races
from writers import copy_chunks, study, template


def test_two_and_four_processes_share_a_store(tmp_path: Path) -> None:
    races.together(tmp_path, 2).check()


def test_claims_of_killed_processes_are_taken_over(tmp_path: Path) -> None:
    races.killed(tmp_path, 1).check()


def test_a_second_process_says_for_whom_it_waits(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from sarrus.runs.studies.claims import claim, owner

    copy_chunks(template(tmp_path), tmp_path / "study")
    lock = tmp_path / "study" / "locks" / "whole"
    held = claim(lock)
    assert held is not None
    assert claim(lock) is None
    said = owner(lock)
    assert said is not None
    assert said.process == os.getpid()
    rescue = Timer(60.0, held.release)
    rescue.start()

    def let_go(record: logging.LogRecord) -> bool:
        if "waiting for process" in record.getMessage():
            held.release()
        return True

    caplog.handler.addFilter(let_go)
    try:
        study(tmp_path / "study")
    finally:
        rescue.cancel()
        caplog.handler.removeFilter(let_go)
    assert f"waiting for process {os.getpid()} on" in caplog.text
