#include <assert.h>
#include <string.h>

#include "host/numbers.h"
#include "npu/arrange/builder.h"
#include "npu/support/support.h"

/* ---- permutations ---- */

void nuc_perm_to_first(int32_t *perm, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++)
        perm[i] = i == 0 ? 0 : i == 1 ? (int32_t)rank - 1 : (int32_t)i - 1;
}

void nuc_perm_to_last(int32_t *perm, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++)
        perm[i] = i == 0 ? 0 : i == rank - 1 ? 1 : (int32_t)i + 1;
}

void nuc_perm_inverse(int32_t *out, const int32_t *perm, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++)
        out[perm[i]] = (int32_t)i;
}

void nuc_perm_apply(int32_t *out, const int32_t *in, const int32_t *perm, uint32_t rank)
{
    assert(out != in && out != perm && rank <= NUC_MAX_RANK);
    for (uint32_t i = 0; i < rank; i++)
        out[i] = in[perm[i]];
}

void nuc_perm_identity(int32_t *perm, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++)
        perm[i] = (int32_t)i;
}

bool nuc_perm_is_identity(const int32_t *perm, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++) {
        if (perm[i] != (int32_t)i)
            return false;
    }
    return true;
}

void *nuc_permute_data(struct nuc_context *cx, const void *data, size_t size, const int32_t *shape, uint32_t rank,
                       const int32_t *perm)
{
    size_t strides[NUC_MAX_RANK]; /* bytes in the input, in the order of the output's axes */
    int32_t sizes[NUC_MAX_RANK];
    int32_t index[NUC_MAX_RANK] = {0};
    size_t total = 1, offset = 0;

    for (uint32_t i = 0; i < rank; i++) {
        strides[i] = size;
        for (uint32_t k = (uint32_t)perm[i] + 1; k < rank; k++)
            strides[i] *= (size_t)shape[k];
        sizes[i] = shape[perm[i]];
        total *= (size_t)shape[i];
    }
    uint8_t *out = nuc_alloc_array(cx, total, size);
    const uint8_t *in = data;
    struct nuc_plane p = {1, rank == 0 ? 1 : (size_t)sizes[rank - 1], size, 0, 1};
    p.rows = rank < 2 ? 1 : (size_t)sizes[rank - 2];
    p.pitch = rank < 2 ? 0 : (ptrdiff_t)(strides[rank - 2] / size);
    p.step = rank == 0 ? 1 : (ptrdiff_t)(strides[rank - 1] / size);
    for (size_t n = 0; n < total; n += p.rows * p.count) {
        nuc_copy_plane(out + n * size, in + offset, &p);
        for (uint32_t i = rank < 2 ? 0 : rank - 2; i > 0; i--) {
            offset += strides[i - 1];
            if (++index[i - 1] < sizes[i - 1])
                break;
            offset -= strides[i - 1] * (size_t)sizes[i - 1];
            index[i - 1] = 0;
        }
    }
    return out;
}

/* ---- transposes ---- */

bool nuc_ltb_can_transpose(const struct nuc_ltb *b, const int32_t *shape, const int32_t *perm, uint32_t rank)
{
    return b->flavor == NULL || nuc_can_transpose(b->target, b->flavor, shape, perm, rank);
}

/* A permutation of neighbours that stay neighbours as one dimension each. */
struct groups {
    uint32_t count;
    int32_t perm[NUC_MAX_RANK], from[NUC_MAX_RANK], to[NUC_MAX_RANK]; /* sizes */
};

static struct groups groups_of(const int32_t *shape, const int32_t *perm, uint32_t rank)
{
    struct groups g = {.count = 0};
    int32_t first[NUC_MAX_RANK];

    for (uint32_t i = 0; i < rank; i++) {
        if (i == 0 || perm[i] != perm[i - 1] + 1) {
            first[g.count] = perm[i];
            g.to[g.count++] = 1;
        }
        g.to[g.count - 1] *= shape[perm[i]];
    }
    for (uint32_t i = 0; i < g.count; i++) {
        for (uint32_t k = 0; k < g.count; k++)
            g.perm[i] += first[k] < first[i];
        g.from[g.perm[i]] = g.to[i];
    }
    return g;
}

static void append(struct nuc_ltb *b, int32_t input, int32_t perm_tensor, int32_t output)
{
    const struct nuc_lt_tensor *t = nuc_ltb_at(b, input);

    if (t->rank <= NUC_MAX_TRANSPOSE_RANK) {
        nuc_ltb_op(b, NUC_LT_TRANSPOSE, (const int32_t[]){input, perm_tensor}, 2, output);
        return;
    }
    struct groups g =
        groups_of(t->shape, (const int32_t *)(const void *)nuc_ltb_at(b, perm_tensor)->data.data, t->rank);
    if (g.count > NUC_MAX_TRANSPOSE_RANK)
        nuc_fail(b->cx, NUC_UNSUPPORTED,
                 "%s: the value '%s' of rank %u has to be transposed, the NPU does so up to "
                 "rank %d: reshape it to fewer dimensions",
                 b->model->file, t->name, t->rank, NUC_MAX_TRANSPOSE_RANK);
    int32_t from = nuc_ltb_duplicate(b, input, "_grouped", false);
    int32_t to = nuc_ltb_duplicate(b, output, "_grouped", false);
    nuc_ltb_set_shape(b, from, g.from, g.count);
    nuc_ltb_set_shape(b, to, g.to, g.count);
    nuc_ltb_reshape(b, input, from);
    append(b, from, nuc_ltb_list(b, "perm", g.perm, g.count), to);
    nuc_ltb_reshape(b, to, output);
}

