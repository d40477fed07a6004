"""Code that others planted where compiled code is kept must never run, and the answer must be right all the same.

What is planted is sound object code of another function (3 x² for 2 x²), so that an answer tells whether it ran. Where
the place is what is wrong, it is sealed with the user's own secret: then nothing but the place can give it away.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier

import casadi as ca
import numpy as np
from tally import Tally

from sarrus.base.errors import CacheWarning
from sarrus.codegen import NativeFunction, cache, compile_function

STRANGER = 12345  # a user who is neither root nor who runs this
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
OTHER_SECRET = b"s" * 32


def square(factor: float) -> NativeFunction:
    """Return x ↦ factor x²."""
    x = ca.SX.sym("x")
    return compile_function("square", [x], {"y": factor * x * x})


@contextmanager
def kept_in(path: Path) -> Iterator[list[warnings.WarningMessage]]:
    """Have code kept in a directory; yields the warnings."""
    usual = os.environ.get("SARRUS_CACHE_DIR")
    os.environ["SARRUS_CACHE_DIR"] = str(path)
    cache._warned.clear()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield caught
    finally:
        del os.environ["SARRUS_CACHE_DIR"]
        if usual is not None:
            os.environ["SARRUS_CACHE_DIR"] = usual


@dataclass(frozen=True)
class Plant:
    """A cache of the user's, with the key of 2 x², the code of 3 x², and the user's secret.

    ``place`` is what the user names as cache, ``path`` where the entry is.
    """

    root: Path
    place: Path
    key: str
    code: cache.Entry
    secret: bytes

    @property
    def path(self) -> Path:
        """The file of the entry."""
        return self.place / f"{self.key}.sarrus"

    def sealed(self, secret: bytes, key: str | None = None) -> bytes:
        """Return an entry of the planted code, sealed with a secret."""
        return cache._encode(key or self.key, self.code, secret)


@contextmanager
def planted() -> Iterator[Plant]:
    """Make a cache with sound entries of 2 x² and 3 x²."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        place = root / "above" / "cache"
        with kept_in(place):
            square(2.0)
            (key,) = (path.stem for path in place.glob("*.sarrus"))
            square(3.0)
            (other,) = (path.stem for path in place.glob("*.sarrus") if path.stem != key)
            entry = cache.load(other)
        assert entry is not None
        (place / f"{other}.sarrus").unlink()
        yield Plant(root, place, key, entry, (place / "secret").read_bytes())


def answer(place: Path) -> tuple[float, bool, list[str]]:
    """Return 2 · 3² as the user gets it, whether from the cache, and the warnings."""
    with kept_in(place) as caught:
        native = square(2.0)
        value = float(native([3.0])[0])
    return value, native.from_cache, [str(w.message) for w in caught if issubclass(w.category, CacheWarning)]


# --- places that are not the user's alone -------------------------------------------------------------


def _mode(mode: int) -> Callable[[Plant], Path]:
    def plant(plant: Plant) -> Path:
        plant.place.chmod(mode)
        return plant.place

    return plant


def _open_above(plant: Plant) -> Path:
    plant.place.parent.chmod(0o777)
    return plant.place


def _link(plant: Plant) -> Path:
    link = plant.root / "link"
    link.symlink_to(plant.place)
    return link


def _owned_by_a_stranger(plant: Plant) -> Path:
    os.chown(plant.place, STRANGER, STRANGER)
    return plant.place


def _below_a_stranger(plant: Plant) -> Path:
    os.chown(plant.place.parent, STRANGER, STRANGER)
    return plant.place


def _link_of_a_stranger_above(plant: Plant) -> Path:
    link = plant.root / "link"
    link.symlink_to(plant.place.parent)
    os.lchown(link, STRANGER, STRANGER)
    return link / plant.place.name


PLACES: dict[str, Callable[[Plant], Path]] = {
    "a directory that all may write to": _mode(0o777),
    "a sticky directory that all may write to": _mode(0o1777),
    "a directory that the group may write to": _mode(0o770),
    "a directory in one that all may write to": _open_above,
    "a link as directory": _link,
}
OWNERS: dict[str, Callable[[Plant], Path]] = {
    "a directory of another user": _owned_by_a_stranger,
    "a directory in one of another user": _below_a_stranger,
    "a directory behind a link of another user": _link_of_a_stranger_above,
}


