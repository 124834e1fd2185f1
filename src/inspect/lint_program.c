#include "inspect/inspect.h"

#include <string.h>

#include "ir/executorch_ops.h"
#include "npu/container/payload.h"

enum order { ORDER_CONTIGUOUS, ORDER_CHANNELS_LAST, ORDER_OTHER };

struct tensor {
    enum order order;
    uint32_t rank;
    int32_t channels; /* size of dimension 1, or 0 */
    int64_t elements;
    bool reordered; /* channels-last, and its bytes lie otherwise than contiguous ones */
};

struct lint {
    struct nuc_context *cx;
    const struct nuc_program_view *view;
    const struct nuc_view_method *method;
    uint32_t instruction; /* under examination */
    struct nuc_lint_finding *findings;
    size_t count, capacity;
};

static void found(struct lint *l, const char *what, const char *rule)
{
    l->findings = nuc_grow(l->cx, l->findings, &l->capacity, l->count + 1, sizeof *l->findings);
    l->findings[l->count++] = (struct nuc_lint_finding){l->instruction, what, rule};
}

/* ---- tensors of a call ---- */

static const struct nuc_view_value *value_at(const struct lint *l, struct nuc_view_list indices, uint32_t i)
{
    return &l->method->values[nuc_view_int(indices, i)];
}

static enum order order_of(struct nuc_view_list dim_order)
{
    uint32_t n = dim_order.count;
    bool contiguous = true, channels_last = n == 4 || n == 5;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t d = (uint32_t)nuc_view_int(dim_order, i);
        contiguous = contiguous && d == i;
        channels_last = channels_last && d == (i == 0 ? 0 : i + 1 == n ? 1 : i + 1);
    }
    return contiguous ? ORDER_CONTIGUOUS : channels_last ? ORDER_CHANNELS_LAST : ORDER_OTHER;
}

/* The product of the sizes from dimension `from` on; beyond 2^32 it says no more than that. */
static int64_t count_elements(struct nuc_view_list sizes, uint32_t from)
{
    int64_t n = 1;

    for (uint32_t i = from; i < sizes.count && n < INT64_C(1) << 32; i++)
        n *= nuc_view_int(sizes, i);
    return n;
}

static bool read_tensor(const struct nuc_view_value *value, struct tensor *out)
{
    if (value->kind != NUC_VALUE_TENSOR)
        return false;
    struct nuc_view_list sizes = value->u.tensor.sizes;
    *out = (struct tensor){
        .order = order_of(value->u.tensor.dim_order),
        .rank = sizes.count,
        .channels = sizes.count > 1 ? (int32_t)nuc_view_int(sizes, 1) : 0,
        .elements = count_elements(sizes, 0),
    };
    out->reordered = out->order == ORDER_CHANNELS_LAST && out->channels > 1 && count_elements(sizes, 2) > 1;
    return true;
}

/* ---- kernels ---- */

/* Which tensors of a call a portable kernel compares; the out tensor is the last one. */
enum rule {
    RULE_NONE, /* kernels outside kernels/portable take any dim order */
    RULE_FIRST_AND_OUT,
    RULE_BROADCAST,     /* all; operands of other sizes than the result are read as if contiguous */
    RULE_AS_CONTIGUOUS, /* all; they are read as if contiguous */
    RULE_CONTIGUOUS_FIRST
};

/* The names are those in `aten::`, each between spaces; the portable kernels without one have RULE_FIRST_AND_OUT. */
static const struct rule_row {
    enum rule rule;
    /* A kernel that works along dimension 0 reads memory right in any order; the argument that says so, 0: none. */
    uint32_t dim_argument;
    const char *names;
} rules[] = {
    {RULE_BROADCAST, 0, " add sub mul div maximum minimum where copy "},
    {RULE_AS_CONTIGUOUS, 0, " constant_pad_nd permute_copy "},
    {RULE_AS_CONTIGUOUS, 1, " cat slice_copy _softmax _log_softmax "},
    {RULE_AS_CONTIGUOUS, 2, " split_copy split_with_sizes_copy slice_scatter "},
    {RULE_CONTIGUOUS_FIRST, 0,
     " _adaptive_avg_pool2d _native_batch_norm_legit_no_training addmm amax amin as_strided_copy avg_pool2d bmm "
     "expand_copy index index_select mean mm native_group_norm native_layer_norm pixel_shuffle reflection_pad2d "
     "repeat squeeze_copy sum t_copy unbind_copy view_copy "},
};

static struct rule_row row_of(struct nuc_context *cx, const char *name)
{
    static const char space[] = "aten::";

