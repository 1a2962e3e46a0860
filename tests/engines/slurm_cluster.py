"""A real Slurm on this machine: munge, a controller and one node, with their own files and ports, and no systemd.

    with start_slurm() as cluster:      # sets SLURM_CONF, so that sbatch and squeue talk to it
        cluster.restart_node()

`why_not()` says what is missing. Needs Debian's `slurm-wlm` and `munge`, and root, since the node daemon starts jobs.
"""

import getpass
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "sinfo")
PLACES = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", "/sbin"))
PATIENCE = 300  # seconds; a busy machine is not a failure
NODE = "localhost"
CONFIGURATION = """
ClusterName=prunefield
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=15
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=100000,batch_sched_delay=0
MailProg=/bin/true
MaxArraySize={array_size}
KillWait=2
SlurmdTimeout=600
MessageTimeout=60
MinJobAge=86400
ReturnToService=2
EnforcePartLimits=ALL
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName={node} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=2000 Gres=gpu:2
PartitionName=low Nodes={node} Default=YES PriorityTier=1 MaxTime=1-00:00:00 DefaultTime=1:00:00
PartitionName=high Nodes={node} PriorityTier=10 MaxTime=1-00:00:00 DefaultTime=1:00:00
PartitionName=closed Nodes={node} AllowAccounts=physics DefaultTime=10:00
"""


class Unavailable(Exception):
    """Slurm cannot be started here; the text says why."""


