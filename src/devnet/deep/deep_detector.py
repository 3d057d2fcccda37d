"""DeepDetector: what the detectors of images and of sequences share."""

from abc import abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import Tags

from devnet.core.arrays import is_module
from devnet.core.rows import Rows
from devnet.deep.methods import require_torch
from devnet.deep.threads import one_torch_thread
from devnet.detectors.deviation_detector import DeviationDetector


class DeepDetector(DeviationDetector):
    """Trains torch networks by the deviation loss; the engine sees each image as one flat row.

    Abstract. A detector defines how it reads its input (`_read`), which network scores it
    (`_module`, from flat rows), whether a linear unit follows (`_has_output_unit`) and which
    parameters shape the network (`_shaping`).
    """

    _shaping: ClassVar[tuple[str, ...]]  # parameters that must not change once it is fitted
    _own_parts: ClassVar[tuple[str, ...]] = ()  # of `_module` that are ours beside a caller's

    architecture_: dict[str, Any]

    @abstractmethod
    def _read(self, X: Any, *, reset: bool) -> Rows:
        """Input as flat rows; with `reset` their shape is learned, else it is checked."""

    @abstractmethod
    def _module(self) -> Any:
        """The module that maps flat rows (b, d) to features (b, h), or to scores (b, 1)."""

    def _rows(self, X: Any, *, reset: bool) -> Rows:
        require_torch(type(self).__name__)
        return self._read(X, reset=reset)

    def _initial_network(self, rows: Rows, generators: list[np.random.Generator]) -> Any:
        from devnet.engine.module_network import ModuleNetwork

        network = ModuleNetwork(
            self._module(),
            rows.shape[1],
            len(generators),
            output_unit=self._has_output_unit(),
            device=self.device,
            in_double=True,
        )
        # A caller's module brings its weights along.
        for part in self._own_parts if is_module(self.hidden) else ("",):
            network.draw_kernels(generators, part)
        network.draw_output_units(generators)
        self.architecture_ = self._architecture()
        return network

    def _threads(self, network: Any) -> AbstractContextManager[None]:
        """One for networks of ours, which then learn the same on any number of cores."""
        return nullcontext() if is_module(self.hidden) else one_torch_thread()

    def _score(self, rows: Rows) -> np.ndarray:
        with self._threads(self.network_):
            return super()._score(rows)

    def _network_of(self, tensors: dict[str, np.ndarray]) -> Any:
        from devnet.engine.module_network import ModuleNetwork

        self.architecture_ = self._architecture()
        return ModuleNetwork.from_tensors(
            tensors,
            self._module(),
            self._n_columns(),
            self.n_members,
            output_unit=self._has_output_unit(),
            device=self.device,
            in_double=True,
        )

    def _n_columns(self) -> int:
        """Width of the flat rows that the network of a model file is tried on."""
        return self.n_features_in_

    def _architecture(self) -> dict[str, Any]:
        """What shapes the network; a caller's module stands for itself."""
        names = ("n_members", "hidden", *self._shaping)
        found = {name: getattr(self, name) for name in names}
        return found | ({"hidden": "module"} if is_module(self.hidden) else {})

    def _refuse_changed_parameters(self, what: str) -> None:
        now = self._architecture()
        changed = [name for name, value in self.architecture_.items() if value != now[name]]
        if changed:
            raise ValueError(
                f"cannot {what} from the present weights, because `{changed[0]}` was changed after "
                "the fit; change it back, or fit a new detector."
            )

    def _refuse_device(self) -> None:
        """Every network of this room is torch's, so any of its devices will do."""

    @property
    def is_thread_safe(self) -> bool:
        """False: torch uses all cores for one batch."""
        return False

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags
