/* Operators that move values, as other dimensions or of constants: reshapes, transposes, what slices take. */
#include "tflite_import.h"

/* ---- shapes ---- */

/* The result's own sizes; also those of a SQUEEZE. */
void nuc_ti_reshape(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0), *y = nuc_ti_out(ti);
    enum nuc_ti_form from = nuc_ti_is_flat(x) ? nuc_ti_form_of(ti, 0) : NUC_TI_PLAIN;
    enum nuc_ti_form to = y->rank == 4 && nuc_ti_is_flat(y) ? NUC_TI_IMAGE : NUC_TI_PLAIN;

    if (nuc_lt_elements(x) != nuc_lt_elements(y))
        nuc_ti_fail(ti, "'%s' and '%s' have different numbers of elements", x->name, y->name);
    nuc_ti_define(ti, nuc_ti_view_as(ti, nuc_ti_real(ti, 0, from), y, to), to);
}

/* For each dimension of the result in form `to` the dimension of operand 0 in form `from`. */
static bool map_dims(const int64_t *perm, uint32_t rank, enum nuc_ti_form from, enum nuc_ti_form to, int64_t *dims)
{
    bool identity = true;

    for (uint32_t d = 0; d < rank; d++) {
        dims[d] = nuc_ti_dim(from, (uint32_t)perm[nuc_ti_axis(to, d)]);
        identity = identity && dims[d] == (int64_t)d;
    }
    return identity;
}

/* Of a constant it is done here; one that turns one form into the other gives the value in the other form. */
void nuc_ti_transpose(struct nuc_ti *ti)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0), *y = nuc_ti_out(ti);
    enum nuc_ti_form from = nuc_ti_form_of(ti, 0);
    const struct nuc_ti_value *v = &ti->values[ti->op->inputs[0]];
    int64_t perm[NUC_MAX_RANK], dims[NUC_MAX_RANK];
    uint32_t rank = nuc_ti_integers(ti, 1, NUC_MAX_RANK, perm), seen = 0;

    for (uint32_t i = 0; i < rank; i++) {
        perm[i] = nuc_lt_axis(perm[i], rank);
        seen |= perm[i] >= 0 ? 1u << perm[i] : 0;
    }
    if (rank != x->rank || seen != (1u << rank) - 1)
        nuc_ti_fail(ti, "operand 1 is not an order of %u dimensions", x->rank);
    if (nuc_ti_define_transposed(ti, x, perm))
        return;
    bool same = x->dtype == y->dtype && nuc_lt_quant_equal(&x->quant, &y->quant) && v->nodes[from] != NULL;
    for (int to = NUC_TI_FORMS - 1; same && rank == 4 && to >= 0; to--) {
        if (map_dims(perm, rank, from, (enum nuc_ti_form)to, dims)) {
            nuc_ti_define_alias(ti, v->nodes[from], (enum nuc_ti_form)to);
            return;
        }
    }
    map_dims(perm, rank, from, from, dims);
    nuc_ti_define(ti, nuc_ti_permute(ti, nuc_ti_real(ti, 0, from), dims, rank), from);
}

/* An end of a range as Python counts, clipped to what a walk in that direction may begin or end with. */
static int64_t clipped(int64_t at, int64_t size, int64_t step)
{
    int64_t least = step > 0 ? 0 : -1, most = step > 0 ? size : size - 1;

    if (at < 0)
        at += size;
    return at < least ? least : at > most ? most : at;
}

/* What entry i of begins, ends and steps says of an axis. */
static struct nuc_ti_cut cut_of(const struct nuc_ti *ti, uint32_t i, int64_t size, int64_t begin, int64_t end,
                                int64_t step)
{
    const union nuc_lt_options *o = &ti->op->options;
    bool whole_begin = (o->strided_slice.begin_mask >> i & 1) != 0;
    bool whole_end = (o->strided_slice.end_mask >> i & 1) != 0;
    int64_t first = step > 0 ? 0 : size - 1, past = step > 0 ? size : -1;

    if (step == 0)
        nuc_ti_fail(ti, "a step is 0");
    if (o->strided_slice.shrink_axis_mask >> i & 1) {
        int64_t at = begin < 0 ? begin + size : begin;
        if (at < 0 || at >= size)
            nuc_ti_fail(ti, "takes element %lld of %lld", (long long)begin, (long long)size);
        return (struct nuc_ti_cut){at, at + 1, 1};
    }
    if (o->strided_slice.offset && __builtin_add_overflow(begin, end, &end))
        nuc_ti_fail(ti, "an end is out of range");
    step = step > INT16_MAX ? INT16_MAX : step < -INT16_MAX ? -INT16_MAX : step;
    return (struct nuc_ti_cut){whole_begin ? first : clipped(begin, size, step),
                               whole_end ? past : clipped(end, size, step), step};
}

bool nuc_ti_strided_cuts(const struct nuc_ti *ti, struct nuc_ti_cut *cuts)
{
    const struct nuc_lt_tensor *x = nuc_ti_in(ti, 0);
    const union nuc_lt_options *o = &ti->op->options;
    int64_t begin[2 * NUC_MAX_RANK], end[2 * NUC_MAX_RANK], step[2 * NUC_MAX_RANK];
    uint32_t count = nuc_lt_integers(nuc_ti_in(ti, 1), 2 * NUC_MAX_RANK, begin), axis = 0;

    if (count == UINT32_MAX || nuc_lt_integers(nuc_ti_in(ti, 2), 2 * NUC_MAX_RANK, end) != count ||
        nuc_lt_integers(nuc_ti_in(ti, 3), 2 * NUC_MAX_RANK, step) != count)
        return false;
    for (uint32_t d = 0; d < x->rank; d++)
        cuts[d] = (struct nuc_ti_cut){0, x->shape[d], 1};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t later = 0; /* axes that the entries behind stand for */
        for (uint32_t k = i + 1; k < count; k++)
            later += (o->strided_slice.new_axis_mask >> k & 1) == 0;
        if (o->strided_slice.ellipsis_mask >> i & 1) {
            axis = later <= x->rank && x->rank - later > axis ? x->rank - later : axis;
            continue;
        }
        if (o->strided_slice.new_axis_mask >> i & 1)
            continue;
        if (axis == x->rank)
            nuc_ti_fail(ti, "names more axes than the %u of '%s'", x->rank, x->name);
        cuts[axis] = cut_of(ti, i, x->shape[axis], begin[i], end[i], step[i]);
        axis++;
    }
    return true;
}
