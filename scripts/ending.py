"""The scratch folder of a script of checks, and how the script ends: what failed, the exit code."""
import contextlib, pathlib, sys, tempfile


@contextlib.contextmanager
def scratch(keep, name):
    """The folder `keep`, made where it is absent, or a temporary one, which is removed however its use ends."""
    if keep:
        pathlib.Path(keep).mkdir(parents=True, exist_ok=True)
        yield pathlib.Path(keep)
        return
    with tempfile.TemporaryDirectory(prefix=name + '-') as made:
        yield pathlib.Path(made)


def ended(failures):
    """Prints the failures; gives the exit code."""
    for failure in failures:
        print('FAIL ' + failure)
    return 1 if failures else 0


def leave(name, main):
    """Leaves with the exit code of `main`, or with 2 and the reason where it cannot run."""
    try:
        sys.exit(main())
    except (RuntimeError, OSError) as error:
        print('%s: %s' % (name, error), file=sys.stderr)
        sys.exit(2)
