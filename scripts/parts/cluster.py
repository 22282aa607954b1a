"""Runs learn on three hosts of their own and breaks it in every way that docs/cluster.md speaks of; prints a row a check.

The hosts are network namespaces (ip netns) with veth interfaces on a bridge, each with its own address and scratch
folder. Needs root on Linux, iproute2, Python 3.11; tcpdump for the check of what can be read on the wire."""
import atexit
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

from parts.common import ROOT, TERMINATED, Skipped, scratch, skip

LAUNCH = str(ROOT / "scripts" / "launch")
NAMES = [f"ud{os.getpid()}h{i}" for i in range(3)]
SWITCH = f"ud{os.getpid()}sw"
ADDRESSES = [f"10.77.0.{i + 1}" for i in range(3)]
CONNECT, NOTICE = 6.0, 10.0  # connect_deadline in the files below; what the documents promise for a lost peer
PATIENCE = 40.0  # the same where a scanner is to make all of its connections before the last process comes
SLACK = 3.0  # for starting and ending processes on a busy machine, where the promise is a deadline of its own
RESULT = ["rules.jsonl", "summary.json", "profiles.jsonl", "rejects.jsonl", "report.html"]


def sh(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, **more).stdout


def namespaces():
    """Makes three hosts and a switch."""
    for name in [SWITCH, *NAMES]:
        sh("ip", "netns", "add", name)
        atexit.register(subprocess.run, ["ip", "netns", "del", name], capture_output=True)
    sh("ip", "-n", SWITCH, "link", "add", "br0", "type", "bridge")
    sh("ip", "-n", SWITCH, "link", "set", "br0", "up")
    for i, name in enumerate(NAMES):
        sh("ip", "link", "add", "eth0", "netns", name, "type", "veth", "peer", "name", f"p{i}", "netns", SWITCH)
        sh("ip", "-n", SWITCH, "link", "set", f"p{i}", "master", "br0", "up")
        sh("ip", "-n", name, "address", "add", f"{ADDRESSES[i]}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            sh("ip", "-n", name, "link", "set", device, "up")


class Process:
    """One process on one host."""

    def __init__(self, base, i, words, log):
        self.i, self.log = i, os.path.join(base, f"log-{log}")
        environment = {**os.environ, "TMPDIR": os.path.join(base, f"host{i}", "tmp")}
        environment.pop("UNDUST_SECRET_FILE", None)
        self.out, self.err = open(self.log + ".out", "wb"), open(self.log + ".err", "wb")
        self.child = subprocess.Popen(["ip", "netns", "exec", NAMES[i], *words], stdin=subprocess.DEVNULL,
                                      stdout=self.out, stderr=self.err, cwd=os.path.join(base, f"host{i}"),
                                      env=environment)

    def signal(self, number):
        if self.child.poll() is None:
            self.child.send_signal(number)

    def end(self, until):
        """Waits for the end; None when it is still going."""
        try:
            self.child.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            pass
        return self.child.poll()

    @property
    def said(self):
        with open(self.log + ".err", encoding="utf-8", errors="replace") as file:
            return file.read()


class Trial:
    """The corpus, the runs, and the table."""

    def __init__(self, args, base):
        self.args, self.base, self.failed, self.runs = args, base, 0, 0
        for i in range(3):
            os.makedirs(self.path(f"host{i}", "tmp"))
        for name, text in (("secret", "of three hosts that were made for this trial\n"), ("other", "not the one of the three hosts of this trial\n")):
            with open(self.path(name), "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.write(text)
        self.toml("cluster.toml")
        self.toml("other.toml", secret="other", listen={1: f"{ADDRESSES[2]}:2999"})
        self.toml("double.toml", listen={1: f"{ADDRESSES[2]}:2999"})
        self.toml("clear.toml", encrypt="never")
        self.toml("patient.toml", connect=PATIENCE)
        with open(self.path("enter"), "w") as file:
            file.write("#!/bin/sh\ncase $1 in\n")
            for i, name in enumerate(NAMES):
                file.write(f"{ADDRESSES[i]}) cd {self.path(f'host{i}')}; export TMPDIR=$PWD/tmp; "
                           f"exec ip netns exec {name} sh -c \"$2\";;\n")
            file.write("esac\necho \"no such host: $1\" >&2\nexit 255\n")
        os.chmod(self.path("enter"), 0o755)
        sh(args.binary, "synth", "--out", self.path("in"), "--sites", "24", "--urls-min", "2000", "--urls-max", "60000",
           "--total-urls", str(args.urls), "--shards", "9", "--seed", "5")

    def path(self, *names):
        return os.path.join(self.base, *names)

    def toml(self, name, secret="secret", encrypt="auto", listen={}, connect=CONNECT):
        with open(self.path(name), "w") as file:
            file.write(f'[mesh]\nsecret_file = "{secret}"\nencrypt = "{encrypt}"\nconnect_deadline = "{connect:.0f} s"\n')
            for i, address in enumerate(ADDRESSES):
                file.write(f'[[host]]\naddress = "{address}:2101"\n')
                if i in listen:
                    file.write(f'listen = "{listen[i]}"\n')

    def row(self, what, ok, detail=""):
        self.failed += not ok
        print(f"{'ok  ' if ok else 'FAIL'}  {what:<58} {detail}", flush=True)

    def words(self, i, *more, cluster="cluster.toml"):
        return [self.args.binary, "learn", self.path("in"), "--out", self.path("out"), "--cluster", self.path(cluster),
                "--process", str(i), *more]

    def start(self, i, *more, cluster="cluster.toml", at=None):
        self.runs += 1
        return Process(self.base, i if at is None else at, self.words(i, *more, cluster=cluster), f"{self.runs}-{i}")

    def made(self, scanner):
        """What a scanner says once it has all of its connections; nothing before."""
        with open(scanner.log + ".out") as file:
            return file.read().strip()

    def fresh(self):
        shutil.rmtree(self.path("out"), ignore_errors=True)

    def launch(self, *more, hosts="cluster.toml", job=()):
        """Through scripts/launch, as a user would."""
        words = [LAUNCH, "--ssh", self.path("enter"), "--binary", self.args.binary, *more,
                 self.path(hosts), "--", "learn", self.path("in"), "--out", self.path("out"), *job]
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True)

    def same(self, out="out", files=RESULT):
        """The result is there, and equal to that of one process with one thread."""
        def content(folder, name):
            with open(self.path(folder, name), "rb") as file:
                return file.read()
        return os.path.exists(self.path(out, "_SUCCESS")) and all(content(out, n) == content("one", n) for n in files)

    def lost(self, what, processes, since, within, words, code=3):
        """Each of the processes ends in time, with the code, a message that holds one of the words, and no panic."""
        wrong, last = [], 0.0
        for process in processes:
            ended = process.end(since + within)
            last = max(last, time.monotonic() - since)
            said = process.said
            if ended != code:
                wrong.append(f"process {process.i}: code {ended}")
            if not any(word in said for word in words):
                wrong.append(f"process {process.i} says {said[-300:]!r}")
            if "panick" in said or os.path.getsize(process.log + ".out"):
                wrong.append(f"process {process.i}: panic text or output: {said[-300:]!r}")
            process.signal(signal.SIGKILL)
            process.child.wait()
        if os.path.exists(self.path("out", "_SUCCESS")):
            wrong.append("there is a _SUCCESS")
        self.row(what, not wrong, "; ".join(wrong) or f"code {code} after {last:.1f} s (at most {within:.0f})")

    def mid_run(self):
        """Waits until sites are being learned."""
        until = time.monotonic() + 60
        folder = self.path("out", ".work")
        while time.monotonic() < until:
            try:
                if any(os.path.getsize(os.path.join(folder, name)) > 400 for name in os.listdir(folder)):
                    return
            except OSError:
                pass
            time.sleep(0.005)
        raise RuntimeError("nothing was learned in 60 s")


def runs(trial):
    """The same bytes, whoever reads what."""
    sh(trial.args.binary, "learn", trial.path("in"), "--out", trial.path("one"), "-q", "-w", "1")
    began = time.monotonic()
    done = trial.launch()
    said = done.communicate()[0]
    trial.seconds = time.monotonic() - began
    trial.row("three hosts give the bytes of one thread", done.returncode == 0 and trial.same() and "encrypted" in said,
              f"{trial.seconds:.1f} s" if done.returncode == 0 else said[-400:])
    sent = sum(int(n) for n in re.findall(r"(\d+) bytes sent", said))
    trial.row("  bytes exchanged", sent > 0, f"{sent} for {trial.args.urls} URLs: {sent / trial.args.urls:.1f} a URL")

    # Each host has shards of its own, a hostfile is sent along, the secret is named by the environment.
    for i in range(3):
        os.makedirs(trial.path(f"host{i}", "part"))
    for k, name in enumerate(sorted(os.listdir(trial.path("in")))):
        os.link(trial.path("in", name), trial.path(f"host{k % 3}", "part", name))
    with open(trial.path("hosts"), "w") as file:
        file.write("# sent along\n" + "".join(f"{address}:2101\n" for address in ADDRESSES))
    words = [LAUNCH, "--ssh", trial.path("enter"), "--binary", trial.args.binary,
             trial.path("hosts"), "--", "learn", "part", "--out", "rules", "--local-shards"]
    local = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                           env={**os.environ, "UNDUST_SECRET_FILE": trial.path("secret")})
    same = local.returncode == 0 and trial.same(os.path.join("host0", "rules"), RESULT[:2])
    trial.row("shards on the hosts' own disks", same and not os.path.exists(trial.path("host1", "rules")),
              "" if same else local.stderr[-400:])


