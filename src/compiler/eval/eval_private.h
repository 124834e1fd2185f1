/* What the operator families of the evaluator share. */
#ifndef NUC_EVAL_PRIVATE_H
#define NUC_EVAL_PRIVATE_H

#include "compiler/eval/eval.h"
#include "compiler/eval/eval_parallel.h"

#define NUC_NO_SLOT UINT32_MAX

/* One tensor value of the graph. */
struct nuc_eval_value {
    const struct nuc_node *node;
    uint32_t index;  /* among node->vals */
    uint32_t root;   /* slot whose memory this value is: itself unless it is a view */
    bool constant;   /* depends on parameters and constants only: computed once */
    bool user_input; /* memory of the caller, set by every run */
    size_t bytes;
    size_t offset;     /* in the arena, when neither constant nor user input */
    uint32_t last_use; /* last step that reads the root */
    const void *data;  /* of a root */
};

/* One node bound to its values. Run functions see nothing else of the evaluator. */
struct nuc_eval_call {
    struct nuc_context *cx;
    struct nuc_graph *g;
    struct nuc_pool *pool;
    const struct nuc_node *node;
    struct nuc_eval_value *values;
    const uint32_t *in_slots;          /* by schema argument, NUC_NO_SLOT for one that is no tensor */
    const uint32_t *const *list_slots; /* by schema argument, NULL for one that is no list of tensors */
    uint32_t out_slot;                 /* of val 0; the others follow */
    void **out;                        /* by val */
    void *state;                       /* what prepare() computed, read-only for run() */
    size_t scratch_size;               /* bytes wanted by run(), set by prepare() */
    void *scratch;                     /* 64-byte aligned, shared by all nodes */
};

/* How the evaluator computes one operator. */
struct nuc_eval_op {
    /* Checks what the schema cannot say, computes `state` and `scratch_size`. May be NULL. */
    void (*prepare)(struct nuc_eval_call *c);
    void (*run)(const struct nuc_eval_call *c);
    /* True when the value is its first argument's memory under another shape; then run is not called. */
    bool (*is_view)(const struct nuc_node *node);
};

/* NULL when the operator cannot be evaluated. */
const struct nuc_eval_op *nuc_eval_find(enum nuc_op op);

static inline bool nuc_eval_has_in(const struct nuc_eval_call *c, uint32_t arg)
{
    return c->in_slots[arg] != NUC_NO_SLOT;
}

/* Data of a tensor argument; NULL when it is None or, in prepare(), not known yet. */
static inline const void *nuc_eval_in(const struct nuc_eval_call *c, uint32_t arg)
{
    return nuc_eval_has_in(c, arg) ? c->values[c->values[c->in_slots[arg]].root].data : NULL;
}

/* The tensor argument is given and known before the first run. */
static inline bool nuc_eval_is_constant_in(const struct nuc_eval_call *c, uint32_t arg)
{
    return nuc_eval_has_in(c, arg) && c->values[c->in_slots[arg]].constant;
}

/* Tensors of a list argument. An element of an optional list may be missing: its node is NULL. */
static inline uint32_t nuc_eval_list_count(const struct nuc_eval_call *c, uint32_t arg)
{
    return c->list_slots[arg] == NULL ? 0 : c->node->args[arg].count;
}

static inline bool nuc_eval_list_has(const struct nuc_eval_call *c, uint32_t arg, uint32_t i)
{
    return c->list_slots[arg][i] != NUC_NO_SLOT;
}

static inline const void *nuc_eval_list_in(const struct nuc_eval_call *c, uint32_t arg, uint32_t i)
{
    return nuc_eval_list_has(c, arg, i) ? c->values[c->values[c->list_slots[arg][i]].root].data : NULL;
}

static inline const struct nuc_meta *nuc_eval_list_meta(const struct nuc_eval_call *c, uint32_t arg, uint32_t i)
{
    return &c->node->args[arg].u.nodes[i]->vals[0];
}

/* The tensor argument is given. */
static inline const struct nuc_meta *nuc_eval_in_meta(const struct nuc_eval_call *c, uint32_t arg)
{
    return &c->node->args[arg].u.node->vals[0];
}

static inline const struct nuc_meta *nuc_eval_out_meta(const struct nuc_eval_call *c, uint32_t val)
{
    return &c->node->vals[val];
}

