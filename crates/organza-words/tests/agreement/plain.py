"""The paper's Algorithm 3 with numpy: reads a transcript, writes the parameters after every step."""
import json, sys
import numpy as np

run = json.load(sys.stdin)
V, D, tied = run["words"], run["dimensions"], run["tied"]
w = np.array(run["initial"])
m, v = np.zeros_like(w), np.zeros_like(w)
clip = lambda g, bound: g / max(1.0, np.linalg.norm(g) / bound)


def tables(flat):
    """Views of the input vectors, the output vectors and the biases."""
    U = flat[: V * D].reshape(V, D)
    return (U, U, np.zeros(V)) if tied else (U, flat[V * D : 2 * V * D].reshape(V, D), flat[2 * V * D :])


def unit_gradient(samples):
    g = np.zeros_like(w)
    (U, Y, b), (dU, dY, db) = tables(w), tables(g)
    for s in samples:
        i, words = s["inputs"], [s["positive"]] + s["negatives"]
        x = U[i].mean(0)
        slope = 1 / (1 + np.exp(-(Y[words] @ x + b[words])))
        slope[0] -= 1
        slope /= len(samples)
        dx = slope @ Y[words] / len(i)
        np.add.at(dY, words, np.outer(slope, x))
        np.add.at(dU, i, dx)
        np.add.at(db, words, slope)
    return g


after = []
for t, step in enumerate(run["steps"], 1):
    g = sum((clip(unit_gradient(u), run["clip"]) for u in step["units"]), np.zeros_like(w)) / run["batch"]
    mask = np.arange(len(w)) if step["mask"] is None else np.array(step["mask"], int)
    selected = g[mask] if run["second_clip"] is None else clip(g[mask], run["second_clip"])
    delta = np.zeros_like(w)
    delta[mask] = selected + (np.array(step["noise"]) if step["noise"] else 0.0)
    if run["adam"] is None:
        w = w - run["learning_rate"] * delta
    else:
        b1, b2, e = run["adam"]
        m, v = b1 * m + (1 - b1) * delta, b2 * v + (1 - b2) * delta**2
        w = w - run["learning_rate"] * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + e)
    after.append(w.tolist())
json.dump(after, sys.stdout)
