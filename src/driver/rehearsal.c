/*
 * The finished program, loaded and run once on zeros: what compiles runs, unless zeros are no input of it, as where
 * they make an index. Of one that takes longer than a moment only what was not made for its kernels is run, for some
 * hundredths of a second; about a second is allowed where an operator takes other element types than the usual ones.
 * Delegates are not run, nor are layers in int8 then; what they leave is zeros.
 */
#include <math.h>
#include <string.h>

#include "driver/lowered.h"
#include "driver/stages.h"
#include "ir/work.h"
#include "npu/support/estimate.h"
#include "nucleon/runtime.h"

/* ---- which programs ---- */

static bool is_usual(const struct nuc_meta *m)
{
    return m->dtype == NUC_F32 || m->dtype == NUC_I8;
}

/* Operators of our own and their parameters, boundaries and delegate calls have the types they were made for. */
static bool is_checked(const struct nuc_node *n)
{
    return nuc_is_call(n) && nuc_op_kind(n->op) != NUC_KIND_GRAPH && nuc_op_family(n->op) != NUC_FAMILY_CORTEXM &&
           !nuc_is_quantization(n);
}

static bool has_unusual_type(const struct nuc_node *n)
{
    struct nuc_cursor at = {0, 0};

    for (uint32_t i = 0; i < n->n_vals; i++) {
        if (!is_usual(&n->vals[i]))
            return true;
    }
    for (const struct nuc_node *in = nuc_next_input(n, &at); in != NULL; in = nuc_next_input(n, &at)) {
        if (in->n_vals > 0 && !is_usual(&in->vals[0]))
            return true;
    }
    return false;
}

/* Products and values of a run that takes a moment, some hundredths of a second, and about a second. */
#define MOST_WHOLE_WORK ((int64_t)1 << 20)
#define MOST_WORK ((int64_t)1 << 24)
#define MOST_UNUSUAL_WORK ((int64_t)1 << 29)

static int64_t elements(const struct nuc_node *n)
{
    int64_t count = 0;

    for (uint32_t i = 0; i < n->n_vals; i++)
        count += nuc_elements(&n->vals[i]);
    return count;
}

/* Products of an int8 operator of the CPU: each value of the result takes a row of the second operand. */
static int64_t products_of(const struct nuc_node *n)
{
    const struct nuc_node *weight = nuc_arg_node(n, 1);
    const struct nuc_meta *m = &n->vals[0];

    if (nuc_op_family(n->op) != NUC_FAMILY_CORTEXM || weight == NULL || weight->n_vals == 0 || m->rank == 0 ||
        weight->vals[0].rank < 2)
        return (int64_t)fmin(fmax((double)nuc_estimate_macs(n), nuc_node_products(n)), (double)MOST_UNUSUAL_WORK);
    int64_t channels = m->sizes[m->rank == 4 ? 1 : m->rank - 1];
    return channels > 0 ? nuc_elements(m) / channels * elements(weight) : 0;
}

static int64_t work_of(const struct nuc_node *n)
{
    struct nuc_cursor at = {0, 0};
    int64_t most = 0;

    for (const struct nuc_node *in = nuc_next_input(n, &at); in != NULL; in = nuc_next_input(n, &at))
        most = elements(in) > most ? elements(in) : most;
    int64_t products = n->n_vals > 0 ? products_of(n) : 0;
    return products < MOST_UNUSUAL_WORK ? products + most + elements(n) : MOST_UNUSUAL_WORK;
}

enum extent { NOTHING, FOREIGN, EVERYTHING };

static enum extent extent_of(const struct nuc_graph *g)
{
    int64_t all = 0, foreign = 0, most = MOST_WORK;

    for (const struct nuc_node *n = g->first; n != NULL && foreign < MOST_UNUSUAL_WORK; n = n->next) {
        if (!nuc_is_call(n) || nuc_op_kind(n->op) == NUC_KIND_GRAPH)
            continue;
        int64_t work = is_checked(n) || all < MOST_WHOLE_WORK ? work_of(n) : 0;
        all += work;
        foreign += is_checked(n) ? work : 0;
        if (is_checked(n) && has_unusual_type(n))
            most = MOST_UNUSUAL_WORK;
    }
    if (all < MOST_WHOLE_WORK)
        return EVERYTHING;
    return foreign > 0 && foreign < most ? FOREIGN : NOTHING;
}

/* ---- running ---- */

static enum nuc_status load_nothing(void *state, const uint8_t *processed, size_t size, struct nuc_detail *detail)
{
    (void)state, (void)processed, (void)size, (void)detail;
    return NUC_OK;
}