/* Fails with NUC_UNSUPPORTED: "<file>: <node>: <text>". */
_Noreturn void nuc_eval_fail(const struct nuc_eval_call *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Fails unless the tensor argument has that dtype. */
void nuc_eval_want(const struct nuc_eval_call *c, uint32_t arg, enum nuc_dtype dtype);

/* Fails unless tensor argument `arg` and value 0 are float32. */
void nuc_eval_want_float(const struct nuc_eval_call *c, uint32_t arg);

/* A number given as int, float or bool; `fallback` for None. */
double nuc_eval_number(const struct nuc_eval_call *c, uint32_t arg, double fallback);
int64_t nuc_eval_int(const struct nuc_eval_call *c, uint32_t arg, int64_t fallback);

/* An int[2] argument {height, width}, where one number stands for both; false for an empty list or None. */
bool nuc_eval_pair(const struct nuc_eval_call *c, uint32_t arg, int64_t out[2]);

/* A dimension in [-rank, rank) made non-negative; a scalar counts as rank 1. */
uint32_t nuc_eval_dim(const struct nuc_eval_call *c, int64_t dim, uint32_t rank);

/* Product of sizes[from, to). */
size_t nuc_eval_product(const struct nuc_meta *m, uint32_t from, uint32_t to);

/* Batch, channels, height and width of a [C, H, W] or [N, C, H, W] tensor. */
struct nuc_eval_image {
    size_t batch, channels, height, width;
};
struct nuc_eval_image nuc_eval_image(const struct nuc_eval_call *c, const struct nuc_meta *m);

/*
 * Offset in elements of the first element of row `row` of a tensor of shape `m` under `strides`: rows run along the
 * last dimension and are numbered in logical order. A scalar has one row.
 */
size_t nuc_eval_row_offset(const struct nuc_meta *m, size_t row, const size_t strides[NUC_MAX_RANK]);
size_t nuc_eval_row_length(const struct nuc_meta *m);
size_t nuc_eval_rows(const struct nuc_meta *m);

/* Strides with which a contiguous tensor `from` is read in the shape of `to` (trailing dimensions match or are 1). */
void nuc_eval_broadcast_strides(const struct nuc_meta *from, const struct nuc_meta *to, size_t strides[NUC_MAX_RANK]);

/* Element `i` of an array of integers or booleans. */
int64_t nuc_eval_load_int(enum nuc_dtype dtype, const void *data, size_t i);

/* Element `i` of an array of any dtype nuc_eval_can_convert() names. Storing to an integer truncates and saturates. */
double nuc_eval_load_number(enum nuc_dtype dtype, const void *data, size_t i);
void nuc_eval_store_number(enum nuc_dtype dtype, void *data, size_t i, double value);
void nuc_eval_store_int(enum nuc_dtype dtype, void *data, size_t i, int64_t value);
bool nuc_eval_can_convert(enum nuc_dtype dtype);
bool nuc_eval_is_integer(enum nuc_dtype dtype);

/* Dimension argument of a tensor, made non-negative. */
uint32_t nuc_eval_dim_arg(const struct nuc_eval_call *c, uint32_t arg, uint32_t rank);

/* Fails unless a tensor argument broadcasts to value 0. */
void nuc_eval_check_broadcast(const struct nuc_eval_call *c, uint32_t arg);

/* Marks the dimensions an int[]? argument names; none or an empty list names all. */
void nuc_eval_marked_dims(const struct nuc_eval_call *c, uint32_t arg, uint32_t rank, bool marked[NUC_MAX_RANK]);

/* `count` elements of `size` bytes, `stride` elements apart in `from`, to neighbouring places. */
void nuc_eval_copy_strided(void *to, const void *from, size_t count, size_t stride, size_t size);

/* Converts `count` elements; equal dtypes are copied. */
void nuc_eval_convert(enum nuc_dtype from, const void *in, enum nuc_dtype to, void *out, size_t count);

/* The families. */
extern const struct nuc_eval_op nuc_eval_conv, nuc_eval_conv_padding, nuc_eval_conv_transpose, nuc_eval_edge_conv;
extern const struct nuc_eval_op nuc_eval_linear, nuc_eval_addmm, nuc_eval_mm, nuc_eval_matmul;
extern const struct nuc_eval_op nuc_eval_gru;
extern const struct nuc_eval_op nuc_eval_batch_norm, nuc_eval_edge_batch_norm;
extern const struct nuc_eval_op nuc_eval_relu, nuc_eval_relu6, nuc_eval_hardtanh, nuc_eval_clamp, nuc_eval_unary;
extern const struct nuc_eval_op nuc_eval_binary, nuc_eval_prelu, nuc_eval_gt_scalar, nuc_eval_where;
extern const struct nuc_eval_op nuc_eval_max_pool, nuc_eval_avg_pool, nuc_eval_max_pool1d, nuc_eval_avg_pool1d;
extern const struct nuc_eval_op nuc_eval_adaptive_avg_pool, nuc_eval_edge_adaptive_avg_pool, nuc_eval_global_avg_pool;
extern const struct nuc_eval_op nuc_eval_upsample_bilinear, nuc_eval_upsample_nearest;
extern const struct nuc_eval_op nuc_eval_mean, nuc_eval_sum, nuc_eval_sum_all, nuc_eval_extremum, nuc_eval_softmax;
extern const struct nuc_eval_op nuc_eval_quantize_per_tensor, nuc_eval_dequantize_per_tensor;
extern const struct nuc_eval_op nuc_eval_quantize_per_channel, nuc_eval_dequantize_per_channel;
extern const struct nuc_eval_op nuc_eval_pad, nuc_eval_constant_pad;
extern const struct nuc_eval_op nuc_eval_permute, nuc_eval_transpose, nuc_eval_slice, nuc_eval_expand;
extern const struct nuc_eval_op nuc_eval_as_strided, nuc_eval_split, nuc_eval_cat, nuc_eval_slice_scatter;
extern const struct nuc_eval_op nuc_eval_copy, nuc_eval_index, nuc_eval_zeros, nuc_eval_arange;
extern const struct nuc_eval_op nuc_eval_view, nuc_eval_getitem, nuc_eval_dropout, nuc_eval_cast, nuc_eval_nothing;

#endif
