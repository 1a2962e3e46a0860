"""Image files as arrays: formats, colours and sizes are checked, and nothing that they claim is trusted."""

import io
import warnings
from typing import Any, Literal

import numpy as np

from prunefield.core.errors import UsageError
from prunefield.core.sizes import check_claim

FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP")  # Pillow knows others, some of which call external programs
DEEP = ("I;16", "I;16B", "I;16L")  # modes of 16 bits a pixel


def decode_image(content: bytes, name: str, mode: Literal["RGB", "L"]) -> np.ndarray:
    """An image file as (channels, height, width), uint8."""
    return list_channels(open_image(content, name, mode))


def scale_square(image: Any, side: int) -> Any:
    """The central square of an image, scaled to side × side pixels."""
    from PIL.Image import Resampling

    if image.size == (side, side):
        return image
    edge = min(image.size)
    left, top = (image.width - edge) // 2, (image.height - edge) // 2
    return image.crop((left, top, left + edge, top + edge)).resize((side, side), Resampling.BOX)


def list_channels(image: Any) -> np.ndarray:
    """The pixels of an image in mode RGB or L, (channels, height, width)."""
    pixels = np.asarray(image)
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)


def open_image(content: bytes, name: str, mode: Literal["RGB", "L"], *, upright: bool = False) -> Any:
    """An image file as an image of Pillow in the mode RGB or L: the first one of several, without opacity.

    With `upright` it is turned as the camera has noted in the file.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with warnings.catch_warnings(action="ignore"), Image.open(io.BytesIO(content), formats=FORMATS) as picture:
            check_claim(name, 4 * picture.width * picture.height, len(content))  # Pillow's own limit is far higher
            if picture.mode in ("I", "F"):
                raise ValueError("its grey levels have 32 bits; save it with 8 or 16")
            turned = ImageOps.exif_transpose(picture) if upright else picture
            if turned.mode in DEEP:  # Pillow would clip to 255, not scale
                turned.load()
                return Image.fromarray((np.asarray(turned) >> 8).astype(np.uint8)).convert(mode)
            return turned.convert(mode)
    except UsageError:
        raise
    except Exception as error:  # a damaged image may raise anything
        known = isinstance(error, UnidentifiedImageError)
        reason = f"allowed: {', '.join(FORMATS)}" if known else " ".join(str(error).split()) or type(error).__name__
        raise UsageError(f"{name} is not an image that can be read ({reason}); replace or remove it") from None