def wire(trial):
    """No URL is to be read on the wire."""
    if not shutil.which("tcpdump"):
        skip("what can be read on the wire: there is no tcpdump here")
        return
    hosts = set()
    for name in os.listdir(trial.path("in")):
        with open(trial.path("in", name), "rb") as file:
            hosts.update(re.findall(rb"https?://([^/:\t\n]+)", file.read(1 << 20)))
    found = {}
    for cluster in ("cluster.toml", "clear.toml"):
        trial.fresh()
        dump = trial.path("wire.pcap")
        tcpdump = subprocess.Popen(["ip", "netns", "exec", SWITCH, "tcpdump", "-i", "p1", "-s", "0", "-B", "65536", "-w",
                                    dump, "-Z", "root"], stderr=subprocess.PIPE, text=True)
        tcpdump.stderr.readline()  # It listens.
        done = trial.launch(hosts=cluster)
        said = done.communicate()[0]
        time.sleep(0.5)
        tcpdump.send_signal(signal.SIGINT)
        tcpdump.wait()
        with open(dump, "rb") as file:
            seen = file.read()
        found[cluster] = (len(seen), sum(host in seen for host in hosts), seen.count(b"http"))
        os.remove(dump)
        if done.returncode:
            trial.row(f"a run with {cluster}", False, said[-300:])
    size, names, schemes = found["cluster.toml"]
    trial.row("no URL is to be read on the wire", names == 0 and size > 100_000,
              f"{size} bytes seen, {names} of {len(hosts)} hosts, {schemes} times http by chance")
    size, names, schemes = found["clear.toml"]
    trial.row("  (with encrypt = \"never\" they are: the check can fail)", names > 0,
              f"{size} bytes seen, {names} of {len(hosts)} hosts, {schemes} times http")


