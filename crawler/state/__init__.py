"""The state of a site on disk: one SQLite file that outlives the runs. Owns its tables, its lock and its versions."""
