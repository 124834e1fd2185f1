/* What the operator families of the evaluator share. */
#ifndef NUC_EVAL_EVAL_CALL_H
#define NUC_EVAL_EVAL_CALL_H

#include "eval/eval.h"
#include "eval/eval_gemm.h"
#include "eval/eval_parallel.h"
#include "host/numbers.h"
#include "ir/args.h"
#include "nucleon/kernels.h"

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

struct nuc_eval_op;

/* The first call of a run whose values its operator refuses, as an index out of bounds; NULL: there is none. */
struct nuc_eval_refusal {
    const struct nuc_eval_call *call;
    const char *why;
};

/* One node bound to its values. Run functions see nothing else of the evaluator. */
struct nuc_eval_call {
    struct nuc_context *cx;
    struct nuc_graph *g;
    struct nuc_pool *pool;
    const struct nuc_node *node;
    const struct nuc_eval_op *op;
    struct nuc_eval_value *values;
    const uint32_t *in_slots;          /* by schema argument, NUC_NO_SLOT for one that is not a tensor */
    const uint32_t *const *list_slots; /* by schema argument, NULL for one that is not a list of tensors */
    uint32_t out_slot;                 /* of val 0; the others follow */
    void **out;                        /* by val */
    void *state;                       /* what prepare() computed, read-only for run() */
    size_t room_size, scratch_size;    /* bytes that run() needs for each thread, and behind those; of prepare() */
    void *scratch;                     /* 64-byte aligned, shared by all nodes */
    const struct nuc_eval_call *then;  /* what follows at once on the result: nuc_eval_finish() */
    struct nuc_eval_refusal *refusal;  /* of the evaluator, to be set by run() */
    bool shows;                        /* a rounding that is left out is the memory of what it rounds */
};

/* How the evaluator computes one operator. */
struct nuc_eval_op {
    /* Checks what schema and shape rule do not say, computes `state` and what run() needs. May be NULL. */
    void (*prepare)(struct nuc_eval_call *c);
    /* Writes all of its results, whose memory is others' before. */
    void (*run)(const struct nuc_eval_call *c);
    /* True when the value is its first argument's memory under another shape; then run is not called. */
    bool (*is_view)(const struct nuc_node *node);
    /* A function of single floats that becomes floats, of `count` of them. May be NULL. */
    void (*apply)(const struct nuc_eval_call *c, const float *in, float *out, size_t count);
    /* Whether `apply` is all that it does with these types. NULL: always. */
    bool (*applies)(const struct nuc_eval_call *c);
    /* Adds it to what `f` does with sums; false when it cannot be said so. May be NULL. */
    bool (*describe)(const struct nuc_eval_call *c, struct nuc_finish *f);
    /* run() calls nuc_eval_finish(). */
    bool finishes;
    /* The kernel of a program that computes it, and what that takes: of operators of eval_kernel.c. */
    nuc_kernel_fn kernel;
    const uint32_t *accepts;
};

/* Floats that such functions take at a time: they stay in the first-level cache. */
#define NUC_EVAL_PIECE ((size_t)512)

/*
 * Results that are nearly done, while they are in the cache: what is computed of each of them alone follows here, and
 * only its result is stored. In any pieces, in any order.
 */
void nuc_eval_finish(const struct nuc_eval_call *c, float *results, size_t count);

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

static inline const void *nuc_eval_list_in(const struct nuc_eval_call *c, uint32_t arg, uint32_t i)
{
    return c->list_slots[arg][i] != NUC_NO_SLOT ? c->values[c->values[c->list_slots[arg][i]].root].data : NULL;
}

static inline const struct nuc_meta *nuc_eval_list_meta(const struct nuc_eval_call *c, uint32_t arg, uint32_t i)
{
    return &c->node->args[arg].u.nodes[i]->vals[0];
}

static inline const struct nuc_meta *nuc_eval_in_meta(const struct nuc_eval_call *c, uint32_t arg)
{
    return nuc_input_meta(c->node, arg);
}

/* The value, or the first of several. */
static inline const struct nuc_meta *nuc_eval_result(const struct nuc_eval_call *c)
{
    return c->node->vals;
}

