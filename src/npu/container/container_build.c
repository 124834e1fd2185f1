/* Groups of a model's operators become NeutronGraph operators. */
#include <string.h>

#include "device/base/microcode.h"
#include "device/base/span.h"
#include "litert/flexbuffer.h"
#include "npu/container/container.h"
#include "npu/target/target.h"

struct group_op {
    bool inside;
    const char *reason; /* when it is not */
    /*
     * Operators of one kind on one level do not depend on each other through one of the other kind: a step from inside
     * to outside or back leads to the next level.
     */
    uint32_t level;
};

struct builder {
    struct nuc_context *cx;
    const struct nuc_lt_model *m;
    const struct nuc_lt_subgraph *s;
    struct nuc_container_options options;
    const struct nuc_target *target;
    struct group_op *ops;
    const int32_t *producers; /* by tensor: operator, -1: none */
    uint32_t n_levels;
    struct nuc_lt_model *out;
    uint32_t n_graphs, n_inside;
};

/* Operators of the model with their boundary: what the converter takes as a model. */
struct group {
    struct nuc_lt_subgraph graph;
    struct nuc_lt_model model;
};

/* ---- boundary of a group ---- */

static void add_once(int32_t *list, uint32_t *count, int32_t tensor)
{
    if (!nuc_lt_contains(list, *count, tensor))
        list[(*count)++] = tensor;
}

enum mark { MARK_MADE = 1, MARK_READ_INSIDE = 2, MARK_READ_OUTSIDE = 4 };

/* What the operators of the group make, and who reads what. */
static uint8_t *mark_tensors(const struct builder *b, const bool *in_group)
{
    uint8_t *marks = nuc_alloc_array(b->cx, b->s->n_tensors, sizeof *marks);

    for (uint32_t i = 0; i < b->s->n_ops; i++) {
        const struct nuc_lt_op *op = &b->s->ops[i];
        for (uint32_t k = 0; k < op->n_inputs; k++) {
            if (op->inputs[k] >= 0)
                marks[op->inputs[k]] |= in_group[i] ? MARK_READ_INSIDE : MARK_READ_OUTSIDE;
        }
        for (uint32_t k = 0; in_group[i] && k < op->n_outputs; k++) {
            if (op->outputs[k] >= 0)
                marks[op->outputs[k]] |= MARK_MADE;
        }
    }
    return marks;
}

/* Those of the model in its order, then the others in the order of their use. */
static void find_boundary(const struct builder *b, const bool *in_group, struct nuc_lt_subgraph *g)
{
    const struct nuc_lt_subgraph *s = b->s;
    const uint8_t *marks = mark_tensors(b, in_group);

    g->inputs = nuc_alloc_array(b->cx, s->n_tensors, sizeof *g->inputs);
    g->outputs = nuc_alloc_array(b->cx, s->n_tensors, sizeof *g->outputs);
    for (uint32_t i = 0; i < s->n_inputs; i++) {
        if (marks[s->inputs[i]] & MARK_READ_INSIDE)
            add_once(g->inputs, &g->n_inputs, s->inputs[i]);
    }
    for (uint32_t i = 0; i < s->n_outputs; i++) {
        if (marks[s->outputs[i]] & MARK_MADE)
            add_once(g->outputs, &g->n_outputs, s->outputs[i]);
    }
    for (uint32_t i = 0; i < g->n_ops; i++) {
        const struct nuc_lt_op *op = &g->ops[i];
        for (uint32_t k = 0; k < op->n_inputs; k++) {
            int32_t t = op->inputs[k];
            if (t >= 0 && !(marks[t] & MARK_MADE) && s->tensors[t].data.data == NULL)
                add_once(g->inputs, &g->n_inputs, t);
        }
        for (uint32_t k = 0; k < op->n_outputs; k++) {
            if (marks[op->outputs[k]] & MARK_READ_OUTSIDE)
                add_once(g->outputs, &g->n_outputs, op->outputs[k]);
        }
    }
}

static struct group *make_group(const struct builder *b, const bool *in_group)
{
    struct group *g = nuc_alloc(b->cx, sizeof *g);

    g->graph = (struct nuc_lt_subgraph){
        .name = b->s->name, .n_tensors = b->s->n_tensors, .tensors = b->s->tensors, .ops = NULL};
    g->graph.ops = nuc_alloc_array(b->cx, b->s->n_ops, sizeof *g->graph.ops);
    for (uint32_t i = 0; i < b->s->n_ops; i++) {
        if (in_group[i])
            g->graph.ops[g->graph.n_ops++] = b->s->ops[i];
    }
    find_boundary(b, in_group, &g->graph);
    g->model = (struct nuc_lt_model){.cx = b->cx, .file = b->m->file, .n_subgraphs = 1, .subgraphs = &g->graph};
    return g;
}

