"""How whence is packaged: by scikit-build-core, except for editable installs.

An editable install is a path entry, so that a folder named in PYTHONPATH still comes first, and builds the core into
src/whence; a hook builds it again when its sources change (`rebuild_core.py`).
"""

from __future__ import annotations

import base64
import hashlib
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from scikit_build_core.build import (
    build_sdist,
    build_wheel,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_wheel,
)

sys.path.insert(0, str(Path(__file__).parent))
from build_core import build

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

ROOT = Path(__file__).resolve().parents[1]

get_requires_for_build_editable = get_requires_for_build_wheel
prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_editable(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """A wheel of the metadata, a path entry, and the hook; the core is built into src/whence."""
    build(ROOT)
    files = {
        "_whence_editable.pth": f"{ROOT / 'src'}\nimport _whence_rebuild\n".encode(),
        "_whence_rebuild.py": (ROOT / "scripts" / "rebuild_core.py").read_bytes(),
    }
    with tempfile.TemporaryDirectory() as folder:
        info = prepare_metadata_for_build_wheel(folder, config_settings)
        for file in sorted((Path(folder) / info).rglob("*")):
            if file.is_file():
                files[file.relative_to(folder).as_posix()] = file.read_bytes()
    tag = next(line[5:] for line in files[f"{info}/WHEEL"].decode().splitlines() if line.startswith("Tag: "))
    name = f"{info.removesuffix('.dist-info')}-{tag}.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            wheel.writestr(path, content)
        wheel.writestr(f"{info}/RECORD", "".join(_record(path, content) for path, content in files.items()))
    return name


def _record(path: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(content)}\n"
