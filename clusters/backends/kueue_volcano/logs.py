"""Reading the logs of an attempt's pods bit by bit, each line once (decision 32).

The cursor holds, for each rank, the time of the last line taken and how many lines with that very time were taken.
The API server starts a log at a whole second, so lines before the cursor come again and are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from clusters.backends.kueue_volcano import names
from clusters.backends.kueue_volcano.client import KubeClient, Missing
from clusters.contract import LogChunk, LogLine, PodFacts, PodPhase, Rejected, Retryable

LINES_MAX = 1_000
BYTES_FIRST = 256 * 1024
BYTES_MAX = 16 * 1024 * 1024
"""A second in which a pod writes more than this cannot be read whole; what is left of it is named as left out."""

_WRITTEN = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) ?")
LEFT_OUT = b"[lines left out: more was written in one second than can be read]"


class _Place(msgspec.Struct, array_like=True):
    """Where the log of one pod was read to: seconds and nanoseconds of the last line, lines taken of that instant."""

    second: int = 0
    nano: int = 0
    taken: int = 0
    ended: bool = False


class _Cursor(msgspec.Struct, omit_defaults=True):
    seq: int = 0  # of the next line
    places: dict[str, _Place] = {}  # by rank


@dataclass(frozen=True, slots=True)
class _Written:
    second: int
    nano: int
    data: bytes

    @property
    def instant(self) -> tuple[int, int]:
        return self.second, self.nano

    @property
    def at(self) -> datetime:
        return datetime.fromtimestamp(self.second, UTC).replace(microsecond=self.nano // 1000)


def tail(client: KubeClient, space: str, pods: Sequence[PodFacts], cursor: str, *, over: bool) -> LogChunk:
    """Lines after ``cursor`` of these pods. ``over`` = the attempt has ended and gets no more pods.

    Raises Rejected("bad_cursor") for a cursor that is not ours.
    """
    place = _read(cursor)
    lines: list[LogLine] = []
    for pod in sorted(pods, key=lambda pod: pod.rank):
        if len(lines) >= LINES_MAX:
            break
        at = place.places.get(str(pod.rank), _Place())
        if at.ended or pod.phase in {PodPhase.WAITING, PodPhase.PULLING}:
            continue
        written, at = _pod(client, space, pod, at, LINES_MAX - len(lines))
        place.places[str(pod.rank)] = at
        for line in written:
            lines.append(LogLine(place.seq, line.at, pod.name, pod.rank, line.data))
            place.seq += 1
    complete = over and not lines and all(_has_ended(place, pod) for pod in pods)
    return LogChunk(tuple(lines), msgspec.json.encode(place).decode() if place.places else cursor, complete)


def _has_ended(cursor: _Cursor, pod: PodFacts) -> bool:
    place = cursor.places.get(str(pod.rank))
    return pod.phase in {PodPhase.WAITING, PodPhase.PULLING} or (place is not None and place.ended)


def _read(cursor: str) -> _Cursor:
    if not cursor:
        return _Cursor()
    try:
        return msgspec.json.decode(cursor, type=_Cursor)
    except (msgspec.MsgspecError, ValueError) as error:
        raise Rejected("bad_cursor", cursor[:100]) from error


def _pod(client: KubeClient, space: str, pod: PodFacts, place: _Place, wanted: int) -> tuple[list[_Written], _Place]:
    """New lines of one pod and where they end."""
    limit = BYTES_FIRST
    finished = pod.phase in {PodPhase.SUCCEEDED, PodPhase.FAILED}
    while True:
        try:
            body = client.get(names.PODS_KIND.path(space, pod.name, "log"), _params(place, limit))
        except Missing:
            return [], _ended(place)  # the pod is gone and its log with it
        except Rejected:
            return [], _ended(place) if finished else place  # its container never started
        except Retryable as error:
            if error.code == "server_error" and finished:
                return [], _ended(place)  # the node that kept the log does not answer for it any more
            raise
        cut = len(body) >= limit
        lines = _lines(body, cut)
        start = _first_fresh(lines, place)
        if start < len(lines) or not cut:
            break
        if limit >= BYTES_MAX:
            second = place.second + 1
            return [_Written(second, 0, LEFT_OUT)], _Place(second, 0, 1)
        limit *= 8
    end = min(len(lines), start + wanted)
    if end == start:
        return [], _ended(place) if finished and not cut else place
    last = lines[end - 1].instant
    return lines[start:end], _Place(*last, sum(1 for line in lines[:end] if line.instant == last))


def _ended(place: _Place) -> _Place:
    return _Place(place.second, place.nano, place.taken, ended=True)


def _params(place: _Place, limit: int) -> Mapping[str, str]:
    params = {"timestamps": "true", "limitBytes": str(limit)}
    if place.second:
        params["sinceTime"] = datetime.fromtimestamp(place.second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return params


def _lines(body: bytes, cut: bool) -> list[_Written]:
    """Each line with its time. Of a body that was cut the last line is not whole, so it is left for later."""
    parts = body.split(b"\n")
    if cut or not parts[-1]:
        parts.pop()
    written: list[_Written] = []
    for part in parts:
        match = _WRITTEN.match(part)
        if match is None:  # not the runtime's form: it belongs to the line before it
            before = written[-1] if written else _Written(0, 0, b"")
            written.append(_Written(before.second, before.nano, part))
            continue
        zone = match[3].decode().replace("Z", "+00:00")
        second = int(datetime.fromisoformat(match[1].decode() + zone).timestamp())
        nano = int((match[2] or b"0").ljust(9, b"0"))
        written.append(_Written(second, nano, part[match.end() :]))
    return written


def _first_fresh(lines: list[_Written], place: _Place) -> int:
    """Where the lines begin that were not taken yet.

    Order in the file counts, because two streams of one program may write times that go back a little. Only when
    the last line taken is not there any more, as its file was rotated away, do the times decide.
    """
    here = (place.second, place.nano)
    passed = 0
    for number, line in enumerate(lines):
        if line.instant == here:
            passed += 1
            if passed == place.taken:
                return number + 1
    return next((number for number, line in enumerate(lines) if line.instant > here), len(lines))
