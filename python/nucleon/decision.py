"""What a program's outputs mean, for ``nucleon.compile(..., decision=...)``: each function gives the JSON that ``nucleon
compile --decision`` takes (docs/decisions.md). Members are checked when the model is compiled.

    nucleon.compile(model, x, decision=nucleon.decision.classes(smoothing="average", window=4, threshold=0.8))
"""

from __future__ import annotations

import json
from typing import Any


def classes(**members: Any) -> str:
    """Classes over time: smoothing, alpha, window, threshold, release, minimum_count, refractory_steps, ignore."""
    return json.dumps({"classes": members})


def boxes(form: str, **members: Any) -> str:
    """Boxes of a detector: form is ssd, yolo5, yolo8 or fomo."""
    return json.dumps({"boxes": {"form": form, **members}})


def keypoints(form: str, points: int, **members: Any) -> str:
    """Keypoints: form is heatmap, with rows and columns, or coordinates."""
    return json.dumps({"keypoints": {"form": form, "points": points, **members}})


def anomaly(**members: Any) -> str:
    """A score above threshold, or above the quantile of the calibration data."""
    return json.dumps({"anomaly": members})