def places() -> Iterator[Tally]:
    """Planted code in places that others can write to: nothing is loaded, nothing written, one line of warning."""
    for what, prepare in {**PLACES, **(OWNERS if IS_ROOT else {})}.items():
        tally = Tally(f"code planted: {what}", "compiled in memory, one warning")
        with planted() as plant:
            plant.path.write_bytes(plant.sealed(plant.secret))
            place = prepare(plant)
            before = sorted(plant.place.iterdir())
            value, from_cache, said = answer(place)
            one_line = len(said) == 1 and "\n" not in said[0] and str(plant.root) in said[0]
            if value == 18.0 and not from_cache and one_line and sorted(plant.place.iterdir()) == before:
                tally.passes("refused with a warning")
            else:
                tally.fails(f"{value}, from the cache: {from_cache}, warnings: {said}", what)
        yield tally


# --- entries in the user's own directory --------------------------------------------------------------


def _of_another_cache(plant: Plant) -> None:
    plant.path.write_bytes(plant.sealed(OTHER_SECRET))


def _plain_digest(plant: Plant) -> None:
    plant.path.write_bytes(plant.sealed(b""))


def _entry_as_link(plant: Plant) -> None:
    elsewhere = plant.root / "elsewhere"
    elsewhere.write_bytes(plant.sealed(plant.secret))
    plant.path.unlink()
    plant.path.symlink_to(elsewhere)


def _entry_as_hard_link(plant: Plant) -> None:
    elsewhere = plant.root / "elsewhere"
    elsewhere.write_bytes(plant.sealed(plant.secret if IS_ROOT else OTHER_SECRET))
    if IS_ROOT:
        os.chown(elsewhere, STRANGER, STRANGER)
    plant.path.unlink()
    plant.path.hardlink_to(elsewhere)


def _entry_that_all_may_write_to(plant: Plant) -> None:
    plant.path.write_bytes(plant.sealed(plant.secret))
    plant.path.chmod(0o666)


def _entry_as_pipe(plant: Plant) -> None:
    plant.path.unlink()
    os.mkfifo(plant.path)


def _secret_that_all_may_read(plant: Plant) -> None:
    (plant.place / "secret").write_bytes(OTHER_SECRET)
    (plant.place / "secret").chmod(0o644)
    plant.path.write_bytes(plant.sealed(OTHER_SECRET))


def _secret_as_link(plant: Plant) -> None:
    elsewhere = plant.root / "elsewhere"
    elsewhere.write_bytes(OTHER_SECRET)
    elsewhere.chmod(0o600)
    (plant.place / "secret").unlink()
    (plant.place / "secret").symlink_to(elsewhere)
    plant.path.write_bytes(plant.sealed(OTHER_SECRET))


def _empty_secret(plant: Plant) -> None:
    (plant.place / "secret").write_bytes(b"")
    plant.path.write_bytes(plant.sealed(b""))


def _secret_of_a_stranger(plant: Plant) -> None:
    (plant.place / "secret").write_bytes(OTHER_SECRET)
    os.chown(plant.place / "secret", STRANGER, STRANGER)
    plant.path.write_bytes(plant.sealed(OTHER_SECRET))


ENTRIES: dict[str, Callable[[Plant], None]] = {
    "an entry of another cache": _of_another_cache,
    "an entry with a digest without secret": _plain_digest,
    "a link as entry": _entry_as_link,
    "a hard link as entry": _entry_as_hard_link,
    "an entry that all may write to": _entry_that_all_may_write_to,
    "a pipe as entry": _entry_as_pipe,
    "a secret that all may read, with an entry": _secret_that_all_may_read,
    "a link as secret, with an entry": _secret_as_link,
    "an empty secret, with an entry": _empty_secret,
}
STRANGERS_ENTRIES: dict[str, Callable[[Plant], None]] = {
    "a secret of another user, with an entry": _secret_of_a_stranger,
}


