"""A fit to images as one self-contained page: the highest images with their maps, and scores."""

import base64
import io
from os import PathLike
from typing import NamedTuple

import numpy as np

from devnet.core.model_file import package_versions
from devnet.core.wording import count_text, one_in_text, score_text
from devnet.deep.images.file_rows import require_pillow
from devnet.deep.images.image_model import NOTHING, ImageAlert, ImageModel
from devnet.report.distribution_chart import score_chart
from devnet.report.page import render, short
from devnet.significance.policies import Budget
from devnet.tables.row_scores import alert_threshold

MOST_SHOWN = 24  # images on a page


class ImageCard(NamedTuple):
    """An image as shown."""

    name: str
    score: str
    rarity: str
    is_alert: bool
    picture: str  # PNG, base64


def make_image_page(
    model: ImageModel, folder: str | PathLike[str], labelled: np.ndarray = NOTHING
) -> str:
    """The page's HTML: one file, without scripts or network access.

    Parameters
    ----------
    model : ImageModel
    folder : str or path
        The images that it learned from, or others.
    labelled : array of shape (k,), optional
        Scores of labelled anomalies.
    """
    found = model.find_alerts(folder, policy=Budget(MOST_SHOWN), n_shown=MOST_SHOWN)
    needs_scores = model.policy.needs_scores
    threshold = float("nan") if needs_scores else alert_threshold(model, None).score
    channels, height, width = model.detector_.image_shape_
    shown = {
        "folder": short(folder),
        "summary": [
            ("images", f"{model.n_rows_:,}"),
            ("labelled as anomalies", f"{model.n_labelled_:,}"),
            ("pixels", f"{height} x {width}"),
            ("channels", str(channels)),
            ("scored", "patches" if model.detector_.head == "patches" else "whole images"),
        ],
        "policy": model.policy.in_words().replace("rows", "images"),
        "threshold": "" if needs_scores else score_text(threshold),
        "cards": [_card(model, one, threshold) for one in found.shown],
        "n_known": found.n_known,
        "scores": score_chart(model.calibration_.unlabelled, labelled, threshold),
        "versions": package_versions(),
    }
    return render("images.html", shown, {"count": count_text})


def _card(model: ImageModel, one: ImageAlert, threshold: float) -> ImageCard:
    drawn = require_pillow().fromarray(model.detector_.overlay(one.file))
    kept = io.BytesIO()
    drawn.save(kept, "PNG", optimize=True)
    return ImageCard(
        short(one.name),
        score_text(one.score),
        one_in_text(one.p_value),
        not np.isfinite(threshold) or one.score > threshold,
        base64.b64encode(kept.getvalue()).decode(),
    )
