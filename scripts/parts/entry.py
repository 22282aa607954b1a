"""The entry of scripts/accept and scripts/bench: their parts, their arguments, and the table at the end.

A part is a module beside this file: `options(parser, name)` adds its options, `main(args)` runs it and returns 0, or 1 where
something was missed. It may raise common.Skipped; any other exception counts as missed. `check_options(parser, args)`, where
there is one, refuses options before anything is built. A module imports packages of PyPI where it uses them, so that
help and wrong options are answered without an environment."""
import argparse, importlib, os, shutil, signal, subprocess, sys, time, traceback, typing
from parts import common


class Part(typing.NamedTuple):
    """A row of the list of parts."""

    name: str
    # Module of this folder.
    module: str
    # About how long it takes on two cores.
    takes: str
    shows: str
    # Names of NEEDS.
    needs: tuple = ()
    # Of PyPI, for the environment.
    packages: tuple = ()
    # Runs where no part is named.
    default: bool = False
    # Runs undust, which is built where --binary names none.
    runs: bool = True


def corpora(args):
    return os.path.isdir(os.path.join(args.shared, 'corpora'))


def tools(args):
    return corpora(args) and os.path.exists(os.path.join(args.shared, 'tools', 'score.py'))


# What a part may need: its name in the list of parts, whether it is there, and what is said where it is not.
NEEDS = {
    'data': ('data folder', tools, 'no corpora/ and tools/ in the data folder %(shared)s (--shared DIR)'),
    'corpora': ('data folder', corpora, 'no corpora/ in the data folder %(shared)s (--shared DIR)'),
    'chromium': ('Chromium', lambda _: common.chromium(), 'no Chromium is found (Debian package chromium)'),
    'node': ('node', lambda _: shutil.which('node'), 'no node: install Node.js 18 or later'),
    'java': ('java', lambda _: shutil.which('java'), 'no java: install a JDK (openjdk-17-jdk-headless)'),
    'nginx': ('nginx', lambda _: shutil.which('nginx'), 'no nginx: install nginx-light'),
    # The part itself finds out whether it may make network namespaces.
    'root': ('root, ip', lambda _: True, ''),
    'crates': ('crates.io', lambda _: True, ''),
}


def common_options(parser, keeps):
    group = parser.add_argument_group('options of every part')
    group.add_argument('--binary', type=common.existing, metavar='PATH', help='undust; default: it is built')
    group.add_argument('--shared', type=common.existing, metavar='DIR', help='the data folder, with corpora/ and tools/ (default: ../shared of the repository)')
    if keeps:
        group.add_argument('--keep', type=os.path.abspath, metavar='DIR', help='keeps what is made, with several parts in a folder for each (default: removed)')
    group.add_argument('--profile', default='release', metavar='NAME', help='cargo profile of what is built (default: release)')


