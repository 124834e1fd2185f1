/* Copies that put a dimension of bytes in the place of another one. */
#include <string.h>

#include "npusim_host/vector_call.h"

#define PIECE 64        /* rows or columns that are handed out together */
#define LONG_PIECE 512  /* the same, where there are fewer of the others than a tile has */
#define STEPS_OF_ROW 24 /* of the other's bytes in a piece */

/* out[column * out_row + row] = in[row * in_row + column], at each place of the other dimensions. */
struct transpose {
    const struct vec_isa *isa;
    struct nuc_mc_copy copy; /* the other dimensions */
    const int8_t *in;
    int8_t *out;
    int32_t rows, columns;
    int64_t in_row, out_row;
    int64_t pieces; /* of a place */
    int32_t piece;
};

/* Takes out of `c` the dimension whose bytes lie next to each other, of `out` or else of the input. */
static bool take_dimension(struct nuc_mc_copy *c, bool out, int32_t *size, int32_t *other_stride)
{
    for (int32_t d = 0; d < c->rank; d++) {
        if (c->shape[d] == 1 || (out ? c->out_stride : c->in_stride)[d] != 1)
            continue;
        *size = c->shape[d];
        *other_stride = (out ? c->in_stride : c->out_stride)[d];
        for (c->rank--; d < c->rank; d++) {
            c->shape[d] = c->shape[d + 1];
            c->in_stride[d] = c->in_stride[d + 1];
            c->out_stride[d] = c->out_stride[d + 1];
        }
        return true;
    }
    return false;
}

/* Dimensions next to each other that are one, as height and width are. */
static void join_dimensions(struct nuc_mc_copy *c)
{
    int32_t n = 1;

    for (int32_t d = 1; d < c->rank; d++) {
        if (c->in_stride[n - 1] == (int64_t)c->shape[d] * c->in_stride[d] &&
            c->out_stride[n - 1] == (int64_t)c->shape[d] * c->out_stride[d])
            c->shape[n - 1] *= c->shape[d];
        else
            c->shape[n++] = c->shape[d];
        c->in_stride[n - 1] = c->in_stride[d];
        c->out_stride[n - 1] = c->out_stride[d];
    }
    c->rank = n;
}

/* What is read and what is written, fill included, have no byte in common. */
static bool are_apart(const struct nuc_mc_copy *c, const int8_t *in, const int8_t *out)
{
    int64_t low = 0, high = 1, end = c->out_start + 1;

    for (int32_t d = 0; d < c->rank; d++) {
        int64_t reach = (int64_t)(c->shape[d] - 1) * c->in_stride[d];
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
        end += (int64_t)(c->shape[d] - 1) * c->out_stride[d];
    }
    end = end < c->fill_size ? c->fill_size : end;
    return (intptr_t)out + end <= (intptr_t)in + low || (intptr_t)in + high <= (intptr_t)out;
}

static void transpose_pieces(void *arg, uint32_t thread, int64_t begin, int64_t end)
{
    const struct transpose *t = arg;
    bool by_row = t->rows >= t->columns;

    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        int64_t rest = i / t->pieces, first = i % t->pieces * t->piece, at_in = 0, at_out = 0;
        for (int32_t d = t->copy.rank - 1; d >= 0; d--) {
            at_in += rest % t->copy.shape[d] * t->copy.in_stride[d];
            at_out += rest % t->copy.shape[d] * t->copy.out_stride[d];
            rest /= t->copy.shape[d];
        }
        int64_t left = (by_row ? t->rows : t->columns) - first;
        int32_t n = i % t->pieces + 1 < t->pieces ? t->piece : (int32_t)left;
        at_in += by_row ? first * t->in_row : first;
        at_out += by_row ? first : first * t->out_row;
        t->isa->transpose(t->in + at_in, (ptrdiff_t)t->in_row, by_row ? n : t->rows, by_row ? t->columns : n,
                          t->out + at_out, (ptrdiff_t)t->out_row);
    }
}

/* Calls that put a dimension of bytes in the place of another one. */
bool vec_run_copy(struct vec_call *call)
{
    const struct nuc_mc_copy *c = &call->r->copy;
    struct transpose t = {.isa = call->v->isa, .copy = *c, .in = call->in, .out = call->out + c->out_start};
    int32_t in_row, out_row, longer, shorter;
    int64_t places = 1;

    join_dimensions(&t.copy);
    if (c->unit != 1 || !take_dimension(&t.copy, true, &t.rows, &in_row) ||
        !take_dimension(&t.copy, false, &t.columns, &out_row) || !are_apart(c, call->in, call->out))
        return false;
    t.in_row = in_row;
    t.out_row = out_row;
    longer = t.rows >= t.columns ? t.rows : t.columns;
    shorter = t.rows >= t.columns ? t.columns : t.rows;
    /* The last piece has what is left over: a whole tile and more. */
    t.piece = shorter < 16 ? LONG_PIECE : PIECE;
    t.pieces = longer < 2 * t.piece ? 1 : longer / t.piece;
    for (int32_t d = 0; d < t.copy.rank; d++)
        places *= t.copy.shape[d];
    if (c->fill_size > 0)
        memset(call->out, c->fill_value, (size_t)c->fill_size);
    vec_share(call->v, transpose_pieces, &t, places * t.pieces, (int64_t)shorter * (t.piece / PIECE) * STEPS_OF_ROW);
    return true;
}
