"""Builds the core of an editable install again, before it is imported, where one of its sources has changed.

Installed beside the path entry of an editable install, which runs it at the start of every Python: it imports nothing.
"""

import sys


class _Rebuild:
    """Looks at the sources when ``whence._core`` is about to be imported; leaves finding it to others."""

    @staticmethod
    def find_spec(name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name == "whence._core" and path:
            _rebuild_if_stale(next(iter(path)))


def _rebuild_if_stale(package):  # type: ignore[no-untyped-def]
    import os
    from pathlib import Path

    root = Path(package).parents[1]
    script = root / "scripts" / "build_core.py"
    built = [file.stat().st_mtime for suffix in ("so", "pyd") for file in Path(package).glob(f"_core.*.{suffix}")]
    if not script.is_file() or os.environ.get("WHENCE_NO_REBUILD"):
        return
    sources = [root / "CMakeLists.txt", *(root / "core").rglob("*.?pp")]
    if built and max(source.stat().st_mtime for source in sources) <= max(built):
        return
    import subprocess

    print("whence: building the core again, its sources have changed", file=sys.stderr, flush=True)
    done = subprocess.run([sys.executable, str(script)], stdout=sys.stderr, check=False)
    if done.returncode != 0:
        raise ImportError("The core of whence could not be built again; the lines above say why.")


sys.meta_path.insert(0, _Rebuild)  # type: ignore[arg-type]