    if (strncmp(name, space, strlen(space)) != 0)
        return (struct rule_row){.rule = RULE_NONE};
    const char *word = nuc_format(cx, " %s ", name + strlen(space));
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strstr(rules[i].names, word) != NULL)
            return rules[i];
    }
    return (struct rule_row){.rule = RULE_FIRST_AND_OUT};
}

/*
 * What the tensors the rule looks at are like. Findings follow from these few facts, so that a call of any number of
 * arguments is looked at once.
 */
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

static struct seen see_arguments(const struct lint *l, struct nuc_view_list args, enum rule rule)
{
    bool all = rule == RULE_BROADCAST || rule == RULE_AS_CONTIGUOUS;
    struct tensor t, last = {.order = ORDER_CONTIGUOUS};
    struct seen s = {.n = 0};

    for (uint32_t i = 0; i < args.count && rule != RULE_NONE; i++) {
        const struct nuc_view_value *value = value_at(l, args, i);
        for (uint32_t k = 0; all && value->kind == NUC_VALUE_TENSORS && k < value->u.list.count; k++) {
            if (read_tensor(value_at(l, value->u.list, k), &t))
                see(&s, &t);
        }
        if (!read_tensor(value, &t))
            continue;
        if (s.n == 0 || all)
            see(&s, &t);
        last = t;
        s.n++;
    }
    if (s.n > 1 && rule == RULE_FIRST_AND_OUT)
        see(&s, &last);
    return s;
}

/* Whether the call works along dimension 0: nothing lies outside of it, so any order is the same to it. */
static bool along_first(const struct lint *l, struct nuc_view_list args, uint32_t argument)
{
    if (argument == 0 || argument >= args.count)
        return false;
    const struct nuc_view_value *dim = value_at(l, args, argument);
    return dim->kind == NUC_VALUE_INT && dim->u.i == 0;
}

/* Number i of a list of integers. */
static int64_t number_at(const struct lint *l, const struct nuc_view_value *list, uint32_t i)
{
    const struct nuc_view_value *v =
        list->kind == NUC_VALUE_INTS && i < list->u.list.count ? value_at(l, list->u.list, i) : NULL;

    return v != NULL && v->kind == NUC_VALUE_INT && v->u.i > 0 ? v->u.i : 0;
}

/* Its arguments are input [N, C, H, W], weight [O, H, W, I], bias, stride and padding. */
static bool is_misplaced_transposed(const struct lint *l, const char *name, struct nuc_view_list args)
{
    struct tensor t;

    if (strcmp(name, "cortex_m::quantized_transpose_conv2d") != 0 || args.count < 5 ||
        !read_tensor(value_at(l, args, 0), &t) || t.rank != 4 || !read_tensor(value_at(l, args, 1), &t) || t.rank != 4)
        return false;
    struct nuc_view_list in = value_at(l, args, 0)->u.tensor.sizes, weight = value_at(l, args, 1)->u.tensor.sizes;
    struct nuc_transposed_window w = {.channels = nuc_view_int(in, 1), .height = nuc_view_int(in, 2)};
    for (uint32_t d = 0; d < 2; d++) {
        w.kernel[d] = nuc_view_int(weight, 1 + d);
        w.stride[d] = number_at(l, value_at(l, args, 3), d);
        w.padding[d] = number_at(l, value_at(l, args, 4), d);
        if (w.stride[d] == 0)
            return false;
    }
    return !nuc_executorch_transposes(&w, 0) || !nuc_executorch_transposes(&w, 1);
}

