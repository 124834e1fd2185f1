/* --dim-order auto: every variant is compiled, the one that takes the fewest cycles is kept. */

#include "driver/lowered.h"
#include "explain/explain.h"
#include "host/text.h"
#include "npu/layout/orders.h"
#include "npu/support/estimate.h"
#include "npu/target/target.h"

static const struct variant {
    const char *name;
    enum nuc_dim_order order;
    bool npu_converts; /* formats of contiguous inputs and outputs; else the CPU does */
} variants[] = {
    {"contiguous", NUC_DIM_ORDER_CONTIGUOUS, true},
    {"contiguous, CPU converts formats", NUC_DIM_ORDER_CONTIGUOUS, false},
    {"channels-last", NUC_DIM_ORDER_CHANNELS_LAST, true},
};

enum { N_VARIANTS = sizeof variants / sizeof variants[0] };

/* What became of a variant. */
struct outcome {
    bool ok;
    const char *message; /* why not */
    uint64_t cycles;
    size_t transposes; /* by NPU or CPU */
    size_t moved_bytes, arena;
};

/* The CPU's estimate for the transpose of a value at the boundary of a delegate: it moves each element. */
static uint64_t transpose_cycles(const struct nuc_model *m, const struct nuc_tensor_info *t)
{
    const struct nuc_kernel_costs *c = &m->settings->target->costs.int8;
    double elements = 1;

    for (size_t i = 0; i < t->rank; i++)
        elements *= (double)t->sizes[i];
    return nuc_cpu_cycles(c, elements, c->element);
}

/* The whole way to the program: how many bytes of arena a variant takes is known only there. */
static void compile_variant(struct nuc_model *quantized, void *arg)
{
    struct outcome *out = arg;
    struct nuc_job j = {.c = quantized->c, .m = quantized};

    nuc_run_stages(&j, NUC_STAGE_DIM_ORDER, NUC_STAGE_PARTITION);
    const struct nuc_explanation *e = nuc_explain_model(j.m, true, (struct nuc_sample_source){NULL, NULL});
    nuc_run_stages(&j, NUC_STAGE_DELEGATE, NUC_STAGE_PROGRAM);
    out->cycles = nuc_explained_cycles(e);
    out->arena = j.made.report.arena;
    for (uint32_t i = 0; i < j.m->lowered->n_partitions; i++) {
        const struct nuc_lowered_partition *p = &j.m->lowered->partitions[i];
        out->transposes += p->info.n_transposes;
        out->moved_bytes += p->info.moved_bytes;
        for (size_t k = 0; k < p->n_cpu_transposed; k++) {
            out->transposes++;
            out->moved_bytes += p->cpu_transposed[k].bytes;
            out->cycles += transpose_cycles(j.m, &p->cpu_transposed[k]);
        }
    }
}

static struct nuc_options options_of(const struct nuc_model *m, const struct variant *v)
{
    struct nuc_options o = m->settings->o;

    o.dim_order = v->order;
    o.use_neutron_for_format_conversion = v->npu_converts;
    return o;
}

static struct outcome try_variant(const struct nuc_model *quantized, const struct variant *v)
{
    struct nuc_context *cx = quantized->c->cx;
    const struct nuc_options as = options_of(quantized, v);
    struct outcome out = {.message = ""};

    out.ok = nuc_trial(quantized, &as, compile_variant, &out) == NUC_OK;
    if (!out.ok)
        out.message = nuc_strdup(cx, cx->message);
    return out;
}

static bool is_better(const struct outcome *a, const struct outcome *b)
{
    if (a->ok != b->ok)
        return a->ok;
    if (a->cycles != b->cycles)
        return a->cycles < b->cycles;
    if (a->moved_bytes != b->moved_bytes)
        return a->moved_bytes < b->moved_bytes;
    return a->arena < b->arena;
}

/* The archive's own order: what equal variants leave. */
static size_t own_variant(const struct nuc_model *m)
{
    for (const struct nuc_node *n = m->graph->first; n != NULL; n = n->next) {
        if (!nuc_is_user_input(n))
            continue;
        if (!nuc_lies_contiguous(&n->vals[0]))
            return N_VARIANTS - 1;
    }
    return 0;
}

/* Of equal variants the one that moves less, takes less memory, is as the archive has it. */
static struct nuc_model *choose(const struct nuc_model *quantized)
{
    struct nuc_context *cx = quantized->c->cx;
    struct nuc_settings *settings = nuc_copy(cx, quantized->settings, sizeof *settings);
    struct outcome outcomes[N_VARIANTS];
    size_t best = own_variant(quantized);

    for (size_t i = 0; i < N_VARIANTS; i++)
        outcomes[i] = try_variant(quantized, &variants[i]);
    for (size_t i = 0; i < N_VARIANTS; i++)
        best = is_better(&outcomes[i], &outcomes[best]) ? i : best;
    if (!outcomes[best].ok)
        nuc_fail(cx, NUC_UNSUPPORTED, "%s", outcomes[best].message);
    settings->o = options_of(quantized, &variants[best]);
    struct nuc_model *m = nuc_model_after(quantized, quantized->graph);
    m->settings = settings;
    struct nuc_text text = {.cx = cx};
    nuc_text_addf(&text, "  %-32s %11s %10s %12s %9s\n", "dim order", "cycles", "transposes", "moved bytes", "arena");
    for (size_t i = 0; i < N_VARIANTS; i++) {
        const struct outcome *t = &outcomes[i];
        if (t->ok)
            nuc_text_addf(&text, "%c %-32s %11llu %10zu %12zu %9zu\n", i == best ? '*' : ' ', variants[i].name,
                          (unsigned long long)t->cycles, t->transposes, t->moved_bytes, t->arena);
        else
            nuc_text_addf(&text, "  %-32s not possible: %s\n", variants[i].name, t->message);
    }
    m->dim_order_table = nuc_text_string(&text);
    return m;
}

void nuc_choose_dim_order(struct nuc_job *j)
{
    nuc_check_input_orders(j->m);
    j->quantized = j->m;
    j->is_same = true;
    if (j->m->from_litert) {
        if (j->m->settings->o.dim_order != NUC_DIM_ORDER_AS_IS)
            nuc_warn(j->c->cx, "%s: --dim-order is not used: a LiteRT model has its channels last", j->m->graph->file);
        return;
    }
    if (j->m->settings->o.dim_order == NUC_DIM_ORDER_AUTO)
        j->m = choose(j->m);
    if (j->m->settings->o.dim_order != NUC_DIM_ORDER_AS_IS) {
        j->is_same = false;
        j->m = nuc_model_after(j->m, nuc_graph_copy(j->m->graph));
        nuc_convert_orders(j->m->graph, j->m->settings->o.dim_order == NUC_DIM_ORDER_CHANNELS_LAST);
    }
    j->quantized = j->m;
}
