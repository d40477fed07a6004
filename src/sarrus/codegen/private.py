"""Private directories: directories of the user alone, for code that will be executed.

A directory is private if the user owns it, nobody else may write to it, and nobody else can replace it: every
directory above it belongs to the user or to root, and others may write to it only if it is sticky, such as
``/tmp``. It is opened by descriptor without following a link, and so are its files, relative to this descriptor; a
file that another user owns or may write to is refused. The path is checked from the root down, so that only the user
and root could change the next component after its parent was checked. Links on the path are followed if the user or
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
# Links are not followed, pipes not waited for, bytes not translated; a system without a flag does not need it.
_FILE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class NotPrivateError(Exception):
    """A directory or a file is open to other users; the message names it, the reason, and the remedy."""


class PrivateDirectory:
    """An open private directory; ``with`` closes it. Made by `open_private`.

    All methods raise `OSError` for errors of the file system, `NotPrivateError` for a file that is not the user's
    alone.
    """

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path = path
        self._descriptor = (
            descriptor  # None on systems without directory descriptors: files are then named by full paths
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
        """Write a file with mode 0600, as a whole; with ``keep`` an existing one is not replaced."""
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
        """Remove a file and tell whether it succeeded."""
        with suppress(OSError):
            os.unlink(self._at(name), dir_fd=self._descriptor)
            return True
        return False

    def _linked(self, temporary: str, name: str) -> bool:
        """Give a file a second name unless the name is taken; False on file systems without hard links."""
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
    """Open a directory, made with mode 0700 if it is missing, that is writable and private to the user.

    Raises
    ------
    NotPrivateError
        It belongs to someone else, others can write to it or replace it, or it is a link.
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
    """Return the real directory of ``path``; refuse it if others can replace it."""
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
    """Refuse a file or directory of another user, or with one of the rights in ``closed``."""
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
    """Return the real directory if it is inside the user's profile, made if it is missing."""
    profiles = [Path.home().resolve()]
    if local := os.environ.get("LOCALAPPDATA"):
        profiles.append(Path(local).resolve())
    path = path.resolve()
    if not any(path.is_relative_to(profile) for profile in profiles):
        raise NotPrivateError(f"{path} is outside of the user's profile {profiles[0]}")
    path.mkdir(parents=True, exist_ok=True)
    return path
