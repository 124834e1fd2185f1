/* Dim order of a model as an option of its compilation: what `x.to(memory_format=...)` on model and inputs does. */
#include <string.h>

#include "compiler/driver/driver.h"
#include "compiler/graph/shapes.h"
#include "host/text.h"

/* Dense bytes in the dim order of `to`, from dense row-major ones. */
static const struct nuc_data *laid_out(struct nuc_graph *g, const void *contiguous, const struct nuc_meta *to)
{
    struct nuc_data *data = nuc_alloc(g->cx, sizeof *data);
    size_t size = nuc_dtype_size(to->dtype), offset = 0, count = (size_t)nuc_elements(to);
    const uint8_t *in = contiguous;
    int64_t index[NUC_MAX_RANK] = {0};
    uint8_t *out = nuc_alloc(g->cx, nuc_bytes(to));

    nuc_dense_strides(to, data->strides);
    for (size_t n = 0; n < count; n++) {
        memcpy(out + offset * size, in + n * size, size);
        for (uint32_t d = to->rank; d-- > 0;) {
            offset += (size_t)data->strides[d];
            if (++index[d] < to->sizes[d])
                break;
            offset -= (size_t)(data->strides[d] * to->sizes[d]);
            index[d] = 0;
        }
    }
    data->bytes = (struct nuc_span){out, nuc_bytes(to)};
    return data;
}

/* N, C, H, W tensors; torch's channels-last has no other. Buffers of integers, too: quantized weights are such. */
static bool is_converted(const struct nuc_node *n)
{
    return nuc_is_placeholder(n) && n->vals[0].rank == 4 && n->input_kind != NUC_CONSTANT;
}

/* A changed input is told: from now on its bytes lie in another order. */
static void tell(struct nuc_graph *g, const struct nuc_node *n)
{
    const struct nuc_meta *m = &n->vals[0];
    struct nuc_text text;

    nuc_text_init(&text, g->cx);
    for (uint32_t i = 0; i < m->rank; i++)
        nuc_text_addf(&text, "%s%lld", i == 0 ? "" : ", ", (long long)m->sizes[m->dim_order[i]]);
    nuc_warn(g->cx,
             "%s: input '%s' is %s now: its bytes are those of an array [%s], dimensions %s ('nucleon run' and "
             "'evaluate' take arrays as before)",
             g->file, n->name, nuc_is_contiguous(m) ? "contiguous" : "channels-last", nuc_text_string(&text),
             nuc_is_contiguous(m) ? "N, C, H, W" : "N, H, W, C");
}

static void convert_placeholder(struct nuc_graph *g, struct nuc_node *n, bool channels_last)
{
    struct nuc_meta to = n->vals[0];

    nuc_order_as(&to, channels_last);
    if (nuc_same_layout(&to, &n->vals[0]))
        return;
    if (n->data != NULL)
        n->data = laid_out(g, nuc_const_contiguous(g, n), &to);
    n->vals[0] = to;
    if (n->input_kind == NUC_USER_INPUT)
        tell(g, n);
}

/* A view of a tensor in another order than before may be none: reshape copies where it must. */
static void allow_copy(struct nuc_node *n)
{
    const struct nuc_node *input = nuc_arg_node(n, 0);

    if (n->op == NUC_OP_VIEW && input != NULL && !nuc_is_contiguous(&input->vals[0]))
        n->op = NUC_OP_RESHAPE;
}

void nuc_convert_dim_order(struct nuc_graph *g, enum nuc_dim_order order)
{
    if (order != NUC_DIM_ORDER_CONTIGUOUS && order != NUC_DIM_ORDER_CHANNELS_LAST)
        return;
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (is_converted(n))
            convert_placeholder(g, n, order == NUC_DIM_ORDER_CHANNELS_LAST);
    }
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_call(n))
            continue;
        allow_copy(n);
        nuc_infer_shape(g, n);
    }
}