/* ---- a NeutronGraph ---- */

static int32_t add_bytes(struct nuc_lt_model *m, const char *name, struct nuc_span data, size_t size)
{
    struct nuc_lt_tensor t = {.name = name, .dtype = NUC_U8, .rank = 1, .shape = {(int32_t)size}, .data = data};

    if (size > INT32_MAX)
        nuc_fail(m->cx, NUC_UNSUPPORTED, "%s: %s has more than 2 GiB", m->file, name);
    return nuc_lt_add_tensor(m, &t);
}

static int32_t *with_room(struct nuc_context *cx, const int32_t *tensors, uint32_t count, uint32_t more)
{
    int32_t *list = nuc_alloc_array(cx, (size_t)count + more, sizeof *list);

    if (count > 0)
        memcpy(list, tensors, count * sizeof *list);
    return list;
}

void nuc_container_add_graph(struct nuc_lt_model *out, const char *name, const struct nuc_neutron_parts *parts,
                             const struct nuc_lt_subgraph *s)
{
    const struct nuc_span none = {NULL, 0};
    uint32_t n_ins = s->n_inputs, n_outs = s->n_outputs;
    int32_t *ins = with_room(out->cx, s->inputs, n_ins, 3), *outs = with_room(out->cx, s->outputs, n_outs, 3);

    int32_t scratch = add_bytes(out, "NeutronScratch", none, parts->scratch);
    if (parts->form == 1) {
        outs[n_outs++] = add_bytes(out, "NeutronProfile", none, parts->profile);
        outs[n_outs++] = add_bytes(out, "NeutronDebug", none, parts->debug);
    }
    outs[n_outs++] = scratch;
    ins[n_ins++] = add_bytes(out, "NeutronMicrocode", parts->microcode, parts->microcode.size);
    ins[n_ins++] = add_bytes(out, "NeutronWeights", parts->weights, parts->weights.size);
    ins[n_ins++] = add_bytes(out, "NeutronKernels", parts->kernels, parts->kernels.size);
    struct nuc_lt_op *op = nuc_lt_add_op(out, NUC_LT_CUSTOM, ins, n_ins, outs, n_outs);
    op->custom_code = "NeutronGraph";
    op->options.custom.options = nuc_flex_write(out->cx, "subgraph", name);
}

/* ---- which operators ---- */

struct trial {
    const struct nuc_lt_model *model;
    const struct nuc_container_options *options;
};

static void try_alone(struct nuc_context *cx, void *arg)
{
    const struct trial *t = arg;

    nuc_convert_litert(cx, t->model, &t->options->convert);
}

/* Tensors of an operator by themselves, each once: other numbers for them. */
static int32_t *numbered_alone(const struct builder *b, const int32_t *tensors, uint32_t count,
                               struct nuc_lt_subgraph *graph, int32_t *names)
{
    int32_t *numbers = nuc_alloc_array(b->cx, count, sizeof *numbers);

    for (uint32_t k = 0; k < count; k++) {
        numbers[k] = -1;
        if (tensors[k] < 0)
            continue;
        uint32_t at = 0;
        while (at < graph->n_tensors && names[at] != tensors[k])
            at++;
        if (at == graph->n_tensors) {
            names[at] = tensors[k];
            graph->tensors[graph->n_tensors++] = b->s->tensors[tensors[k]];
        }
        numbers[k] = (int32_t)at;
    }
    return numbers;
}

