"""Owns the forms in which a lint report is told: text for people, JSON, SARIF and JUnit for programs."""
