#include "compiler/import/image_check.h"

enum { SOI = 0xd8, SOS = 0xda, DHT = 0xc4, TEM = 0x01, RST0 = 0xd0, EOI = 0xd9 };

/* The segment after a DHT marker at `at`: length, then tables of a number, 16 counts and that many values. */
static bool tables_fit(struct nuc_span file, size_t at)
{
    if (at + 2 > file.size)
        return true;
    int32_t left = (file.data[at] << 8 | file.data[at + 1]) - 2;
    at += 2;
    while (left > 0) {
        int32_t codes = 0;
        if (at + 17 > file.size)
            return true;
        for (size_t i = 1; i <= 16; i++)
            codes += file.data[at + i];
        if (codes > 256)
            return false;
        at += 17 + (size_t)codes;
        left -= 17 + codes;
    }
    return true;
}

/* After the headers, image data escape 0xff, so a DHT marker is one wherever it stands. */
static bool later_tables_fit(struct nuc_span file, size_t at)
{
    for (; at + 1 < file.size; at++) {
        if (file.data[at] == 0xff && file.data[at + 1] == DHT && !tables_fit(file, at + 2))
            return false;
    }
    return true;
}

/* Markers without a segment. */
static bool is_bare(uint8_t marker)
{
    return marker == 0 || marker == TEM || (marker >= RST0 && marker <= EOI);
}

bool nuc_jpeg_tables_fit(struct nuc_span file)
{
    size_t at = 2;

    if (file.size < 2 || file.data[0] != 0xff)
        return true;
    /* Segment by segment to the image data: application segments may hold anything. */
    while (at + 3 < file.size) {
        if (file.data[at] != 0xff || file.data[at + 1] == 0xff) {
            at++;
            continue;
        }
        uint8_t marker = file.data[at + 1];
        if (marker == SOS)
            return later_tables_fit(file, at);
        if (marker == DHT && !tables_fit(file, at + 2))
            return false;
        at += is_bare(marker) ? 2 : 2 + ((size_t)file.data[at + 2] << 8 | file.data[at + 3]);
    }
    return true;
}
