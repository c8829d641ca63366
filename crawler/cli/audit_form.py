"""In which forms an audit is told on standard output."""

from enum import StrEnum


class Form(StrEnum):
    """The names of the forms, as on the command line."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"
