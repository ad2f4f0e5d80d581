"""One run on many machines: sums of shards, which any engine can make, and one release of their total.

A shard holds all rows of its units: which units, :func:`shard_of` says by their names. A worker turns a shard into a *partial*, sums of whole numbers, by :func:`count`; partials
can be added in any order by :func:`join`; and :func:`merge`, at one place, charges once, draws the noise once and says what to
count next. So the same seed gives the same bits as an ordinary fit, however many shards there are.

    plan ─▶ task ─▶ count (each shard) ─▶ join (any tree) ─▶ merge ─▶ task of the next round … ─▶ model

:mod:`organza.distributed.ray` and :mod:`organza.distributed.spark` do all of this on a cluster; :func:`fit` does it by any
``map``, and :func:`rounds` by whatever gives partials.

Privacy
-------
Partials hold exact sums of private data: they are **not private**, whoever can read one learns what is in it. The key of the noise
stays in the folder of the run, where only :func:`merge` needs it. A task holds settings, what was released so far, and, between the looks of a
release of names, noisy sums of names that are not released in the end: give it to workers only, cut by :func:`for_shard` to what each needs.

Examples
--------
>>> from concurrent.futures import ThreadPoolExecutor
>>> from organza import Typeahead, distributed
>>> lines = ["see you tomorrow", "see you soon", "thank you very much"] * 2000
>>> words = ["see", "you", "tomorrow", "soon", "thank", "very", "much"]
>>> shards = [[line for line in lines if distributed.shard_of(line, 3) == shard] for shard in range(3)]
>>> with ThreadPoolExecutor(2) as pool:
...     typeahead = distributed.fit(Typeahead(epsilon=3.0, vocabulary=words), shards, map=pool.map)
>>> [word for word, _ in typeahead.complete("thank ", n=1)]
['you']
"""

from organza.distributed._rounds import count, fit, for_shard, join, merge, plan, rounds
from organza.distributed._shards import shard_of, split

__all__ = ["count", "fit", "for_shard", "join", "merge", "plan", "rounds", "shard_of", "split"]