/* A model of one operator, whose result is its output, with the tensors of that operator alone. */
static const char *convert_alone(const struct builder *b, uint32_t i)
{
    struct nuc_lt_op op = b->s->ops[i];
    struct nuc_arena *outer = nuc_push_arena(b->cx);
    size_t most = (size_t)op.n_inputs + op.n_outputs;
    struct nuc_lt_subgraph graph = {.tensors = nuc_alloc_array(b->cx, most, sizeof *graph.tensors),
                                    .n_ops = 1,
                                    .ops = &op,
                                    .inputs = nuc_alloc_array(b->cx, op.n_inputs, sizeof *graph.inputs),
                                    .n_outputs = op.n_outputs};
    struct nuc_lt_model model = {.cx = b->cx, .file = "", .n_subgraphs = 1, .subgraphs = &graph};
    struct trial trial = {&model, &b->options};
    int32_t *names = nuc_alloc_array(b->cx, most, sizeof *names);

    op.inputs = numbered_alone(b, op.inputs, op.n_inputs, &graph, names);
    op.outputs = graph.outputs = numbered_alone(b, op.outputs, op.n_outputs, &graph, names);
    for (uint32_t k = 0; k < op.n_inputs; k++) {
        if (op.inputs[k] >= 0 && graph.tensors[op.inputs[k]].data.data == NULL)
            add_once(graph.inputs, &graph.n_inputs, op.inputs[k]);
    }
    enum nuc_status s = nuc_attempt(b->cx, try_alone, &trial);
    nuc_pop_arena(b->cx, outer);
    if (s == NUC_OK)
        return NULL;
    /* ": operator 0 (NAME): " is not news. */
    const char *colon = strstr(b->cx->message, "): ");
    return nuc_strdup(b->cx, colon != NULL ? colon + 3 : b->cx->message);
}

/* Limits the converter itself does not have: those of the chip's softmax, in the wider of the two rule sets. */
static const char *beyond_limits(const struct builder *b, const struct nuc_lt_op *op)
{
    const struct nuc_target *t = b->target;
    const struct nuc_lt_tensor *x = op->n_inputs > 0 && op->inputs[0] >= 0 ? &b->s->tensors[op->inputs[0]] : NULL;

    if (op->code != NUC_LT_SOFTMAX || x == NULL || x->rank == 0)
        return NULL;
    int64_t most = t->max_softmax_channels > t->max_softmax_channels_sdk31 ? t->max_softmax_channels
                                                                           : t->max_softmax_channels_sdk31;
    int64_t channels = x->shape[x->rank - 1], elements = nuc_lt_elements(x);
    if (channels > most)
        return nuc_format(b->cx, "%lld channels, %s takes %lld", (long long)channels, t->name, (long long)most);
    if (channels > 0 && (elements / channels > t->max_softmax_rows || elements > t->max_softmax_elements))
        return nuc_format(b->cx, "%lld rows of %lld, %s takes %lld rows and %lld elements",
                          (long long)(elements / channels), (long long)channels, t->name,
                          (long long)t->max_softmax_rows, (long long)t->max_softmax_elements);
    return NULL;
}

/* The permutation of a TRANSPOSE leaves the data in their order; false where it is not known. */
static bool keeps_order(const struct nuc_lt_tensor *x, const struct nuc_lt_tensor *perm)
{
    uint32_t last = 0;

    for (uint32_t i = 0; i < x->rank; i++) {
        if (perm->data.size < ((size_t)i + 1) * 4)
            return false;
        uint32_t from = nuc_load_u32(perm->data.data + (size_t)i * 4);
        if (from >= x->rank || (x->shape[from] != 1 && from < last))
            return false;
        last = x->shape[from] != 1 ? from : last;
    }
    return true;
}

/* A SLICE cuts channels where the target cannot. */
static bool cuts_between(const struct builder *b, const struct nuc_lt_op *op)
{
    const struct nuc_lt_tensor *x = &b->s->tensors[op->inputs[0]], *begin = &b->s->tensors[op->inputs[1]];
    const struct nuc_lt_tensor *y = &b->s->tensors[op->outputs[0]];
    int64_t step = b->target->slice_step;

    if (x->rank == 0 || y->rank != x->rank || begin->data.size < (size_t)x->rank * 4)
        return false;
    int64_t from = (int32_t)nuc_load_u32(begin->data.data + (size_t)(x->rank - 1) * 4), size = y->shape[x->rank - 1];
    return size != x->shape[x->rank - 1] && (from % step != 0 || size % step != 0);
}

/* What the chip's firmware has no kernel for; NULL: nothing. */
static const char *without_kernel(const struct builder *b, const struct nuc_lt_op *op)
{
    static const struct {
        int32_t code;
        enum nuc_firmware_kernel kernel;
    } needs[] = {
        {NUC_LT_SOFTMAX, NUC_FW_Softmax},
        {NUC_LT_TRANSPOSE, NUC_FW_Transpose},
        {NUC_LT_PRELU, NUC_FW_PRelu},
        {NUC_LT_MIRROR_PAD, NUC_FW_MirrorPad},
        {NUC_LT_RESIZE_BILINEAR, NUC_FW_InterpolationOnePipe},
        {NUC_LT_BATCH_MATMUL, NUC_FW_MulDynamicSymByAsym},
    };
    const struct nuc_lt_tensor *other = op->n_inputs > 1 && op->inputs[1] >= 0 ? &b->s->tensors[op->inputs[1]] : NULL;

    if (other != NULL && op->code == NUC_LT_SLICE && cuts_between(b, op))
        return nuc_format(b->cx, "%s cuts channels at multiples of %lld", b->target->name,
                          (long long)b->target->slice_step);
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        if (op->code != needs[i].code || nuc_has_firmware_kernel(b->target, needs[i].kernel))
            continue;
        if (other != NULL && op->code == NUC_LT_TRANSPOSE && keeps_order(&b->s->tensors[op->inputs[0]], other))
            return NULL;
        if (other != NULL && op->code == NUC_LT_BATCH_MATMUL && other->data.data != NULL)
            return NULL;
        return nuc_format(b->cx, "the NPU of %s has no kernel for it", b->target->name);
    }
    return NULL;
}