def faults(trial):
    """One fault after the other."""
    trial.fresh()
    began = time.monotonic()
    trial.lost("a process never starts", [trial.start(0), trial.start(2)], began, CONNECT + SLACK,
               NEVER)

    def broken(what, do, survivors, within=NOTICE, undo=None):
        trial.fresh()
        processes = [trial.start(i) for i in range(3)]
        trial.mid_run()
        since = time.monotonic()
        do(processes)
        trial.lost(what, [processes[i] for i in survivors], since, within, ["process 1 (10.77.0.2:2101) is lost"])
        if undo:
            undo(processes)
        return processes

    def cut(state):
        return lambda _: sh("ip", "-n", SWITCH, "link", "set", "p1", state)

    processes = broken("SIGSTOP of a process", lambda p: p[1].signal(signal.SIGSTOP), [0, 2])
    processes[1].signal(signal.SIGCONT)
    trial.lost("  and when it goes on", [processes[1]], time.monotonic(), NOTICE, ["process 1 (10.77.0.2:2101) is lost: th"])
    processes = broken("the cable of a host is pulled", cut("down"), [0, 2])
    trial.lost("  and that host", [processes[1]], time.monotonic(), NOTICE, ["is lost: "])
    cut("up")(None)

    trial.fresh()
    began = time.monotonic()
    processes = [trial.start(0), trial.start(2), trial.start(1, cluster="other.toml", at=2)]
    # Said in the clear, so it is tried again until the deadline.
    trial.lost("a wrong secret: the newcomer", [processes[2]], began, CONNECT + SLACK, ["it has another secret"], code=2)
    trial.lost("  and those who wait for the right one", processes[:2], began, CONNECT + SLACK, NEVER)

    trial.fresh()
    began = time.monotonic()
    older = Process(trial.base, 1, [sys.executable, "-c", OLDER], "older")
    processes = [trial.start(0), trial.start(2)]
    trial.lost("another version: those who wait", processes, began, CONNECT + SLACK, NEVER)
    told = "is undust 0.0.9 (mesh protocol 1)" in processes[0].said
    trial.row("  which is told", told, "" if told else processes[0].said[-300:])
    older.end(time.monotonic() + 1)
    older.signal(signal.SIGKILL)
    older.child.wait()

    # Refused peers do not disturb those who run.
    for what, cluster, told, early in (
        ("two processes with one index", "double.toml", "process 1 is here already", True),
        ("a wrong secret while the job runs", "other.toml", "it has another secret", False),
        ("a second process 1 while the job runs", "double.toml", "process 1 is here already", False),
    ):
        trial.fresh()
        processes = [trial.start(0), trial.start(1)]
        if early:
            time.sleep(1)
            processes.append(stranger := trial.start(1, cluster=cluster, at=2))
            stranger.end(time.monotonic() + 5)
            processes[2] = trial.start(2)
        else:
            processes.append(trial.start(2))
            trial.mid_run()
            # Holds the run, for less than the silence deadline, until the stranger has its answer.
            processes[2].signal(signal.SIGSTOP)
            stranger = trial.start(1, cluster=cluster, at=2)
            until = time.monotonic() + SLACK + 2
            while told not in stranger.said and stranger.child.poll() is None and time.monotonic() < until:
                time.sleep(0.05)
            processes[2].signal(signal.SIGCONT)
        trial.lost_stranger(what, stranger, told)
        trial.all_done("  and the job is done all the same", processes)

    for kind in ("silent", "garbage", "flood"):
        trial.fresh()
        scanner = Process(trial.base, 2, [sys.executable, "-c", SCANNER, kind], "scanner")
        processes = [trial.start(0, cluster="patient.toml"), trial.start(1, cluster="patient.toml")]
        until = time.monotonic() + PATIENCE - 10
        while not trial.made(scanner) and time.monotonic() < until:
            time.sleep(0.05)
        processes.append(trial.start(2, cluster="patient.toml"))
        trial.all_done(f"a scanner during start-up: {kind}", processes, scanner)


# Process 1 never came: as its own deadline tells a process, or one of the others whose was over
# first.
NEVER = ["process 1 (10.77.0.2:2101) never came, within", "process 1 (10.77.0.2:2101) is lost: it never came"]

# Three threads a host connect, send 64 random bytes and leave; another one opens 200 connections at
# one stroke, fifty times a second, that say nothing. The threads have an address of their own, so
# that the ports of the host whose process comes last are not used up.
FLOOD = r"""
import os, resource, socket, sys, threading, time
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
until, made = time.monotonic() + 600, [0]
def flood(address):
    while time.monotonic() < until:
        try:
            peer = socket.create_connection((address, 2101), 1, source_address=("10.77.0.103", 0))
            peer.sendall(os.urandom(64))
            peer.close()
            made[0] += 1
        except OSError:
            time.sleep(0.01)
def silence(address):
    held = []
    while time.monotonic() < until:
        fresh = [socket.socket() for _ in range(200)]
        for peer in fresh:
            peer.setblocking(False)
            peer.connect_ex((address, 2101))
        time.sleep(0.02)
        for peer in held:
            peer.close()
        held = fresh
for address in ("10.77.0.1", "10.77.0.2"):
    for run in (flood, flood, flood, silence):
        threading.Thread(target=run, args=[address], daemon=True).start()
while time.monotonic() < until:
    time.sleep(0.2)
    print(made[0], flush=True)
"""

OLDER = r"""
import socket, time
hello = b"undust\r\n" + (1).to_bytes(2, "big") + b"\x050.0.9"
until = time.monotonic() + 5
while time.monotonic() < until:
    try:
        peer = socket.create_connection(("10.77.0.1", 2101), 1)
    except OSError:
        time.sleep(0.05)
        continue
    peer.sendall(hello.ljust(40, b"\0"))
    while peer.recv(100):
        pass
    break
"""

