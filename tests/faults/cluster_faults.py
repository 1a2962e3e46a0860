"""Faults of clusters: a Ray of two nodes and a Slurm of one, both real and on this machine, started when needed."""

import os
import random
import shutil
import signal
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from workplace import PATIENCE, Workplace, expect, wait_for


class Clusters:
    """Starts a cluster when the first fault needs it, and stops all at the end."""

    def __init__(self) -> None:
        self._stack, self._started, self._refused = ExitStack(), {}, {}

    def __enter__(self) -> "Clusters":
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def why_not(self, name: str) -> str | None:
        """Why the cluster of a fault cannot be started, or None."""
        kind = "ray" if "Ray" in name else "slurm" if "Slurm" in name else None
        if kind is None or kind in self._started:
            return None
        if kind not in self._refused:
            try:
                self._started[kind] = {"ray": self._start_ray, "slurm": self._start_slurm}[kind]()
                return None
            except BaseException as error:  # pytest's `skip` is not an Exception
                if isinstance(error, KeyboardInterrupt):
                    raise
                self._refused[kind] = " ".join(str(error).split())[:200] or type(error).__name__
        return self._refused[kind]

    def __getitem__(self, kind: str) -> Any:
        return self._started[kind]

    def _start_slurm(self) -> Any:
        from slurm_cluster import start_slurm

        return self._stack.enter_context(start_slurm())

    def _start_ray(self) -> "RayNodes":
        return self._stack.enter_context(RayNodes())


class RayNodes:
    """A head without room for runs, and one node after the other that has."""

    def __enter__(self) -> "RayNodes":
        from test_ray import Node, make_environment

        self.environment = make_environment()
        self.folder = tempfile.mkdtemp(prefix="ray-")
        self._node, self.count = Node, 2
        self.head = Node(
            self.environment, "--head", "--port=0", "--include-dashboard=false", f"--temp-dir={self.folder}"
        )
        self.address = self.head.find_address()
        return self

    def start_node(self) -> Any:
        self.count += 1
        return self._node(self.environment, f"--address={self.address}", number=self.count)

    def __exit__(self, *error: object) -> None:
        self.head.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def find_ray_workers(root: Path) -> list[int]:
    """The processes of Ray that hold a lock of a store below `root`."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and b"ray::" in (entry / "cmdline").read_bytes():
                held = [os.readlink(link) for link in (entry / "fd").iterdir()]
                if any(path.startswith(str(root)) for path in held):
                    found.append(int(entry.name))
    return found


def _start_on_ray(place: Workplace, nodes: RayNodes, runs: int) -> Any:
    place.close_gate()
    store = place.new_store()
    place.environment.update(nodes.environment, PYTHONPATH=place.environment["PYTHONPATH"])
    line = place.command(store, "--engine", f"ray,address={nodes.address}", jobs=2)
    wait_for(lambda: line.poll() is not None or len(place.at_gate(store)) >= runs, "safe points on Ray")
    expect(line.poll() is None, f"the command ended too early: {line.communicate() if line.poll() is not None else ''}")
    return store, line


def kill_ray_worker(place: Workplace, clusters: Clusters, draw: random.Random) -> str:
    store, process = _start_on_ray(place, clusters["ray"], 1)
    before = len(place.starts())
    os.kill(draw.choice(find_ray_workers(store.root)), signal.SIGKILL)
    place.open_gate()
    place.finish(process)
    place.finish(place.command(store))  # the same again: all is there
    place.check(store)
    expect(any(step > 0 for _, step in place.starts()[before:]), "the run was begun again")
    return "continued by itself from its safe point"


def kill_ray_node(place: Workplace, clusters: Clusters, draw: random.Random) -> str:
    nodes: RayNodes = clusters["ray"]
    second, process = nodes.start_node(), None
    try:
        store, process = _start_on_ray(place, nodes, 2)
        before = len(place.starts())
        second.kill()
        wait_for(lambda: len(find_ray_workers(store.root)) < 2, "the end of the processes of the node")
        place.open_gate()  # the other node has room for one run at a time
        place.finish(process)
    finally:
        second.kill()
        if process is not None:
            process.kill()
    place.check(store)
    expect(any(step > 0 for _, step in place.starts()[before:]), "the run was begun again")
    return "continued by itself on the other node"


def slurm_fault(name: str) -> Any:
    def fault(place: Workplace, clusters: Clusters, draw: random.Random) -> str:
        from slurm_faults import FAULTS as happen

        cluster = clusters["slurm"]
        place.close_gate()
        store = place.new_store()
        place.environment.update(cluster.environment, PYTHONPATH=place.environment["PYTHONPATH"])
        process = place.command(store, "--engine", "slurm,partition=low", jobs=2)
        try:
            wait_for(lambda: process.poll() is not None or place.at_gate(store), "a safe point on Slurm")
            expect(process.poll() is None, "the command ended too early")
            happen[name](cluster)
            place.open_gate()
            _, said = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        by_itself = process.returncode == 0
        again = place.command(store, "--engine", "slurm,partition=low", jobs=2)
        place.finish(again)
        place.check(store)
        expect(any(step > 0 for _, step in place.starts()) or len(place.starts()) == 3, "a run was begun again")
        return "continued by itself" if by_itself else f"said: {said.strip().splitlines()[-1][-120:]}"

    return fault


FAULTS = {
    "kill -9 of a Ray worker": (kill_ray_worker, 2),
    "kill -9 of a Ray node": (kill_ray_node, 2),
    **{
        f"{text} (Slurm)": (slurm_fault(name), number)
        for text, name, number in (
            ("kill -9 of a job", "kill -9 of the job", 2),
            ("kill -9 of the run in a job", "kill -9 of the run", 1),
            ("kill -9 of the node daemon", "kill -9 of the node daemon", 2),
            ("power failure of the node", "power failure of the node", 1),
            ("preemption", "preemption", 1),
        )
    },
}
