"""Where a cluster may be: spellings, the list of the operator, and names that point elsewhere."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from clusters.backends.kueue_volcano.addresses import AddressError, AddressProblem, AllowList, Server, parse_server, pin

PRIVATE = AllowList.parse("10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7")
EVERYTHING = AllowList.parse("0.0.0.0/0,::/0")


def answers(*addresses: str) -> Callable[..., list[tuple[Any, ...]]]:
    """A look-up with these answers, whatever is asked."""

    def look_up(host: str, port: int, **_options: Any) -> list[tuple[Any, ...]]:
        return [(0, 0, 0, "", (address, port)) for address in addresses]

    return look_up


def refusal(call: Callable[[], object]) -> AddressProblem:
    with pytest.raises(AddressError) as caught:
        call()
    return caught.value.code


# --------------------------------------------------------------------------- spelling


@pytest.mark.parametrize(
    ("text", "server"),
    [
        ("https://10.1.2.3:6443", Server("10.1.2.3", 6443)),
        ("https://10.1.2.3", Server("10.1.2.3", 443)),
        ("https://api.Example.com:6443/", Server("api.example.com", 6443)),
        ("https://kubernetes", Server("kubernetes", 443)),
        ("https://[fd00::1]:6443", Server("fd00::1", 6443)),
        ("HTTPS://0x.example.com", Server("0x.example.com", 443)),
    ],
)
def test_a_plain_address_is_understood(text: str, server: Server) -> None:
    assert parse_server(text) == server


def test_an_address_is_written_as_it_is_read() -> None:
    for text in ("https://10.1.2.3:6443", "https://[fd00::1]:6443", "https://api.example.com:443"):
        assert parse_server(text).url == text


@pytest.mark.parametrize(
    "text", ["http://10.1.2.3:6443", "10.1.2.3:6443", "file:///etc/passwd", "gopher://10.1.2.3", ""]
)
def test_only_https_is_spoken(text: str) -> None:
    assert refusal(lambda: parse_server(text)) is AddressProblem.NOT_HTTPS


@pytest.mark.parametrize("text", ["https://user:secret@10.1.2.3", "https://10.1.2.3:443@evil.example", "https://@a"])
def test_an_address_names_no_user(text: str) -> None:
    assert refusal(lambda: parse_server(text)) is AddressProblem.USER_INFO


@pytest.mark.parametrize(
    "text", ["https://rancher.example/k8s/clusters/c-1", "https://a/?x=1", "https://a#x", "https://a?b"]
)
def test_an_address_has_no_path(text: str) -> None:
    assert refusal(lambda: parse_server(text)) is AddressProblem.PATH


@pytest.mark.parametrize(
    "host",
    [
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "127.0.0.1.",
        "localhost.",
        "127.000.000.001",
        "1.2.3.4.5",
        "256.1.1.1",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[fe80::1%25eth0]",
        "[fe80::1%eth0]",
        "[127.0.0.1]",
        "[::1",
        "::1",
        "-a.example",
        "a..example",
        "a_b.example",
        "ex ample",
        "ex\tample",
        "example\n",
        "exam\u00adple",
        "１２７.0.0.1",
        "例子.example",
        "a\\b",
        "",
        "x" * 64,
        ".".join(["label"] * 60),
    ],
)
def test_odd_spellings_are_refused_instead_of_understood(host: str) -> None:
    assert refusal(lambda: parse_server(f"https://{host}")) is AddressProblem.ODD
    assert refusal(lambda: parse_server(f"https://{host}:6443")) is AddressProblem.ODD


@pytest.mark.parametrize("port", ["0", "65536", "99999", "", "+1", "1e3", "٣"])
def test_a_port_is_a_port(port: str) -> None:
    assert refusal(lambda: parse_server(f"https://10.1.2.3:{port}")) is AddressProblem.ODD


# --------------------------------------------------------------------------- the operator's list


@pytest.mark.parametrize("address", ["10.1.2.3", "172.16.0.1", "192.168.255.255", "fd12:3456::1"])
def test_private_networks_are_open_by_default(address: str) -> None:
    assert pin(Server(address, 6443), PRIVATE) == address


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.9.9.9",
        "0.0.0.0",
        "169.254.169.254",
        "100.64.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "8.8.8.8",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "fd00:ec2::254",
        "fd20:ce::254",
        "ff02::1",
        "2001:db8::1",
        "64:ff9b::a01:203",
        "2002:a01:203::1",
        "::10.1.2.3",
    ],
)
def test_everything_else_is_closed_by_default(address: str) -> None:
    assert refusal(lambda: pin(Server(address, 443), PRIVATE)) is AddressProblem.NOT_ALLOWED


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "::1", "169.254.169.254", "fe80::1", "100.100.100.200", "168.63.129.16", "fd00:ec2::254"],
)
def test_a_wide_network_opens_neither_loopback_nor_metadata(address: str) -> None:
    server = Server(address, 443)
    assert refusal(lambda: pin(server, EVERYTHING)) is AddressProblem.NOT_ALLOWED
    assert pin(server, AllowList.parse(f"0.0.0.0/0, ::/0, {address}")) == address


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "::ffff:10.1.2.3", "64:ff9b::7f00:1", "2002:7f00:1::", "ff02::1"])
def test_some_addresses_stay_closed_whatever_the_list_says(address: str) -> None:
    named = AllowList.parse(f"0.0.0.0/0,::/0,{address}")
    assert refusal(lambda: pin(Server("api.example.com", 443), named, answers(address))) is AddressProblem.NOT_ALLOWED


def test_a_wide_network_opens_public_addresses() -> None:
    assert pin(Server("8.8.8.8", 443), EVERYTHING) == "8.8.8.8"


def test_a_name_of_the_list_may_have_a_public_address() -> None:
    named = AllowList.parse("api.example.com")
    assert pin(Server("api.example.com", 443), named, answers("203.0.113.7")) == "203.0.113.7"
    other = Server("www.example.com", 443)
    assert refusal(lambda: pin(other, named, answers("203.0.113.7"))) is AddressProblem.NOT_ALLOWED


@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1"])
def test_a_name_of_the_list_opens_no_special_address(address: str) -> None:
    named = AllowList.parse("api.example.com,localhost")
    for host in ("api.example.com", "localhost"):
        assert refusal(lambda host=host: pin(Server(host, 443), named, answers(address))) is AddressProblem.NOT_ALLOWED


@pytest.mark.parametrize(
    "entry", ["10.0.0.0/33", "10.0.0.1/8", "127.1", "2130706433", "a_b", "https://a", "*.a.example"]
)
def test_a_list_with_a_bad_entry_is_refused_by_its_name(entry: str) -> None:
    with pytest.raises(ValueError, match="is no "):
        AllowList.parse(f"10.0.0.0/8,{entry}")


def test_an_empty_list_allows_nothing() -> None:
    assert refusal(lambda: pin(Server("10.1.2.3", 443), AllowList.parse(" , "))) is AddressProblem.NOT_ALLOWED


# --------------------------------------------------------------------------- names


def test_a_name_is_used_by_the_address_that_was_checked() -> None:
    assert pin(Server("api.example.com", 6443), PRIVATE, answers("10.0.0.9", "10.0.0.8")) == "10.0.0.9"


def test_one_address_outside_refuses_the_name() -> None:
    look_up = answers("10.0.0.9", "127.0.0.1")
    assert refusal(lambda: pin(Server("api.example.com", 443), PRIVATE, look_up)) is AddressProblem.NOT_ALLOWED


def test_a_name_that_points_elsewhere_later_is_refused_then() -> None:
    turns = iter([answers("10.0.0.9"), answers("169.254.169.254")])

    def look_up(*arguments: Any, **options: Any) -> list[tuple[Any, ...]]:
        return next(turns)(*arguments, **options)

    server = Server("rebind.example.com", 443)
    assert pin(server, PRIVATE, look_up) == "10.0.0.9"
    assert refusal(lambda: pin(server, PRIVATE, look_up)) is AddressProblem.NOT_ALLOWED


@pytest.mark.parametrize("error", [socket.gaierror("no such name"), OSError(), UnicodeError(), TimeoutError()])
def test_a_name_that_cannot_be_looked_up_is_refused(error: Exception) -> None:
    def look_up(*_arguments: Any, **_options: Any) -> list[tuple[Any, ...]]:
        raise error

    assert refusal(lambda: pin(Server("api.example.com", 443), EVERYTHING, look_up)) is AddressProblem.NO_SUCH_NAME
    assert refusal(lambda: pin(Server("api.example.com", 443), EVERYTHING, answers())) is AddressProblem.NO_SUCH_NAME


def test_an_address_with_a_zone_is_closed() -> None:
    allowed = AllowList.parse("fe80::/10")
    assert refusal(lambda: pin(Server("a", 443), allowed, answers("fe80::1%eth0"))) is AddressProblem.NOT_ALLOWED


def test_an_address_is_not_looked_up() -> None:
    def look_up(*_arguments: Any, **_options: Any) -> list[tuple[Any, ...]]:
        raise AssertionError("looked up")

    assert pin(Server("10.1.2.3", 443), PRIVATE, look_up) == "10.1.2.3"