SCANNER = r"""
import random, resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
kind, held, since = sys.argv[1], [], time.monotonic()
want = {"silent": 20, "garbage": 50, "flood": 1000}[kind]
while len(held) < want and time.monotonic() < since + 60:
    try:
        peer = socket.create_connection((random.choice(["10.77.0.1", "10.77.0.2"]), 2101), 1)
    except OSError:
        time.sleep(0.01)
        continue
    if kind == "garbage" or kind == "flood" and len(held) % 2:
        try:
            peer.sendall(random.choice([b"GET / HTTP/1.0\r\n\r\n", bytes(3000), b"undust\r\n", b"\xff" * 60]))
        except OSError:
            pass
    held.append(peer)
if len(held) == want:
    print(f"{want} connections in {time.monotonic() - since:.1f} s", flush=True)
time.sleep(600)
"""


def all_done(trial, what, processes, scanner=None):
    until = time.monotonic() + 60 + 4 * trial.seconds
    codes = [process.end(until) for process in processes]
    ok = codes == [0, 0, 0] and trial.same() and not any("panick" in process.said for process in processes)
    detail = "" if ok else f"codes {codes}: " + processes[0].said[-300:]
    if scanner:
        made = trial.made(scanner)
        refused = [process.said.count("refused") for process in processes[:2]]
        ok = ok and made != ""
        detail = detail or f"{made or 'not all of its connections'}, {sum(refused)} refusals told"
        scanner.signal(signal.SIGKILL)
        scanner.child.wait()
    for process in processes:
        process.signal(signal.SIGKILL)
        process.child.wait()
    trial.row(what, ok, detail)


def lost_stranger(trial, what, stranger, told):
    code = stranger.end(time.monotonic() + CONNECT + SLACK)
    said = stranger.said
    stranger.signal(signal.SIGKILL)
    trial.row(what, code == 2 and told in said and "panick" not in said, f"code {code}: {said.strip()[-110:]}")


Trial.all_done, Trial.lost_stranger = all_done, lost_stranger


def flood(trial):
    """Runs start while their ports are flooded, by strangers and from the host of process 2."""
    sh("ip", "-n", NAMES[2], "address", "add", "10.77.0.103/24", "dev", "eth0")
    flooder = Process(trial.base, 2, [sys.executable, "-c", FLOOD], "flood")
    failed, began = [], time.monotonic()
    for start in range(trial.args.starts):
        trial.fresh()
        processes = [trial.start(i, cluster="patient.toml") for i in range(3)]
        until = time.monotonic() + 60 + 4 * trial.seconds
        codes = [process.end(until) for process in processes]
        if codes != [0, 0, 0] or not trial.same():
            failed.append(f"start {start}: codes {codes}: " + " | ".join(p.said.strip()[-200:] for p in processes))
        for process in processes:
            process.signal(signal.SIGKILL)
            process.child.wait()
    lines = trial.made(flooder).splitlines()
    made, seconds = int(lines[-1]) if lines else 0, time.monotonic() - began
    flooder.signal(signal.SIGKILL)
    flooder.child.wait()
    trial.row(f"{trial.args.starts} starts under a flood, none fails", not failed and made > 100 * trial.args.starts,
              f"{len(failed)} failed, {made} connections in {seconds:.0f} s")
    for what in failed:
        print("        " + what)


