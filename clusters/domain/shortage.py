"""Which kind of shortage a waiting attempt meets. Pure, and the same for every backend."""

from __future__ import annotations

from clusters.contract import WaitCode


def shortage_code(asked: int, nominal: int, used: int) -> WaitCode:
    """The code of an attempt for which the cohort has not enough unused cards.

    *Above nominal* means that the team's own quota is not used up, or could never hold the attempt, so that it
    would have to borrow; *quota* means that the team's own quota is in use.
    """
    if asked > nominal or used < nominal < used + asked:
        return WaitCode.ABOVE_NOMINAL
    return WaitCode.QUOTA
