"""As much of onnxruntime as is used, as types: the package has none."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Options(Protocol):
    """How a model is run."""

    intra_op_num_threads: int
    inter_op_num_threads: int
    log_severity_level: int


class Session(Protocol):
    """A loaded model; may be run by several threads at once."""

    def run(
        self, output_names: None, input_feed: "dict[str, NDArray[np.int64]]"
    ) -> "list[NDArray[np.float32]]":
        """All outputs for the inputs."""
        ...


class Runtime(Protocol):
    """The package `onnxruntime`."""

    def SessionOptions(self) -> Options:
        """Settings as they are by default."""
        ...

    def InferenceSession(
        self, path_or_bytes: str, sess_options: Options, providers: list[str]
    ) -> Session:
        """Load a model."""
        ...
