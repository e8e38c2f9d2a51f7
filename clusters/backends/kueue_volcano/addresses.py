"""Which addresses a cluster may have. Somebody else's kubeconfig must not send the console to its own back doors.

A name is looked up once, every address it has must be allowed, and the connection goes to the address that was
checked while TLS verifies the name: a name that points elsewhere a second later changes nothing. Pure but for the
look-up.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

PORT = 443
NAME_MAX = 253


class AddressProblem(StrEnum):
    NOT_HTTPS = "server_not_https"
    USER_INFO = "server_with_user"
    PATH = "server_with_path"
    ODD = "server_odd"  # no plain spelling of a name or an address
    NOT_ALLOWED = "address_not_allowed"
    NO_SUCH_NAME = "name_not_found"


class AddressError(Exception):
    """An address that is not used. ``host`` is what was asked for, where that can be said."""

    def __init__(self, code: AddressProblem, host: str = "") -> None:
        super().__init__(code.value)
        self.code = code
        self.host = host


# --------------------------------------------------------------------------- spelling

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NUMBER = re.compile(r"(?:[0-9]+|0[xX][0-9A-Fa-f]*)")
_SERVER = re.compile(r"https://(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::(?P<port>[0-9]{1,5}))?/?")


@dataclass(frozen=True, slots=True)
class Server:
    """Where an API server says it is: a DNS name or an IP address (without brackets), and a port."""

    host: str
    port: int

    @property
    def url(self) -> str:
        return f"https://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def parse_server(text: str) -> Server:
    """``text`` must be plainly spelled: https, a host, perhaps a port. Raises AddressError.

    What operating systems also read as an IP address (127.1, 2130706433, 0x7f000001, a zone, a trailing dot) is
    refused instead of understood.
    """
    if not text.lower().startswith("https://"):
        raise AddressError(AddressProblem.NOT_HTTPS)
    rest = text[len("https://") :]
    if "@" in rest:
        raise AddressError(AddressProblem.USER_INFO)
    found = _SERVER.fullmatch(f"https://{rest}")
    if found is None:
        raise AddressError(AddressProblem.PATH if re.search(r"[/?#]", rest.rstrip("/")) else AddressProblem.ODD)
    port = int(found["port"]) if found["port"] else PORT
    if not 1 <= port <= 65_535:
        raise AddressError(AddressProblem.ODD)
    return Server(_plain_host(found["host"]), port)


def _plain_host(text: str) -> str:
    if text.startswith("["):
        address = _literal(text[1:-1])
        if not isinstance(address, IPv6Address) or address.ipv4_mapped is not None:
            raise AddressError(AddressProblem.ODD)
        return str(address)
    last = text.rsplit(".", 1)[-1]
    if _NUMBER.fullmatch(last):  # meant as an IPv4 address, in whatever spelling
        address = _literal(text)
        if address is None:
            raise AddressError(AddressProblem.ODD)
        return str(address)
    if len(text) > NAME_MAX or not _NAME.fullmatch(text):
        raise AddressError(AddressProblem.ODD)
    return text.lower()


def _literal(text: str) -> Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


# --------------------------------------------------------------------------- what is allowed

_NEVER = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",  # this machine, on many systems
        "224.0.0.0/4",
        "240.0.0.0/4",
        "::/128",
        "::ffff:0:0/96",  # IPv4 in disguise, as are the next five
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "2001::/32",
        "2002::/16",
        "::/96",
        "ff00::/8",
    )
)
_ONLY_BY_NAME = tuple(
    ip_network(text)
    for text in (
        "127.0.0.0/8",
        "::1/128",
        "169.254.0.0/16",  # link-local: the metadata services of most clouds, and keys with them
        "fe80::/10",
        "100.100.100.200/32",  # metadata of Alibaba Cloud
        "168.63.129.16/32",  # of Azure
        "192.0.0.0/24",  # of Oracle Cloud
        "fd00:ec2::/32",  # of AWS
        "fd20:ce::/32",  # of Google Cloud
    )
)
"""Never reached because a wide network covers them, only by an entry of the list that lies inside."""


@dataclass(frozen=True, slots=True)
class AllowList:
    """Networks and names that clusters may have. A name does not open what only its own entry opens."""

    networks: tuple[Network, ...] = ()
    names: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, text: str) -> AllowList:
        """``text``: networks, addresses and DNS names, separated by commas. Raises ValueError naming the bad entry."""
        networks: list[Network] = []
        names: set[str] = set()
        for entry in filter(None, (part.strip() for part in text.split(","))):
            if "/" in entry or _literal(entry) is not None:
                networks.append(_network(entry))
            elif _NAME.fullmatch(entry) and not _NUMBER.fullmatch(entry.rsplit(".", 1)[-1]):
                names.add(entry.lower())
            else:
                raise ValueError(f"{entry!r} is no network, address or DNS name")
        return cls(tuple(networks), frozenset(names))

    def allows(self, host: str, address: Address) -> bool:
        """May a connection to ``host`` go to this address of it?"""
        if isinstance(address, IPv6Address) and address.scope_id is not None:
            return False
        if special := [net for net in _ONLY_BY_NAME if _within(address, net)]:
            return any(_within(address, entry) and _inside(entry, net) for entry in self.networks for net in special)
        if any(_within(address, net) for net in _NEVER):
            return False
        return host in self.names or any(_within(address, entry) for entry in self.networks)


def _network(entry: str) -> Network:
    try:
        return ip_network(entry)
    except ValueError as error:
        raise ValueError(f"{entry!r} is no network: {error}") from error


def _within(address: Address, network: Network) -> bool:
    return address.version == network.version and address in network


def _inside(inner: Network, outer: Network) -> bool:
    if isinstance(inner, IPv4Network) and isinstance(outer, IPv4Network):
        return inner.subnet_of(outer)
    if isinstance(inner, IPv6Network) and isinstance(outer, IPv6Network):
        return inner.subnet_of(outer)
    return False


# --------------------------------------------------------------------------- looking up

LookUp = Callable[..., Iterable[tuple[Any, ...]]]
"""As socket.getaddrinfo."""


def pin(server: Server, allowed: AllowList, look_up: LookUp = socket.getaddrinfo) -> str:
    """The IP address to connect to. Raises AddressError when any address of the host is not allowed."""
    literal = _literal(server.host)
    addresses = [literal] if literal is not None else _addresses(server, look_up)
    if not addresses:
        raise AddressError(AddressProblem.NO_SUCH_NAME, server.host)
    if not all(allowed.allows(server.host, address) for address in addresses):
        raise AddressError(AddressProblem.NOT_ALLOWED, server.host)
    return str(addresses[0])


def _addresses(server: Server, look_up: LookUp) -> list[Address]:
    try:
        found = look_up(server.host, server.port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    except (OSError, UnicodeError):
        raise AddressError(AddressProblem.NO_SUCH_NAME, server.host) from None
    return [ip_address(entry[4][0]) for entry in found]