def why_not() -> str | None:
    """What is missing for a Slurm of our own on this machine, or None."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=PLACES) is None]
    if missing:
        return f"{', '.join(missing)} not installed; as root: apt-get install slurm-wlm munge"
    return None if os.geteuid() == 0 else "only root can start the daemons of Slurm"


@dataclass
class SlurmCluster:
    """The daemons, and what can happen to them."""

    folder: Path
    environment: dict[str, str]
    daemons: dict[str, subprocess.Popen] = field(default_factory=dict)

    def start_munge(self) -> None:
        place = self.folder / "munge"
        files = [f"--{name}-file={place / name}" for name in ("key", "pid", "log", "seed")]
        self._start("munged", "--foreground", "--force", f"--socket={place / 'socket'}", *files)
        wait_for(lambda: (place / "socket").exists(), "munged")

    def start_controller(self) -> None:
        self._start("slurmctld", "-D", "-f", str(self.folder / "slurm.conf"))
        wait_for(lambda: self.ask("scontrol", "ping").returncode == 0, "slurmctld")

    def start_node(self, hidden: Path | None = None) -> None:
        """Starts the node daemon; `hidden` is a folder that the node does not share with us: it sees an empty one."""
        self._start("slurmd", "-D", "-f", str(self.folder / "slurm.conf"), "-N", NODE, hidden=hidden)
        wait_for(lambda: self.node_state().rstrip("*") in ("idle", "mix", "alloc"), "slurmd")

    def kill(self, name: str, how: int = signal.SIGKILL) -> None:
        """Ends a daemon (`munged`, `slurmctld` or `slurmd`), by default as `kill -9` does; running jobs stay alive."""
        daemon = self.daemons.pop(name)
        daemon.send_signal(how)
        daemon.wait()
        (self.folder / "munge" / "socket").unlink(missing_ok=True) if name == "munged" else None

    def restart_node(self) -> None:
        """The node daemon is killed and started again."""
        self.kill("slurmd")
        self.start_node()

    def kill_node(self) -> None:
        """As when the power of the node fails: the daemon and every process of every job, at once."""
        self.kill("slurmd")
        for pid in self.find_processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def find_processes(self, part: str = "") -> list[int]:
        """The processes of jobs, those that keep them for Slurm included; with `part` in their command line."""
        mark, found = f"SLURM_CONF={self.folder}/slurm.conf".encode(), []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and int(entry.name) != os.getpid():
                    variables = (entry / "environ").read_bytes().split(b"\0")
                    is_job = any(variable.startswith(b"SLURM_JOB_ID=") for variable in variables)
                    command = (entry / "cmdline").read_bytes()
                    keeps = b"slurmstepd" in command
                    if mark in variables and (is_job or keeps) and part.encode() in command:
                        found.append(int(entry.name))
        return found

    def node_state(self) -> str:
        return self.ask("sinfo", "--noheader", "--partition=low", "--format=%t").stdout.strip()

    def wait_for(self, condition: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
        """Waits until a condition holds; in vain, the error says how the cluster is."""
        try:
            wait_for(condition, what, patience)
        except Unavailable as error:
            raise Unavailable(f"{error}\n{self.describe()}") from None

    def describe(self) -> str:
        """The node, the jobs and the last lines of the daemons' logs."""
        asked = ("scontrol", "show", "node", NODE), ("squeue", "--array", "--states=all", "--format=%i %T %r")
        said = [self.ask(*command).stdout for command in asked]
        logs = [log.read_text(errors="replace").splitlines()[-15:] for log in sorted(self.folder.glob("slurm*.log"))]
        return "\n".join([*said, *("\n".join(lines) for lines in logs)])

    def jobs(self, *, ended: bool = False) -> dict[str, str]:
        """The state of each job or task of an array by its id, as in {"7_0": "RUNNING"}."""
        states = ("--states=all",) if ended else ()
        answer = self.ask("squeue", "--array", "--noheader", "--format=%i %T", *states)
        return dict(line.split() for line in answer.stdout.splitlines())

    def save_state(self) -> None:
        """Waits until the controller has written all that it knows now; otherwise it may give an id twice when killed.

        It writes some seconds after a change, but not after one in the second in which it has just written: so the
        jobs are changed again and again. The first file may have been begun before.
        """
        file = self.folder / "state" / "job_state"

        def is_newer(before: int) -> bool:
            for job in self.jobs():
                self.ask("scontrol", "update", f"jobid={job}", f"comment={time.monotonic()}")
            return find_time(file) > before

        for _ in range(2):
            before = find_time(file)
            self.wait_for(lambda before=before: is_newer(before), "the state of the controller")

    def ask(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    def stop(self) -> None:
        """Ends every job and every daemon."""
        if "slurmctld" in self.daemons:
            self.ask("scancel", f"--user={getpass.getuser()}")
            with suppress(Unavailable):
                wait_for(lambda: not self.jobs(), "the end of all jobs", patience=15)
        for name in reversed(list(self.daemons)):
            self.kill(name)
        for pid in self.find_processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _start(self, name: str, *options: str, hidden: Path | None = None) -> None:
        program = shutil.which(name, path=PLACES)
        if program is None:
            raise Unavailable(f"{name} is not installed")
        command = [program, *options]
        if hidden is not None:
            script = 'mount -t tmpfs none "$1" && shift && exec "$@"'
            command = ["unshare", "--mount", "sh", "-c", script, "sh", str(hidden), *command]
        if shutil.which("setpriv"):  # no daemon outlives whoever started it, however that ends
            command = ["setpriv", "--pdeathsig", "KILL", *command]
        with (self.folder / f"{name}.out").open("ab") as out:
            self.daemons[name] = subprocess.Popen(
                command, env=self.environment, stdout=out, stderr=out, start_new_session=True
            )


def find_time(file: Path) -> int:
    """When a file was last written, in nanoseconds; 0 if it is not there, as while it is exchanged."""
    with suppress(FileNotFoundError):
        return file.stat().st_mtime_ns
    return 0


def wait_for(condition: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
    """Waits until a condition holds."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise Unavailable(f"waited {patience:g} s for {what} in vain")
        time.sleep(0.1)


@contextmanager
def start_slurm(*, cpus: int = 4, array_size: int = 1001) -> Iterator[SlurmCluster]:
    """A cluster until the end of the block; `cpus` may be more than this machine has."""
    if reason := why_not():
        raise Unavailable(reason)
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))  # short, as it holds sockets
    folder.chmod(0o755)
    for name in ("munge", "state", "spool"):
        (folder / name).mkdir(mode=0o755)
    key = folder / "munge" / "key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    ports = find_free_ports(2)
    text = CONFIGURATION.format(
        folder=folder,
        controller_port=ports[0],
        node_port=ports[1],
        user=getpass.getuser(),
        node=NODE,
        cpus=cpus,
        array_size=array_size,
    )
    (folder / "slurm.conf").write_text(text)
    for name in ("gpu0", "gpu1"):  # two GPUs that nobody looks at
        (folder / name).touch()
    (folder / "gres.conf").write_text(f"NodeName={NODE} Name=gpu File={folder}/gpu[0-1]\n")
    before = os.environ.get("SLURM_CONF")
    os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
    cluster = SlurmCluster(folder, dict(os.environ))
    try:
        cluster.start_munge()
        cluster.start_controller()
        cluster.start_node()
        yield cluster
    except Unavailable as error:
        logs = [line for log in folder.glob("slurm*.log") for line in log.read_text().splitlines() if "error" in line]
        raise Unavailable(f"{error}; the last errors in its logs: {' | '.join(logs[-3:]) or 'none'}") from None
    finally:
        cluster.stop()
        os.environ.pop("SLURM_CONF") if before is None else os.environ.update(SLURM_CONF=before)
        shutil.rmtree(folder, ignore_errors=True)


def find_free_ports(count: int) -> list[int]:
    """Ports that nobody uses now, below those that the system gives to connections: a daemon may need its own again."""
    found: list[int] = []
    for port in random.sample(range(20_000, 32_000), 12_000):
        with suppress(OSError), socket.socket() as one:
            one.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == count:
            return found
    raise Unavailable("no free ports")
