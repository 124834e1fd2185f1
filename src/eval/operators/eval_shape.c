/* Views, padding, conversion of dtypes, ranges. Any element type. */
#include <string.h>

#include "eval/eval_call.h"

/* ---- views: the same memory under another shape ---- */

static bool always(const struct nuc_node *node)
{
    (void)node;
    return true;
}

const struct nuc_eval_op nuc_eval_view = {.is_view = always};

static bool is_inactive(const struct nuc_node *node)
{
    return !nuc_flag(node, NUC_ARG(DROPOUT, train));
}

static void refuse_dropout(struct nuc_eval_call *c)
{
    nuc_eval_fail(c, "it drops elements at random; export the model after eval()");
}

const struct nuc_eval_op nuc_eval_dropout = {.is_view = is_inactive, .prepare = refuse_dropout};

/* _assert_tensor_metadata has no value. */
static void run_nothing(const struct nuc_eval_call *c)
{
    (void)c;
}

const struct nuc_eval_op nuc_eval_nothing = {.run = run_nothing};

/* ---- conversion ---- */

static bool keeps_dtype(const struct nuc_node *node)
{
    return node->vals[0].dtype == nuc_input_meta(node, NUC_SELF)->dtype;
}

static void prepare_cast(struct nuc_eval_call *c)
{
    const enum nuc_dtype from = nuc_eval_in_meta(c, NUC_SELF)->dtype, to = nuc_eval_result(c)->dtype;
    const bool is_half = from == NUC_F16 || from == NUC_BF16;

    if (from != to && ((!nuc_eval_can_convert(from) && !is_half) || !nuc_eval_can_convert(to)))
        nuc_eval_fail(c, "%s is not converted to %s", nuc_dtype_name(from), nuc_dtype_name(to));
}

static void run_cast(const struct nuc_eval_call *c)
{
    const struct nuc_meta *out = nuc_eval_result(c);

    nuc_eval_convert(nuc_eval_in_meta(c, NUC_SELF)->dtype, nuc_eval_in(c, NUC_SELF), out->dtype, c->out[0],
                     (size_t)nuc_elements(out));
}

const struct nuc_eval_op nuc_eval_cast = {.is_view = keeps_dtype, .prepare = prepare_cast, .run = run_cast};

/* ---- padding ---- */

#define PAD_FILL SIZE_MAX

struct pad_run {
    size_t to, from, count; /* in a row of the result and of the input */
};

struct pad {
    size_t *maps[NUC_MAX_RANK]; /* by output coordinate, the input coordinate it shows, or PAD_FILL */
    uint8_t fill[8];            /* one element */
    size_t n_runs;
    struct pad_run *runs; /* of a row */
};

typedef int64_t (*pad_coordinate)(int64_t at, int64_t size);

/* `at` is the coordinate relative to the input, outside [0, size) in the padding; negative: filled. */
static int64_t constant_coordinate(int64_t at, int64_t size)
{
    return at < 0 || at >= size ? -1 : at;
}

static int64_t replicate_coordinate(int64_t at, int64_t size)
{
    if (at < 0)
        return 0;
    return at >= size ? size - 1 : at;
}

static int64_t circular_coordinate(int64_t at, int64_t size)
{
    return size <= 0 ? -1 : (at % size + size) % size;
}

static int64_t reflect_coordinate(int64_t at, int64_t size)
{
    int64_t mirrored = at < 0 ? -at : at >= size ? 2 * (size - 1) - at : at;

    return constant_coordinate(mirrored, size);
}

static pad_coordinate find_mode(const struct nuc_eval_call *c, const char *name)
{
    static const struct {
        const char *name;
        pad_coordinate coordinate;
    } modes[] = {{"constant", constant_coordinate},
                 {"replicate", replicate_coordinate},
                 {"circular", circular_coordinate},
                 {"reflect", reflect_coordinate}};

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(modes[i].name, name) == 0)
            return modes[i].coordinate;
    }
    nuc_eval_fail(c, "unknown padding mode '%s'", name);
}

