"""What several processes cost, in figures measured in one run on this machine; docs/cluster.md rests on them.

  mesh    1 process x 2 workers against 2 processes x 1 worker, in the clear and encrypted; bytes exchanged a URL
  skew    one site of half of all URLs against sites of equal size: processor time and peak memory of each worker, which
          is here a process of its own
  large   N URLs (--large) on 2 processes with --memory (default 1024 MiB): URLs a CPU second, peak memory, scratch space

Figures are wall-clock where they say s, and processor time (user and system) where they say CPU s: on a machine that
others use, only the latter mean much."""
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time

MIB = 1 << 20
MEMORY = 1 << 30
# MiB that a process needs beside --memory.
OVER = 300


class Bench:
    def __init__(self, args, base):
        self.args, self.base, self.missed = args, base, 0
        with open(self.path("secret"), "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write("of a bench on one machine, of no use elsewhere\n")

    def path(self, *names):
        return os.path.join(self.base, *names)

    def row(self, what, measured, ok=None, limit=""):
        self.missed += ok is False
        verdict = {None: "", True: "pass", False: "MISSED"}[ok]
        print(f"{what:<42} {measured:<58} {limit:<14} {verdict}".rstrip(), flush=True)

    def synth(self, name, *arguments):
        words = [self.args.binary, "synth", "--out", self.path(name), "--shards", "16", *map(str, arguments)]
        subprocess.run(words, check=True, capture_output=True)
        return sum(os.path.getsize(self.path(name, file)) for file in os.listdir(self.path(name)))

    def learn(self, shards, processes, workers, encrypt="never", memory=MEMORY):
        """Seconds, and of each process: CPU seconds, peak MiB, bytes sent; and the most bytes in scratch."""
        shutil.rmtree(self.path("out"), ignore_errors=True)
        shutil.rmtree(self.path("tmp"), ignore_errors=True)
        os.makedirs(self.path("tmp"))
        common = [self.args.binary, "learn", self.path(shards), "--out", self.path("out"), "-w", str(workers),
                  "--memory", str(memory), "--scratch", self.path("tmp")]
        if processes > 1:
            free = [socket.create_server(("127.0.0.1", 0)) for _ in range(processes)]
            hosts = "".join(f'[[host]]\naddress = "127.0.0.1:{s.getsockname()[1]}"\n' for s in free)
            for listener in free:
                listener.close()
            with open(self.path("cluster.toml"), "w") as file:
                file.write(f'[mesh]\nsecret_file = "secret"\nencrypt = "{encrypt}"\n{hosts}')
            common += ["--cluster", self.path("cluster.toml")]
        began, children, over = time.perf_counter(), [], threading.Event()
        scratch = [0]

        def watch():
            # Spill files have no names: they are seen where they are open.
            while not over.wait(0.1):
                used = 0
                for child in list(children):
                    folder = f"/proc/{child.pid}/fd"
                    try:
                        for name in os.listdir(folder):
                            if os.readlink(os.path.join(folder, name)).startswith(self.path("tmp")):
                                used += os.stat(os.path.join(folder, name)).st_size
                    except OSError:
                        pass  # It has ended, or closed the file.
                scratch[0] = max(scratch[0], used)

        watcher = threading.Thread(target=watch)
        watcher.start()
        for i in range(processes):
            words = common + (["--process", str(i)] if processes > 1 else [])
            with open(self.path(f"err{i}"), "wb") as err:
                children.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err))
        figures = []
        for i, child in enumerate(children):
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            with open(self.path(f"err{i}"), errors="replace") as file:
                said = file.read()
            if child.returncode:
                over.set()
                raise RuntimeError(f"process {i} ended with {child.returncode}: {said[-500:]}")
            sent = re.search(r"(\d+) bytes sent", said)
            figures.append((usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, int(sent[1]) if sent else 0))
        seconds = time.perf_counter() - began
        over.set()
        watcher.join()
        return seconds, figures, scratch[0]


