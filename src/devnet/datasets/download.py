"""Download one file: resumable, checked, under its own name only when complete."""

import errno
import hashlib
import os
import re
import urllib.request
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from devnet.core.wording import megabytes_text

TIMEOUT = 30  # seconds without a byte
CHUNK = 1 << 16
HANDLERS = (
    urllib.request.ProxyHandler,
    urllib.request.HTTPHandler,
    urllib.request.HTTPSHandler,
    urllib.request.HTTPRedirectHandler,
    urllib.request.HTTPDefaultErrorHandler,
    urllib.request.HTTPErrorProcessor,
    urllib.request.UnknownHandler,
)

OnProgress = Callable[[int, int | None], object]


class DownloadError(OSError):
    """A file that could not be fetched; the message says why and what to do."""


class NotServedError(DownloadError):
    """A file that its address does not serve: it must be found elsewhere."""


class _BrokenOff(Exception):
    """The connection ended before the file did."""


def download(
    address: str, target: Path, *, sha256: str = "", on_progress: OnProgress | None = None
) -> None:
    """Fetch one file.

    What has been received is kept next to the target in a file that ends in `.part`. After an
    interruption the next call resumes there, if the server supports it.

    Parameters
    ----------
    address : str
        An http or https address.
    target : path
        The file to write, in a folder that exists.
    sha256 : str, default=""
        The expected checksum in hexadecimal digits; empty to accept any.
    on_progress : callable, optional
        Called with the bytes received so far and the size of the file, or None if the server does
        not give it.

    Raises
    ------
    DownloadError
        If the file could not be fetched completely. The target is never a partial
        file.
    """
    if urlsplit(address).scheme not in ("http", "https"):
        raise DownloadError(
            f"cannot fetch {address!r}: only http:// and https:// addresses are supported. "
            f"Get the file by hand and save it as {target}."
        )
    if target.is_dir():
        raise DownloadError(f"cannot write {target}: it is a folder. Name another one.")
    part, tag = (target.with_name(f"{target.name}{end}") for end in (".part", ".part.tag"))
    version = tag.read_text() if tag.is_file() else ""
    answer, start = _open(address, part.stat().st_size if part.is_file() else 0, version)
    with answer:
        _receive(answer, start, part, tag, on_progress or (lambda done, total: None))
    tag.unlink(missing_ok=True)
    if sha256 and (found := checksum(part)) != sha256:
        part.unlink()
        raise DownloadError(
            f"{address} gave a file with the SHA-256 checksum {found}, but the published file has "
            f"{sha256}. Nothing was kept. Try again; if the checksum is the same, the file was "
            "changed at its source."
        )
    os.replace(part, target)


def checksum(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _open(address: str, start: int, version: str) -> tuple[HTTPResponse, int]:
    """The server's answer, and the position in the file at which it begins."""
    try:
        answer, start = _resume(address, start, version) or (_ask(address), 0)
    except HTTPError as error:
        error.close()
        raise NotServedError(
            f"the server answered {error.code} ({error.reason}) to {address}."
        ) from error
    except (OSError, HTTPException) as error:
        raise NotServedError(
            f"cannot reach {address} ({_reason(error)}). Check the connection and try again."
        ) from error
    if answer.headers.get_content_type() == "text/html":
        answer.close()
        raise NotServedError(f"{address} gave a web page, not a data file.")
    return answer, start


def _resume(address: str, start: int, version: str) -> tuple[HTTPResponse, int] | None:
    """An answer to a request for the rest, or None if it does not continue what we have."""
    if not start:
        return None
    # If the file has changed since, the server sends all of it instead of the rest.
    unchanged = {"If-Range": version} if version else {}
    try:
        answer = _ask(address, {"Range": f"bytes={start}-", **unchanged})
    except HTTPError as error:
        if error.code != 416:  # nothing is left to send
            raise
        error.close()
        return None
    if answer.status != 206:
        return answer, 0  # the complete file: the server ignores Range
    if _content_range(answer)[0] == start:
        return answer, start
    answer.close()
    return None


def _ask(address: str, headers: dict[str, str] | None = None) -> HTTPResponse:
    """Send a request. Only http and https are opened, even if a server redirects elsewhere."""
    opener = urllib.request.OpenerDirector()
    for handler in HANDLERS:
        opener.add_handler(handler())
    request = urllib.request.Request(address, headers={"User-Agent": "devnet", **(headers or {})})
    answer: HTTPResponse = opener.open(request, timeout=TIMEOUT)
    return answer


def _content_range(answer: HTTPResponse) -> tuple[int | None, int | None]:
    """Position of an answer in its file, and the file's size."""
    found = re.match(r"bytes (\d+)-\d+/(\d+|\*)$", answer.headers.get("Content-Range", ""))
    if not found:
        return None, None
    first, size = found.groups()
    return int(first), None if size == "*" else int(size)


def _version(answer: HTTPResponse) -> str:
    """The server's mark for this version of a file."""
    etag = answer.headers.get("ETag", "")
    found: str = answer.headers.get("Last-Modified", "") if etag[:2] in ("", "W/") else etag
    return found


def _receive(
    answer: HTTPResponse, start: int, part: Path, tag: Path, on_progress: OnProgress
) -> None:
    """Write an answer to the partial file, and check that nothing is missing."""
    done, total = start, _content_range(answer)[1]
    if total is None and answer.length is not None:
        total = start + answer.length
    try:
        tag.write_text(_version(answer))
        with part.open("ab" if start else "wb") as file:
            on_progress(done, total)
            while chunk := _read(answer):
                file.write(chunk)
                done += len(chunk)
                on_progress(done, total)
            if total is not None and done < total:
                raise _BrokenOff("the server closed the connection")
            file.flush()
            os.fsync(file.fileno())
    except _BrokenOff as error:
        raise DownloadError(
            f"the transfer of {answer.url} broke off ({error}): {_of(done, total)} arrived. Try "
            f"again to resume at {megabytes_text(done)}."
        ) from error
    except OSError as error:
        raise DownloadError(_cannot_write(part, total, error)) from error


def _read(answer: HTTPResponse) -> bytes:
    try:
        return answer.read(CHUNK)
    except (OSError, HTTPException) as error:
        raise _BrokenOff(_reason(error)) from error


def _cannot_write(part: Path, total: int | None, error: OSError) -> str:
    if error.errno != errno.ENOSPC:
        return f"cannot write {part} ({error.strerror}). Name a writable folder."
    done = part.stat().st_size
    missing = "an unknown number of" if total is None else f"{total - done:,}"
    return (
        f"the disk is full: {missing} bytes of {part.with_suffix('').name} are missing in "
        f"{part.parent}. The {done:,} bytes received are kept: free some space and try "
        "again to resume there, or name another folder."
    )


def _of(done: int, total: int | None) -> str:
    return f"{done:,} bytes" if total is None else f"{done:,} of {total:,} bytes"


def _reason(error: Exception) -> str:
    return str(error.reason if isinstance(error, URLError) else error) or type(error).__name__
