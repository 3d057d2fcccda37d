"""ImageDevNet: deviation networks for images, with a map of where the anomaly is."""

from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from devnet.core.labels import Labels
from devnet.core.model_file import edited, field, is_count
from devnet.core.parameters import Constraint, number, one_of, whole_number
from devnet.core.rows import MADE_VALUES
from devnet.deep.deep_detector import DeepDetector
from devnet.deep.images.image_rows import ImageRows, Shape
from devnet.deep.images.reading import Pictures, read_images, refuse_other_shape
from devnet.engine.reference_scores import ReferenceScores
from devnet.engine.sampler import BalancedSampler, Halves

TILE_IMAGES = 64  # scored together: as fast as it gets in double precision
VALUES_OF_A_PIXEL = 16  # that a network makes, for the bound on memory
SHIFTED_SHARE = 14  # of the shorter side: images are moved by up to a fourteenth of it
MARKED_SHARE = 0.05  # of the pixels, that a picture of contributions is scaled by
FLIPS = ("horizontal", "vertical")


def _is_size(value: Any) -> bool:
    if value is None:
        return True
    return (
        isinstance(value, tuple | list)
        and len(value) == 2
        and all(map(whole_number(1).accepts, value))
    )


def _is_flips(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(flip in FLIPS for flip in value)


class ImageDevNet(DeepDetector):
    """Learn anomaly scores of images end to end from few labelled anomalies and a prior.

    A small convolutional network, or a backbone of yours, maps an image to one score. It is trained
    like `DevNet`, so a score reads as a Z-score: 0 is typical, 5 is what a labelled anomaly should
    reach. Needs the extra `torch`, and for image files the extra `images`.

    Images are arrays (n, height, width), (n, height, width, channels) or (n, channels, height,
    width) of uint8 or uint16, which are scaled to [0, 1], or of floats; or a list of files or a
    folder, whose files are decoded when they are drawn. Channels are standardised by what the
    unlabelled training images are like.

    Parameters
    ----------
    hidden : tuple of int or torch.nn.Module, default=(16, 32, 32)
        Channels of the convolutions of our network. Or a module that maps images (b, c, h, w) to
        feature maps (b, d, h', w') or, for the global head, to features (b, d): it is copied with
        its weights, and parts whose parameters do not require gradients are left as they are.
    head : "global" or "patches", default="global"
        "global" scores the whole image from all of its features: for shapes. "patches" scores every
        patch, and an image by the mean of its highest ones: for local defects. Beside the pixels
        it sees how surprising each is, given those around it in unlabelled images.
    top_share : float, default=0.1
        Share of the patches that the mean is taken over.
    pyramid : int, default=1
        Levels of an image pyramid, each half as high and wide, for defects of different sizes;
        only with "patches".
    shift : int or "auto", default="auto"
        Training images are moved by up to this many pixels each time they are drawn; "auto" is a
        fourteenth of the shorter side. 0 moves nothing.
    turn : float, default=0.0
        Training images are also turned by up to this many degrees, and
    zoom : float, default=0.0
        enlarged or reduced by up to this share, if that leaves normal images normal.
    flips : tuple of "horizontal" and "vertical", default=()
        Training images are also mirrored, likewise only if that leaves normal images normal.
    size : (height, width), optional
        Files are resized to this; without it all must have the same size.
    channels_first : bool, optional
        Where arrays of four axes have their channels; by default the axis with 1, 3 or 4 of them.
    margin, reference, confidence, n_epochs, n_batches, learning_rate, l2, clip_norm
        As for `DevNet`.
    batch_size : int, default=128
        Images per step: half labelled anomalies, half unlabelled ones.
    keep_best, n_members, pos_label, normal_label, warm_start, keep_interrupted, verbose
        As for `DevNet`.
    device : str or torch.device, default="auto"
        Where the network computes: "auto" is CUDA if there is one, else the CPU.
    random_state : int, numpy RandomState or Generator, optional
        Seed of the weights, the batches, the changes of images and the references.

    Attributes
    ----------
    image_shape_ : tuple of int
        Channels, height and width of the images.
    typical_image_ : array of shape (channels, height, width)
        Mean of the unlabelled training images, which contributions are measured from.
    views_ : list of View
        With "patches", how images may be mirrored and transposed so that normal ones stay normal,
        by `flips` or by the scores of training images; maps are means over these.
    classes_, threshold_, reference_, network_, history_, best_epoch_, n_iter_, n_features_in_
        As for `DevNet`.

    References
    ----------
    G. Pang, C. Shen, A. van den Hengel. Deep Anomaly Detection with Deviation Networks. KDD 2019.
    G. Pang, C. Ding, C. Shen, A. van den Hengel. Explainable deep few-shot anomaly detection with
    deviation networks. arXiv 2108.00462, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet import ImageDevNet
    >>> images = np.random.default_rng(0).normal(size=(300, 12, 12))
    >>> images[:10, 3:9, 3:9] += 2              # ten anomalies ...
    >>> y = np.zeros(300)
    >>> y[:5] = 1                               # ... five of them known
    >>> model = ImageDevNet((8, 8), n_epochs=5, random_state=0).fit(images, y)
    >>> bool(model.anomaly_score(images[5:10]).min() > model.threshold_)
    True
    """

    _own_parts: ClassVar[tuple[str, ...]] = ("head.",)
    _constraints: ClassVar[dict[str, Constraint]] = {
        **DeepDetector._constraints,
        "head": one_of("global", "patches"),
        "top_share": Constraint(
            lambda value: value == 1 or number(0, below=1).accepts(value),
            "a share above 0 and at most 1",
        ),
        "pyramid": whole_number(1),
        "shift": Constraint(
            lambda value: value == "auto" or whole_number(0).accepts(value),
            "'auto' or a whole number of pixels of at least 0",
        ),
        "turn": number(0, below=180, or_equal=True),
        "zoom": number(0, below=1, or_equal=True),
        "flips": Constraint(_is_flips, "a tuple of 'horizontal' and 'vertical', or ()"),
        "size": Constraint(_is_size, "a height and a width such as (64, 64), or None"),
        "channels_first": Constraint(
            lambda value: value is None or type(value) is bool, "True, False or None"
        ),
    }
    _given: ClassVar[str] = "learner."
    _shaping: ClassVar[tuple[str, ...]] = (
        *("head", "top_share", "pyramid"),
        *("shift", "turn", "zoom", "flips"),
    )

    image_shape_: Shape
    views_: list[Any]

    def __init__(
        self,
        hidden: Any = (16, 32, 32),
        *,
        head: str = "global",
        top_share: float = 0.1,
        pyramid: int = 1,
        shift: int | str = "auto",
        turn: float = 0.0,
        zoom: float = 0.0,
        flips: tuple[str, ...] = (),
        size: tuple[int, int] | None = None,
        channels_first: bool | None = None,
        margin: float = 5.0,
        reference: ReferenceScores | None = None,
        confidence: float = 0.95,
        n_epochs: int = 50,
        n_batches: int = 20,
        batch_size: int = 128,
        learning_rate: float = 0.001,
        l2: float = 0.01,
        clip_norm: float | None = 1.0,
        keep_best: bool = True,
        n_members: int = 1,
        pos_label: Any = None,
        normal_label: Any = None,
        device: Any = "auto",
        warm_start: bool = False,
        keep_interrupted: bool = False,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.hidden = hidden
        self.head = head
        self.top_share = top_share
        self.pyramid = pyramid
        self.shift = shift
        self.turn = turn
        self.zoom = zoom
        self.flips = flips
        self.size = size
        self.channels_first = channels_first
        self.margin = margin
        self.reference = reference
        self.confidence = confidence
        self.n_epochs = n_epochs
        self.n_batches = n_batches
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.l2 = l2
        self.clip_norm = clip_norm
        self.keep_best = keep_best
        self.n_members = n_members
        self.pos_label = pos_label
        self.normal_label = normal_label
        self.device = device
        self.warm_start = warm_start
        self.keep_interrupted = keep_interrupted
        self.verbose = verbose
        self.random_state = random_state

    @property
    def typical_image_(self) -> np.ndarray:
        """Mean of the unlabelled training images, (channels, height, width)."""
        check_is_fitted(self)
        typical: np.ndarray = self.network_.members[0][0].typical.cpu().numpy().copy()
        return typical

    def anomaly_map(self, X: Any) -> np.ndarray:
        """Where the anomaly is: a value for every pixel, higher where it is more anomalous.

        With the patch head, the deviation of the patch around a pixel, interpolated between
        patches: the mean of maps of the image in all `views_`, also moved by a pixel. What the
        score is the mean of are `patch_scores`. With the global head, the `contributions`.

        Parameters
        ----------
        X : images, as for `fit`

        Returns
        -------
        maps : array of shape (n, height, width)
        """
        check_is_fitted(self)
        return self._maps(self._pictures(X))

    def patch_scores(self, X: Any) -> list[np.ndarray]:
        """The deviations of all patches, with the patch head.

        Parameters
        ----------
        X : images, as for `fit`

        Returns
        -------
        patches : list of arrays of shape (n_members, n, height, width)
            One for each level of the pyramid.
        """
        from devnet.deep.images.anomaly_maps import patch_scores

        check_is_fitted(self)
        if self.head != "patches":
            raise ValueError(
                f"head={self.head!r} scores no patches; use contributions(X) or anomaly_map(X), or "
                "fit with head='patches'."
            )
        pictures = self._pictures(X)
        with self._threads(self.network_):
            return patch_scores(self.network_, pictures, self.reference_)

    def contributions(self, X: Any) -> np.ndarray:
        """What each pixel adds to the score of the typical image, by integrated gradients.

        The values of an image sum to its score minus the score of `typical_image_`.

        Parameters
        ----------
        X : images, as for `fit`

        Returns
        -------
        contributions : array of shape (n, height, width)
            Summed over channels.
        """
        check_is_fitted(self)
        return self._contributions(self._pictures(X))

    def save_overlays(self, X: Any, folder: str | PathLike[str]) -> list[Path]:
        """Write each image beside itself under its anomaly map, as PNG; needs the extra `images`.

        Colours mean the same on all pictures. With the patch head the brightest is a deviation of
        `margin`. With the global head it is a pixel that adds what each one would if a twentieth
        of the pixels made up a score of `margin`.

        Parameters
        ----------
        X : images, as for `fit`
        folder : str or path
            It is made if it is not there. Files are named by number, with the names of those of X.

        Returns
        -------
        paths : list of Path
        """
        from devnet.deep.images.overlays import save_overlays

        check_is_fitted(self)
        return save_overlays(self._pictures(X), self._maps, self._map_limit(), folder)

    def overlay(self, image: Any) -> np.ndarray:
        """One image beside itself under its anomaly map, uint8 (height, width, 3)."""
        from devnet.deep.images.overlays import overlay

        check_is_fitted(self)
        picture = self._pictures([image])
        pixels = picture.dense(slice(None)).reshape(self.image_shape_)
        return overlay(pixels, self._maps(picture)[0], self._map_limit())

    def _map_limit(self) -> float:
        """The value of a map that has the brightest colour."""
        _, height, width = self.image_shape_
        n_pixels = 1.0 if self.head == "patches" else MARKED_SHARE * height * width
        return float(self.margin / n_pixels)

    def _maps(self, pictures: Any) -> np.ndarray:
        from devnet.deep.images.anomaly_maps import patch_maps

        if self.head == "global":
            return self._contributions(pictures)
        with self._threads(self.network_):
            return patch_maps(
                self.network_, pictures, self.reference_, self.image_shape_, self.views_
            )

    def _contributions(self, pictures: Any) -> np.ndarray:
        from devnet.deep.images.pixel_contributions import pixel_contributions

        with self._threads(self.network_):
            by_value = pixel_contributions(self.network_, pictures, self.reference_)
        by_pixel: np.ndarray = by_value.reshape(-1, *self.image_shape_).sum(axis=1)
        return by_pixel

    def _pictures(self, X: Any) -> Any:
        """The images of a call, of the shape that was learned."""
        return self._rows(X, reset=False)

    def _read(self, X: Any, *, reset: bool) -> Any:
        pictures: Pictures = read_images(X, size=self.size, channels_first=self.channels_first)
        if reset:
            if pictures.shape[0] < 2:
                raise ValueError(
                    "Found array with 1 sample(s) while a minimum of 2 is required: X has one "
                    "image; give at least a labelled anomaly and an unlabelled one."
                )
            self.image_shape_ = pictures.image_shape
            self.n_features_in_ = pictures.shape[1]
        refuse_other_shape(pictures, self.image_shape_)
        return pictures

    def _has_output_unit(self) -> bool:
        return self.head == "global"

    def _module(self) -> Any:
        from devnet.deep.images.building import image_module

        return image_module(
            self.hidden,
            self.image_shape_,
            head=self.head,
            top_share=self.top_share,
            pyramid=self.pyramid,
            changes=self._changes(),
        )

    def _changes(self) -> Any:
        from devnet.deep.images.augmentation import Changes

        shift = self.shift
        if shift == "auto":
            shift = round(min(self.image_shape_[1:]) / SHIFTED_SHARE)
        return Changes(int(shift), float(self.turn), float(self.zoom), tuple(self.flips))

    def _sampler(self, rows: Any, labels: Labels, **drawing: Any) -> BalancedSampler:
        return BalancedSampler(rows, labels, counted=self._changes().is_none, **drawing)

    def _before_training(self, network: Any, rows: Any, halves: Halves) -> None:
        from devnet.deep.images.building import measured

        found = measured(network.members[0][0], rows, halves.unlabelled)
        for member in network.members:
            member[0].take(found)
            if self.head == "patches":
                member[0].head.top_share.start(self.n_epochs * self.n_batches * self.pyramid)

    def _after_training(
        self, rows: Any, halves: Halves, generators: list[np.random.Generator]
    ) -> None:
        super()._after_training(rows, halves, generators)
        if self.head == "patches":
            self.views_ = self._usual_views(rows, halves)

    def _usual_views(self, rows: Any, halves: Halves) -> list[Any]:
        from devnet.deep.images.views import TRIED_IMAGES, usual_views

        def some(numbers: np.ndarray) -> np.ndarray:
            chosen = numbers[:: -(-len(numbers) // TRIED_IMAGES) or 1]
            images: np.ndarray = rows.dense(chosen).reshape(-1, *self.image_shape_)
            return images

        def score(images: np.ndarray) -> np.ndarray:
            flat: Any = ImageRows(images)
            return self._score(flat)

        return usual_views(score, some(halves.unlabelled), some(halves.labelled), self.flips)

    def _n_made(self) -> int:
        made = VALUES_OF_A_PIXEL * self.n_features_in_
        return max(MADE_VALUES // TILE_IMAGES, int(made))

    def _facts(self) -> dict[str, Any]:
        facts = {**super()._facts(), "image_shape": list(self.image_shape_)}
        if self.head == "patches":
            facts["views"] = [list(view) for view in self.views_]
        return facts

    def _restore(self, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
        c, h, w = field(header, "image_shape", _is_shape)
        if c * h * w != self.n_features_in_:
            raise edited("the shape of images", f"it is not one of {self.n_features_in_} values")
        self.image_shape_ = (c, h, w)
        super()._restore(header, tensors)
        if self.head == "patches":
            self.views_ = self._read_views(header)

    def _read_views(self, header: dict[str, Any]) -> list[Any]:
        from devnet.deep.images.views import View, possible_views

        written = field(header, "views", _is_views)
        views = [View(*how) for how in written]
        possible = possible_views(self.image_shape_)
        if any(view not in possible for view in views):
            raise edited("the views of images", "one of them is not possible for their shape")
        return views


def _is_views(value: Any) -> bool:
    """Whether it is a list of distinct views, each three booleans."""
    if not isinstance(value, list) or not all(isinstance(how, list) for how in value):
        return False
    is_view = all(len(how) == 3 and all(type(part) is bool for part in how) for how in value)
    return is_view and 0 < len(value) == len({tuple(how) for how in value})


def _is_shape(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(map(is_count, value))
