"""Word vectors of organza in gensim, and the time that both take to train.

Run it by ``python examples/compare_gensim.py``; it needs ``pip install gensim``. The text is the
Lee corpus, 300 news stories, which comes with gensim; only organza is private.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import organza


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = perf_counter()
    return work(), perf_counter() - start


def main() -> None:
    warnings.simplefilter("ignore")
    gensim = import_module("gensim")
    keyed_vectors = gensim.models.KeyedVectors
    utils = import_module("gensim.test.utils")
    preprocess = import_module("gensim.utils").simple_preprocess
    text = Path(utils.datapath("lee_background.cor")).read_text(encoding="utf-8").splitlines()
    # A sentence a line, and all of it 20 times, to have something to measure: nothing is promised for
    # text that stands there 20 times, nor with a seed.
    lines = [sentence for story in text for sentence in story.split(". ")] * 20

    folder = Path(tempfile.mkdtemp()) / "run"
    model, seconds = timed(
        lambda: organza.WordVectors(
            epsilon=3.0, vocabulary_size=2000, random_state=1, folder=folder, progress=False
        ).fit(lines)
    )
    ours = [word for word, _ in model.most_similar(model.words_[0], 5)]
    print("The same words nearest to", repr(model.words_[0]), "by")
    ways = {
        "organza": ours,
        "to_keyed_vectors()": model.to_keyed_vectors(),
        "vectors.txt": keyed_vectors.load_word2vec_format(folder / "vectors.txt"),
        "vectors.bin": keyed_vectors.load_word2vec_format(folder / "vectors.bin", binary=True),
    }
    for name, way in ways.items():
        if not isinstance(way, list):
            same = np.array_equal(way[model.words_[0]], model[model.words_[0]])
            way = [word for word, _ in way.most_similar(model.words_[0], topn=5)]
            assert way == ours, name
            name += ", the same bits" if same else ", rounded"
        print(f"  {name}: {' '.join(way)}")

    words = [preprocess(line) for line in lines]
    word2vec, training = timed(
        lambda: gensim.models.Word2Vec(
            words, vector_size=100, window=4, sg=1, max_final_vocab=2000, workers=2, seed=1
        )
    )
    print(f"\n| {len(lines):,} lines, {sum(map(len, words)):,} words | seconds to train |")
    print("|---|---|")
    print(f"| organza, epsilon 3, {len(model.words_):,} words | {seconds:.1f} |")
    print(f"| gensim, 5 epochs, {len(word2vec.wv):,} words, not private | {training:.1f} |")


if __name__ == "__main__":
    main()
