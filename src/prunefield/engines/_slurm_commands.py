"""The programs of Slurm: what they are asked, and their complaints as one line."""

import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from prunefield.core.errors import RunError

PROGRAMS = ("sbatch", "squeue", "scontrol")
PATIENCE = 120  # seconds for one answer of a busy controller
ENDED = {
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED",
    "TIMEOUT",
}  # fmt: skip
ORDINARY = {"None", "Priority", "Resources", "BeginTime", "JobArrayTaskLimit", "Prolog", "Cleaning"}  # reasons to wait


class Unreachable(RunError):
    """Slurm does not answer now; it may later."""


@dataclass(frozen=True)
class JobTask:
    """One task of an array in Slurm's queue."""

    job: str
    number: int
    state: str
    reason: str
    name: str
    node: str

    @property
    def id(self) -> str:
        return f"{self.job}_{self.number}"

    @property
    def is_live(self) -> bool:
        return self.state not in ENDED


def require_program(name: str) -> None:
    """Refuses a machine without this program of Slurm."""
    if shutil.which(name) is None:
        raise RunError(
            f"engine 'slurm' needs the programs of Slurm, and {name} is not on this machine's PATH; run the "
            "command on a login node of the cluster"
        )


def ask_slurm(command: Sequence[str], text: str | None = None) -> str:
    """What a program of Slurm prints; its complaint becomes one line."""
    require_program(command[0])
    try:
        answer = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=PATIENCE, check=False, errors="replace"
        )
    except OSError as error:
        raise RunError(f"{command[0]} cannot be started: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise Unreachable(f"{command[0]} has not answered for {PATIENCE} s") from None
    if answer.returncode:
        raise _explain(command, answer.stderr)
    return answer.stdout


def submit_script(options: Sequence[str], script: str) -> str:
    """Submits a script; the id of its job."""
    return ask_slurm(["sbatch", "--parsable", *options], script).strip().partition(";")[0]


def list_job_tasks(names: Iterable[str]) -> list[JobTask]:
    """The tasks of the arrays with these names: those that wait or run, and those that ended minutes ago."""
    if not (wanted := list(names)):
        return []
    options = ("--array", "--noheader", "--states=all", "--format=%F|%K|%T|%j|%N|%r")
    found = []
    for start in range(0, len(wanted), 500):
        answer = ask_slurm(["squeue", *options, f"--name={','.join(wanted[start : start + 500])}"])
        for line in answer.splitlines():
            job, index, state, name, node, reason = line.strip().split("|", 5)
            if index.isdigit():
                found.append(JobTask(job, int(index), state, reason, name, node))
    return found


def find_exit(task: JobTask) -> str:
    """How a task ended, as Slurm remembers for some minutes: `exit status 1` or `signal 9`; empty if it does not."""
    try:
        said = ask_slurm(["scontrol", "--oneliner", "show", "job", task.id])
    except RunError:
        return ""
    found = re.search(r"\bExitCode=(\d+):(\d+)", said)
    if not found or found.groups() == ("0", "0"):
        return ""
    status, signal = found.groups()
    return f"signal {signal}" if signal != "0" else f"exit status {status}"


def find_longest_array() -> int:
    """The number of tasks that one array may have."""
    found = re.search(r"^MaxArraySize\s*=\s*(\d+)", ask_slurm(["scontrol", "show", "config"]), re.MULTILINE)
    return max(1, int(found[1])) if found else 1000


def _explain(command: Sequence[str], complaint: str) -> RunError:
    """One line for what a program of Slurm printed on stderr."""
    lines = [line for line in complaint.splitlines() if line.strip() and not line.startswith("Try ")]  # "… --help"
    said = [line.partition("error: ")[2] or line for line in lines]
    what = (said or ["it gave no reason"])[-1].removeprefix("Batch job submission failed: ")
    text, given = complaint.lower(), _find_options(command)
    if "munge" in text or "authentication" in text:
        why = next((line for line in said if "failed" in line.lower()), said[0])
        return Unreachable(
            f"cannot authenticate with Slurm: munge does not answer on this machine, or has another key ({why})"
        )
    if any(part in text for part in ("unable to contact", "connect failure", "connection refused", "timed out")):
        return Unreachable(f"the controller of Slurm does not answer ({what}); `scontrol ping` tests it")
    if "configuration source" in text or "slurm.conf" in text:
        return RunError(f"Slurm is not configured on this machine ({what}); run the command on a login node")
    if "invalid partition" in text:
        return RunError(f"Slurm has no partition {given.get('partition')!r}{_list_partitions()}")
    if re.search(r"\baccount\b", text):
        account, partition = given.get("account"), given.get("partition")
        whose = f"the account {account!r}" if account else "a job without an account"
        place = f" in partition {partition!r}" if partition else ""
        return RunError(f"Slurm refuses {whose}{place} ({what}); choose one, as in --engine slurm,account=NAME")
    if "limit" in text and command[0] == "sbatch":
        return RunError(
            f"Slurm refuses the job: {what}; raise `minutes` for fewer jobs, or lower `time`, the time limit of each"
        )
    return RunError(f"Slurm refuses the job: {what}" if command[0] == "sbatch" else f"{command[0]}: {what}")


def _find_options(command: Sequence[str]) -> dict[str, str]:
    return dict(part[2:].split("=", 1) for part in command if part.startswith("--") and "=" in part)


def _list_partitions() -> str:
    try:
        names = sorted(set(ask_slurm(["sinfo", "--noheader", "--format=%R"]).split()))
    except RunError:
        return ""
    return f" (partitions: {', '.join(names)})" if names else ""
