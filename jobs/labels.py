"""Labels and sentences of a job's fixed words, in the reader's language. One place for pages, API and charts."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from jobs.domain.operations import Effect, Makes, Operation, Place, Refusal
from jobs.domain.words import CardSharing, Flag, Framework, JobState, Kind, Priority

STATES = {
    JobState.QUEUED: _("Queued"),
    JobState.CREATING: _("Creating"),
    JobState.RUNNING: _("Running"),
    JobState.RETRYING: _("Retrying"),
    JobState.SUCCEEDED: _("Succeeded"),
    JobState.FAILED: _("Failed"),
    JobState.CANCELLED: _("Cancelled"),
}
STATE_ICONS = {
    JobState.QUEUED: "clock",
    JobState.CREATING: "loader-2",
    JobState.RUNNING: "player-play",
    JobState.RETRYING: "rotate-clockwise",
    JobState.SUCCEEDED: "circle-check",
    JobState.FAILED: "circle-x",
    JobState.CANCELLED: "ban",
}
FLAGS = {Flag.HELD: _("held"), Flag.STOPPING: _("stopping"), Flag.DEGRADED: _("partly ready")}
KINDS = {
    Kind.TRAINING: _("Training"),
    Kind.DEVELOPMENT: _("Development"),
    Kind.INFERENCE: _("Inference"),
}
FRAMEWORKS = {
    Framework.PYTORCH: _("PyTorch"),
    Framework.TENSORFLOW: _("TensorFlow"),
    Framework.MINDSPORE: _("MindSpore"),
    Framework.MPI: _("MPI"),
    Framework.COMMAND: _("Plain command"),
}
CARD_SHARING = {CardSharing.EXCLUSIVE: _("whole cards"), CardSharing.SHARED: _("shared card slices")}
PRIORITIES = {
    Priority.LOW: pgettext_lazy("priority", "Low"),
    Priority.NORMAL: pgettext_lazy("priority", "Normal"),
    Priority.HIGH: pgettext_lazy("priority", "High"),
    Priority.URGENT: pgettext_lazy("priority", "Urgent"),
}
PRIORITY_HINTS = {
    Priority.LOW: _("Starts after the team's other work and may be interrupted by it."),
    Priority.NORMAL: _("Starts in the order of the team's queue. May interrupt low jobs of the team."),
    Priority.HIGH: _("Goes before normal jobs of the team and may interrupt them. Given by a team lead."),
    Priority.URGENT: _("Goes first and may interrupt any other job of the team. Given by a team lead, with a reason."),
}

OPERATIONS = {
    Operation.CANCEL: _("Cancel job"),
    Operation.RESTART: _("Restart"),
    Operation.HOLD: _("Hold"),
    Operation.RESUME: _("Resume"),
    Operation.PREEMPT: _("Preempt"),
    Operation.REQUEUE: _("Requeue"),
    Operation.PRIORITY: _("Change priority"),
    Operation.SCALE: _("Scale"),
}
EFFECTS = {
    Effect.NO_CHANGE: _("Nothing changes: it was asked before."),
    Effect.STOPS: _("The job stops and everything it holds is given back. It stays in the list as cancelled."),
    Effect.NEW_ATTEMPT: _("A new attempt starts with the same settings and the same checkpoint folder."),
    Effect.LEAVES_QUEUE: _("The job leaves the queue until somebody resumes it."),
    Effect.GIVES_CARDS_BACK: _("The job stops and gives its cards back at once; it waits until somebody resumes it."),
    Effect.NOT_SENT: _("The next attempt is not started until somebody resumes the job."),
    Effect.STAYS_OUT: _("The job stays out of the queue until somebody resumes it."),
    Effect.ENTERS_QUEUE: _("The job enters the queue again."),
    Effect.GIVES_WAY_ON: _("The hold ends. The job still gives way to another one, then it enters the queue again."),
    Effect.GIVES_WAY: _(
        "The job stops and gives its cards back at once. It enters the queue again when the other job has its cards,"
        " after 15 minutes at the latest."
    ),
    Effect.STARTS_ANEW: _(
        "The present attempt stops. A new one follows with the same settings and the same checkpoint folder, and"
        " counts as no retry."
    ),
    Effect.NEW_PRIORITY: _("The job gets the new priority, also for its next attempts."),
    Effect.NEW_RANK: _("The job goes on at the new priority, which decides who may interrupt it."),
    Effect.NEW_SIZE: _("Replicas are started or stopped until there are as many. The others go on."),
    Effect.NEXT_SIZE: _("The service has no replicas now. It comes back with as many."),
}
PLACES = {
    Place.NONE: "",
    Place.KEPT: _("It keeps its place in the queue."),
    Place.TAIL: _("It goes to the end of the queue of its priority."),
    Place.BY_PRIORITY: _("It stands among the jobs of its new priority, by the time it has waited."),
}
MAKES = {Makes.NOTHING: "", Makes.RUN: _("a new run"), Makes.ATTEMPT: _("a new attempt")}
LOSES_WORK = _("Work since the last checkpoint is lost.")
REFUSALS = {
    Refusal.ALREADY_ENDED: _("The job has already ended. Restart it if it shall run again."),
    Refusal.STILL_ACTIVE: _("The job is still active. Cancel it first, or wait until it has ended."),
    Refusal.NOT_HELD: _("The job is not held, so there is nothing to resume."),
    Refusal.IS_HELD: _("The job is held. Resume it first."),
    Refusal.HOLDS_NO_CARDS: _("The job holds no cards now, so nobody would gain any."),
    Refusal.GIVES_WAY: _("The job gives way to another one now. Wait until it is in the queue again."),
    Refusal.BEING_REQUEUED: _("The job is being requeued. Wait until its new attempt is in the queue."),
    Refusal.NO_SERVICE: _("Only an inference service has replicas. Submit the job again with another number of cards."),
    Refusal.QUEUE_TAKES_NONE: _("The job's local queue takes no new jobs. Submit the job again in another one."),
    Refusal.NOT_OFFERED: _("The job's cluster cannot do this. Cancel the job and restart it instead."),
    Refusal.BEING_CANCELLED: _("The job is being cancelled. Wait until it has stopped, then restart it."),
}

IMAGE_PROBLEMS = {
    "blank": _("Name the container image, for example registry.example/team/bert:1.0."),
    "too_long": _("An image name has at most 500 characters."),
    "spaces": _("An image name has no blanks inside."),
    "scheme": _("Leave out https:// and the like: an image name begins with the registry or the repository."),
    "upper_case": _("A repository name has no capital letters. Write it in lower case."),
    "malformed": _("This is not an image name. Write registry/repository:tag."),
}
_NOT_A_NUMBER = _("Write a number.")
QUANTITY_PROBLEMS = {
    ("cards", "not_a_number"): _("Write the number of cards as a whole number, such as 8."),
    ("cards", "not_whole"): _("Cards are whole: write a whole number in plain digits, such as 8."),
    ("cards", "negative"): _("The number of cards cannot be negative."),
    ("cards", "too_large"): _("That is more cards than any cluster has. Ask for fewer."),
    ("cpu", "not_a_number"): _("Write CPU cores as a number, such as 4, 0.5 or 250m."),
    ("cpu", "not_whole"): _("CPU is counted in thousandths of a core. Write fewer decimals."),
    ("cpu", "negative"): _("CPU cannot be negative."),
    ("cpu", "too_small"): _("Ask for at least a thousandth of a core."),
    ("cpu", "too_large"): _("That is more CPU than any node has. Ask for at most 1024 cores."),
    ("cpu", "byte_unit"): _("This is an amount of memory. Write CPU cores as a number, such as 4 or 250m."),
    ("memory", "not_a_number"): _("Write memory as a number and a unit, such as 16Gi."),
    ("memory", "unit_missing"): _("Add a unit to the memory, such as 16Gi or 512Mi."),
    ("memory", "unit_unknown"): _("Use one of the units Mi, Gi, Ti, M, G or T for memory, such as 16Gi."),
    ("memory", "negative"): _("Memory cannot be negative."),
    ("memory", "too_small"): _("Ask for at least 1Mi of memory."),
    ("memory", "too_large"): _("That is more memory than any node has. Ask for at most 64Ti."),
}
