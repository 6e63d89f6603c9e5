"""A throw-away Slurm on this machine: two CPU nodes, and one with two pretended GPUs.

Nothing outside its folder is touched: own munge key, free ports, own configuration. All that runs
in it, daemons and jobs, has this folder in its environment. By that it is found, and ended by its
process id, when the process that started the cluster is gone, however that ended.
"""

import getpass
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

_NODES = {"cn1": "CPUs=2", "cn2": "CPUs=2", "gn1": "CPUs=4 Gres=gpu:fake:2"}
_CONFIG = """
ClusterName=toy
SlurmctldHost=localhost
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdTimeout=30
InactiveLimit=0
KillWait=5
MinJobAge=600
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
GresTypes=gpu
JobCompType=jobcomp/none
AccountingStorageType=accounting_storage/none
PartitionName=cpu Nodes=cn[1-2] Default=YES MaxTime=1-00:00:00 State=UP
PartitionName=gpu Nodes=gn1 MaxTime=1-00:00:00 State=UP
"""


# A process of its own, since the one that started the cluster may be killed. A job outlives the
# daemon of its node, so that it does not end with that either.
_SWEEPER = """
import contextlib, os, signal, sys, time
from pathlib import Path

def left(folder):
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if folder in (place / "environ").read_bytes():
                yield int(place.name)

sys.stdin.read()  # until the other end is closed, which happens with its process
while found := list(left(os.fsencode(sys.argv[1]))):
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    time.sleep(0.1)
"""


def free_ports(number: int) -> list[int]:
    """Ports that nobody listens on, all different."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    """Started by `with`; `environment` is what its clients need."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.daemons: dict[str, subprocess.Popen] = {}
        self.environment = {
            **os.environ,
            "SLURM_CONF": str(folder / "slurm.conf"),
            "PATH": f"{folder / 'bin'}{os.pathsep}/usr/sbin{os.pathsep}{os.environ['PATH']}",
        }

    def __enter__(self) -> "Cluster":
        for name in ("state", "spool", "bin", "munge", *(f"spool/{node}" for node in _NODES)):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o755)  # munge wants its socket to be within everybody's reach
        self.sweeper = subprocess.Popen(
            [sys.executable, "-c", _SWEEPER, str(self.folder)],
            stdin=subprocess.PIPE,
            start_new_session=True,  # so that no Ctrl-C ends it
        )
        try:
            self._start_munge()
            self._configure()
            self._start("slurmctld", "slurmctld", "-D", "-i")
            self._wait("slurmctld", lambda: "UP" in self.ask("scontrol", "ping"))
            for node in _NODES:
                self._start(f"slurmd-{node}", "slurmd", "-D", "-N", node)
            states = ("sinfo", "-h", "-N", "-o", "%T")
            self._wait("nodes", lambda: self.ask(*states).split().count("idle") == len(_NODES))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.sweeper.communicate()
        for daemon in self.daemons.values():
            daemon.wait()

    def ask(self, *command: str) -> str:
        """What a client of the cluster prints."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        return done.stdout

    def jobs(self, *states: str) -> list[dict[str, str]]:
        """The jobs in some states: id, partition, and the comment that names rule and cell."""
        lines = self.ask(
            "squeue", "-h", "-t", ",".join(states or ("all",)), "-o", "%i|%P|%T|%k|%N"
        ).splitlines()
        names = ("id", "partition", "state", "comment", "node")
        return [dict(zip(names, line.split("|"), strict=True)) for line in lines]

    def _start(self, name: str, *command: str) -> None:
        with (self.folder / f"{name}.out").open("w") as out:
            self.daemons[name] = subprocess.Popen(
                command,
                env=self.environment,
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
            )

    def _wait(self, name: str, ready: Callable[[], object], seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > deadline:
                logs = "\n".join(path.read_text() for path in self.folder.glob("*.out"))
                raise RuntimeError(f"{name} of the test cluster did not start:\n{logs}")
            time.sleep(0.1)

    def _start_munge(self) -> None:
        key, place = self.folder / "munge/munge.key", self.folder / "munge"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        place.chmod(0o700)
        self._start(
            *("munged", "munged", "--foreground", f"--key-file={key}"),
            *(f"--socket={self.folder}/munge.sock", f"--pid-file={self.folder}/munged.pid"),
            *(f"--log-file={place}/munged.log", f"--seed-file={place}/munged.seed"),
        )
        self._wait("munge", (self.folder / "munge.sock").exists)

    def _configure(self) -> None:
        # A GPU is what has a character device; nobody opens it.
        for number in (0, 1):
            (self.folder / f"gpu{number}").symlink_to("/dev/null")
        port, *ports = free_ports(1 + len(_NODES))
        text = _CONFIG.format(port=port, user=getpass.getuser(), folder=self.folder)
        for port, (node, parts) in zip(ports, _NODES.items(), strict=True):
            text += (
                f"NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 "
                f"Port={port} {parts} RealMemory=16000 State=UNKNOWN\n"
            )
        (self.folder / "slurm.conf").write_text(text)
        (self.folder / "gres.conf").write_text(
            f"AutoDetect=off\nNodeName=gn1 Name=gpu Type=fake File={self.folder}/gpu[0-1]\n"
        )
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        # The executor drops SLURM_CONF before its inner srun, which then looks in /etc/slurm.
        srun = self.folder / "bin/srun"
        srun.write_text(
            f'#!/bin/sh\nexport SLURM_CONF={self.folder}/slurm.conf\nexec /usr/bin/srun "$@"\n'
        )
        srun.chmod(0o755)