static const char *reason_outside(const struct builder *b, uint32_t i)
{
    const struct nuc_lt_op *op = &b->s->ops[i];
    const char *kernel = op->n_inputs > 0 && op->inputs[0] >= 0 && op->n_outputs > 0 ? without_kernel(b, op) : NULL;

    if (kernel != NULL)
        return kernel;

    if (op->code == NUC_LT_CUSTOM)
        return nuc_format(b->cx, "custom operator '%s'", op->custom_code);
    const char *limit = beyond_limits(b, op);
    return limit != NULL ? limit : convert_alone(b, i);
}

static void set_level(struct builder *b, uint32_t i)
{
    struct group_op *own = &b->ops[i];
    const struct nuc_lt_op *op = &b->s->ops[i];

    own->level = 0;
    for (uint32_t k = 0; k < op->n_inputs; k++) {
        int32_t maker = op->inputs[k] < 0 ? -1 : b->producers[op->inputs[k]];
        if (maker < 0)
            continue;
        uint32_t level = b->ops[maker].level + (b->ops[maker].inside != own->inside);
        own->level = level > own->level ? level : own->level;
    }
    if (own->level >= b->n_levels)
        b->n_levels = own->level + 1;
}

static bool moves_nothing(int32_t code)
{
    return code == NUC_LT_RESHAPE || code == NUC_LT_SQUEEZE;
}

/* ---- the new model ---- */

static void copy_operator(struct builder *b, uint32_t i)
{
    const struct nuc_lt_op *op = &b->s->ops[i];

    if (strncmp(nuc_lt_code_name(b->cx, op->code), "BUILTIN_", 8) == 0)
        nuc_fail(b->cx, NUC_UNSUPPORTED,
                 "%s: operator %u (%s) is not known, so that its options cannot be written again: take it out of the "
                 "model",
                 b->m->file, i, nuc_lt_code_name(b->cx, op->code));
    struct nuc_lt_op *copy = nuc_lt_add_op(b->out, op->code, op->inputs, op->n_inputs, op->outputs, op->n_outputs);
    copy->custom_code = op->custom_code;
    copy->version = op->version;
    copy->options = op->options;
}

static void add_graph(struct nuc_lt_model *out, uint32_t number, const struct nuc_neutron_image *image,
                      const struct nuc_lt_subgraph *s)
{
    const struct nuc_neutron_parts parts = {.form = 1,
                                            .microcode = image->microcode,
                                            .weights = image->weights,
                                            .kernels = image->kernels,
                                            .scratch = image->scratch_size,
                                            .profile = image->profile_size};

    nuc_container_add_graph(out, nuc_format(out->cx, "subgraph_%03u", number), &parts, s);
}

/* The new model has the tensors of the old one first, so that they keep their numbers until it is finished. */
static struct nuc_lt_model *begin_model(struct nuc_context *cx, const struct nuc_lt_model *m,
                                        const struct nuc_target *target)
{
    const struct nuc_lt_subgraph *s = &m->subgraphs[0];
    struct nuc_lt_model *out = nuc_lt_model_new(cx, m->file);

    const char *before = m->description;
    bool some = before != NULL && *before != '\0';
    out->description = nuc_format(cx, "%s%sConverted with nucleon (microcode %08x, for its simulator) for %s.",
                                  some ? before : "", some ? "\n" : "", NUC_MC_VERSION, target->name);
    out->subgraphs[0].name = s->name;
    for (uint32_t i = 0; i < s->n_tensors; i++)
        nuc_lt_add_tensor(out, &s->tensors[i]);
    out->subgraphs[0].n_inputs = s->n_inputs;
    out->subgraphs[0].n_outputs = s->n_outputs;
    out->subgraphs[0].inputs = nuc_copy(cx, s->inputs, s->n_inputs * sizeof *s->inputs);
    out->subgraphs[0].outputs = nuc_copy(cx, s->outputs, s->n_outputs * sizeof *s->outputs);
    return out;
}