def mesh(bench):
    urls = bench.args.urls
    bench.synth("even", "--sites", 60, "--urls-min", 10_000, "--urls-max", 200_000, "--total-urls", urls, "--seed", 1)
    kinds = {"1 process x 2 workers": (1, 2, "never"), "2 processes x 1 worker, clear": (2, 1, "never"),
             "2 processes x 1 worker, encrypted": (2, 1, "always")}
    best = {}
    for _ in range(bench.args.rounds):
        for kind, (processes, workers, encrypt) in kinds.items():
            seconds, figures, _ = bench.learn("even", processes, workers, encrypt)
            cpu, sent = sum(f[0] for f in figures), sum(f[2] for f in figures)
            old = best.get(kind, (seconds, cpu, sent))
            best[kind] = (min(seconds, old[0]), min(cpu, old[1]), sent)
    one = best["1 process x 2 workers"]
    for kind, (seconds, cpu, sent) in best.items():
        exchanged = f", {sent / urls:.1f} bytes exchanged a URL" if sent else ""
        bench.row(kind, f"{seconds:.2f} s, {cpu:.2f} CPU s{exchanged}")
    clear, sealed = (best[f"2 processes x 1 worker, {how}"] for how in ("clear", "encrypted"))
    for what, new, old, limit in (("2 processes against 1", clear, one, 1.15), ("encrypted against clear", sealed, clear, 1.10)):
        ratio = new[0] / old[0]
        bench.row(what, f"{ratio:.3f} in s, {new[1] / old[1]:.3f} in CPU s", ratio <= limit, f"s <= {limit:.2f}")


def skew(bench):
    half = bench.args.urls // 2
    bench.synth("equal", "--sites", 40, "--urls-min", half // 20, "--urls-max", half // 20, "--seed", 3)
    bench.synth("skewed", "--sites", 1, "--urls-min", half, "--urls-max", half, "--seed", 4)
    bench.synth("rest", "--sites", 20, "--urls-min", half // 20, "--urls-max", half // 20, "--seed", 3)
    for name in os.listdir(bench.path("rest")):
        os.rename(bench.path("rest", name), bench.path("skewed", f"rest-{name}"))
    for shards in ("equal", "skewed"):
        seconds, figures, scratch = bench.learn(shards, 2, 1, "always", memory=256 * MIB)
        cpu, peak = [f[0] for f in figures], [f[1] for f in figures]
        what = "40 sites of equal size" if shards == "equal" else "one site of half of all URLs"
        bench.row(what, f"{seconds:.2f} s; workers {cpu[0]:.2f} and {cpu[1]:.2f} CPU s, peak {peak[0]:.0f} and {peak[1]:.0f} MiB")
        bench.row("  slower worker against the mean", f"{max(cpu) / (sum(cpu) / 2):.3f}; scratch {scratch / MIB:.0f} MiB",
                  max(cpu) <= 1.25 * sum(cpu) / 2, "<= 1.25")
        bench.row("  peak memory, --memory 256MiB", f"{max(peak):.0f} MiB", max(peak) <= 256 + OVER, f"<= {256 + OVER} MiB")


def large(bench):
    urls = bench.args.large
    if not urls:
        return
    size = bench.synth("large", "--sites", 200, "--total-urls", urls, "--seed", 1)
    memory = bench.args.memory
    seconds, figures, scratch = bench.learn("large", 2, 1, "always", memory=memory * MIB)
    cpu, peak, sent = sum(f[0] for f in figures), max(f[1] for f in figures), sum(f[2] for f in figures)
    bench.row(f"{urls} URLs, {size / MIB:.0f} MiB of TSV", f"{seconds:.0f} s, {cpu:.0f} CPU s: {urls / cpu:.0f} URLs a CPU second")
    bench.row("  exchanged, scratch", f"{sent / urls:.1f} bytes a URL, {scratch / urls:.1f} bytes a URL")
    rules = os.path.getsize(bench.path("out", "rules.jsonl"))
    bench.row("  rules.jsonl", f"{rules / MIB:.1f} MiB, {rules / urls:.1f} bytes a URL")
    bench.row(f"  peak memory, --memory {memory}MiB", f"{peak:.0f} MiB", peak <= memory + OVER, f"<= {memory + OVER} MiB")


PARTS = {part.__name__: part for part in (mesh, skew, large)}


def options(parser, _):
    parser.add_argument("--urls", type=int, default=4_000_000, help="of mesh and skew (default: 4000000)")
    parser.add_argument("--rounds", type=int, default=3, help="of mesh; the best of each counts (default: 3)")
    parser.add_argument("--large", type=int, default=0, help="URLs of large (default: none, and it does not run)")
    parser.add_argument("--memory", type=int, default=MEMORY // MIB, help="MiB of each process of large (default: 1024)")
    parser.add_argument("--scratch", type=os.path.abspath, help="folder for records and results; default: of the system")
    parser.add_argument("--only", action="append", choices=PARTS, help="may be given several times (default: all)")


def main(args):
    with tempfile.TemporaryDirectory(prefix="undust-bench-", dir=args.scratch) as base:
        bench = Bench(args, base)
        for name, part in PARTS.items():
            if not args.only or name in args.only:
                part(bench)
    return 1 if bench.missed else 0
