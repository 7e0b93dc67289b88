"""Tasks in this process, one after another or in threads; what workers elsewhere are made like."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self, TypeVar

S = TypeVar("S")
I = TypeVar("I")
R = TypeVar("R")

M_MMAP_THRESHOLD = -3
"""Of malloc.h: larger blocks are mapped, and go back to the system as soon as they are free."""

_NO_MALLOPT = (ImportError, AttributeError, OSError, TypeError)
"""What calling it raises on systems that lack it."""


class Workers:
    """Where tasks run: in this process, unless a subclass says otherwise. A context manager.

    A shared object is kept on the workers until it is forgotten or all is done.
    """

    count = 1
    transferred = 0
    """Bytes of shared objects that were sent."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let the workers go."""

    def carry(self, module: str) -> None:
        """Send the code of a module along with what it defines, since workers may not have it."""

    def forget(self, shared: object) -> None:
        """No task will read ``shared`` any more, so that workers need not keep it."""

    def completed(
        self,
        function: Callable[[S, I], R],
        shared: S,
        items: Iterable[I],
        *,
        step: Callable[[str], None] = lambda text: None,
        label: Callable[[I], str] = lambda item: "",
    ) -> Iterator[tuple[int, R]]:
        """``(index, result)`` of every task as it finishes.

        Parameters
        ----------
        function : callable
            ``function(shared, item)``, defined at the top of a module.
        shared : object
            Read by every task and changed by none.
        items : iterable
        step : callable
            Told ``label(item)``.

        Raises
        ------
        UsageError
            If workers are lost for good, or do not run the code of this process.
        """
        for index, item in enumerate(items):
            step(label(item))
            yield index, function(shared, item)

    def map_tasks(
        self,
        function: Callable[[S, I], R],
        shared: S,
        items: Iterable[I],
        *,
        step: Callable[[str], None] = lambda text: None,
        label: Callable[[I], str] = lambda item: "",
    ) -> list[R]:
        """The results in item order; see :meth:`completed`.

        Examples
        --------
        >>> Workers().map_tasks(lambda base, item: base + item, 10, [1, 2])
        [11, 12]
        """
        done = dict(self.completed(function, shared, items, step=step, label=label))
        return [done[index] for index in range(len(done))]


SERIAL = Workers()


class Threads(Workers):
    """Threads of this process, for tasks that let go of the interpreter for most of their time.

    Why beside processes: the replays of machine code do, and threads read one log, so there is
    nothing to start or to send. What a task raises is raised as in :class:`Workers`: that of the
    first item which does, with nothing more begun.

    Examples
    --------
    >>> Threads(2).map_tasks(lambda base, item: base + item, 10, [1, 2])
    [11, 12]
    """

    def __init__(self, count: int) -> None:
        self.count = count
        # Each thread has a heap of its own, which keeps the large arrays of its last task unless they
        # are mapped apart: that shows in the peak of a large analysis. (glibc only.)
        with contextlib.suppress(*_NO_MALLOPT):
            import ctypes  # not every Python has it

            ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 1 << 20)

    def completed(
        self,
        function: Callable[[S, I], R],
        shared: S,
        items: Iterable[I],
        *,
        step: Callable[[str], None] = lambda text: None,
        label: Callable[[I], str] = lambda item: "",
    ) -> Iterator[tuple[int, R]]:
        pool = ThreadPoolExecutor(self.count)
        try:
            asked = [(item, pool.submit(function, shared, item)) for item in items]
            for index, (item, future) in enumerate(asked):
                step(label(item))
                yield index, future.result()
        finally:
            pool.shutdown(cancel_futures=True)
