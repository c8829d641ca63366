"""Reading documents in processes that can be killed: the pool on our side, the worker on theirs, the frames between."""
