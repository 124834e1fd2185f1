/* Traces as text: one line per kernel call and one per run, times in cycles of the cost model. */
#include <string.h>

#include "npu.h"

struct line {
    char text[96];
    size_t length;
};

static void add_text(struct line *l, const char *text)
{
    size_t n = 0;

    while (text[n] && l->length + n < sizeof l->text)
        n++;
    memcpy(l->text + l->length, text, n);
    l->length += n;
}

static void add_number(struct line *l, uint64_t value)
{
    char digits[24];
    size_t at = sizeof digits - 1;

    digits[at] = 0;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    add_text(l, " ");
    add_text(l, digits + at);
}

static void put(struct nuc_npu_trace *t, struct line *l)
{
    add_text(l, "\n");
    if (!t->text || l->length > t->capacity - t->length)
        return;
    memcpy(t->text + t->length, l->text, l->length);
    t->length += l->length;
}

void nuc_npu_trace_begin(struct nuc_npu_trace *t)
{
    t->length = 0;
    t->ran = true;
}

void nuc_npu_trace_call(struct nuc_npu_trace *t, uint32_t call, uint32_t opcode, uint64_t start, uint64_t stop)
{
    struct line l = {.length = 0};

    if (!(t->levels & TRACE_CONFIG_KERNEL_LEVEL))
        return;
    add_text(&l, "kernel");
    add_number(&l, call);
    add_text(&l, " ");
    add_text(&l, nuc_mc_opcode_name(opcode));
    add_number(&l, start);
    add_number(&l, stop);
    put(t, &l);
}

void nuc_npu_trace_end(struct nuc_npu_trace *t, uint64_t stop)
{
    struct line l = {.length = 0};

    if (!(t->levels & TRACE_CONFIG_JOB_LEVEL))
        return;
    add_text(&l, "job");
    add_number(&l, 0);
    add_number(&l, stop);
    put(t, &l);
}
