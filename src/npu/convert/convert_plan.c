/* Addresses: where in the scratch buffer each intermediate lies, or which input or output it is. */

#include "algorithms/plan.h"
#include "npu/convert/conversion.h"

/* The life of tensors' buffers in calls, and what may be written in place. */
struct lives {
    struct nuc_cv *cv;
    struct nuc_plan_range *ranges; /* per tensor; size 0: not in the scratch buffer */
    struct nuc_plan_pair *pairs;
    size_t n_pairs, pairs_capacity;
};

typedef void (*visit_function)(struct lives *l, uint32_t call, uint8_t *ref, const uint64_t *addresses);

static uint8_t *record_of(const struct nuc_cv *cv, uint32_t call)
{
    return cv->records.data + cv->calls[call].offset;
}

/* Calls visit for every operand of every record that stands for a tensor. */
static void for_tensor_refs(struct lives *l, visit_function visit, const uint64_t *addresses)
{
    for (uint32_t i = 0; i < l->cv->n_calls; i++) {
        uint8_t *record = record_of(l->cv, i);
        uint32_t refs = nuc_cv_refs_of(nuc_load_u32(record) & 0xFFFFu);
        for (uint32_t k = 0; k < refs; k++) {
            uint8_t *ref = record + sizeof(struct nuc_mc_call) + k * sizeof(struct nuc_mc_ref);
            if ((nuc_load_u32(ref) & 0xFFu) == CV_TENSOR)
                visit(l, i, ref, addresses);
        }
    }
}

static void extend_life(struct lives *l, uint32_t call, uint8_t *ref, const uint64_t *addresses)
{
    uint32_t t = nuc_load_u32(ref) >> 8;

    (void)addresses;
    if (!nuc_cv_in_scratch(l->cv, (int32_t)t) && !l->cv->pool_boundaries)
        return;
    if (l->ranges[t].size == 0)
        l->ranges[t] = (struct nuc_plan_range){
            .size = (uint64_t)nuc_cv_bytes(l->cv, (int32_t)t), .first = call, .alignment = NUC_MC_ALIGNMENT};
    l->ranges[t].last = call;
}

static void set_address(struct lives *l, uint32_t call, uint8_t *ref, const uint64_t *addresses)
{
    uint32_t t = nuc_load_u32(ref) >> 8;
    const struct nuc_cv_tensor *state = &l->cv->tensors[t];
    uint32_t where = nuc_mc_where(NUC_MC_SCRATCH, 0);

    (void)call;
    if (state->input_index >= 0)
        where = nuc_mc_where(NUC_MC_INPUT, (uint32_t)state->input_index);
    else if (state->output_index >= 0)
        where = nuc_mc_where(NUC_MC_OUTPUT, (uint32_t)state->output_index);
    else
        nuc_store_u32(ref + 4, nuc_load_u32(ref + 4) + (uint32_t)addresses[t]);
    nuc_store_u32(ref, where);
}

/* ---- in place ---- */

/* The output is dense and begins its buffer, as does the operand: each element is read where it will be written. */
static void add_pair(struct lives *l, struct nuc_mc_ref from, struct nuc_mc_ref to, int32_t out_pitch)
{
    if ((from.where & 0xFFu) != CV_TENSOR || (to.where & 0xFFu) != CV_TENSOR || from.offset != 0 || to.offset != 0 ||
        out_pitch != 0)
        return;
    l->pairs = nuc_grow(l->cv->cx, l->pairs, &l->pairs_capacity, l->n_pairs + 1, sizeof *l->pairs);
    l->pairs[l->n_pairs++] = (struct nuc_plan_pair){from.where >> 8, to.where >> 8, false};
}

/* Elements of the operand follow each other as those of the output do. */
static bool is_dense(const struct nuc_mc_binary *e, const int32_t *stride)
{
    int64_t step = 1;

    for (int32_t d = e->rank - 1; d >= 0; d--) {
        if (e->shape[d] > 1 && stride[d] != step)
            return false;
        step *= e->shape[d];
    }
    return true;
}

/* ---- inputs and outputs ---- */

/* Addresses of the tensors that hold inputs, or outputs. */
static const uint32_t *places(const struct lives *l, const struct nuc_plan *plan, bool outputs)
{
    const struct nuc_lt_subgraph *g = l->cv->graph;
    uint32_t n = outputs ? g->n_outputs : g->n_inputs;
    uint32_t *at = nuc_alloc_array(l->cv->cx, (size_t)n + 1, sizeof *at);

    for (uint32_t i = 0; i < n; i++)
        at[i] = UINT32_MAX;
    for (uint32_t t = 0; t < g->n_tensors; t++) {
        const struct nuc_cv_tensor *s = &l->cv->tensors[t];
        int32_t index = outputs ? s->output_index : s->input_index;
        if (index >= 0 && l->ranges[t].size > 0)
            at[index] = (uint32_t)plan->addresses[t];
    }
    return at;
}

