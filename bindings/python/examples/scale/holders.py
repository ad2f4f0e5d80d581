"""Steps of a wide click model on Ray, whose tables the driver keeps, or actors: seconds, bytes that pass the driver, and that all bits are the same.

    python holders.py --users 20000 --buckets 200000 --steps 30
"""

from __future__ import annotations

import argparse
import hashlib
import time
from typing import Any

import ray
from engines import shown

import organza.distributed.ray as on_ray
from organza import ClickModel
from organza.distributed import _steps


class Watched:
    """How long the steps of a fit take, and what the driver is sent on the way: in steps, and of states that it saves."""

    def __init__(self) -> None:
        self.seconds, self.sent, self.saved = 0.0, 0, 0
        self._get, self._made, self._tell = ray.get, _steps._made, on_ray.HoldersOfRay.tell
        self._states: set[Any] = set()

    def __enter__(self) -> Watched:
        """Watch."""
        patched: Any = on_ray
        steps: Any = _steps
        patched.ray.get, steps._made = self.get, self.made
        watched = self

        def tell(holders: Any, number: int, message: Any) -> Any:
            answer = watched._tell(holders, number, message)
            if isinstance(message, bytes) and len(message) == 1:
                watched._states.add(answer)
            return answer

        patched.HoldersOfRay.tell = tell
        return self

    def __exit__(self, *_: object) -> None:
        """Watch no more."""
        patched: Any = on_ray
        steps: Any = _steps
        patched.ray.get, steps._made, patched.HoldersOfRay.tell = self._get, self._made, self._tell

    def get(self, references: Any, **options: Any) -> Any:
        """Wait for something, and count it."""
        found = self._get(references, **options)
        if isinstance(references, ray.ObjectRef) and references in self._states:
            self.saved += size(found)
        else:
            self.sent += size(found)
        return found

    def made(self, *arguments: Any) -> None:
        """Make the steps, by the clock."""
        begun = time.monotonic()
        self._made(*arguments)
        self.seconds += time.monotonic() - begun


def size(found: Any) -> int:
    """Give the bytes of messages, however they are nested."""
    if isinstance(found, bytes):
        return len(found)
    return sum(map(size, found)) if isinstance(found, (list, tuple)) else 0


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--users", type=int, default=20_000)
    parser.add_argument("--buckets", type=int, default=200_000)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--batch", type=int, default=1_000)
    parser.add_argument("--method", choices=("dpsgd", "sparse"), default="dpsgd")
    parser.add_argument("--holders", type=int, nargs="+", default=[0, 1, 2, 4])
    arguments = parser.parse_args()
    table = shown(arguments.users)
    ray.init(address="local", num_cpus=16, include_dashboard=False, log_to_driver=False)
    digests = set()
    print("| holders | seconds a step | MB a step to the driver | MB of states that it saved | digest of the model |")
    print("|---|---|---|---|---|")
    for holders in arguments.holders:
        model = ClickModel(
            epsilon=3.0,
            method=arguments.method,
            model="factorisation-machine",
            units=arguments.users,
            label_column="clicked",
            user_column="person",
            categories=[name for name in table.column_names if name not in ("person", "clicked")],
            buckets=arguments.buckets,
            random_state=1,
            options={"batch": arguments.batch, "steps": arguments.steps},
        )
        with Watched() as watched:
            on_ray.fit(model, [table], unit="person", shards=2, holders=holders or None)
        model_file = model._run.folder / "model.safetensors"
        digest = hashlib.sha256(model_file.read_bytes()).hexdigest()[:12]
        digests.add(digest)
        steps = arguments.steps
        print(
            f"| {holders} | {watched.seconds / steps:.3f} | {watched.sent / 1e6 / steps:.2f} | {watched.saved / 1e6:.0f} | {digest} |",
            flush=True,
        )
    ray.shutdown()
    if len(digests) != 1:
        raise SystemExit("the bits differ")


if __name__ == "__main__":
    main()
