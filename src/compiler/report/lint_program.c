#include "compiler/report/lint_program.h"

#include <string.h>

#include "base/flatbuf.h"
#include "base/program_schema.h"
#include "compiler/neutron/container/payload.h"
#include "host/text.h"
#include "nucleon/kernels.h"
#include "nucleon/types.h"

enum order { ORDER_CONTIGUOUS, ORDER_CHANNELS_LAST, ORDER_OTHER };

struct tensor {
    enum order order;
    uint32_t rank;
    int32_t channels; /* size of dimension 1, or 0 */
    int64_t elements;
    bool reordered; /* channels-last, and its bytes lie otherwise than contiguous ones */
};

struct lint {
    struct nuc_fb_reader r;
    struct nuc_context *cx;
    const char *file;
    struct nuc_fb_table program, plan;
    uint64_t segment_base;
    uint32_t instruction; /* under examination */
    uint64_t budget;      /* arguments that may still be read: tables can be shared, a small file could take long */
    struct nuc_lint_finding *findings;
    size_t count, capacity;
};

static void found(struct lint *l, const char *what, const char *rule)
{
    l->findings = nuc_grow(l->cx, l->findings, &l->capacity, l->count + 1, sizeof *l->findings);
    l->findings[l->count++] = (struct nuc_lint_finding){l->instruction, what, rule};
}

static void check(struct lint *l)
{
    if (l->r.bad)
        nuc_fail(l->cx, NUC_BAD_INPUT, "%s: the program is damaged: instruction %u reads outside the file", l->file,
                 l->instruction);
}

/* ---- tensors of a call ---- */

static enum order order_of(struct lint *l, struct nuc_fb_vector dim_order)
{
    uint32_t n = dim_order.count;
    bool contiguous = true, channels_last = n == 4 || n == 5;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t d = nuc_fb_vec_u8(&l->r, dim_order, i);
        contiguous = contiguous && d == i;
        channels_last = channels_last && d == (i == 0 ? 0 : i + 1 == n ? 1 : i + 1);
    }
    return contiguous ? ORDER_CONTIGUOUS : channels_last ? ORDER_CHANNELS_LAST : ORDER_OTHER;
}

static struct nuc_fb_table value_at(struct lint *l, uint32_t index)
{
    struct nuc_fb_vector values = nuc_fb_vec(&l->r, l->plan, NUC_PLAN_VALUES, 4);

    if (index >= values.count)
        nuc_fail(l->cx, NUC_BAD_INPUT, "%s: the program is damaged: instruction %u names value %u, which is not there",
                 l->file, l->instruction, index);
    return nuc_fb_vec_table(&l->r, values, index);
}

/* The product of the sizes from dimension `from` on; beyond 2^32 it says no more than that. */
static int64_t count_elements(struct lint *l, struct nuc_fb_vector sizes, uint32_t from)
{
    int64_t n = 1;

    for (uint32_t i = from; i < sizes.count && n < INT64_C(1) << 32; i++)
        n *= nuc_fb_vec_i32(&l->r, sizes, i);
    return n;
}

static bool read_tensor(struct lint *l, uint32_t index, struct tensor *out)
{
    struct nuc_fb_table value = value_at(l, index);

    if (nuc_fb_u8(&l->r, value, NUC_EVALUE_TYPE, 0) != NUC_VALUE_TENSOR)
        return false;
    struct nuc_fb_table t = nuc_fb_sub(&l->r, value, NUC_EVALUE_VALUE);
    struct nuc_fb_vector sizes = nuc_fb_vec(&l->r, t, NUC_TENSOR_SIZES, 4);
    *out = (struct tensor){
        .order = order_of(l, nuc_fb_vec(&l->r, t, NUC_TENSOR_DIM_ORDER, 1)),
        .rank = sizes.count,
        .channels = sizes.count > 1 ? nuc_fb_vec_i32(&l->r, sizes, 1) : 0,
        .elements = count_elements(l, sizes, 0),
    };
    out->reordered = out->order == ORDER_CHANNELS_LAST && out->channels > 1 && count_elements(l, sizes, 2) > 1;
    check(l);
    return true;
}

