"""What the preflight table says to people. Facts are filled into the sentences of problems by name."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from clusters.preflight.words import Feature, Finding, Problem, Verdict

Text = str | Promise


@dataclass(frozen=True, slots=True)
class FeatureText:
    """``needs`` is the ability of the cluster, ``lost`` what people miss without it."""

    title: Text
    needs: Text
    lost: Text


@dataclass(frozen=True, slots=True)
class ProblemText:
    found: Text
    mend: Text


VERDICTS: dict[Verdict, Text] = {
    Verdict.OK: _("OK"),
    Verdict.LIMITED: _("Limited"),
    Verdict.MISSING: _("Missing"),
    Verdict.UNKNOWN: _("Unknown"),
}

FEATURES: dict[Feature, FeatureText] = {
    Feature.CONNECTION: FeatureText(
        _("Connection"), _("Kubernetes 1.28 or later"), _("Older servers lack parts of what jobs are made of.")
    ),
    Feature.SUBMIT: FeatureText(
        _("Jobs are started and followed"),
        _("the account for jobs, with its rights"),
        _("Jobs cannot be started, stopped or seen."),
    ),
    Feature.QUOTAS: FeatureText(
        _("Shares reach the cluster"),
        _("the account for quotas, with its rights"),
        _("Queues and shares are kept by the console alone; the cluster does not follow them."),
    ),
    Feature.MAINTENANCE: FeatureText(
        _("Maintenance of nodes"),
        _("the account for nodes, with its rights"),
        _("Nodes are labelled and cordoned by hand."),
    ),
    Feature.TIMES: FeatureText(
        _("Right times"), _("clocks within 5 seconds of each other"), _("Waits and starts are shown wrongly.")
    ),
    Feature.CONFINED: FeatureText(
        _("The console stays in its teams' spaces"),
        _("an admission policy that binds the account for jobs"),
        _("Whoever took the account for jobs could write in every namespace."),
    ),
    Feature.GATE: FeatureText(
        _("Queues"), _("Kueue, API v1beta2"), _("No job is taken: nothing would keep the shares.")
    ),
    Feature.GATE_VERSION: FeatureText(
        _("A version of Kueue that is known to work"),
        _("Kueue 0.17 or later, not 0.17.1 or 0.17.2"),
        _("Jobs may end or wait for no reason."),
    ),
    Feature.GATE_RUNS: FeatureText(_("Jobs are admitted"), _("a running Kueue controller"), _("All jobs stay queued.")),
    Feature.TRAINING: FeatureText(
        _("Training and development"), _("Kueue's integration batch/job"), _("These jobs stay queued for ever.")
    ),
    Feature.INFERENCE: FeatureText(
        _("Inference services"),
        _("Kueue's integrations deployment and pod"),
        _("Services would start at once, outside every share."),
    ),
    Feature.NEIGHBOURS: FeatureText(
        _("Others' jobs are left alone"),
        _("manageJobsWithoutQueueName switched off"),
        _("Jobs that others start without a queue never start."),
    ),
    Feature.CARD_QUOTAS: FeatureText(
        _("Shares count cards alone"),
        _("cpu and memory excluded from quota (resources.excludeResourcePrefixes)"),
        _("Every job is refused by Kueue, because no queue has a share of cpu or memory."),
    ),
    Feature.SLOW_STARTS: FeatureText(
        _("Large images have time to arrive"),
        _("waitForPodsReady unset, or at least 30 minutes without blocking others"),
        _("Jobs are thrown out while their image is still being pulled."),
    ),
    Feature.GUARANTEE: FeatureText(
        _("A share is a guarantee"),
        _("Kueue's fairSharing switched off"),
        _("Borrowed cards are divided by another rule than the pages say, and jobs may push each other out in turn."),
    ),
    Feature.QUEUE_WEIGHTS: FeatureText(
        _("Weights between a team's own queues"),
        _("Kueue's admissionFairSharing"),
        _("Weights order nothing: the jobs of all of a team's queues wait in one line."),
    ),
    Feature.HOLD: FeatureText(
        _("Held jobs stay"),
        _("objectRetentionPolicies without afterDeactivatedByKueue"),
        _("A job that is held for long is deleted."),
    ),
    Feature.PLACES: FeatureText(
        _("Only jobs that fit together are admitted"),
        _("topology-aware scheduling of Kueue"),
        _("Jobs may be admitted that no set of nodes can hold; they keep their share until the console releases them."),
    ),
    Feature.EXTRA_CHECKS: FeatureText(
        _("Nothing else holds jobs up"),
        _("no admission checks on the queues, or ones that answer"),
        _("Jobs wait for an answer that may never come."),
    ),
    Feature.ADOPTION: FeatureText(
        _("The cards are divided once"),
        _("no other queues over the same cards"),
        _("Cards are promised twice: by the console's queues and by others."),
    ),
    Feature.GANG: FeatureText(
        _("All parts of a job start together"),
        _("Volcano"),
        _("Jobs of several pods need topology-aware scheduling instead."),
    ),
    Feature.GANG_RUNS: FeatureText(
        _("Admitted jobs get their nodes"), _("a running Volcano scheduler"), _("Admitted jobs stay in creation.")
    ),
    Feature.GANG_QUEUE: FeatureText(
        _("Volcano takes jobs"), _("an open Volcano queue “default”"), _("Admitted jobs stay in creation.")
    ),
    Feature.GANG_SETTINGS: FeatureText(
        _("Gangs are really kept together"),
        _("Volcano's action allocate and plugin gang"),
        _("Half a job may start, hold its cards and hang."),
    ),
    Feature.ONE_PREEMPTOR: FeatureText(
        _("Only the queues interrupt jobs"),
        _("Volcano's actions preempt and reclaim switched off"),
        _("Two schedulers interrupt jobs by different rules, and Kueue does not know of one of them."),
    ),
    Feature.ONE_QUOTA: FeatureText(
        _("Only the queues count"),
        _("Volcano without overcommit, proportion and capacity"),
        _("Volcano may keep back a job that Kueue has admitted."),
    ),
    Feature.UNDISTURBED: FeatureText(
        _("Running jobs are not pushed off their nodes"),
        _("no priority class of pods that preempts and stands above training"),
        _("A pod of somebody else may push a training job off its node, behind Kueue's back."),
    ),
    Feature.SPACES: FeatureText(
        _("Team spaces have one limit, the share"),
        _("no ResourceQuota or LimitRange in the spaces of teams"),
        _("Admitted jobs may be refused their pods."),
    ),
    Feature.DEVICES: FeatureText(
        _("Every card has a name"),
        _("device resources that the catalogue knows"),
        _("Their cards are shown under the name of the resource."),
    ),
    Feature.CARDS: FeatureText(
        _("Cards are found"), _("nodes that report accelerators"), _("Only jobs without cards can run.")
    ),
    Feature.NODE_GROUPS: FeatureText(
        _("Nodes are grouped by model"),
        _("labels that say which card a node has"),
        _("Different cards may land in one group."),
    ),
    Feature.WHOLE_CARDS: FeatureText(
        _("Training on every card"),
        _("cards that are not cut"),
        _("Shared pools (MIG, time slices, vGPU) take no training."),
    ),
    Feature.WATER_LEVEL: FeatureText(
        _("The water level is whole"),
        _("no pods with cards outside the queues"),
        _("These cards are in use, and in nobody's share."),
    ),
    Feature.UTILISATION: FeatureText(
        _("How busy cards really are"),
        _("an exporter: DCGM, npu-exporter, HAMi or another"),
        _("Cards that are held and idle cannot be told from busy ones."),
    ),
    Feature.RESULTS: FeatureText(
        _("Checkpoints and results"),
        _("a shared volume for each team"),
        _("Results cannot be fetched from here, and an interrupted job begins anew."),
    ),
}

_RBAC = _("Apply deploy/rbac.yaml of this version, then look again.")

PROBLEMS: dict[Problem, ProblemText] = {
    Problem.NOT_READ: ProblemText(
        _("The cluster did not say, or the console may not ask."),
        _RBAC,
    ),
    Problem.OLD_PLATFORM: ProblemText(
        _("This is Kubernetes %(version)s."), _("Upgrade the cluster to Kubernetes 1.28 or later.")
    ),
    Problem.RIGHTS_LACK: ProblemText(_("The account lacks: %(rights)s."), _RBAC),
    Problem.NO_ACCOUNT: ProblemText(
        _("The console was given no such account."),
        _("Add its kubeconfig under “Replace the credentials”."),
    ),
    Problem.CLOCKS_DIFFER: ProblemText(
        _("The cluster's clock is %(seconds)s s ahead of the console's."),
        _("Let both keep time by the same NTP servers."),
    ),
    Problem.NO_POLICY: ProblemText(
        _("The policy is not there."), _("On Kubernetes 1.30 or later apply deploy/admission-policy.yaml.")
    ),
    Problem.NO_GATE: ProblemText(_("Kueue is not installed."), _("Install Kueue 0.19, or 0.17.8 and later.")),
    Problem.GATE_SPEAKS_OTHER_VERSION: ProblemText(
        _("Kueue serves only %(versions)s."), _("Upgrade Kueue to 0.17.8 or later.")
    ),
    Problem.GATE_VERSION_BAD: ProblemText(_("This is Kueue %(version)s."), _("Upgrade Kueue to 0.17.8 or later.")),
    Problem.GATE_STOPPED: ProblemText(
        _("No pod of the Kueue controller is ready."), _("Look at the deployment kueue-controller-manager.")
    ),
    Problem.JOBS_NOT_GATED: ProblemText(
        _("The integration batch/job is off."), _("Add batch/job to integrations.frameworks in Kueue's configuration.")
    ),
    Problem.SERVICES_NOT_GATED: ProblemText(
        _("These integrations are off: %(integrations)s."),
        _("Add deployment and pod to integrations.frameworks in Kueue's configuration."),
    ),
    Problem.UNLABELLED_HELD: ProblemText(
        _("Kueue holds every job that names no queue."),
        _("Set manageJobsWithoutQueueName to false, or give others' jobs queues."),
    ),
    Problem.CPU_COUNTED: ProblemText(
        _("Kueue counts these too: %(resources)s."),
        _("Set resources.excludeResourcePrefixes to cpu, memory and ephemeral-storage in Kueue's configuration."),
    ),
    Problem.READY_TOO_SHORT: ProblemText(
        _("Jobs are thrown out when they are not ready after %(minutes)s min."),
        _("Set waitForPodsReady.timeout to 30m or more, or take waitForPodsReady out."),
    ),
    Problem.READY_BLOCKS: ProblemText(
        _("One job that is slow to start keeps all others out."), _("Set waitForPodsReady.blockAdmission to false.")
    ),
    Problem.READY_FOREVER: ProblemText(
        _("A job that never gets ready is tried for ever."),
        _("Set waitForPodsReady.requeuingStrategy.backoffLimitCount, for example to 3."),
    ),
    Problem.GATE_SHARES_FAIRLY: ProblemText(
        _("Kueue's fairSharing is on."), _("Take fairSharing out of Kueue's configuration.")
    ),
    Problem.NO_USAGE_ORDER: ProblemText(
        _("Kueue's admissionFairSharing is not set."),
        _("Set admissionFairSharing in Kueue's configuration if teams shall weigh their queues."),
    ),
    Problem.DELETES_HELD: ProblemText(
        _("Kueue deletes jobs some time after they were made inactive."),
        _("Take objectRetentionPolicies.workloads.afterDeactivatedByKueue out of Kueue's configuration."),
    ),
    Problem.NO_TOPOLOGY: ProblemText(_("This Kueue offers no topologies."), _("Upgrade Kueue to 0.17.8 or later.")),
    Problem.TOPOLOGY_OFF: ProblemText(
        _("The switch TopologyAwareScheduling is off."), _("Take it out of Kueue's feature gates.")
    ),
    Problem.CHECK_UNANSWERED: ProblemText(
        _("Jobs wait for checks that nobody answers: %(checks)s."),
        _("Start the controller of these checks, or take them off the queues."),
    ),
    Problem.CHECKS_THERE: ProblemText(
        _("Jobs also wait for these checks: %(checks)s."), _("Nothing to do, if somebody means them to.")
    ),
    Problem.FOREIGN_QUEUES: ProblemText(
        _("Others have queues here: %(queues)s."),
        _("Adopt them for teams, on the page of the cluster, or keep them on nodes of their own."),
    ),
    Problem.FOREIGN_IN_COHORT: ProblemText(
        _("Queues that are not the console's borrow from its shares: %(queues)s."),
        _("Take them out of the cohort “slu”."),
    ),
    Problem.NO_STARTER: ProblemText(
        _("Volcano is not installed."),
        _("Install Volcano 1.14.4, or use jobs of one pod or topology-aware scheduling."),
    ),
    Problem.STARTER_STOPPED: ProblemText(
        _("No pod of the Volcano scheduler is ready."), _("Look at the deployment volcano-scheduler.")
    ),
    Problem.STARTER_QUEUE_CLOSED: ProblemText(
        _("The queue is closed or missing."), _("Open the Volcano queue “default”; its controllers must run.")
    ),
    Problem.STARTER_PREEMPTS: ProblemText(
        _("These actions are on: %(actions)s."), _("Set Volcano's actions to “enqueue, allocate, backfill”.")
    ),
    Problem.STARTER_HOLDS_BACK: ProblemText(
        _("These plugins are on: %(plugins)s."), _("Take them out of Volcano's configuration.")
    ),
    Problem.STARTER_NO_GANG: ProblemText(
        _("The plugin gang is not on."), _("Add the plugin gang to the first tier of Volcano's configuration.")
    ),
    Problem.STARTER_NO_ALLOCATE: ProblemText(
        _("The action allocate is not on."), _("Set Volcano's actions to “enqueue, allocate, backfill”.")
    ),
    Problem.PODS_PREEMPT: ProblemText(
        _("Pods of these classes may push others off: %(classes)s."),
        _("Set preemptionPolicy: Never in them, or keep their pods off the nodes with cards."),
    ),
    Problem.SPACE_LIMITS: ProblemText(
        _("These spaces have limits of their own: %(spaces)s."),
        _("Remove the ResourceQuota or LimitRange, or make sure that jobs fit."),
    ),
    Problem.UNKNOWN_DEVICES: ProblemText(
        _("Nobody knows what these are: %(resources)s."),
        _("Say what they are on the page of accelerators; until then they are counted under that name."),
    ),
    Problem.NO_CARDS: ProblemText(
        _("No node reports a card."), _("Install the device plugin of the vendor, and look at its pods.")
    ),
    Problem.UNLABELLED_NODES: ProblemText(
        _("Nodes with cards and without a model: %(nodes)s."),
        _("Install the vendor's feature discovery, or label these nodes."),
    ),
    Problem.NO_GROUPS: ProblemText(
        _("No node group is confirmed yet."),
        _("Confirm what is proposed on the page of node groups. Nodes with cards are proposed at the next look."),
    ),
    Problem.SHARED_POOLS: ProblemText(
        _("Groups of cut cards: %(groups)s."), _("Nothing to do. They serve development and inference.")
    ),
    Problem.OUTSIDE_PODS: ProblemText(
        _("Pods of no queue hold %(cards)s cards."),
        _("See on the page of nodes where they are, and give them a queue."),
    ),
    Problem.NO_EXPORTER: ProblemText(
        _("No exporter was found."), _("Install the exporter of the vendor, for example DCGM exporter.")
    ),
    Problem.NO_STORAGE: ProblemText(_("No team has a volume here."), _("Name each team's volume under “Storage”.")),
    Problem.SOME_STORAGE: ProblemText(
        _("Teams without a volume here: %(teams)s."), _("Name their volumes under “Storage”.")
    ),
}


def found_text(finding: Finding) -> str:
    """What was found, in the reader's language; '' for a row that is ok."""
    if finding.problem is None:
        return ""
    return str(PROBLEMS[finding.problem].found) % dict(finding.facts)


def mend_text(finding: Finding) -> str:
    """What to do about it; '' for a row that is ok."""
    return str(PROBLEMS[finding.problem].mend) if finding.problem is not None else ""
