/* Gathers: nearest-neighbor resizes, mirror pads. */
#include <string.h>

#include "npusim_host/vector_call.h"

#define LEAST_RUN 32 /* bytes next to each other that are worth a call of memmove() */

/* Copies of a size the compiler knows. */
#define COPY_UNITS(bytes)                                                                                              \
    case (bytes):                                                                                                      \
        for (int32_t i = 0; i < n; i++, out += (bytes))                                                                \
            memmove(out, in + table[i], (bytes));                                                                      \
        return

static void copy_units(const uint8_t *in, const int32_t *table, int32_t n, size_t unit, uint8_t *out)
{
    switch (unit) {
        COPY_UNITS(1);
        COPY_UNITS(2);
        COPY_UNITS(3);
        COPY_UNITS(4);
        COPY_UNITS(8);
        COPY_UNITS(16);
        COPY_UNITS(32);
        COPY_UNITS(64);
    }
    for (int32_t i = 0; i < n; i++, out += unit)
        memmove(out, in + table[i], unit);
}

/* Units from `i` on that lie next to each other in the source. */
static int32_t run_at(const int32_t *table, int32_t i, int32_t n, int32_t unit)
{
    int32_t end = i + 1;

    while (end < n && (int64_t)table[end] - table[end - 1] == unit)
        end++;
    return end - i;
}

/* A row of the last dimension: runs at once, what lies between them unit by unit. */
static void gather_row(const struct nuc_mc_gather *g, const uint8_t *in, const int32_t *table, uint8_t *out)
{
    int32_t n = g->shape[g->rank - 1], done = 0;
    size_t unit = (size_t)g->unit;

    for (int32_t i = 0; i < n;) {
        int32_t run = run_at(table, i, n, g->unit);
        if (run > 1 && (size_t)run * unit >= LEAST_RUN) {
            copy_units(in, table + done, i - done, unit, out + (size_t)done * unit);
            memmove(out + (size_t)i * unit, in + table[i], (size_t)run * unit);
            done = i + run;
        }
        i += run;
    }
    copy_units(in, table + done, n - done, unit, out + (size_t)done * unit);
}

static void gather_rows(void *arg, uint32_t thread, int64_t begin, int64_t end)
{
    const struct vec_call *c = arg;
    const struct nuc_mc_gather *g = &c->r->gather;
    int32_t last = g->rank - 1;
    size_t row_bytes = (size_t)g->shape[last] * (size_t)g->unit;
    const int32_t *last_table = npu_source_i32(c->m, g->table); /* those of all axes follow each other */
    int64_t before = 0;

    (void)thread;
    for (int32_t d = 0; d < last; d++)
        last_table += g->shape[d];
    for (int64_t row = begin; row < end; row++) {
        const int32_t *table = last_table;
        int64_t rest = row, at = 0;
        uint8_t *out = (uint8_t *)c->out + (size_t)row * row_bytes;
        for (int32_t d = last - 1; d >= 0; d--) {
            table -= g->shape[d];
            at += table[rest % g->shape[d]];
            rest /= g->shape[d];
        }
        if (row > begin && at == before)
            memmove(out, out - row_bytes, row_bytes);
        else
            gather_row(g, (const uint8_t *)c->in + at, last_table, out);
        before = at;
    }
}

bool vec_run_gather(struct vec_call *c)
{
    const struct nuc_mc_gather *g = &c->r->gather;
    int64_t rows = 1;

    for (int32_t d = 0; d < g->rank - 1; d++)
        rows *= g->shape[d];
    vec_share(c->v, gather_rows, c, rows, 1 + (int64_t)g->shape[g->rank - 1] * (1 + g->unit / VEC_MAX_BLOCK));
    return true;
}