/* The values of a call's arguments, or of a list among them. */
static struct nuc_fb_vector take_args(struct lint *l, struct nuc_fb_table t, int field)
{
    struct nuc_fb_vector args = nuc_fb_vec(&l->r, t, field, 4);

    check(l);
    if (args.count >= l->budget)
        nuc_fail(l->cx, NUC_BAD_INPUT, "%s: the program is damaged: its calls have more arguments than the file",
                 l->file);
    l->budget -= args.count + 1;
    return args;
}

/* ---- kernels ---- */

/* Which tensors of a call a portable kernel compares; the out tensor is the last one. */
enum rule {
    RULE_FIRST_AND_OUT,
    RULE_BROADCAST,     /* all; operands of other sizes than the result are read as if contiguous */
    RULE_AS_CONTIGUOUS, /* all; they are read as if contiguous */
    RULE_CONTIGUOUS_FIRST,
    RULE_NONE
};

static const struct {
    const char *name;
    enum rule rule;
    uint32_t dim_argument; /* a kernel that works along dimension 0 reads memory right in any order; 0: it has none */
} rules[] = {
    {"aten::add", RULE_BROADCAST, 0},
    {"aten::sub", RULE_BROADCAST, 0},
    {"aten::mul", RULE_BROADCAST, 0},
    {"aten::div", RULE_BROADCAST, 0},
    {"aten::maximum", RULE_BROADCAST, 0},
    {"aten::minimum", RULE_BROADCAST, 0},
    {"aten::where", RULE_BROADCAST, 0},
    {"aten::copy", RULE_BROADCAST, 0},
    {"aten::cat", RULE_AS_CONTIGUOUS, 1},
    {"aten::split_copy", RULE_AS_CONTIGUOUS, 2},
    {"aten::split_with_sizes_copy", RULE_AS_CONTIGUOUS, 2},
    {"aten::slice_copy", RULE_AS_CONTIGUOUS, 1},
    {"aten::slice_scatter", RULE_AS_CONTIGUOUS, 2},
    {"aten::constant_pad_nd", RULE_AS_CONTIGUOUS, 0},
    {"aten::permute_copy", RULE_AS_CONTIGUOUS, 0},
    {"aten::_softmax", RULE_AS_CONTIGUOUS, 1},
    {"aten::_log_softmax", RULE_AS_CONTIGUOUS, 1},
    {"aten::unbind_copy", RULE_CONTIGUOUS_FIRST, 0},
    {"aten::_adaptive_avg_pool2d", RULE_CONTIGUOUS_FIRST, 0},
    {"aten::_native_batch_norm_legit_no_training", RULE_CONTIGUOUS_FIRST, 0},
    {"aten::addmm", RULE_CONTIGUOUS_FIRST, 0},
    {"aten::amax", RULE_CONTIGUOUS_FIRST, 0},
    {"aten::amin", RULE_CONTIGUOUS_FIRST, 0},
    {"aten::as_strided_copy", RULE_CONTIGUOUS_FIRST, 0},
    {"aten::avg_pool2d", RULE_CONTIGUOUS_FIRST, 0},
    {"aten::bmm", RULE_CONTIGUOUS_FIRST, 0},
    {"aten::expand_copy", RULE_CONTIGUOUS_FIRST, 0},
    {"aten::index", RULE_CONTIGUOUS_FIRST, 0},
    {"aten::index_select", RULE_CONTIGUOUS_FIRST, 0},
    {"aten::mean", RULE_CONTIGUOUS_FIRST, 0},
    {"aten::mm", RULE_CONTIGUOUS_FIRST, 0},
    {"aten::native_group_norm", RULE_CONTIGUOUS_FIRST, 0},
    {"aten::native_layer_norm", RULE_CONTIGUOUS_FIRST, 0},
    {"aten::pixel_shuffle", RULE_CONTIGUOUS_FIRST, 0},
    {"aten::reflection_pad2d", RULE_CONTIGUOUS_FIRST, 0},
    {"aten::repeat", RULE_CONTIGUOUS_FIRST, 0},
    {"aten::squeeze_copy", RULE_CONTIGUOUS_FIRST, 0},
    {"aten::sum", RULE_CONTIGUOUS_FIRST, 0},
    {"aten::t_copy", RULE_CONTIGUOUS_FIRST, 0},
    {"aten::view_copy", RULE_CONTIGUOUS_FIRST, 0},
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* What the tensors the rule looks at are like. */
struct seen {
    uint32_t orders[3];
    uint32_t n;       /* tensor arguments */
    bool reordered;   /* one has bytes in another order than contiguous ones */
    bool mixed;       /* operands of several elements differ in their number */
    int64_t elements; /* the most of a tensor so far */
};

static void see(struct seen *s, const struct tensor *t)
{
    s->orders[t->order]++;
    s->reordered = s->reordered || t->reordered;
    s->mixed = s->mixed || (t->elements > 1 && s->elements > 1 && t->elements != s->elements);
    s->elements = t->elements > s->elements ? t->elements : s->elements;
}

static void see_list(struct lint *l, uint32_t index, struct seen *s)
{
    struct nuc_fb_table value = value_at(l, index);
    struct tensor t;

    if (nuc_fb_u8(&l->r, value, NUC_EVALUE_TYPE, 0) != NUC_VALUE_TENSORS)
        return;
    struct nuc_fb_vector items = take_args(l, nuc_fb_sub(&l->r, value, NUC_EVALUE_VALUE), 0);
    for (uint32_t i = 0; i < items.count; i++) {
        if (read_tensor(l, (uint32_t)nuc_fb_vec_i32(&l->r, items, i), &t))
            see(s, &t);
    }
}

static bool looks_at_all(enum rule rule)
{
    return rule == RULE_BROADCAST || rule == RULE_AS_CONTIGUOUS;
}

static struct seen see_arguments(struct lint *l, struct nuc_fb_vector args, enum rule rule)
{
    struct tensor t, last = {.order = ORDER_CONTIGUOUS};
    struct seen s = {.n = 0};

    for (uint32_t i = 0; i < args.count && rule != RULE_NONE; i++) {
        uint32_t index = (uint32_t)nuc_fb_vec_i32(&l->r, args, i);
        if (looks_at_all(rule))
            see_list(l, index, &s);
        if (!read_tensor(l, index, &t))
            continue;
        if (s.n == 0 || looks_at_all(rule))
            see(&s, &t);
        last = t;
        s.n++;
    }
    if (s.n > 1 && rule == RULE_FIRST_AND_OUT)
        see(&s, &last);
    check(l);
    return s;
}

/* Whether the call works along dimension 0, in front of which nothing is in any order. */
static bool along_first(struct lint *l, struct nuc_fb_vector args, uint32_t argument)
{
    if (argument == 0 || argument >= args.count)
        return false;
    struct nuc_fb_table value = value_at(l, (uint32_t)nuc_fb_vec_i32(&l->r, args, argument));
    return nuc_fb_u8(&l->r, value, NUC_EVALUE_TYPE, 0) == NUC_VALUE_INT &&
           nuc_fb_i64(&l->r, nuc_fb_sub(&l->r, value, NUC_EVALUE_VALUE), 0, 0) == 0;
}

/* Row of `rules`, or the number of rows. */
static size_t row_of(const char *name)
{
    size_t i = 0;

    while (i < sizeof rules / sizeof rules[0] && strcmp(name, rules[i].name) != 0)
        i++;
    return i;
}

static void lint_orders(struct lint *l, const char *name, struct nuc_fb_vector args)
{
    size_t row = row_of(name);
    bool listed = row < sizeof rules / sizeof rules[0];
    /* Kernels outside kernels/portable take any dim order. */
    enum rule rule = listed ? rules[row].rule : begins(name, "aten::") ? RULE_FIRST_AND_OUT : RULE_NONE;
    struct seen s = see_arguments(l, args, rule);

    if (s.orders[ORDER_OTHER] > 0)
        found(l, name, "has a tensor whose dim order is neither contiguous nor channels-last");
    else if (s.orders[ORDER_CONTIGUOUS] > 0 && s.orders[ORDER_CHANNELS_LAST] > 0)
        found(l, name, "has contiguous and channels-last tensors: its portable kernel takes one dim order");
    else if (s.orders[ORDER_CHANNELS_LAST] > 0 && rule == RULE_CONTIGUOUS_FIRST)
        found(l, name, "has channels-last tensors: its portable kernel takes contiguous ones");
    else if (s.reordered && rule == RULE_AS_CONTIGUOUS && !along_first(l, args, rules[row].dim_argument))
        found(l, name, "has channels-last tensors: its portable kernel reads them as contiguous, the result is wrong");
    else if (s.reordered && rule == RULE_BROADCAST && s.mixed)
        found(l, name, "broadcasts channels-last tensors: its portable kernel gives a wrong result");
}

/* The portable kernel convolves over 1 or 2 dimensions. */
static bool is_wide_convolution(struct lint *l, const char *name, struct nuc_fb_vector args)
{
    struct tensor t;

    return strcmp(name, "aten::convolution") == 0 && args.count > 0 &&
           read_tensor(l, (uint32_t)nuc_fb_vec_i32(&l->r, args, 0), &t) && t.rank != 3 && t.rank != 4;
}

static void lint_kernel(struct lint *l, struct nuc_fb_table call)
{
    struct nuc_fb_vector operators = nuc_fb_vec(&l->r, l->plan, NUC_PLAN_OPERATORS, 4);
    struct nuc_fb_table op = nuc_fb_vec_table(&l->r, operators, nuc_fb_u32(&l->r, call, NUC_CALL_INDEX, 0));
    const char *name = nuc_fb_string(&l->r, op, NUC_OPERATOR_NAME, NULL);

    check(l);
    if (name == NULL)
        return;
    struct nuc_fb_vector args = take_args(l, call, NUC_CALL_ARGS);
    if (begins(name, "nucleon::"))
        found(l, name, "is nucleon's own operator, of which ExecuTorch has no kernel");
    if (is_wide_convolution(l, name, args))
        found(l, name, "has an input of another rank than 3 or 4: its portable kernel takes no other");
    lint_orders(l, name, args);
    check(l);
}

/* ---- delegates ---- */

static struct nuc_span processed(struct lint *l, struct nuc_fb_table delegate)
{
    struct nuc_fb_table reference = nuc_fb_sub(&l->r, delegate, NUC_DELEGATE_PROCESSED);
    uint32_t index = nuc_fb_u32(&l->r, reference, NUC_REFERENCE_INDEX, 0);
    struct nuc_span data = {NULL, 0};

    if (nuc_fb_i8(&l->r, reference, NUC_REFERENCE_LOCATION, 0) == 0) {
        struct nuc_fb_vector list = nuc_fb_vec(&l->r, l->program, NUC_PROGRAM_DELEGATE_DATA, 4);
        return nuc_fb_bytes(&l->r, nuc_fb_vec_table(&l->r, list, index), 0);
    }
    struct nuc_fb_vector list = nuc_fb_vec(&l->r, l->program, NUC_PROGRAM_SEGMENTS, 4);
    struct nuc_fb_table segment = nuc_fb_vec_table(&l->r, list, index);
    uint64_t offset = nuc_fb_u64(&l->r, segment, NUC_SEGMENT_OFFSET, 0);
    uint64_t size = nuc_fb_u64(&l->r, segment, NUC_SEGMENT_SIZE, 0);
    if (offset > UINT64_MAX - l->segment_base)
        return data;
    nuc_span_slice(l->r.bytes, l->segment_base + offset, size, &data);
    return data;
}

/* NeutronBackend::execute() of backends/nxp/runtime, input and output alike. */
static void lint_border(struct lint *l, uint8_t format, const struct tensor *t)
{
    bool transposed = format == 1 && t->channels != 1;

    if (format == 1 && t->rank < 3)
        found(l, "NeutronBackend", "a border of fewer than 3 dimensions cannot be channels-last");
    else if (t->order == ORDER_OTHER || (t->order == ORDER_CHANNELS_LAST && !transposed))
        found(l, "NeutronBackend",
              "takes a border contiguous here, as one channel or a payload without channels-last borders asks for");
}

static void lint_borders(struct lint *l, const struct nuc_payload *p, struct nuc_fb_vector args)
{
    uint32_t n = (uint32_t)p->n_inputs + p->n_outputs;
    struct tensor t;

    if (args.count < n) {
        found(l, "NeutronBackend", "gets fewer arguments than the payload has inputs and outputs");
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct nuc_payload_io *io = i < p->n_inputs ? &p->inputs[i] : &p->outputs[i - p->n_inputs];
        uint32_t arg = (i < p->n_inputs ? 0u : p->n_inputs) + io->map;
        if (arg < args.count && read_tensor(l, (uint32_t)nuc_fb_vec_i32(&l->r, args, arg), &t))
            lint_border(l, io->format, &t);
    }
}

static void lint_delegate(struct lint *l, struct nuc_fb_table call)
{
    struct nuc_fb_vector delegates = nuc_fb_vec(&l->r, l->plan, NUC_PLAN_DELEGATES, 4);
    struct nuc_fb_table delegate = nuc_fb_vec_table(&l->r, delegates, nuc_fb_u32(&l->r, call, NUC_CALL_INDEX, 0));
    const char *id = nuc_fb_string(&l->r, delegate, NUC_DELEGATE_ID, NULL);

    check(l);
    if (id == NULL || strcmp(id, "NeutronBackend") != 0)
        return;
    struct nuc_span data = processed(l, delegate);
    check(l);
    if (data.size == 0) {
        found(l, id, "its payload is empty or outside the file");
        return;
    }
    if ((size_t)(data.data - l->r.bytes.data) % 16 != 0)
        found(l, id, "its payload does not begin at a multiple of 16 bytes");
    struct nuc_payload p = nuc_payload_parse(l->cx, l->file, data);
    if (nuc_payload_sizes_of(&p).prefetch > 0)
        found(l, id, "fetches weights to a staging buffer, which it hands over only when built with EXTERNAL_MEM");
    lint_borders(l, &p, take_args(l, call, NUC_CALL_ARGS));
}

/* ---- the method ---- */

static void lint_instruction(struct lint *l, struct nuc_fb_table instruction)
{
    uint8_t kind = nuc_fb_u8(&l->r, instruction, NUC_INSTRUCTION_TYPE, 0);
    struct nuc_fb_table call = nuc_fb_sub(&l->r, instruction, NUC_INSTRUCTION_ARGS);

    if (kind == NUC_INSTRUCTION_KERNEL)
        lint_kernel(l, call);
    else if (kind == NUC_INSTRUCTION_DELEGATE)
        lint_delegate(l, call);
    check(l);
}

static void open_program(struct lint *l)
{
    struct nuc_span header;

    if (nuc_span_slice(l->r.bytes, NUC_PROGRAM_HEADER_AT, 24, &header) &&
        memcmp(header.data, NUC_PROGRAM_HEADER_MAGIC, 4) == 0)
        l->segment_base = nuc_load_u64(header.data + 16);
    l->program = nuc_fb_root(&l->r, 0);
    l->plan = nuc_fb_vec_table(&l->r, nuc_fb_vec(&l->r, l->program, NUC_PROGRAM_PLANS, 4), 0);
    check(l);
}

const struct nuc_lint_finding *nuc_lint_program(struct nuc_context *cx, const char *file, struct nuc_span bytes,
                                                uint32_t *count)
{
    struct lint l = {.r = {bytes, false}, .cx = cx, .file = file, .budget = bytes.size};

    open_program(&l);
    struct nuc_fb_vector chains = nuc_fb_vec(&l.r, l.plan, NUC_PLAN_CHAINS, 4);
    for (uint32_t k = 0; k < chains.count; k++) {
        struct nuc_fb_table chain = nuc_fb_vec_table(&l.r, chains, k);
        struct nuc_fb_vector list = nuc_fb_vec(&l.r, chain, NUC_CHAIN_INSTRUCTIONS, 4);
        check(&l);
        for (l.instruction = 0; l.instruction < list.count; l.instruction++)
            lint_instruction(&l, nuc_fb_vec_table(&l.r, list, l.instruction));
    }
    check(&l);
    *count = (uint32_t)l.count;
    return l.findings;
}
