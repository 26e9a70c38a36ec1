"""Features in different units: a few of them can outweigh all others in every distance."""

from __future__ import annotations

import warnings

import numpy as np

from ..errors import ClusterWarning

# The half of the features with the least spread makes up less than this share of squared distances: for two features,
# spreads that differ by a factor of ten.
LEAST_SHARE = 0.01
# Where more features than this matter they have one unit, as the pixels of an image do: some just vary little.
MOST_IN_OWN_UNITS = 10.0
# Features with means this close to zero, in standard deviations, have been centred, by a scaler or by PCA.
CENTRED = 1e-4


def warn_of_scales(X: np.ndarray) -> None:
    """Warn if distances are practically those of a few features, because the others have a much smaller spread.

    Constant features do not count, and features that have been centred are taken as they were prepared.
    """
    largest = abs(X).max(axis=0, initial=0.0)
    X = X[:, largest > 0] / largest.max(initial=1.0)
    means, spreads = X.mean(axis=0), X.std(axis=0)
    varying = spreads > 1e-12 * abs(means)
    means, spreads = means[varying], np.sort(spreads[varying])
    if len(spreads) < 2 or (abs(means) <= CENTRED * X[:, varying].std(axis=0)).all():
        return
    variances = (spreads / spreads[-1]) ** 2
    share = variances[: (len(variances) + 1) // 2].sum() / variances.sum()
    effective = variances.sum() ** 2 / (variances**2).sum()
    if share < LEAST_SHARE and effective < MOST_IN_OWN_UNITS:
        warnings.warn(
            ClusterWarning.about(
                "X",
                f"has features of very different spread (by a factor of {spreads[-1] / spreads[0]:.2g}), so distances "
                f"are practically those in {max(round(effective), 1)} of {len(spreads)} features; scale them, for "
                f"example by make_pipeline(StandardScaler(), ConstrainedClustering(…))",
            ),
            stacklevel=5,
        )
