"""Conformance suites: the promises of each contract as pytest classes to subclass."""
