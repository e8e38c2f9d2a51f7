"""Answers of an API server: nothing in them breaks a list, and what is missing or new degrades with a word (C-89)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clusters.backends.kueue_volcano import names, raw
from clusters.backends.kueue_volcano.quantities import exact, millis, whole
from clusters.contract import Retryable
from tests.backends.kueue.objects import (
    KINDS,
    Object,
    admitted,
    cluster_queue,
    deployment,
    facts_of,
    job,
    local_queue,
    node,
    pod,
    pod_group,
    workload,
)

ONE_OF_EACH = (
    job(),
    workload(*admitted()),
    pod(0),
    pod_group(),
    deployment(),
    local_queue(),
    cluster_queue(),
    node(),
)


def body(*items: Any, **more: Any) -> bytes:
    return json.dumps({"metadata": {"resourceVersion": "77"}, "items": items, **more}).encode()


@pytest.mark.parametrize("thing", ONE_OF_EACH, ids=lambda thing: thing["kind"])
class TestEachKind:
    def test_fields_nobody_knows_are_ignored(self, thing: Object) -> None:
        kind = KINDS[thing["kind"]]
        noisy = {**thing, "later": 1, "spec": {**thing["spec"], "later": {"x": [1]}}}
        (plain,) = raw.decode_list(kind, body(thing)).items
        (read,) = raw.decode_list(kind, body(noisy)).items
        assert read == plain and not read.unreadable

    def test_nothing_but_a_name_is_an_object_too(self, thing: Object) -> None:
        kind = KINDS[thing["kind"]]
        for bare in ({"metadata": {"name": "x"}}, {"metadata": {"name": "x"}, "spec": {}, "status": {}}):
            (read,) = raw.decode_list(kind, body(bare)).items
            assert read.metadata.name == "x" and not read.unreadable

    def test_nulls_are_what_is_missing(self, thing: Object) -> None:
        kind = KINDS[thing["kind"]]
        holes = {**thing, "spec": dict.fromkeys(thing["spec"]), "status": None}
        bare = {**thing, "spec": {}}
        del bare["status"]
        listed = raw.decode_list(kind, body(holes))
        assert listed.items == raw.decode_list(kind, body(bare)).items and not listed.broken

    def test_one_that_cannot_be_read_leaves_the_others_and_keeps_its_name(self, thing: Object) -> None:
        kind = KINDS[thing["kind"]]
        wrong = {**thing, "metadata": {**thing["metadata"], "name": "wrong", "uid": "u-wrong"}, "spec": 7, "status": 7}
        listed = raw.decode_list(kind, body(thing, wrong, {"metadata": []}, "x", None))
        assert [item.metadata.name for item in listed.items] == [thing["metadata"]["name"], "wrong"]
        assert [bool(item.unreadable) for item in listed.items] == [False, True]
        assert listed.resource_version == "77" and len(listed.broken) == 4
        assert "wrong" in listed.broken[0] and "int" in listed.broken[0]

    def test_an_event_carries_the_same_object_as_a_list(self, thing: Object) -> None:
        kind = KINDS[thing["kind"]]
        told = raw.decode_event(kind, json.dumps({"type": "ADDED", "object": thing}).encode())
        assert (told.type, told.resource_version) == ("ADDED", "1")
        assert (told.object,) == raw.decode_list(kind, body(thing)).items

    def test_pod_templates_and_managed_fields_are_not_kept(self, thing: Object) -> None:
        kind = KINDS[thing["kind"]]
        template = {"spec": {"containers": [{"name": "main", "image": "S" * 500, "env": [{"name": "S" * 500}]}]}}
        heavy = {**thing, "metadata": {**thing["metadata"], "managedFields": [{"manager": "S" * 500}]}}
        heavy["spec"] = {**thing["spec"], "template": template}
        (read,) = raw.decode_list(kind, body(heavy)).items
        assert "SSS" not in repr(read)


def test_an_answer_that_is_no_list_is_asked_for_again() -> None:
    for answer in (b"", b"{", b"[]", b"null", b'"x"', b'{"items": 7}', b'{"items":[{}', b"\xff\xfe", b"<html>"):
        with pytest.raises(Retryable) as caught:
            raw.decode_list(names.PODS_KIND, answer)
        assert caught.value.code == "unreadable_answer"


def test_a_page_says_where_the_next_begins_and_an_empty_one_is_empty() -> None:
    page = raw.decode_list(names.PODS_KIND, b'{"metadata":{"continue":"abc","resourceVersion":"5"},"items":null}')
    assert (page.items, page.continue_token, page.resource_version) == ((), "abc", "5")


@pytest.mark.parametrize(
    ("line", "kind", "code", "version"),
    [
        ('{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"500"}}}', "BOOKMARK", 0, "500"),
        ('{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}', "ERROR", 410, ""),
        ('{"type":"ERROR","object":{"kind":"Status","code":"x"}}', "ERROR", 0, ""),
        ('{"type":"ERROR"}', "ERROR", 0, ""),
        ('{"type":"TOMORROW","object":{"metadata":{}}}', "ERROR", 0, ""),
        ('{"type":"ADDED","object":{"metadata":{"name":"x"', "ERROR", 0, ""),
        ('{"type":7}', "ERROR", 0, ""),
        ("", "ERROR", 0, ""),
    ],
)
def test_lines_that_carry_no_object(line: str, kind: str, code: int, version: str) -> None:
    """C-84: both a bookmark and an error are told as what they are; what is cut off is an error."""
    told = raw.decode_event(names.PODS_KIND, line.encode())
    assert (told.type, told.object, told.code, told.resource_version) == (kind, None, code, version)


def test_an_object_that_cannot_be_read_degrades_with_a_word() -> None:
    broken = workload(*admitted())
    broken["status"]["conditions"][0]["lastTransitionTime"] = "yesterday"
    facts = facts_of(job(), broken)
    assert facts.unknown.startswith("Workload: ") and facts.outcome is None and facts.admitted_at is None
    assert facts.cards == 8


def test_times_without_a_zone_and_the_zero_time_are_no_times() -> None:
    naive = job()
    naive["metadata"]["creationTimestamp"] = "2026-01-10T08:00:00"
    listed = raw.decode_list(names.JOBS, body(naive))
    assert listed.items == () and len(listed.broken) == 1  # without its metadata nobody knows whose it is
    zero = workload(*admitted())
    zero["status"]["conditions"][1]["lastTransitionTime"] = "0001-01-01T00:00:00Z"
    assert facts_of(job(), zero).admitted_at == facts_of(job(), workload(*admitted())).reserved_at


PAIR = json.loads((Path(__file__).parent / "queue_in_two_versions.json").read_text())


def test_both_versions_of_a_queue_give_the_same_numbers() -> None:
    usage = {}
    for version in ("v1beta1", "v1beta2"):
        (queue,) = raw.decode_list(names.LOCAL_QUEUES, body(PAIR[version])).items
        used, reserved = queue.status.usage, queue.status.flavors_reservation
        usage[version] = [whole(flavor.resources[0].total) for flavor in (*used, *reserved)]
    assert usage["v1beta1"] == usage["v1beta2"] == [5, 7]
    (idle,) = raw.decode_list(names.LOCAL_QUEUES, body(PAIR["v1beta2_idle"])).items
    assert idle.status is not None and idle.status.usage == ()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("8", 8), ("0", 0), ("1500m", 2), ("2e0", 2), ("1e3", 1000), ("1E1", 10), ("1k", 1000), ("4Ti", 4 * 2**40),
        ("1055950504Ki", 1055950504 * 1024), ("128M", 128_000_000), ("1.5Gi", 3 * 2**29), (".5", 1), ("5.", 5),
        ("12345678n", 1), ("-3", 0), ("+3", 3), ("x", 0), ("", 0), ("1 Gi", 0), ("1GB", 0), ("NaN", 0), ("Infinity", 0),
        ("9" * 40, 0), ("1e99", 10**99), ("1e999", 0), (8, 8), (8.5, 9), (True, 0),
    ],
)  # fmt: skip
def test_quantities_are_exact_and_what_is_none_counts_as_none(text: Any, number: int) -> None:
    """C-23."""
    assert whole(text) == number


@pytest.mark.parametrize(
    ("used", "of", "per_mille"),
    [
        ("156000Mi", "350Gi", 435), ("238142Mi", "440Gi", 529), ("303342209536", "600Gi", 471), ("4Ti", "4096Gi", 1000),
        ("128M", "128Mi", 954), ("1e3", "1k", 1000), ("1536Mi", "1.5Gi", 1000), ("12345678n", "1", 12),
        ("128974848000m", "123Mi", 1000), ("1P", "1E", 1), ("1Pi", "1Ei", 1), ("1E", "1000P", 1000),
        ("1Ei", "1024Pi", 1000), ("1500u", "1500000n", 1000), ("5G", "5e9", 1000), ("64Ki", "65536", 1000),
        ("1T", "1E12", 1000), ("0", "8", 0),
    ],
)  # fmt: skip
def test_two_quantities_are_compared_whatever_their_units(used: str, of: str, per_mille: int) -> None:
    """C-23: both sides of a ratio, exactly; rounded only to be read."""
    part, whole_of_it = exact(used), exact(of)
    assert part is not None and whole_of_it is not None
    assert round(part / whole_of_it * 1000) == per_mille


@pytest.mark.parametrize(
    "text", ["", "x", "1 Gi", "1GB", "10gb", "NaN", "inf", "-Infinity", "1e", "1E3G", "1mi", "٣", "８", "1,5"]
)
def test_what_is_no_quantity_is_no_number(text: str) -> None:
    """C-23: neither zero nor NaN."""
    assert exact(text) is None


def test_cpu_is_counted_in_thousandths() -> None:
    assert [millis(text) for text in ("127500m", "96", "0.5", "12345678n", "", None)] == [127500, 96000, 500, 13, 0, 0]
    assert exact("1.5Gi") == 3 * 2**29 and exact("half") is None
