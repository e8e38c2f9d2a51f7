"""What the console needs of the platform, its own accounts, the nodes and the teams' spaces. Pure.

Sources: decisions 25, 26, 31, 35; docs/connect-a-cluster.md.
"""

from __future__ import annotations

from collections.abc import Callable

from clusters.preflight.findings import NOT_READ, OK, limited, listed, missing, parsed_version
from clusters.preflight.survey import Survey
from clusters.preflight.words import Finding, Problem

OLDEST_PLATFORM = (1, 28)
CLOCK_TOLERANCE_SECONDS = 5


def platform(survey: Survey) -> Finding:
    version = parsed_version(survey.version)
    if version is None:
        return NOT_READ
    return OK if version[:2] >= OLDEST_PLATFORM else limited(Problem.OLD_PLATFORM, version=survey.version)


def account(account: str) -> Callable[[Survey], Finding]:
    def check(survey: Survey) -> Finding:
        if account not in survey.accounts:
            return missing(Problem.NO_ACCOUNT, account=account)
        if survey.rights is None or account not in survey.rights:
            return NOT_READ
        lacks = survey.rights[account]
        return limited(Problem.RIGHTS_LACK, account=account, rights=listed(lacks)) if lacks else OK

    return check


def clock(survey: Survey) -> Finding:
    ahead = survey.clock_ahead
    if ahead is None:
        return NOT_READ
    return OK if abs(ahead) <= CLOCK_TOLERANCE_SECONDS else limited(Problem.CLOCKS_DIFFER, seconds=ahead)


def confined(survey: Survey) -> Finding:
    if survey.admission_policy is None:
        return NOT_READ
    return OK if survey.admission_policy else limited(Problem.NO_POLICY)


def spaces(survey: Survey) -> Finding:
    if survey.space_limits is None:
        return NOT_READ
    return limited(Problem.SPACE_LIMITS, spaces=listed(survey.space_limits)) if survey.space_limits else OK


def devices_known(survey: Survey) -> Finding:
    if survey.unknown_resources is None:
        return NOT_READ
    names = survey.unknown_resources
    return limited(Problem.UNKNOWN_DEVICES, resources=listed(names), nodes=sum(names.values())) if names else OK


def cards_there(survey: Survey) -> Finding:
    if survey.cards is None:
        return NOT_READ
    return OK if sum(survey.cards.values()) else missing(Problem.NO_CARDS)


def grouped(survey: Survey) -> Finding:
    if survey.unlabelled_nodes is None:
        return NOT_READ
    if survey.unlabelled_nodes:
        return limited(Problem.UNLABELLED_NODES, nodes=survey.unlabelled_nodes)
    return OK if survey.groups else missing(Problem.NO_GROUPS)


def whole_cards(survey: Survey) -> Finding:
    """Decision 26: cut cards take no training by default."""
    return limited(Problem.SHARED_POOLS, groups=survey.shared_groups) if survey.shared_groups else OK


def nothing_outside(survey: Survey) -> Finding:
    if survey.outside_cards is None:
        return NOT_READ
    return limited(Problem.OUTSIDE_PODS, cards=survey.outside_cards) if survey.outside_cards else OK


def measured(survey: Survey) -> Finding:
    if survey.exporters is None:
        return NOT_READ
    return OK if sum(survey.exporters.values()) else missing(Problem.NO_EXPORTER)


def storage(survey: Survey) -> Finding:
    """Decision 31."""
    if not survey.teams:
        return OK
    if not survey.teams_with_storage:
        return missing(Problem.NO_STORAGE)
    lacking = survey.teams - survey.teams_with_storage
    return limited(Problem.SOME_STORAGE, teams=lacking) if lacking else OK