/* Amounts come in pairs {before, after}, last dimension first. */
static void prepare_pad(struct nuc_eval_call *c)
{
    struct pad *p = nuc_alloc(c->cx, sizeof *p);
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF), *out = nuc_eval_result(c);
    const struct nuc_arg *amounts = nuc_arg_at(c->node, NUC_ARG(PAD, pad));
    bool constant = c->node->op == NUC_OP_CONSTANT_PAD;
    pad_coordinate coordinate =
        constant ? constant_coordinate : find_mode(c, nuc_arg_at(c->node, NUC_ARG(PAD, mode))->u.string);
    uint32_t value = constant ? NUC_ARG(CONSTANT_PAD, value) : NUC_ARG(PAD, value);

    for (uint32_t d = 0; d < in->rank; d++) {
        uint32_t pair = in->rank - 1 - d;
        int64_t before = pair < amounts->count / 2 ? amounts->u.ints[2 * pair] : 0;
        int64_t after = pair < amounts->count / 2 ? amounts->u.ints[2 * pair + 1] : 0;
        /* What negative amounts cut off does not come back around. */
        int64_t first = coordinate == circular_coordinate && before < 0 ? -before : 0;
        int64_t kept = in->sizes[d] - first + (coordinate == circular_coordinate && after < 0 ? after : 0);
        p->maps[d] = nuc_alloc_array(c->cx, (size_t)out->sizes[d], sizeof *p->maps[d]);
        for (int64_t i = 0; i < out->sizes[d]; i++) {
            int64_t from = coordinate(i - before - first, kept);
            p->maps[d][i] = from < 0 ? PAD_FILL : (size_t)(from + first);
        }
    }
    /* Neighbouring elements of a row that are neighbours in the input, or padding. A scalar has one element, itself. */
    const size_t *map = in->rank == 0 ? NULL : p->maps[in->rank - 1];
    size_t length = nuc_eval_row_length(nuc_eval_result(c));
    p->runs = nuc_alloc_array(c->cx, length, sizeof *p->runs);
    for (size_t i = 0; i < length; i++) {
        size_t from = map == NULL ? i : map[i];
        struct pad_run *last = p->n_runs == 0 ? NULL : &p->runs[p->n_runs - 1];
        bool goes_on = last != NULL && (from == PAD_FILL ? last->from == PAD_FILL
                                                         : last->from != PAD_FILL && from == last->from + last->count);
        if (goes_on)
            last->count++;
        else
            p->runs[p->n_runs++] = (struct pad_run){i, from, 1};
    }
    if (nuc_eval_can_convert(out->dtype))
        nuc_store_number(out->dtype, p->fill, 0, nuc_scalar(c->node, value, 0.0));
    c->state = p;
}

/* Offset in elements of the input row that output row `row` shows; PAD_FILL when it is all padding. */
static size_t source_row(const struct pad *p, const struct nuc_meta *in, const struct nuc_meta *out, size_t row)
{
    size_t offset = 0, stride = nuc_eval_row_length(in);

    for (uint32_t d = out->rank < 1 ? 0 : out->rank - 1u; d-- > 0;) {
        size_t from = p->maps[d][row % (size_t)out->sizes[d]];
        if (from == PAD_FILL)
            return PAD_FILL;
        offset += from * stride;
        stride *= (size_t)in->sizes[d];
        row /= (size_t)out->sizes[d];
    }
    return offset;
}

static void fill(const struct pad *p, char *to, size_t count, size_t size)
{
    if (size == sizeof(float)) {
        for (size_t i = 0; i < count; i++) /* of a size that the compiler knows */
            memcpy(to + i * sizeof(float), p->fill, sizeof(float));
        return;
    }
    for (size_t i = 0; i < count; i++)
        memcpy(to + i * size, p->fill, size);
}

static void pad_row(const struct pad *p, const char *from, char *to, size_t size)
{
    for (size_t i = 0; i < p->n_runs; i++) {
        const struct pad_run *r = &p->runs[i];
        if (r->from == PAD_FILL)
            fill(p, to + r->to * size, r->count, size);
        else
            memcpy(to + r->to * size, from + r->from * size, r->count * size);
    }
}

static void pad_rows(const void *arg, struct nuc_part part)
{
    const struct nuc_eval_call *c = arg;
    const struct pad *p = c->state;
    const struct nuc_meta *in = nuc_eval_in_meta(c, NUC_SELF), *out = nuc_eval_result(c);
    size_t size = nuc_dtype_size(out->dtype), length = nuc_eval_row_length(out);
    const char *from = nuc_eval_in(c, NUC_SELF);
    char *to = (char *)c->out[0] + part.begin * length * size;

    for (size_t row = part.begin; row < part.end; row++, to += length * size) {
        size_t source = source_row(p, in, out, row);
        if (source == PAD_FILL)
            fill(p, to, length, size);
        else
            pad_row(p, from + source * size, to, size);
    }
}

static void run_pad(const struct nuc_eval_call *c)
{
    nuc_parallel_for(c->pool, nuc_eval_rows(nuc_eval_result(c)), (double)nuc_eval_elements(c), pad_rows, c);
}

const struct nuc_eval_op nuc_eval_pad = {.prepare = prepare_pad, .run = run_pad};

/* ---- tensors made from numbers only: computed once ---- */

/* What torch leaves undefined in an empty tensor is zero here. */
static void run_zeros(const struct nuc_eval_call *c)
{
    memset(c->out[0], 0, nuc_bytes(nuc_eval_result(c)));
}

const struct nuc_eval_op nuc_eval_zeros = {.run = run_zeros};

/* The shape rule has counted the elements. */
static void prepare_arange(struct nuc_eval_call *c)
{
    enum nuc_dtype dtype = nuc_eval_result(c)->dtype;

    if (!nuc_eval_can_convert(dtype))
        nuc_eval_fail(c, "ranges of %s are not computed", nuc_dtype_name(dtype));
}

static void run_arange(const struct nuc_eval_call *c)
{
    double start = nuc_scalar(c->node, NUC_ARG(ARANGE, start), 0.0);
    double step = nuc_scalar(c->node, NUC_ARG(ARANGE, step), 1.0);

    for (size_t i = 0; i < nuc_eval_elements(c); i++)
        nuc_store_number(nuc_eval_result(c)->dtype, c->out[0], i, start + step * (double)i);
}

const struct nuc_eval_op nuc_eval_arange = {.prepare = prepare_arange, .run = run_arange};
