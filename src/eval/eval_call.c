/* What run and prepare functions of all families use: arguments, shapes, single elements. */
#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "eval/eval_call.h"

_Noreturn void nuc_eval_fail(const struct nuc_eval_call *c, const char *format, ...)
{
    char text[NUC_MESSAGE_SIZE / 2];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    nuc_fail(c->cx, NUC_UNSUPPORTED, "%s: %s cannot be evaluated: %s", c->g->file, nuc_node_text(c->cx, c->node), text);
}

void nuc_eval_expect(const struct nuc_eval_call *c, uint32_t arg, enum nuc_dtype dtype)
{
    if (!nuc_eval_has_in(c, arg))
        nuc_eval_fail(c, "tensor argument %u is missing", (unsigned)arg);
    if (nuc_eval_in_meta(c, arg)->dtype != dtype)
        nuc_eval_fail(c, "argument %u is %s, only %s is computed; convert it with to()", (unsigned)arg,
                      nuc_dtype_name(nuc_eval_in_meta(c, arg)->dtype), nuc_dtype_name(dtype));
}

void nuc_eval_expect_float(const struct nuc_eval_call *c, uint32_t arg)
{
    nuc_eval_expect(c, arg, NUC_F32);
    if (nuc_eval_result(c)->dtype != NUC_F32)
        nuc_eval_fail(c, "the result is %s, only float32 is computed", nuc_dtype_name(nuc_eval_result(c)->dtype));
}

void nuc_eval_check_computed(const struct nuc_eval_call *c, uint32_t arg)
{
    enum nuc_dtype types[2] = {nuc_eval_in_meta(c, arg)->dtype, nuc_eval_result(c)->dtype};

    for (int i = 0; i < 2; i++) {
        if (!nuc_eval_can_convert(types[i]))
            nuc_eval_fail(c, "%s is not computed; convert it to float32", nuc_dtype_name(types[i]));
    }
}

/* Not in place: a loop with two arrays that do not overlap becomes vector code. */
void nuc_eval_finish(const struct nuc_eval_call *c, float *results, size_t count)
{
    float piece[NUC_EVAL_PIECE];

    for (const struct nuc_eval_call *f = c->then; f != NULL; f = f->then) {
        for (size_t at = 0, n; at < count; at += n) {
            n = count - at < NUC_EVAL_PIECE ? count - at : NUC_EVAL_PIECE;
            f->op->apply(f, results + at, piece, n);
            memcpy(results + at, piece, n * sizeof *piece);
        }
    }
}

void nuc_eval_apply(const struct nuc_eval_call *c, const float *in, struct nuc_part part)
{
    for (size_t at = part.begin, count; at < part.end; at += count) {
        float *out = (float *)c->out[0] + at;
        count = part.end - at < NUC_EVAL_PIECE ? part.end - at : NUC_EVAL_PIECE;
        c->op->apply(c, in + at, out, count);
        nuc_eval_finish(c, out, count);
    }
}

bool nuc_eval_finish_of(const struct nuc_eval_call *c, struct nuc_finish *f)
{
    *f = (struct nuc_finish){.clamps = false};
    for (const struct nuc_eval_call *next = c->then; next != NULL; next = next->then) {
        if (next->op->describe == NULL || f->rounds || !next->op->describe(next, f))
            return false;
    }
    return true;
}

size_t nuc_product_of_dims(const struct nuc_meta *m, uint32_t from, uint32_t to)
{
    size_t product = 1;

    for (uint32_t d = from; d < to; d++)
        product *= (size_t)m->sizes[d];
    return product;
}

struct nuc_eval_lines nuc_eval_lines_of(const struct nuc_meta *m, uint32_t dim)
{
    return (struct nuc_eval_lines){nuc_product_of_dims(m, 0, dim), m->rank == 0 ? 1 : (size_t)m->sizes[dim],
                                   nuc_product_of_dims(m, dim + 1, m->rank)};
}

size_t nuc_eval_row_length(const struct nuc_meta *m)
{
    return m->rank == 0 ? 1 : (size_t)m->sizes[m->rank - 1];
}

size_t nuc_eval_rows(const struct nuc_meta *m)
{
    return m->rank == 0 ? 1 : nuc_product_of_dims(m, 0, m->rank - 1u);
}

/* Over the first `rank` dimensions. */
static size_t offset_of(const struct nuc_meta *m, uint32_t rank, size_t index, const size_t strides[NUC_MAX_RANK])
{
    size_t offset = 0;

    for (uint32_t d = rank; d-- > 0 && index != 0;) {
        const size_t size = (size_t)m->sizes[d], above = index < size ? 0 : index / size;
        offset += (index - above * size) * strides[d];
        index = above;
    }
    return offset;
}

size_t nuc_eval_offset(const struct nuc_meta *m, size_t element, const size_t strides[NUC_MAX_RANK])
{
    return offset_of(m, m->rank, element, strides);
}

size_t nuc_eval_row_offset(const struct nuc_meta *m, size_t row, const size_t strides[NUC_MAX_RANK])
{
    return offset_of(m, m->rank == 0 ? 0 : m->rank - 1u, row, strides);
}

void nuc_eval_broadcast_strides(const struct nuc_meta *from, const struct nuc_meta *to, size_t strides[NUC_MAX_RANK])
{
    size_t stride = 1;

    assert(from->rank <= to->rank);
    memset(strides, 0, NUC_MAX_RANK * sizeof *strides);
    for (uint32_t i = 1; i <= from->rank; i++) {
        size_t size = (size_t)from->sizes[from->rank - i];
        strides[to->rank - i] = size == 1 ? 0 : stride;
        stride *= size;
    }
}

bool nuc_eval_can_convert(enum nuc_dtype dtype)
{
    return dtype < NUC_DTYPE_COUNT && dtype != NUC_F16 && dtype != NUC_BF16;
}

void nuc_eval_convert(enum nuc_dtype from, const void *in, enum nuc_dtype to, void *out, size_t count)
{
    bool exact = nuc_is_integer(from);

    if (from == to) {
        memcpy(out, in, count * nuc_dtype_size(to));
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (exact)
            nuc_store_int(to, out, i, nuc_int_at(from, in, i));
        else
            nuc_store_number(to, out, i, nuc_number_at(from, in, i));
    }
}
