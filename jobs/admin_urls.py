"""`/admin/…`: the console of platform admins. Django's own admin lies under `/operator/`."""

from __future__ import annotations

from django.urls import path, register_converter

from jobs.pages import (
    admin,
    admin_accelerators,
    admin_adopt,
    admin_clusters,
    admin_conflicts,
    admin_groups,
    admin_idle,
    admin_leave,
    admin_maintenance,
    admin_nodes,
    admin_people,
    admin_plan,
    admin_preflight,
    admin_quotas,
    admin_sharing,
    admin_water,
    lead_queues,
    supplies,
)


class NodeActConverter:
    """The name of an act on a node in an address; any other word is no address of ours."""

    regex = "|".join(act.value for act in admin_nodes.NodeAct)

    def to_python(self, value: str) -> admin_nodes.NodeAct:
        return admin_nodes.NodeAct(value)

    def to_url(self, value: admin_nodes.NodeAct | str) -> str:
        return str(value)


register_converter(NodeActConverter, "node_act")

app_name = "admin_console"
urlpatterns = [
    path("water/", admin_water.water, name="water"),
    path("idle/", admin_idle.idle, name="idle"),
    path("maintenance/", admin_maintenance.maintenance, name="maintenance"),
    path("maintenance/<str:public_id>/cancel/", admin_maintenance.cancel, name="maintenance_cancel"),
    path("nodes/", admin_nodes.nodes, name="nodes"),
    path("nodes/<slug:cluster>/<str:node>/<node_act:act>/", admin_nodes.act, name="node_act"),
    path("clusters/", admin_clusters.clusters, name="clusters"),
    path("clusters/<slug:cluster>/credentials/", admin_clusters.credentials, name="cluster_credentials"),
    path("clusters/<slug:cluster>/forget/", admin_clusters.forget, name="cluster_forget"),
    path("clusters/<slug:cluster>/preflight/", admin_preflight.preflight, name="preflight"),
    path("clusters/<slug:cluster>/adopt/", admin_adopt.adoption, name="adoption"),
    path("clusters/<slug:cluster>/manage/", admin_adopt.manage, name="manage"),
    path("clusters/<slug:cluster>/stop-managing/", admin_leave.stop_managing, name="stop_managing"),
    path("clusters/<slug:cluster>/conflicts/", admin_conflicts.conflicts, name="conflicts"),
    path("clusters/<slug:cluster>/conflicts/take-over/", admin_conflicts.take_over, name="take_over"),
    path("clusters/<slug:cluster>/conflicts/adopt/", admin_conflicts.adopt, name="adopt"),
    path("clusters/<slug:cluster>/groups/", admin_groups.groups, name="groups"),
    path("clusters/<slug:cluster>/groups/<slug:group>/", admin_groups.group, name="group"),
    path("clusters/<slug:cluster>/accelerators/", admin_accelerators.accelerators, name="accelerators"),
    path("clusters/<slug:cluster>/groups/<slug:group>/sharing/", admin_sharing.sharing, name="sharing"),
    path("notices/<int:pk>/seen/", admin_preflight.notice_take_away, name="notice_seen"),
    path("quotas/", admin_quotas.quotas, name="quotas"),
    path("queues/", lead_queues.all_queues, name="queues"),
    path("quotas/equal/", admin_people.equal_shares, name="equal_shares"),
    path("quotas/<slug:cluster>/history/", admin_plan.history, name="plan_history"),
    path("quotas/<slug:cluster>/history/<int:number>/", admin_plan.restore, name="plan_restore"),
    path("quotas/<slug:cluster>/recount/", admin_plan.recount, name="plan_recount"),
    path("quotas/<slug:cluster>/shares/", admin_plan.plan, name="plan"),
    path("jobs/", admin.job_list, name="jobs"),
    path("setup/", admin_people.setup, name="setup"),
    path("setup/teams/", admin_people.team_add, name="team_add"),
    path("setup/people/", admin_people.people_add, name="people_add"),
    path("setup/members/", admin_people.member_set, name="member_set"),
    path("setup/members/<int:pk>/remove/", admin_people.member_remove, name="member_remove"),
    path("teams/<slug:team>/supplies/", supplies.of_any_team, name="supplies"),
    path("audit/", admin.audit, name="audit"),
]
