"""What can happen to a job in Slurm. Each fault is done to a cluster on which a job is running.

    for name, fault in FAULTS.items():
        fault(cluster)

After each, the command that waits goes on by itself, except after `scancel`, which it reports.
"""

import os
import signal
from collections.abc import Callable
from contextlib import suppress

from slurm_cluster import SlurmCluster

SUPERVISOR, WORKER = "_slurm_task", "spawn_main"


def find_running(cluster: SlurmCluster) -> str:
    """The id of a task that is running."""
    return next(job for job, state in cluster.jobs().items() if state == "RUNNING")


def cancel_job(cluster: SlurmCluster) -> None:
    cluster.ask("scancel", find_running(cluster)).check_returncode()


def requeue_job(cluster: SlurmCluster) -> None:
    cluster.ask("scontrol", "requeue", find_running(cluster)).check_returncode()


def warn_job(cluster: SlurmCluster) -> None:
    """What Slurm does shortly before the time limit."""
    cluster.ask("scancel", "--batch", "--signal=USR1", find_running(cluster)).check_returncode()


def preempt_job(cluster: SlurmCluster) -> None:
    """A job of a more important partition needs the whole node."""
    options = ("--partition=high", "--exclusive", "--output=/dev/null", "--wrap", "true")
    job = cluster.ask("sbatch", "--parsable", *options).stdout.strip()
    cluster.wait_for(lambda: job not in cluster.jobs(), "the end of the more important job")


def kill_worker(cluster: SlurmCluster) -> None:
    """The process that executes the run."""
    _kill(cluster, WORKER)


def kill_job(cluster: SlurmCluster) -> None:
    """The first process of the job."""
    _kill(cluster, SUPERVISOR)


def restart_node_daemon(cluster: SlurmCluster) -> None:
    cluster.restart_node()


def kill_node(cluster: SlurmCluster) -> None:
    """The power of the node fails; it comes back when Slurm has noticed."""
    cluster.kill_node()
    cluster.ask("scontrol", "update", "nodename=localhost", "state=down", "reason=power")
    cluster.start_node()


def restart_controller(cluster: SlurmCluster) -> None:
    cluster.save_state()
    cluster.kill("slurmctld")
    cluster.start_controller()


def _kill(cluster: SlurmCluster, part: str) -> None:
    cluster.wait_for(lambda: cluster.find_processes(part), f"a process of {part}")
    for pid in cluster.find_processes(part):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


FAULTS: dict[str, Callable[[SlurmCluster], None]] = {
    "scancel": cancel_job,
    "scontrol requeue": requeue_job,
    "the time limit is near": warn_job,
    "preemption": preempt_job,
    "kill -9 of the run": kill_worker,
    "kill -9 of the job": kill_job,
    "kill -9 of the node daemon": restart_node_daemon,
    "power failure of the node": kill_node,
    "kill -9 of the controller": restart_controller,
}