def kills(trial):
    """SIGKILL of each process in turn at random moments, then --resume."""
    moments, wrong, taken, late, slowest = random.Random(trial.args.seed), [], 0, 0, 0.0
    for k in range(trial.args.kills):
        trial.fresh()
        processes, victim = [trial.start(i) for i in range(3)], k % 3
        wait = moments.uniform(0.02, 0.95) * trial.seconds
        time.sleep(wait)
        alive = processes[victim].child.poll() is None
        processes[victim].signal(signal.SIGKILL)
        since = time.monotonic()
        # Who was killed before all had met is waited for until the connect deadline.
        others = [process for process in processes if process.i != victim]
        codes = [process.end(since + max(NOTICE, CONNECT + SLACK)) for process in others]
        slowest = max(slowest, time.monotonic() - since)
        whole = os.path.exists(trial.path("out", "_SUCCESS"))
        name = f"process {victim} killed after {wait:.2f} s"
        for process, code in zip(others, codes):
            said = process.said
            if "panick" in said or code not in ((0, 3) if whole else (3,)):
                wrong.append(f"{name}: process {process.i} ends with {code}: {said[-200:]!r}")
            elif code == 3 and f"{victim} ({ADDRESSES[victim]}:2101)" not in said:
                wrong.append(f"{name}: process {process.i} does not name it: {said[-200:]!r}")
            process.signal(signal.SIGKILL)
            process.child.wait()
        processes[victim].child.wait()
        late += not alive or whole
        if not whole:
            done = trial.launch(job=["--resume"])
            said = done.communicate()[0]
            taken += sum(int(n) for n in re.findall(r"(\d+) sites were learned before", said))
            if done.returncode:
                wrong.append(f"{name}: --resume ends with {done.returncode}: {said[-300:]!r}")
        if not trial.same():
            wrong.append(f"{name}: other bytes")
    detail = f"{trial.args.kills - late} before the end, {taken} sites taken up, others end within {slowest:.1f} s"
    trial.row(f"{trial.args.kills} times SIGKILL, then --resume: same bytes", not wrong, detail)
    for what in wrong:
        print("        " + what)


def launcher(trial):
    """What scripts/launch adds."""
    # A kill that comes when the run is over starts nothing again: then once more.
    for _ in range(5):
        trial.fresh()
        done = trial.launch("--retries", "2")
        trial.mid_run()
        victim = sh("ip", "netns", "pids", NAMES[1]).split()
        names = {pid: open(f"/proc/{pid}/comm").read().strip() for pid in victim if os.path.exists(f"/proc/{pid}/comm")}
        for pid in (pid for pid, name in names.items() if name == os.path.basename(trial.args.binary)[:15]):
            os.kill(int(pid), signal.SIGKILL)
        said = done.communicate()[0]
        if done.returncode != 0 or "starts again" in said:
            break
    ok = done.returncode == 0 and "starts again with --resume (1 of 2)" in said and trial.same()
    trial.row("launch --retries takes up a run that was killed", ok, "" if ok else said[-500:])

    trial.fresh()
    began = time.monotonic()
    done = trial.launch("--retries", "2", job=["--fpr-max", "7"])
    said = done.communicate()[0]
    ok = done.returncode == 2 and "starts again" not in said and "[1 10.77.0.2] " in said
    trial.row("launch does not repeat what is wrong", ok, f"code {done.returncode} after {time.monotonic() - began:.1f} s")

    trial.fresh()
    done = trial.launch()
    trial.mid_run()
    done.kill()
    done.wait()
    until, left = time.monotonic() + 5, True
    while left and time.monotonic() < until:
        left = any(sh("ip", "netns", "pids", name).strip() for name in NAMES)
        time.sleep(0.05)
    trial.row("nothing outlives a launch that is killed", not left)


PARTS = {part.__name__: part for part in (wire, faults, flood, kills, launcher)}


def options(parser, _):
    parser.add_argument("--urls", type=int, default=400_000, help="URLs of the synthetic corpus (default: 400000)")
    parser.add_argument("--kills", type=int, default=20, help="how many runs are killed at a random moment and taken up (default: 20)")
    parser.add_argument("--starts", type=int, default=50, help="how many runs start under a flood of connections (default: 50)")
    parser.add_argument("--seed", type=int, default=1, help="of the random moments (default: 1)")
    parser.add_argument("--only", action="append", choices=PARTS, help="may be given several times (default: all)")


def main(args):
    try:
        if sys.version_info < (3, 11):
            raise OSError("Python 3.11 or later is needed")
        namespaces()
    except (OSError, subprocess.CalledProcessError) as error:
        why = getattr(error, "stderr", None) or error
        raise Skipped(f"three hosts cannot be made here, nothing was checked: {str(why).strip()}") from None
    # Namespaces are removed as this program exits.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    with scratch(args.keep, "undust-cluster") as base:
        trial = Trial(args, str(base))
        runs(trial)
        for name, part in PARTS.items():
            if not args.only or name in args.only:
                part(trial)
    print(f"{trial.failed} failed" if trial.failed else "all as it should be")
    return 1 if trial.failed else 0