class Entry:
    """scripts/NAME with its parts; --keep is an option of theirs where they keep what they make."""

    def __init__(self, name, about, parts, keeps):
        self.name, self.about, self.parts, self.keeps = 'scripts/' + name, about, {part.name: part for part in parts}, keeps

    def listed(self):
        """The list of parts, and how they are called."""
        rows = [('part', 'takes', 'needs', 'shows')]
        for part in sorted(self.parts.values(), key=lambda part: not part.default):
            needs = dict.fromkeys([NEEDS[need][0] for need in part.needs] + ['PyPI'] * bool(part.packages))
            rows.append((part.name, part.takes, ', '.join(needs) or '-', part.shows))
        width = [max(len(row[i]) for row in rows) for i in range(3)]
        text = 'usage: %s [PART]... [--binary PATH] [--shared DIR]%s [--profile NAME] [options of the part]\n' % (self.name, ' [--keep DIR]' * self.keeps)
        text += '       %s list | PART --help\n\n%s\n\n' % (self.name, self.about.strip())
        text += '\n'.join('  '.join([*(cell.ljust(w) for cell, w in zip(row, width)), row[3]]) for row in rows)
        default = ', '.join(part.name for part in self.parts.values() if part.default)
        return text + '\n\nWithout a part: %s.' % default

    def wrong(self, text):
        print('%s: error: %s' % (self.name, text), file=sys.stderr)
        sys.exit(2)

    def split(self, words):
        """(parts, their options) of a command line; options that every part has may come first."""
        options = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        common_options(options, self.keeps)
        values = {name for action in options._actions for name in action.option_strings}
        chosen, rest = [], []
        words = list(words)
        while words:
            word = words.pop(0)
            if word in values:
                rest += [word, *words[:1]]
                words = words[1:]
            elif word.partition('=')[0] in values:
                rest.append(word)
            elif word.startswith('-'):
                return chosen, [*rest, word, *words]
            else:
                chosen.append(word)
        return chosen, rest

    def parser(self, part):
        module = importlib.import_module('parts.' + part.module)
        parser = argparse.ArgumentParser(prog='%s %s' % (self.name, part.name), description=module.__doc__, allow_abbrev=False,
                                         formatter_class=argparse.RawDescriptionHelpFormatter)
        common_options(parser, self.keeps)
        getattr(module, 'options', lambda *_: None)(parser, part.name)
        return parser, module

    def parse(self, words):
        """(part, module, options) of each part of the command line; leaves for help and where something is wrong."""
        chosen, rest = self.split(words)
        if chosen == ['list'] or not chosen and {'-h', '--help'} & set(rest):
            # `| head` ends it.
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            print(self.listed())
            sys.exit(0)
        for name in chosen:
            if name not in self.parts:
                self.wrong('no part %s; %s list shows them' % (name, self.name))
        found = []
        for name in dict.fromkeys(chosen) if chosen else [part.name for part in self.parts.values() if part.default]:
            part = self.parts[name]
            parser, module = self.parser(part)
            args = parser.parse_args(rest)
            args.part, args.keep = name, getattr(args, 'keep', None)
            args.keep_all = args.keep
            args.shared = args.shared or str(common.ROOT.parent / 'shared')
            if args.keep and os.path.exists(args.keep) and not os.path.isdir(args.keep):
                parser.error('--keep %s: no folder' % args.keep)
            if args.keep and len(set(chosen)) != 1:
                args.keep = os.path.join(args.keep, name)
            getattr(module, 'check_options', lambda *_: None)(parser, args)
            found.append((part, module, args))
        return found

    def lacking(self, part, args):
        """Why a part cannot run, or None."""
        for _, there, text in (NEEDS[need] for need in part.needs):
            if not there(args):
                return text % vars(args)
        return None

    def main(self):
        """Runs the parts of the command line; gives the exit code."""
        words = sys.argv[1:]
        found = self.parse(words)
        skipped = {part.name: why for part, _, args in found if (why := self.lacking(part, args))}
        packages = {package for part, _, _ in found if part.name not in skipped for package in part.packages}
        if packages:
            try:
                python = common.environment(packages)
            except (RuntimeError, OSError) as error:
                skipped |= {part.name: str(error) for part, _, _ in found if part.packages}
            else:
                if not os.path.samefile(sys.prefix, common.ENVIRONMENT):
                    sys.stdout.flush()
                    os.execv(python, [str(python), sys.argv[0], *words])
        os.chdir(common.ROOT)
        binary = found[0][2].binary
        if not binary and any(part.runs and part.name not in skipped for part, _, _ in found):
            try:
                binary = str(common.built(found[0][2].profile))
            except common.Broken as error:
                self.wrong(error)
        rows = []
        for part, module, args in found:
            args.binary = binary
            rows.append(self.run(part, module, args, skipped.get(part.name)))
        show(rows)
        if all(result.startswith('skipped') for _, result, _ in rows):
            print('%s: every part was skipped: nothing was checked' % self.name, file=sys.stderr)
        return 1 if any(result.startswith('missed') for _, result, _ in rows) else 0

    def run(self, part, module, args, why):
        """Row of the table at the end: part, result, seconds."""
        print('== %s: %s' % (part.name, part.shows), flush=True)
        began = time.monotonic()
        common.left_out.clear()
        result = 'ok'
        try:
            if why:
                raise common.Skipped(why)
            if module.main(args):
                result = 'missed'
        except common.Skipped as reason:
            print('SKIPPED: %s: %s' % (part.name, reason), file=sys.stderr, flush=True)
            result = 'skipped: %s' % one_line(reason)
        except SystemExit as end:
            if end.code == common.TERMINATED:
                raise
            if end.code not in (None, 0):
                print('%s: %s' % (part.name, end.code), file=sys.stderr)
                result = 'missed: %s' % one_line(end.code)
        except (RuntimeError, OSError, subprocess.CalledProcessError, common.Broken) as error:
            print('%s: %s' % (part.name, error), file=sys.stderr)
            result = 'missed: %s' % one_line(error)
        except Exception as error:
            # A mistake of the part itself; the others still run.
            traceback.print_exc()
            result = 'missed: %s' % type(error).__name__
        if common.left_out and not result.startswith('skipped'):
            result += ' (skipped: %s)' % one_line('; '.join(common.left_out))
        print(flush=True)
        return part.name, result, time.monotonic() - began


def one_line(text, most=110):
    text = ' '.join(str(text).split())
    return text if len(text) <= most else text[:most - 3] + '...'


def show(rows):
    """The table at the end."""
    cells = [('part', 'result', 'seconds'), *((name, result, '%.1f' % seconds) for name, result, seconds in rows)]
    width = [max(len(row[i]) for row in cells) for i in range(3)]
    for name, result, seconds in cells:
        print('%s  %s  %s' % (name.ljust(width[0]), result.ljust(width[1]), seconds.rjust(width[2])))
