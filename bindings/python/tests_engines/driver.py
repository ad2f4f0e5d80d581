"""A driver in a process of its own, which is killed: `driver.py ADDRESS FOLDER NAME`."""

import os
import sys
import time

import ray
from made_up import data, estimator, unit_of

from organza.distributed import split
from organza.distributed.ray import fit

if __name__ == "__main__":
    address, folder, name = sys.argv[1:]
    ray.init(address=address, log_to_driver=False, logging_level="error")
    shards = split(data(name), unit_of(name), 6)
    print("ready", flush=True)
    begun = time.monotonic()
    if name.endswith("steps"):
        holders = 2 if name == "wide steps" else None
        options = {"num_cpus": 0.5}
        fit(estimator(name, folder=folder), shards, unit=unit_of(name), shards=2, options=options, holders=holders)
    else:
        fit(estimator(name, folder=folder), shards, fan_in=3)
    print(f"done {time.monotonic() - begun:.3f}", flush=True)
    os._exit(0)