static enum nuc_status run_nothing(void *state, struct nuc_kernel_context *cx, struct nuc_value *const *args,
                                   size_t n_args)
{
    (void)state, (void)cx, (void)args, (void)n_args;
    return NUC_OK;
}

static enum nuc_status no_sizes(const uint8_t *processed, size_t size, struct nuc_backend_sizes *out,
                                struct nuc_detail *detail)
{
    (void)processed, (void)size, (void)detail;
    *out = (struct nuc_backend_sizes){0};
    return NUC_OK;
}

static enum nuc_status compute_nothing(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    (void)cx, (void)args;
    return NUC_OK;
}

/* All kernels, but of our own layers in int8 only those that are run. */
static struct nuc_kernel_table kernels_for(struct nuc_context *cx, enum extent extent)
{
    const size_t n = nuc_default_kernels.count;
    struct nuc_kernel_entry *entries = nuc_copy(cx, nuc_default_kernels.entries, n * sizeof *entries);

    for (size_t i = 0; i < n && extent != EVERYTHING; i++) {
        if (strncmp(entries[i].name, "cortex_m::", 10) == 0 || strncmp(entries[i].name, "nucleon::quantized_", 19) == 0)
            entries[i].run = compute_nothing;
    }
    return (struct nuc_kernel_table){entries, n};
}

/* In the place of the NPU's, which needs a driver. */
static const struct nuc_backend idle = {
    .id = "NeutronBackend", .sizes = no_sizes, .load = load_nothing, .run = run_nothing};

static void check(const struct nuc_job *j, enum nuc_status status, const struct nuc_detail *d)
{
    if (status == NUC_OK)
        return;
    nuc_fail(j->c->cx, status == NUC_NO_MEMORY ? NUC_NO_MEMORY : NUC_UNSUPPORTED,
             "%s: %s%s%s%s%s: no kernel of the CPU takes this: convert its tensors to contiguous float32 ones with "
             "elements in "
             "the model",
             j->m->graph->file, d->where != NULL ? d->where : "", d->where != NULL ? ": " : "",
             d->message != NULL ? d->message : nuc_status_name(status), d->argument != NULL ? ": " : "",
             d->argument != NULL ? d->argument : "");
}

static void rehearse(const struct nuc_job *j, enum extent extent)
{
    struct nuc_context *cx = j->c->cx;
    const struct nuc_backend *const backends[] = {&idle};
    const struct nuc_backend_table table = {backends, 1, &nuc_delegates};
    struct nuc_program_memory m = {.state = NULL};
    struct nuc_detail detail = {.message = NULL};
    struct nuc_program_sizes sizes;
    struct nuc_program program;
    const struct nuc_kernel_table kernels = kernels_for(cx, extent);
    const uint8_t *image = j->made.bytes.data;

    if ((uintptr_t)image % NUC_MEMORY_ALIGNMENT != 0)
        image = nuc_copy(cx, image, j->made.bytes.size);
    check(j, nuc_program_sizes(image, j->made.bytes.size, &table, &sizes, &detail), &detail);
    m.state = nuc_alloc(cx, m.state_size = sizes.state);
    m.temporary = nuc_alloc(cx, m.temporary_size = sizes.temporary);
    for (size_t i = 0; i < sizes.n_planned; i++)
        m.planned[i] = nuc_alloc(cx, m.planned_size[i] = sizes.planned[i]);
    check(j, nuc_program_load(&program, image, j->made.bytes.size, &m, &kernels, &table, &detail), &detail);
    struct nuc_tensor tensor;
    for (size_t i = 0; i < nuc_program_n_inputs(&program); i++) {
        check(j, nuc_program_input_info(&program, i, &tensor), &detail);
        check(j, nuc_program_set_input(&program, i, nuc_alloc(cx, tensor.bytes), tensor.bytes, &detail), &detail);
    }
    for (size_t i = 0; i < nuc_program_n_outputs(&program); i++) {
        check(j, nuc_program_output_info(&program, i, &tensor), &detail);
        if (!tensor.constant && !tensor.planned)
            check(j, nuc_program_set_output(&program, i, nuc_alloc(cx, tensor.bytes), tensor.bytes, &detail), &detail);
    }
    enum nuc_status status = nuc_program_execute(&program, &detail);
    check(j, status == NUC_BAD_INPUT ? NUC_OK : status, &detail);
}

void nuc_rehearse_program(const struct nuc_job *j)
{
    const enum extent extent = extent_of(j->m->graph);

    if (extent == NOTHING)
        return;
    double started = nuc_seconds();
    struct nuc_arena *outer = nuc_push_arena(j->c->cx);
    rehearse(j, extent);
    nuc_pop_arena(j->c->cx, outer);
    nuc_note_seconds(j->c, "rehearse", started);
}
