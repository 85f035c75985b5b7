"""ZIP archives of tests."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from zipfile import ZipFile


def packed(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return an archive of these files, in this order. A name that ends with a slash is a directory."""
    out = io.BytesIO()
    with ZipFile(out, "w", method) as archive:
        for name, content in files.items():
            # The same time in each archive, so that equal files give equal archives.
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return out.getvalue()
