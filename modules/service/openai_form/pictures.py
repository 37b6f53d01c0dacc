"""The pictures of messages: they come in `data:` addresses, as nothing is fetched for a client."""

import base64
from typing import Final

from core.errors import UsageError
from core.ports import ImageInput
from modules.service.openai_form.asked import Asked
from modules.service.openai_form.errors import Unfit
from modules.session.attached.attachments import IMAGES_MAX
from modules.session.attached.image_file import FILE_SIZE_MAX_BYTES, image_of

PARAM: Final = "messages"


def read_pictures(asked: Asked) -> tuple[ImageInput, ...]:
    """The last message's pictures, and of the messages before the newest that there is room for.

    Takes up to a second or two for each.

    Raises:
        Unfit: one can't be read, is elsewhere or too large, or there are too many.
    """
    if len(asked.images) > IMAGES_MAX:
        told = f"the message has more than {IMAGES_MAX} images; leave some out"
        raise Unfit(told, PARAM, "invalid_value")
    brought = [url for url in asked.earlier_images if url.startswith("data:")]
    chosen = [*brought, *asked.images][-IMAGES_MAX:]
    return tuple(_picture(url, f"image-{number}") for number, url in enumerate(chosen, 1))


def _picture(url: str, name: str) -> ImageInput:
    head, comma, data = url.partition(",")
    if not head.startswith("data:image/") or not head.endswith(";base64") or not comma:
        told = "no image is fetched from an address; send it as data:image/png;base64,…"
        raise Unfit(f"{name}: {told}", PARAM, "invalid_image_url")
    if len(data) * 3 // 4 > FILE_SIZE_MAX_BYTES:
        told = f"{name} is larger than {FILE_SIZE_MAX_BYTES // 2**20} MB; send a smaller one"
        raise Unfit(told, PARAM, "image_too_large")
    try:
        return image_of(base64.b64decode(data, validate=True), name)
    except ValueError:  # not in the alphabet of Base64, or cut off
        raise Unfit(f"{name} is no Base64", PARAM, "invalid_base64_image") from None
    except UsageError as error:
        told = str(error).removeprefix("@")
        raise Unfit(told, PARAM, "invalid_image_format") from None