def entries() -> Iterator[Tally]:
    """Planted entries in the user's own directory: compiled again, and the next time from the cache."""
    for what, prepare in {**ENTRIES, **(STRANGERS_ENTRIES if IS_ROOT else {})}.items():
        tally = Tally(f"code planted: {what}", "compiled again")
        with planted() as plant:
            prepare(plant)
            value, from_cache, said = answer(plant.place)
            again, kept, _ = answer(plant.place)
            if value == again == 18.0 and not from_cache and kept and not said:
                tally.passes("refused, compiled and kept again")
            else:
                tally.fails(f"{value}, {again}, from the cache: {from_cache}, {kept}, {said}", what)
        yield tally


# --- entries that are altered ----------------------------------------------------------------------------


def _bits(data: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(data)
    for place in rng.integers(8 * len(data), size=rng.integers(1, 4)):
        changed[place // 8] ^= 1 << (place % 8)
    return bytes(changed)


def _cut(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: rng.integers(len(data))]


def _longer(data: bytes, rng: np.random.Generator) -> bytes:
    place = rng.integers(len(data) + 1)
    return data[:place] + rng.bytes(rng.integers(1, 50)) + data[place:]


def _blocks(data: bytes, rng: np.random.Generator) -> bytes:
    size = int(rng.integers(1, len(data) // 4))
    a, b = sorted(rng.integers(len(data) - size, size=2))
    return data[:a] + data[b : b + size] + data[a + size :]


MUTATIONS = {"bits flipped": _bits, "cut short": _cut, "bytes put in": _longer, "a block copied": _blocks}


def mutations(count: int) -> Iterator[Tally]:
    """Altered entries are not loaded, and removed."""
    for what, mutate in MUTATIONS.items():
        tally = Tally(f"an entry of the cache: {what}", "compiled again")
        with planted() as plant, kept_in(plant.place):
            sound = plant.path.read_bytes()
            for seed in range(count):
                data = mutate(sound, np.random.default_rng(seed))
                if data == sound:
                    continue
                plant.path.write_bytes(data)
                if cache.load(plant.key) is None and not plant.path.exists():
                    tally.passes("refused and removed")
                else:
                    tally.fails("loaded or left", f"seed {seed}")
        yield tally


def exchanges(count: int) -> Iterator[Tally]:
    """Sound entries of other programs, and entries sealed with other secrets."""
    swapped = Tally("entries of the cache exchanged with one another", "compiled again")
    resealed = Tally("an entry of the cache sealed with another secret", "compiled again")
    with planted() as plant, kept_in(plant.place):
        for seed in range(count):
            rng = np.random.default_rng(seed)
            for tally, data in (
                (swapped, plant.sealed(plant.secret, rng.bytes(32).hex())),
                (resealed, plant.sealed(rng.bytes(32))),
            ):
                plant.path.write_bytes(data)
                if cache.load(plant.key) is None:
                    tally.passes("refused")
                else:
                    tally.fails("loaded", f"seed {seed}")
    yield swapped
    yield resealed


def races(count: int) -> Tally:
    """Eight at once come to a directory that does not exist: all find one secret, and what each keeps is kept."""
    tally = Tally("eight at once make directory, secret and entries", "all entries are sound")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(8) as pool:
        for k in range(count):
            together = Barrier(8)

            def keep(name: int, together: Barrier = together) -> None:
                together.wait()
                cache.store(f"{name:064x}", cache.Entry(b"code", name, 1))

            with kept_in(Path(folder).resolve() / str(k)):
                list(pool.map(keep, range(8)))
                lost = [name for name in range(8) if cache.load(f"{name:064x}") is None]
            if lost:
                tally.fails("lost", f"round {k}: entries {lost}")
            else:
                tally.passes("kept")
    return tally


def campaign(scale: float) -> list[Tally]:
    """Plant code in every way; alter entries; come at the same time."""
    count = max(20, round(20_000 * scale))
    return [
        *places(),
        *entries(),
        *mutations(count),
        *exchanges(count),
        races(max(5, round(500 * scale))),
    ]
