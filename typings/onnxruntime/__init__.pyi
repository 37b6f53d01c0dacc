"""As much of onnxruntime as is used: the package has no types."""

import numpy as np
from numpy.typing import NDArray

class SessionOptions:
    intra_op_num_threads: int
    inter_op_num_threads: int
    log_severity_level: int

# May be run by several threads at once.
class InferenceSession:
    def __init__(
        self, path_or_bytes: str, sess_options: SessionOptions, providers: list[str]
    ) -> None: ...
    def run(
        self, output_names: None, input_feed: dict[str, NDArray[np.int64]]
    ) -> list[NDArray[np.float32]]: ...
