"""The one exception that a command turns into a sentence and an exit status."""

EXIT_OK = 0
EXIT_FOUND = 1
EXIT_USAGE = 2
EXIT_NOT_COMPARABLE = 3
EXIT_INCONCLUSIVE = 4
EXIT_UNDECIDED = 5


class ReportError(Exception):
    """What was found in which file, and what to do about it, in one sentence; exit status 2."""

    status = EXIT_USAGE
