"""How a script of checks ends: what failed, the scratch folder, the exit code."""
import shutil, sys


def ended(failures, out, keep):
    """Prints the failures and removes the folder `out` unless it is to be kept; gives the exit code."""
    for failure in failures:
        print('FAIL ' + failure)
    if not keep:
        shutil.rmtree(out)
    return 1 if failures else 0


def leave(name, main):
    """Leaves with the exit code of `main`, or with 2 and the reason where it cannot run."""
    try:
        sys.exit(main())
    except (RuntimeError, OSError) as error:
        print('%s: %s' % (name, error), file=sys.stderr)
        sys.exit(2)
