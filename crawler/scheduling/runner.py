"""What the schedule asks of whoever runs a site: one attempt from its begin to its end."""

from typing import Protocol

import anyio

from crawler.attempt import Attempt
from crawler.scheduling.scheduled import Scheduled
from crawler.state.runs import Ended


class Runner(Protocol):
    """Runs sites, each in a process of its own."""

    async def run(self, site: Scheduled, attempt: Attempt, stop: anyio.Event) -> Ended:
        """Run one attempt to its end and say how it ended; of ``Because.TELL`` only tell.

        When ``stop`` is set, because the daemon stops or the run takes too long, ask the run to save what it knows and
        to end, and end it by force when it has not within ``Daemon.stop_within``. Its fate is then STOPPED, unless it
        came to its end before. Never raises for what the run does. When it is cancelled the run is killed.
        """
        ...
