"""Tasks that processes import by name."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable


class Counted:
    """Writes a line to a file whenever it is unpacked."""

    packed = 0

    def __init__(self, file: str) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Callable[[str], Counted], tuple[str]]:
        Counted.packed += 1
        return unpack_counted, (self.file,)


def unpack_counted(file: str) -> Counted:
    with open(file, "a", encoding="utf-8") as out:
        out.write(f"{os.getpid()}\n")
    return Counted(file)


def write_pid_and_sleep(file: str, item: int) -> None:
    with open(file, "a", encoding="utf-8") as out:
        out.write(f"{os.getpid()}\n")
    time.sleep(60)


def kill_yourself(shared: object, item: int) -> int:
    if item == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def interrupt(shared: object, item: int) -> int:
    raise KeyboardInterrupt


def time_out(shared: object, item: int) -> int:
    raise TimeoutError("of the task")
