#include "device/base/program_sum.h"

enum { DIGITS = sizeof NUC_PROGRAM_SUM_DIGITS - 1, HEAD = sizeof NUC_PROGRAM_SUM - 1 };

/* Four bits at a time: 16 entries of the reflected polynomial 0xedb88320 cost a microcontroller 64 bytes. */
uint32_t nuc_crc32(uint32_t sum, const uint8_t *bytes, size_t size)
{
    static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                       0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                       0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    uint32_t c = ~sum;

    for (size_t i = 0; i < size; i++) {
        c ^= bytes[i];
        c = (c >> 4) ^ table[c & 15];
        c = (c >> 4) ^ table[c & 15];
    }
    return ~c;
}

static bool begins_with(const uint8_t *bytes, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] != (uint8_t)text[i])
            return false;
    }
    return true;
}

size_t nuc_last_text(struct nuc_span bytes, const char *text, size_t length)
{
    if (bytes.size < length)
        return 0;
    size_t at = bytes.size - length;

    while (at > 0 && !begins_with(bytes.data + at, text, length))
        at--;
    return at;
}

size_t nuc_program_sum_at(struct nuc_span program)
{
    size_t at = nuc_last_text(program, NUC_PROGRAM_SUM, HEAD);

    return at == 0 || program.size - at < HEAD + DIGITS ? 0 : at + HEAD;
}

static uint32_t sum_of(struct nuc_span program, size_t at, nuc_sum_fn *crc32)
{
    uint32_t sum = crc32(0, program.data, at);

    sum = crc32(sum, (const uint8_t *)NUC_PROGRAM_SUM_DIGITS, DIGITS);
    return crc32(sum, program.data + at + DIGITS, program.size - at - DIGITS);
}

static uint8_t digit(uint32_t sum, uint32_t i)
{
    return (uint8_t) "0123456789abcdef"[sum >> (28 - 4 * i) & 15];
}

void nuc_program_seal(uint8_t *program, size_t size, nuc_sum_fn *crc32)
{
    const struct nuc_span bytes = {program, size};
    size_t at = nuc_program_sum_at(bytes);
    uint32_t sum = at == 0 ? 0 : sum_of(bytes, at, crc32);

    for (uint32_t i = 0; at != 0 && i < DIGITS; i++)
        program[at + i] = digit(sum, i);
}

bool nuc_program_sum_fits(struct nuc_span program, size_t at, nuc_sum_fn *crc32)
{
    uint32_t sum = sum_of(program, at, crc32), i = 0;

    while (i < DIGITS && program.data[at + i] == digit(sum, i))
        i++;
    return i == DIGITS;
}