static bool *ops_of_level(const struct builder *b, uint32_t level, bool *any)
{
    bool *in_group = nuc_alloc_array(b->cx, b->s->n_ops, sizeof *in_group);

    *any = false;
    for (uint32_t i = 0; i < b->s->n_ops; i++) {
        in_group[i] = b->ops[i].inside && b->ops[i].level == level;
        *any = *any || in_group[i];
    }
    return in_group;
}

static void fill_report(const struct builder *b, struct nuc_container_report *report)
{
    struct nuc_container_outside *outside = nuc_alloc_array(b->cx, b->s->n_ops, sizeof *outside);
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->s->n_ops; i++) {
        if (!b->ops[i].inside)
            outside[n++] = (struct nuc_container_outside){i, b->ops[i].reason};
    }
    *report = (struct nuc_container_report){b->n_graphs, b->s->n_ops, b->n_inside, outside};
}

struct nuc_lt_model *nuc_container_build(struct nuc_context *cx, const struct nuc_lt_model *m,
                                         const struct nuc_container_options *options,
                                         struct nuc_container_report *report)
{
    struct builder b = {.cx = cx, .m = m, .s = &m->subgraphs[0]};

    if (m->n_subgraphs != 1)
        nuc_fail(cx, NUC_UNSUPPORTED, "%s: %u subgraphs, models with one are handled", m->file, m->n_subgraphs);
    if (options != NULL)
        b.options = *options;
    b.target = b.options.target != NULL ? b.options.target : nuc_target_find(cx, NULL);
    b.ops = nuc_alloc_array(cx, b.s->n_ops, sizeof *b.ops);
    b.out = begin_model(cx, m, b.target);
    nuc_lt_verify_structure(b.m);
    b.producers = nuc_lt_uses(b.cx, b.s).producer;
    for (uint32_t i = 0; i < b.s->n_ops; i++) {
        b.ops[i].reason = reason_outside(&b, i);
        b.ops[i].inside = b.ops[i].reason == NULL;
    }
    /* Groups that are not worth it go outside, which may divide nothing further: levels are set again. */
    for (bool changed = true; changed;) {
        changed = false;
        b.n_levels = 0;
        for (uint32_t i = 0; i < b.s->n_ops; i++)
            set_level(&b, i);
        uint32_t *sizes = nuc_alloc_array(b.cx, b.n_levels, sizeof *sizes);
        uint32_t *work = nuc_alloc_array(b.cx, b.n_levels, sizeof *work);
        for (uint32_t i = 0; i < b.s->n_ops; i++) {
            sizes[b.ops[i].level] += b.ops[i].inside;
            work[b.ops[i].level] += b.ops[i].inside && !moves_nothing(b.s->ops[i].code);
        }
        for (uint32_t i = 0; i < b.s->n_ops; i++) {
            struct group_op *op = &b.ops[i];
            if (!op->inside || (work[op->level] > 0 && sizes[op->level] >= b.options.min_ops))
                continue;
            op->inside = false;
            op->reason = work[op->level] == 0 ? "a reshape on its own" : "a group of too few operators";
            changed = true;
        }
    }
    /* Level by level: the operators outside, then the group. Neither depends on the other there. */
    for (uint32_t level = 0; level < b.n_levels; level++) {
        bool any;
        const bool *in_group = ops_of_level(&b, level, &any);
        for (uint32_t i = 0; i < b.s->n_ops; i++) {
            if (!b.ops[i].inside && b.ops[i].level == level)
                copy_operator(&b, i);
        }
        if (!any)
            continue;
        const struct group *g = make_group(&b, in_group);
        b.n_inside += g->graph.n_ops;
        add_graph(b.out, b.n_graphs++, nuc_convert_litert(b.cx, &g->model, &b.options.convert), &g->graph);
    }
    nuc_lt_remove_dead(b.out);
    if (report != NULL)
        fill_report(&b, report);
    return b.out;
}

struct nuc_lt_model *nuc_container_wrap(struct nuc_context *cx, const struct nuc_lt_model *m,
                                        const struct nuc_neutron_image *image, const struct nuc_target *target)
{
    struct nuc_lt_model *out = begin_model(cx, m, target != NULL ? target : nuc_target_find(cx, NULL));

    add_graph(out, 0, image, &m->subgraphs[0]);
    nuc_lt_remove_dead(out);
    return out;
}
