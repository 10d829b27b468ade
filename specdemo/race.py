"""The fair race: lanes take turns on one device by their own clocks."""

from collections.abc import Iterator, Mapping

from .records import Round


def race(lanes: Mapping[str, Iterator[Round]]) -> Iterator[tuple[str, Round]]:
    """Run the lanes to their ends; yields (lane, round) in the order in which parallel lanes would have begun them.

    Whichever lane's own clock is behind goes next, the first named one at a tie. So each streams at its true relative
    speed, and since only one works at a time, none disturbs another's clock. Closing it closes the lanes.
    """
    clocks = dict.fromkeys(lanes, 0.0)
    try:
        while clocks:
            lane = min(clocks, key=clocks.get)
            round_ = next(lanes[lane], None)
            if round_ is None:
                del clocks[lane]
                continue
            clocks[lane] += round_.prefill_s + round_.seconds
            yield lane, round_
    finally:
        for rounds in lanes.values():
            rounds.close()