void nuc_ltb_transpose(struct nuc_ltb *b, int32_t input, int32_t output, const int32_t *perm)
{
    append(b, input, nuc_ltb_list(b, "perm", perm, nuc_ltb_at(b, input)->rank), output);
}

/* A data-less copy of a tensor with permuted shape. */
static int32_t permuted_copy(struct nuc_ltb *b, int32_t tensor, const char *suffix, const int32_t *perm)
{
    int32_t shape[NUC_MAX_RANK];
    int32_t copy = nuc_ltb_duplicate(b, tensor, suffix, false);
    uint32_t rank = nuc_ltb_at(b, tensor)->rank;

    nuc_perm_apply(shape, nuc_ltb_at(b, tensor)->shape, perm, rank);
    nuc_ltb_set_shape(b, copy, shape, rank);
    return copy;
}

int32_t nuc_ltb_transpose_before(struct nuc_ltb *b, int32_t input, const int32_t *perm, enum nuc_ltb_format format)
{
    int32_t output = permuted_copy(b, input, "_transposed_", perm);

    b->notes[output].format = format;
    nuc_ltb_transpose(b, input, output, perm);
    return output;
}

struct nuc_ltb_result nuc_ltb_begin_result(struct nuc_ltb *b, int32_t output, const int32_t *perm,
                                           enum nuc_ltb_format format)
{
    struct nuc_ltb_result r = {output, output, -1};
    int32_t inverse[NUC_MAX_RANK];
    uint32_t rank = nuc_ltb_at(b, output)->rank;

    if (perm == NULL)
        return r;
    nuc_perm_inverse(inverse, perm, rank);
    r.written = permuted_copy(b, output, "", inverse);
    b->notes[r.written].format = format;
    r.perm = nuc_ltb_list(b, "perm", perm, rank);
    return r;
}

void nuc_ltb_end_result(struct nuc_ltb *b, const struct nuc_ltb_result *r)
{
    if (r->perm >= 0)
        append(b, r->written, r->perm, r->output);
}

void nuc_ltb_identity(struct nuc_ltb *b, int32_t input, int32_t output)
{
    int32_t perm[NUC_MAX_RANK];
    uint32_t rank = nuc_ltb_at(b, input)->rank;

    nuc_perm_identity(perm, rank);
    append(b, input, nuc_ltb_list(b, "identity", perm, rank), output);
}

int32_t nuc_ltb_permuted_constant(struct nuc_ltb *b, int32_t constant, const char *suffix, const int32_t *shape,
                                  uint32_t rank, const int32_t *perm)
{
    int32_t copy = nuc_ltb_duplicate(b, constant, suffix, true);
    struct nuc_lt_tensor *t = nuc_ltb_at(b, copy);

    assert(t->data.data != NULL);
    t->data.data = nuc_permute_data(b->cx, t->data.data, nuc_dtype_size(t->dtype), shape, rank, perm);
    return copy;
}

int32_t nuc_ltb_transposed_constant(struct nuc_ltb *b, int32_t constant, const int32_t *perm, int32_t axis)
{
    const struct nuc_lt_tensor from = *nuc_ltb_at(b, constant);
    int32_t copy = nuc_ltb_permuted_constant(b, constant, "_transposed", from.shape, from.rank, perm);
    struct nuc_lt_tensor *to = nuc_ltb_at(b, copy);

    nuc_perm_apply(to->shape, from.shape, perm, from.rank);
    to->quant.axis = axis;
    return copy;
}

const int32_t *nuc_ltb_perm_of(const struct nuc_ltb *b, const struct nuc_lt_op *op)
{
    if (op->code != NUC_LT_TRANSPOSE || op->n_inputs != 2)
        return NULL;
    const struct nuc_lt_tensor *perm = nuc_ltb_at(b, op->inputs[1]);
    if (perm->data.data == NULL || perm->dtype != NUC_I32 || perm->rank != 1 ||
        (uint32_t)perm->shape[0] != nuc_ltb_at(b, op->inputs[0])->rank)
        return NULL;
    return (const int32_t *)(const void *)perm->data.data;
}

/* ---- reshapes ---- */

void nuc_ltb_reshape(struct nuc_ltb *b, int32_t input, int32_t output)
{
    const struct nuc_lt_tensor to = *nuc_ltb_at(b, output);
    int32_t shape = nuc_ltb_list(b, "new_shape", to.shape, to.rank);

    nuc_ltb_op(b, NUC_LT_RESHAPE, (const int32_t[]){input, shape}, 2, output)->options.reshape =
        nuc_lt_list(to.shape, to.rank);
}
