"""All channels that a configuration names, made with their secrets revealed; what is wrong with it is told before."""

from crawler.config import Config


def check(config: Config) -> None:
    """Make sure that everyone who is configured can be told. Raises UsageError for a secret that is missing or bad."""
