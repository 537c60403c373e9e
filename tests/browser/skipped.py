"""What a test raises when something that it needs could not be fetched. Not for what fails."""


class Skipped(Exception):
    """Says what is missing."""
