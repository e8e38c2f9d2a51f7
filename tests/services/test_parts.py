"""Objects of hand-written SELECTs are those that the ORM reads."""

from __future__ import annotations

from django.db import connection
from django.db.models import Model
from django.test.utils import CaptureQueriesContext

from accounts.models import Team, User
from clusters.models import Cluster, NodeGroup
from common.parts import Part, read_parts
from tests.cast import Cast

_GROUP, _CLUSTER = Part(NodeGroup, "g"), Part(Cluster, "c", without={"credentials"})
_STATEMENT = f"""
SELECT {_GROUP.columns}, {_CLUSTER.columns}, g.cards_per_node * 2
  FROM clusters_nodegroup g
  JOIN clusters_cluster c ON c.id = g.cluster_id
 WHERE g.slug = %s
"""


def values(thing: Model) -> dict[str, object]:
    return {field.attname: getattr(thing, field.attname) for field in thing._meta.concrete_fields}


def test_each_part_is_what_the_orm_reads_and_the_rest_stays_as_it_is(cast: Cast) -> None:
    NodeGroup.objects.filter(slug="h100").update(selector={"model": "h100 “x”"})
    Cluster.objects.update(lacks=["gate"], settings={"connection": {"n": 1}}, credentials="sealed by the field")
    ((group, cluster, twice),) = read_parts(_STATEMENT, ["h100"], _GROUP, _CLUSTER)
    assert values(group) == values(NodeGroup.objects.get(slug="h100"))
    assert cluster.get_deferred_fields() == {"credentials"}
    assert values(cluster) == values(Cluster.objects.get(pk=cluster.pk))
    assert twice == 2 * group.cards_per_node
    assert not group._state.adding and group._state.db == "default"


def test_what_was_left_out_is_read_when_asked_for(cast: Cast) -> None:
    Cluster.objects.update(credentials="a secret")
    ((_group, cluster, _twice),) = read_parts(_STATEMENT, ["h100"], _GROUP, _CLUSTER)
    with CaptureQueriesContext(connection) as captured:
        assert cluster.credentials == "a secret"
    assert len(captured) == 1


def test_a_select_without_parts_gives_its_rows(cast: Cast) -> None:
    rows = read_parts(
        "SELECT slug, image_prefixes IS NULL FROM accounts_team WHERE slug = %(slug)s", {"slug": "vision"}
    )
    assert list(rows) == [("vision", False)]


def test_rows_that_are_not_there_are_none(cast: Cast) -> None:
    user, team = Part(User, "u"), Part(Team, "t")
    statement = f"SELECT {user.columns}, {team.columns} FROM accounts_user u CROSS JOIN accounts_team t WHERE false"
    assert list(read_parts(statement, [], user, team)) == []
