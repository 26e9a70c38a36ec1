"""
Classes made of several clusters
================================

Four parallel lines A, B, C, D: A and C form one class, B and D the other (figure 5 of
the KP paper). PCP and KP move the lines of a class together. Improved-order and
Gaussian-field can only reweight the eigenvectors of the graph, and no eigenvector
separates A and C from B and D, so links do not help them.
"""

import os

import matplotlib.pyplot as plt

import cvxlink as cl

quick = "CVXLINK_QUICK" in os.environ
n = 80 if quick else 200
X, y = cl.datasets.load("four_lines", n=n, noise=0.05, random_state=0)
graph = cl.Graph.knn(X, n_neighbors=10)
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
nine = cl.Links.sample(y, per_class=3, random_state=0)
cl.plotting.plot_links(X, nine, ax, "four lines, and nine links")
plt.show()

# %%
# Scores are means over several draws of the links, because a single draw is luck. The
# best score for each number of links is marked.

methods = (cl.KP, cl.PCP, cl.ImprovedOrder, cl.GaussianField)
curves = {method.__name__: [] for method in methods}
draws = range(1 if quick else 3)
for per_class in (1, 6) if quick else (1, 3, 6, 10):
    for seed in draws:
        links = cl.Links.sample(y, per_class=per_class, random_state=seed)
        for method in methods:
            labels = method(graph, links).solve().cluster(2, random_state=0)
            score = cl.metrics.nmi(y, labels)
            curves[method.__name__].append((len(links), score))


def mean(scores, number):
    """Return the mean over the draws, to two digits."""
    return round(sum(score for m, score in scores if m == number) / len(draws), 2)


numbers = sorted({number for number, _ in curves["KP"]})
ranked = [sorted(mean(scores, m) for scores in curves.values()) for m in numbers]
print(f"{'mean NMI':14}" + "".join(f"{number:>6} links" for number in numbers))
for name, scores in curves.items():
    row = f"{name:14}"
    for number, (least, *_, best) in zip(numbers, ranked, strict=True):
        found = mean(scores, number)
        row += f"{found:11.2f}{'*' if found == best > least else ' '}"
    print(row.rstrip())
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
cl.plotting.plot_scores(curves, ax, "four lines, two classes", score="NMI")
plt.show()