/* ---- the plan ---- */

static void report_plan(struct lives *l, const struct nuc_plan *plan, struct nuc_neutron_image *image)
{
    struct nuc_cv *cv = l->cv;
    struct nuc_planned *buffers;
    size_t count = 0;
    const struct nuc_lt_uses uses = nuc_lt_uses(cv->cx, cv->graph);

    for (uint32_t t = 0; t < cv->graph->n_tensors; t++)
        count += l->ranges[t].size > 0;
    buffers = nuc_alloc_array(cv->cx, count + 1, sizeof *buffers);
    for (uint32_t t = 0; t < cv->graph->n_tensors; t++) {
        const struct nuc_plan_range *r = &l->ranges[t];
        const int32_t made = uses.producer[t]; /* by this operator; -1: by none */
        if (r->size > 0)
            buffers[image->n_buffers++] = (struct nuc_planned){
                nuc_strdup(cv->cx, cv->graph->tensors[t].name),  r->size, plan->addresses[t], r->first, r->last,
                made < 0 ? 0 : cv->graph->ops[made].debug_handle};
    }
    image->buffers = buffers;
    image->scratch_size = (uint32_t)plan->size;
    image->scratch_bound = (uint32_t)plan->bound;
    image->scratch_proven = plan->proven;
}

void nuc_cv_assign_addresses(struct nuc_cv *cv, struct nuc_neutron_image *image)
{
    struct lives l = {.cv = cv, .ranges = nuc_alloc_array(cv->cx, cv->graph->n_tensors, sizeof *l.ranges)};

    for (uint32_t t = 0; t < cv->graph->n_tensors; t++)
        l.ranges[t].alignment = NUC_MC_ALIGNMENT;
    for_tensor_refs(&l, extend_life, NULL);
    /* Inputs are there before the first call, outputs until after the last. */
    for (uint32_t t = 0; t < l.cv->graph->n_tensors; t++) {
        struct nuc_plan_range *r = &l.ranges[t];
        if (r->size > 0 && l.cv->tensors[t].input_index >= 0)
            r->first = 0;
        if (r->size > 0 && l.cv->tensors[t].output_index >= 0)
            r->last = l.cv->n_calls;
    }
    for (uint32_t i = 0; i < l.cv->n_calls; i++) {
        union nuc_mc_record r;
        const uint8_t *record = record_of(l.cv, i);
        uint32_t opcode = nuc_load_u32(record) & 0xFFFFu;
        nuc_mc_load(record, &r);
        if (opcode == NUC_MC_OP_LUT) {
            add_pair(&l, r.lut.input, r.lut.output, r.lut.out_pitch | r.lut.in_pitch);
        } else if (opcode == NUC_MC_OP_SOFTMAX)
            add_pair(&l, r.softmax.input, r.softmax.output, r.softmax.out_pitch);
        else if (opcode == NUC_MC_OP_SOFTMAX_TABLE)
            add_pair(&l, r.softmax_table.input, r.softmax_table.output, r.softmax_table.out_pitch);
        else if (opcode >= NUC_MC_OP_ADD && opcode <= NUC_MC_OP_PRELU) {
            const struct nuc_mc_binary *e = &r.binary;
            bool a = is_dense(e, e->a_stride), b = is_dense(e, e->b_stride);
            /* Both operands in one buffer: only when each element of the one is that of the other. */
            if (e->a.where == e->b.where && !(a && b && e->a.where == e->b.where && e->a.offset == e->b.offset))
                continue;
            if (a)
                add_pair(&l, e->a, e->output, e->out_pitch);
            if (b)
                add_pair(&l, e->b, e->output, e->out_pitch);
        }
    }
    const struct nuc_plan_problem problem = {
        .ranges = l.ranges, .n = cv->graph->n_tensors, .pairs = l.pairs, .n_pairs = l.n_pairs};
    struct nuc_plan plan = nuc_plan_memory(cv->cx, &problem);
    if (plan.size > INT32_MAX)
        nuc_fail(cv->cx, NUC_UNSUPPORTED,
                 "%s: the intermediates need %llu bytes of scratch, the NPU addresses 2 GiB: split the model or make "
                 "its inputs smaller",
                 cv->model->file, (unsigned long long)plan.size);
    for_tensor_refs(&l, set_address, plan.addresses);
    report_plan(&l, &plan, image);
    if (cv->pool_boundaries) {
        image->input_places = places(&l, &plan, false);
        image->output_places = places(&l, &plan, true);
    }
}
