"""The line to a server: where it listens, and what keeps others from listening in."""

from ipaddress import ip_address
from pathlib import Path
from typing import Any, ClassVar, Protocol

from devnet.core.sentence import Setting, UserError

LOCAL = "127.0.0.1"


class Line(Protocol):
    """Where a server listens; on any other host than 127.0.0.1 it is protected.

    It has a certificate with its key, or a proxy in front of it, known by its address, that has
    one. It is a dataclass.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def host(self) -> str:
        """The address it listens on."""

    @property
    def port(self) -> int:
        """The port it listens on."""

    @property
    def certificate(self) -> Path | None:
        """A PEM file."""

    @property
    def key(self) -> Path | None:
        """A PEM file."""

    @property
    def proxy(self) -> str | None:
        """Address of the proxy in front of it."""


def check_protection(line: Line, advice: str) -> None:
    """Refuse an open line; `advice` says what else one may do."""
    has_certificate, proxy = line.certificate is not None, line.proxy
    if has_certificate != (line.key is not None):
        raise UserError("a certificate needs its key: give both ", *_CERTIFICATE, ".")
    if has_certificate and proxy is not None:
        raise UserError(
            "either the server has a certificate or the proxy in front of it has one; leave out ",
            Setting("proxy"),
            ", or ",
            *_CERTIFICATE,
            ".",
        )
    if proxy is not None and not _is_address(proxy):
        raise UserError(f"{proxy!r} is not the address of a proxy; give one such as 127.0.0.1.")
    if line.host != LOCAL and not has_certificate and proxy is None:
        raise UserError(
            f"on the host {line.host} others can listen in, so the server needs a certificate "
            "there: give ",
            *_CERTIFICATE,
            ", or the address of a proxy in front of it that has one: ",
            Setting("proxy", LOCAL),
            f". {advice}",
        )


_CERTIFICATE = (Setting("certificate"), " and ", Setting("key"))


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
