"""Trials of a fleet: real workers, a real PostgreSQL and real sites, while faults happen that are drawn from a seed.

``python -m tests.trials.fleet --seed 1 --faults 20`` lives through one; ``--help`` describes the command.

Workers are killed, suspended beyond their leases, cut off from PostgreSQL, and lose their disks; PostgreSQL crashes;
snapshots are damaged; and editors add pages all the while. Everything is judged from outside: what the servers of the
sites were asked, what the receiver of notifications got, and what a reader of the published files sees, all the time.

``world`` holds what is around a fleet, ``faults`` what befalls it, ``judge`` what must hold, ``trial`` runs one trial.
``hour`` is another trial, without faults and with many sites.
"""