static void lint_kernel(struct lint *l, const struct nuc_view_instruction *call)
{
    const struct nuc_view_operator *op = &l->method->operators[call->index];
    const char *name = nuc_view_text(l->cx, op->name);
    /* Layers of LiteRT, which are there in no other form. */
    const bool has_one_form = nuc_view_begins(op->name, "nucleon::quantized_svdf") ||
                              nuc_view_begins(op->name, "nucleon::quantized_litert_lstm");

    if (has_one_form)
        found(l, name, "is nucleon's own operator, of which ExecuTorch has no kernel: run it in nucleon's runtime");
    else if (nuc_view_begins(op->name, "nucleon::"))
        found(l, name,
              "is nucleon's own operator, of which ExecuTorch has no kernel: compile with --executorch-ops-only");
    else if (!nuc_in_executorch(name))
        found(l, name, "has no kernel in ExecuTorch's libraries: compile with --executorch-ops-only");
    struct tensor t;
    if (strcmp(name, "aten::convolution") == 0 && call->args.count > 0 && read_tensor(value_at(l, call->args, 0), &t) &&
        t.rank != 3 && t.rank != 4)
        found(l, name, "has an input of another rank than 3 or 4: its portable kernel takes no other");
    if (is_misplaced_transposed(l, name, call->args))
        found(l, name,
              "has padding and stride with which the CMSIS-NN that ExecuTorch pins computes wrong rows: compile anew "
              "with --executorch-ops-only");
    struct rule_row row = row_of(l->cx, name);
    struct seen s = see_arguments(l, call->args, row.rule);
    if (s.orders[ORDER_OTHER] > 0)
        found(l, name, "has a tensor whose dim order is neither contiguous nor channels-last");
    else if (s.orders[ORDER_CONTIGUOUS] > 0 && s.orders[ORDER_CHANNELS_LAST] > 0)
        found(l, name, "has contiguous and channels-last tensors: its portable kernel takes one dim order");
    else if (s.orders[ORDER_CHANNELS_LAST] > 0 && row.rule == RULE_CONTIGUOUS_FIRST)
        found(l, name, "has channels-last tensors: its portable kernel takes contiguous ones");
    else if (s.reordered && row.rule == RULE_AS_CONTIGUOUS && !along_first(l, call->args, row.dim_argument))
        found(l, name, "has channels-last tensors: its portable kernel reads them as contiguous, the result is wrong");
    else if (s.reordered && row.rule == RULE_BROADCAST && s.mixed)
        found(l, name, "broadcasts channels-last tensors: its portable kernel gives a wrong result");
}

/* ---- delegates ---- */

static const char backend[] = "NeutronBackend";

static void lint_delegate(struct lint *l, const struct nuc_view_instruction *call)
{
    const struct nuc_view_delegate *delegate = &l->method->delegates[call->index];

    if (!nuc_view_is(delegate->backend, backend))
        return;
    if (delegate->data.size == 0) {
        found(l, backend, "its payload is empty");
        return;
    }
    if ((size_t)(delegate->data.data - l->view->bytes.data) % 16 != 0)
        found(l, backend, "its payload does not begin at a multiple of 16 bytes");
    struct nuc_payload p = nuc_payload_parse(l->cx, l->view->file, delegate->data);
    if (nuc_payload_sizes_of(&p).prefetch > 0)
        found(l, backend, "fetches weights to a staging buffer, which it hands over only when built with EXTERNAL_MEM");
    uint32_t n = (uint32_t)p.n_inputs + p.n_outputs;
    struct tensor t;
    if (call->args.count < n) {
        found(l, backend, "gets fewer arguments than the payload has inputs and outputs");
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct nuc_payload_io *io = i < p.n_inputs ? &p.inputs[i] : &p.outputs[i - p.n_inputs];
        uint32_t arg = (i < p.n_inputs ? 0u : p.n_args) + io->map;
        if (arg >= call->args.count || value_at(l, call->args, arg)->kind != NUC_VALUE_TENSOR) {
            found(l, backend, "has a payload whose maps do not fit the arguments of the call");
            return;
        }
        if (read_tensor(value_at(l, call->args, arg), &t)) {
            /* NeutronBackend::execute() of backends/nxp/runtime, input and output alike. */
            bool transposed = io->format == 1 && t.channels != 1;
            if (io->format == 1 && t.rank < 3)
                found(l, backend, "a boundary of fewer than 3 dimensions cannot be channels-last");
            else if (t.order == ORDER_OTHER || (t.order == ORDER_CHANNELS_LAST && !transposed))
                found(l, backend,
                      "takes a boundary contiguous here, as one channel or a payload without channels-last boundaries "
                      "asks for");
        }
    }
}

/* ---- the method ---- */

const struct nuc_lint_finding *nuc_lint_program(struct nuc_context *cx, const struct nuc_program_view *view,
                                                uint32_t *count)
{
    struct lint l = {.cx = cx, .view = view, .method = &view->methods[0]};

    for (uint32_t k = 0; k < l.method->n_chains; k++) {
        const struct nuc_view_chain *chain = &l.method->chains[k];
        for (l.instruction = 0; l.instruction < chain->n_instructions; l.instruction++) {
            const struct nuc_view_instruction *in = &chain->instructions[l.instruction];
            if (in->kind == NUC_INSTRUCTION_KERNEL)
                lint_kernel(&l, in);
            else if (in->kind == NUC_INSTRUCTION_DELEGATE)
                lint_delegate(&l, in);
        }
    }
    *count = (uint32_t)l.count;
    return l.findings;
}
