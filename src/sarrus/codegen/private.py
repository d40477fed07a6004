"""Directories that belong to the user alone: where code may lie that is going to be executed.

A directory is private if the user owns it, nobody else may write to it, and nobody else can put another in its
place: every directory above it belongs to the user or to root, and others may write to it only if it is sticky, as
``/tmp`` is. It is opened by descriptor without following a link, and so are its files, relative to that descriptor; a
file that another user owns or may write to is refused. The way to it is looked at from the root down: of what has
been found sound, nobody but the user and root can change the next step. Links on that way are followed if the user or
root made them.

Where files have no owners and modes (Windows), a directory inside the user's profile is private: the system closes it
to other users.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from types import TracebackType

_OTHERS_WRITE = 0o022
_OTHERS = 0o077
_MOST_LINKS = 40
_HAS_OWNERS = hasattr(os, "geteuid")
# Links not followed, pipes not waited for, bytes as they are; a system without a flag has no need of it.
_FILE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class NotPrivateError(Exception):
    """A directory or a file is open to other users; the message says which one, how, and what would be right."""


class PrivateDirectory:
    """A private directory, open; ``with`` closes it. Made by `open_private`.

    All methods raise `OSError` where the file system refuses, `NotPrivateError` where a file is not the user's alone.
    """

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path = path
        self._descriptor = (
            descriptor  # None where directories have none: then files are named by their whole paths
        )

    def __enter__(self) -> PrivateDirectory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def names(self) -> list[str]:
        """Return the names of all files."""
        return os.listdir(self.path if self._descriptor is None else self._descriptor)

    def has(self, name: str) -> bool:
        """Tell whether there is a file of this name, private or not."""
        try:
            os.stat(self._at(name), dir_fd=self._descriptor, follow_symlinks=False)
        except OSError:
            return False
        return True

    def read(self, name: str, *, secret: bool = False) -> bytes:
        """Return the content of a file; a ``secret`` one must also be closed to readers."""
        file = os.open(self._at(name), os.O_RDONLY | _FILE, dir_fd=self._descriptor)
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise NotPrivateError(f"{self.path / name} is no file")
            _check_owner(self.path / name, status, _OTHERS if secret else _OTHERS_WRITE)
            with open(file, "rb", closefd=False) as stream:
                return stream.read()
        finally:
            os.close(file)

    def write(self, name: str, data: bytes, *, keep: bool = False) -> None:
        """Put a file, of mode 0600, in place as a whole; with ``keep`` one that is there already stays."""
        temporary = self._at(f".{secrets.token_hex(16)}.tmp")
        here = self._descriptor
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, 0o600, dir_fd=here)
        try:
            with open(file, "wb") as stream:
                stream.write(data)
            if not (keep and self._linked(temporary, name)):
                os.replace(temporary, self._at(name), src_dir_fd=here, dst_dir_fd=here)
        finally:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=here)

    def remove(self, name: str) -> bool:
        """Remove a file and tell whether that went well."""
        with suppress(OSError):
            os.unlink(self._at(name), dir_fd=self._descriptor)
            return True
        return False

    def _linked(self, temporary: str, name: str) -> bool:
        """Give a file a second name unless that is taken; False where the file system has no second names."""
        try:
            os.link(temporary, self._at(name), src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        except FileExistsError:
            pass
        except OSError:
            return False
        return True

    def _at(self, name: str) -> str:
        return str(self.path / name) if self._descriptor is None else name


def open_private(path: Path) -> PrivateDirectory:
    """Open a directory, made with mode 0700 if it is missing, that can be written to and belongs to the user alone.

    Raises
    ------
    NotPrivateError
        It belongs to someone else, or others can write to it, or put another in its place, or it is a link.
    OSError
        It cannot be made or written to.
    """
    path = path.absolute()
    if not _HAS_OWNERS:
        return PrivateDirectory(_in_profile(path), None)
    path = _trusted(path.parent, 0) / path.name
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        if path.is_symlink():
            raise NotPrivateError(f"{path} is a link, not a directory") from None
        raise
    try:
        _check_owner(path, os.fstat(descriptor), _OTHERS_WRITE)
        if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "no right to write", str(path))
    except BaseException:
        os.close(descriptor)
        raise
    return PrivateDirectory(path, descriptor)


def _trusted(path: Path, links: int) -> Path:
    """Return the directory itself that ``path`` leads to; refuse it where others can put another in its place."""
    if path == path.parent:
        real = path
    elif path.name == "..":
        return _trusted(path.parent, links).parent
    else:
        real = _trusted(path.parent, links) / path.name
    try:
        status = os.lstat(real)
    except FileNotFoundError:
        with suppress(FileExistsError):
            os.mkdir(real, 0o700)
        status = os.lstat(real)
    if status.st_uid not in (0, os.geteuid()):
        raise NotPrivateError(f"{real} belongs to another user (uid {status.st_uid})")
    if stat.S_ISLNK(status.st_mode):
        if links == _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        return _trusted(real.parent / os.readlink(real), links + 1)
    if status.st_mode & _OTHERS_WRITE and not status.st_mode & stat.S_ISVTX:
        raise NotPrivateError(_open_to_others(real, status))
    return real


def _check_owner(path: Path, status: os.stat_result, closed: int) -> None:
    """Refuse what another user owns, or what has one of the rights ``closed``."""
    if not _HAS_OWNERS:
        return
    if status.st_uid != os.geteuid():
        raise NotPrivateError(f"{path} belongs to another user (uid {status.st_uid})")
    if status.st_mode & closed:
        raise NotPrivateError(_open_to_others(path, status))


def _open_to_others(path: Path, status: os.stat_result) -> str:
    mode = stat.S_IMODE(status.st_mode)
    return f"{path} is open to other users (mode {mode:03o}), until you run chmod go-w {path}"


def _in_profile(path: Path) -> Path:
    """Return the directory itself where it lies inside the user's profile, made if it is missing."""
    profiles = [Path.home().resolve()]
    if local := os.environ.get("LOCALAPPDATA"):
        profiles.append(Path(local).resolve())
    path = path.resolve()
    if not any(path.is_relative_to(profile) for profile in profiles):
        raise NotPrivateError(f"{path} is outside of the user's profile {profiles[0]}")
    path.mkdir(parents=True, exist_ok=True)
    return path