static inline size_t nuc_eval_elements(const struct nuc_eval_call *c)
{
    return (size_t)nuc_elements(nuc_eval_result(c));
}

/* Whether what follows the call can be described, and how. */
bool nuc_eval_finish_of(const struct nuc_eval_call *c, struct nuc_finish *f);

/* The function of the call itself, and what follows, of elements `part` of `in`. */
void nuc_eval_apply(const struct nuc_eval_call *c, const float *in, struct nuc_part part);

/* Fails with NUC_UNSUPPORTED: "<file>: <node>: <text>". */
_Noreturn void nuc_eval_fail(const struct nuc_eval_call *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Fails like that, with the values that the call refused, as long as they are there (eval_kernel.c). */
_Noreturn void nuc_eval_fail_refused(const struct nuc_eval_refusal *r, const char *where);

/* Fails unless the tensor argument is given and has that dtype. */
void nuc_eval_expect(const struct nuc_eval_call *c, uint32_t arg, enum nuc_dtype dtype);

/* Fails unless tensor argument `arg` and the result are float32. */
void nuc_eval_expect_float(const struct nuc_eval_call *c, uint32_t arg);

/* Fails unless tensor argument `arg` and the result are of types that nuc_eval_can_convert() names. */
void nuc_eval_check_computed(const struct nuc_eval_call *c, uint32_t arg);

/* Product of sizes[from, to). */
size_t nuc_product_of_dims(const struct nuc_meta *m, uint32_t from, uint32_t to);

/* The lines of a tensor along a dimension: outer * inner of `size` elements, `inner` apart. A scalar is one line. */
struct nuc_eval_lines {
    size_t outer, size, inner;
};

struct nuc_eval_lines nuc_eval_lines_of(const struct nuc_meta *m, uint32_t dim);

/* Where the first element of a line is. */
static inline size_t nuc_eval_line(const struct nuc_eval_lines *l, size_t line)
{
    return line / l->inner * l->size * l->inner + line % l->inner;
}

/* Offset of an element, counted in logical order, of a tensor of shape `m` under `strides`. */
size_t nuc_eval_offset(const struct nuc_meta *m, size_t element, const size_t strides[NUC_MAX_RANK]);

/*
 * Offset in elements of the first element of row `row` of a tensor of shape `m` under `strides`: rows run along the
 * last dimension and are numbered in logical order. A scalar has one row.
 */
size_t nuc_eval_row_offset(const struct nuc_meta *m, size_t row, const size_t strides[NUC_MAX_RANK]);
size_t nuc_eval_row_length(const struct nuc_meta *m);
size_t nuc_eval_rows(const struct nuc_meta *m);

/* Strides with which a contiguous tensor `from` is read in the shape of `to` (trailing dimensions match or are 1). */
void nuc_eval_broadcast_strides(const struct nuc_meta *from, const struct nuc_meta *to, size_t strides[NUC_MAX_RANK]);

/* All types but float16 and bfloat16. */
bool nuc_eval_can_convert(enum nuc_dtype dtype);

/* The dimensions that a reduction reduces, as a mask. */
uint32_t nuc_eval_reduced_dims(const struct nuc_eval_call *c);

/* Converts `count` elements; equal dtypes are copied. */
void nuc_eval_convert(enum nuc_dtype from, const void *in, enum nuc_dtype to, void *out, size_t count);

/* Operators and groups of operators: those of families and of the columns EVAL of ops.def. */
extern const struct nuc_eval_op nuc_eval_binary, nuc_eval_conv, nuc_eval_batch_norm, nuc_eval_recurrent,
    nuc_eval_matmul, nuc_eval_max_pool, nuc_eval_upsample, nuc_eval_fold, nuc_eval_scan, nuc_eval_softmax,
    nuc_eval_quant, nuc_eval_move, nuc_eval_cat, nuc_eval_pad, nuc_eval_cast, nuc_eval_nothing, nuc_eval_zeros,
    nuc_eval_rounding, nuc_eval_float_sum, nuc_eval_global_pool;
#define EVAL(op, by) extern const struct nuc_eval_op nuc_eval_##by;
#include "ir/ops.def"

#endif
