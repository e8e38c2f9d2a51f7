"""The page on which an admin takes a cluster over that others divided before; and managing it, or not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.utils.html import escape

from clusters.found import found_look
from clusters.models import Cluster, ClusterMode
from clusters.sync import cluster_sync
from quotas.models import Share
from tests import foreign
from tests.api_server import ApiServer
from tests.cast import Cast
from tests.pages.test_clusters import connect
from tests.pages.visitor import Visitor, html, words

Visitors = Callable[[str | None], Visitor]
PAGE = "/admin/clusters/lab/adopt/"
VISION = {"team_vision-cq": "vision", "team_shared": ""}
SEEN = '{"shared": "", "vision-cq": "vision"}'


@pytest.fixture
def lab(visitor: Visitors, cast: Cast, server: ApiServer) -> Cluster:
    """Connected by the page: others have queues there."""
    foreign.serve(server)
    assert connect(visitor, server).status_code == 302
    cluster = Cluster.objects.get(slug="lab")
    foreign.confirm_groups(cluster)
    assert cluster_sync(cluster)
    found_look(cluster)
    return cluster


def version_of(response: Any) -> str:
    found = re.search(r'name="expected_version" value="(\d+)"', html(response))
    assert found is not None
    return found[1]


def test_a_cluster_that_others_use_begins_in_the_read_only_view(visitor: Visitors, lab: Cluster) -> None:
    text = words(visitor("admin").get("/admin/clusters/"))
    assert "read-only view" in text
    assert "read-only view" not in words(visitor("admin").get("/admin/clusters/sandbox/preflight/"))


def test_the_page_tells_queues_of_others_and_proposes_whose_they_are(visitor: Visitors, lab: Cluster) -> None:
    page = visitor("admin").get(PAGE)
    text = words(page)
    for expected in (
        "Read-only view The console looks at everything and writes nothing there.",
        "3 queues of others are left alone",
        "vision-cq lends within research H100 16 8 in use A100 4 vision-lab / main 1 2",
        "shared A100 2 1 in use H100 4 2 in use divided by the size of the groups",
        "lent to all queues of this circle",
    ):
        assert expected in text
    assert '<option value="vision" selected>' in html(page)
    assert html(page).count("<select") == 2


def test_seeing_what_it_would_do_saves_nothing(visitor: Visitors, lab: Cluster) -> None:
    admin = visitor("admin")
    response = admin.post(PAGE, act="preview", expected_version=version_of(admin.get(PAGE)), **VISION)
    assert response.status_code == 200
    text = words(response)
    assert "Vision H100 16 50 % 16 16 0" in text
    assert f'name="seen" value="{escape(SEEN)}"' in html(response)
    assert "Left as it is, with everything that runs in it: vision-cq." in text
    assert "Left alone, with its cards kept out of the plan: research, shared." in text
    assert not Share.objects.filter(queue__cluster=lab, basis_points__gt=0).exists()


def test_an_admin_adopts_and_a_second_one_is_told(visitor: Visitors, lab: Cluster, server: ApiServer) -> None:
    admin = visitor("admin")
    seen = version_of(admin.get(PAGE))
    unseen = admin.post(PAGE, act="adopt", expected_version=seen, seen='{"shared": "vision"}', **VISION)
    assert (unseen.status_code, "What it would do" in words(unseen)) == (200, True)
    response = admin.post(PAGE, act="adopt", expected_version=seen, reason="moved", seen=SEEN, **VISION)
    assert (response.status_code, response.url) == (302, PAGE)
    text = words(admin.get(PAGE))
    assert "The teams have the shares now." in text
    assert "Vision taken over; empty the queue, and its cards come to the team" in text
    late = admin.post(
        PAGE, act="adopt", expected_version=seen, team_shared="robotics", seen='{"shared": "robotics", "vision-cq": ""}'
    )
    assert late.status_code == 409
    assert "nothing was saved" in words(late)
    assert foreign.writes(server) == []


def test_what_is_wrong_stands_on_the_page_and_a_silent_cluster_is_said(
    visitor: Visitors, lab: Cluster, server: ApiServer
) -> None:
    admin = visitor("admin")
    seen = version_of(admin.get(PAGE))
    none = admin.post(PAGE, act="preview", expected_version=seen, **{"team_vision-cq": "", "team_shared": ""})
    assert none.status_code == 422
    assert "Choose a team for at least one queue." in words(none)
    server.answers["/apis/kueue.x-k8s.io/v1beta2/clusterqueues"] = 503, {}, b""
    response = admin.post(PAGE, act="adopt", expected_version=seen, seen=SEEN, **VISION)
    assert response.status_code == 503
    assert "The API server answers with an error of its own." in words(response)
    assert admin.post(PAGE, act="look").status_code == 302
    assert "vision-cq" in words(admin.get(PAGE))


def test_managing_starts_after_reading_what_is_open_and_stops(visitor: Visitors, lab: Cluster) -> None:
    admin = visitor("admin")
    address = "/admin/clusters/lab/manage/"
    assert "3 queues of others are left alone" in words(admin.get(address))
    refused = admin.post(address)
    assert (refused.status_code, Cluster.objects.get(slug="lab").mode) == (422, ClusterMode.WATCHING)
    assert "Confirm that you have read what is not settled yet." in words(refused)
    assert admin.post(address, confirmed="on").url == PAGE
    assert "Lab is managed from now on." in words(admin.get(PAGE))
    assert admin.post(address, confirmed="on").status_code == 409
    assert "Stop managing Lab?" in words(admin.get("/admin/clusters/lab/stop-managing/"))
    assert admin.post("/admin/clusters/lab/stop-managing/").url == PAGE
    assert Cluster.objects.get(slug="lab").mode == ClusterMode.WATCHING


def test_a_cluster_without_others_says_so(visitor: Visitors, server: ApiServer) -> None:
    foreign.serve(server, clusterqueues=[], cohorts=[])
    connect(visitor, server, mode="managing")
    text = words(visitor("admin").get(PAGE))
    assert "No queues of others" in text
    assert "Managed" in text


def test_the_number_of_queries_does_not_grow_with_the_queues(
    visitor: Visitors, lab: Cluster, server: ApiServer
) -> None:
    few = visitor("admin").count_queries(PAGE)
    queues = [foreign.queue(f"team-{number}", research_h100=1) for number in range(40)]
    foreign.serve(server, clusterqueues=queues)
    found_look(lab)
    assert visitor("admin").count_queries(PAGE) == few <= 16
