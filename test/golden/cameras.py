"""Writes test/unit/cases/cameras.txt: frames of a sensor as Pillow and libjpeg's colours make images of them.

    python3 test/golden/cameras.py > test/unit/cases/cameras.txt

Bytes of a frame are those of a generator of random numbers, which test_camera.c has, too.
"""

import json

from PIL import Image

HEAD = """# Frames as Pillow makes images of them (test/golden/cameras.py): the size of the image, by how much values may be off,
# the description, and the image's bytes, rows from the top, channels innermost. Colours of YUV are Pillow's own, whose
# tables have 6 bits.
== images
"""

PIXEL_BYTES = {"rgb565": 2, "rgb888": 3, "bgr888": 3, "yuyv": 2, "uyvy": 2, "grey": 1}
FILTERS = {"bilinear": Image.BILINEAR, "area": Image.BOX, "nearest": Image.NEAREST}

CASES = [
    ("rgb888", 9, 7, None, "bilinear", "rgb", 4, 3),
    ("rgb888", 9, 7, None, "area", "rgb", 4, 3),
    ("rgb888", 9, 7, None, "nearest", "rgb", 4, 3),
    ("rgb888", 4, 3, None, "bilinear", "rgb", 7, 8),
    ("rgb888", 4, 3, None, "area", "rgb", 7, 8),
    ("rgb888", 3, 5, None, "nearest", "bgr", 7, 8),
    ("rgb888", 6, 5, None, "bilinear", "rgb", 6, 5),
    ("rgb888", 40, 3, None, "bilinear", "rgb", 2, 3),
    ("rgb888", 3, 40, None, "bilinear", "bgr", 3, 2),
    ("rgb888", 16, 12, [3, 2, 10, 9], "bilinear", "rgb", 4, 4),
    ("rgb888", 16, 12, [15, 11, 1, 1], "bilinear", "rgb", 2, 2),
    ("rgb888", 16, 12, "center", "bilinear", "rgb", 5, 3),
    ("rgb888", 12, 16, "center", "area", "rgb", 5, 3),
    ("rgb888", 16, 12, "center", "nearest", "rgb", 3, 4),
    ("bgr888", 9, 7, None, "bilinear", "rgb", 4, 3),
    ("bgr888", 9, 7, None, "bilinear", "grey", 4, 3),
    ("rgb888", 8, 6, None, "nearest", "grey", 8, 6),
    ("rgb565", 9, 7, None, "bilinear", "rgb", 4, 3),
    ("rgb565", 8, 6, None, "nearest", "bgr", 8, 6),
    ("rgb565", 9, 7, [1, 0, 7, 7], "area", "grey", 4, 3),
    ("grey", 9, 7, None, "bilinear", "grey", 4, 3),
    ("grey", 9, 7, [2, 1, 5, 6], "bilinear", "rgb", 2, 3),
    ("yuyv", 8, 6, None, "nearest", "rgb", 8, 6),
    ("uyvy", 8, 6, None, "nearest", "rgb", 8, 6),
    ("yuyv", 16, 12, [3, 1, 9, 10], "bilinear", "rgb", 4, 5),
    ("uyvy", 16, 12, "center", "area", "bgr", 4, 4),
    ("yuyv", 16, 12, None, "bilinear", "grey", 4, 5),
    ("uyvy", 8, 6, None, "nearest", "grey", 8, 6),
]


def random_bytes(count):
    state = 1
    result = bytearray()
    for _ in range(count):
        state = (state * 1103515245 + 12345) % 2**31
        result.append(state >> 16 & 255)
    return bytes(result)


def image_of(pixels, width, height, frame):
    """The frame as an image, "L" or "RGB"."""
    if pixels == "grey":
        return Image.frombytes("L", (width, height), frame)
    if pixels == "rgb888":
        return Image.frombytes("RGB", (width, height), frame)
    if pixels == "bgr888":
        return Image.frombytes("RGB", (width, height), frame, "raw", "BGR")
    if pixels == "rgb565":
        words = [frame[i] | frame[i + 1] << 8 for i in range(0, len(frame), 2)]
        colours = [(w >> 11, w >> 5 & 63, w & 31) for w in words]
        flat = [v for r, g, b in colours for v in (r << 3 | r >> 2, g << 2 | g >> 4, b << 3 | b >> 2)]
        return Image.frombytes("RGB", (width, height), bytes(flat))
    first = 0 if pixels == "yuyv" else 1
    flat = bytearray()
    for i in range(0, len(frame), 4):
        luma = frame[i + first], frame[i + first + 2]
        u, v = frame[i + 1 - first], frame[i + 3 - first]
        flat += bytes([luma[0], u, v, luma[1], u, v])
    return Image.frombytes("YCbCr", (width, height), bytes(flat))


def centre(width, height, out_width, out_height):
    ratio = min(width / out_width, height / out_height)
    w, h = ratio * out_width, ratio * out_height
    return (width - w) / 2, (height - h) / 2, (width + w) / 2, (height + h) / 2


def main():
    print(HEAD, end="")
    for pixels, width, height, crop, method, channels, out_width, out_height in CASES:
        image = image_of(pixels, width, height, random_bytes(PIXEL_BYTES[pixels] * width * height))
        off = int(image.mode == "YCbCr" and channels != "grey")
        if image.mode == "YCbCr" and channels == "grey":
            image = image.getchannel(0)
        elif channels == "grey":
            image = image.convert("L")
        elif image.mode != "RGB":
            image = image.convert("RGB")
        if crop == "center":
            box = centre(width, height, out_width, out_height)
        else:
            x, y, w, h = crop or (0, 0, width, height)
            box = (x, y, x + w, y + h)
        image = image.resize((out_width, out_height), FILTERS[method], box=box)
        if channels == "bgr":
            image = Image.merge("RGB", image.split()[::-1])
        description = {"format": pixels, "width": width, "height": height, "resize": method, "channels": channels}
        if crop:
            description["crop"] = crop
        print(f"{out_width}x{out_height} {off} {json.dumps(description)} => {image.tobytes().hex()}")


main()
