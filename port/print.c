#include "port/print.h"

#include <stddef.h>

#include "nucleon/decision.h"
#include "port/port.h"

/* v / 10 in place, and the rest: in halves of words, since a division of 64 bits would be the largest part of this. */
static uint32_t divide_by_ten(uint64_t *v)
{
    uint64_t quotient = 0;
    uint32_t rest = 0;

    for (int shift = 48; shift >= 0; shift -= 16) {
        rest = rest << 16 | (uint32_t)(*v >> shift & 0xFFFF);
        quotient |= (uint64_t)(rest / 10) << shift;
        rest %= 10;
    }
    *v = quotient;
    return rest;
}

char *nuc_number(int64_t value, char text[NUC_NUMBER_BYTES])
{
    size_t at = NUC_NUMBER_BYTES;
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;

    text[--at] = '\0';
    do {
        text[--at] = (char)('0' + divide_by_ten(&rest));
    } while (rest > 0);
    if (value < 0)
        text[--at] = '-';
    return text + at;
}

void nuc_print_line(const char *before, int64_t value, const char *after)
{
    char text[NUC_NUMBER_BYTES];

    nuc_port_print(before);
    nuc_port_print(nuc_number(value, text));
    nuc_port_print(after);
}

void nuc_print_millionths(float value)
{
    const float two24 = 16777216.0f;
    const float most = two24 * two24;
    float v = value * 1e6f;

    if (!(v > -most))
        v = -most;
    v = v < most ? v : most;
    int32_t high = (int32_t)(v / two24); /* conversion of 64 bits would take libraries of double arithmetic */
    int32_t low = (int32_t)(v - (float)high * two24);
    nuc_print_line(" ", (int64_t)high * (1 << 24) + low, "e-6");
}

void nuc_print_found(int64_t sample, const struct nuc_decider *decider)
{
    for (size_t i = 0; decider != NULL && i < decider->n_found; i++) {
        const struct nuc_found *f = &decider->found[i];
        nuc_print_line("sample ", sample, ":");
        nuc_print_line(" ", f->label, ",");
        nuc_print_millionths(f->score);
        nuc_print_millionths(f->x);
        nuc_print_millionths(f->y);
        nuc_print_millionths(f->w);
        nuc_print_millionths(f->h);
        nuc_port_print("\n");
    }
}
