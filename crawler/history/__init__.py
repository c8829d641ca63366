"""The history of a schedule: every attempt of every site, in one database that one daemon writes.

::

    with History(directory) as history:          # the daemon
    with Look(directory) as look:                # whoever looks, also meanwhile
"""
