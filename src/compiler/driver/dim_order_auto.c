/* --dim-order auto: every variant is compiled, the one that takes the fewest cycles is kept. */
#include <string.h>

#include "compiler/driver/driver.h"
#include "compiler/layout/orders.h"
#include "compiler/report/explain.h"
#include "host/text.h"

#define N_VARIANTS 3

static const struct {
    const char *name;
    struct nuc_variant variant;
} variants[N_VARIANTS] = {
    {"contiguous", {NUC_DIM_ORDER_CONTIGUOUS, true}},
    {"contiguous, CPU converts formats", {NUC_DIM_ORDER_CONTIGUOUS, false}},
    {"channels-last", {NUC_DIM_ORDER_CHANNELS_LAST, true}},
};

struct trial {
    struct nuc_model *quantized;
    struct nuc_variant variant;
    bool ok;
    const char *message; /* why not */
    uint64_t cycles;
    size_t transposes; /* by NPU or CPU */
    size_t moved_bytes, arena;
};

/* The CPU's estimate for the transpose of a value at the border of a delegate. */
static uint64_t border_cycles(struct nuc_compiler *c, const struct nuc_tensor_info *t)
{
    static const int64_t to_last[4] = {0, 2, 3, 1};
    struct nuc_graph *g = nuc_graph_new(c->cx, "border");
    int64_t sizes[4] = {1, 1, 1, 1};

    for (size_t i = 0; i < t->rank; i++)
        sizes[i + 4 < t->rank ? 0 : i + 4 - t->rank] *= t->sizes[i];
    struct nuc_meta meta = nuc_meta_make(t->dtype, sizes, 4);
    struct nuc_node *x = nuc_add_placeholder(g, "x", NUC_USER_INPUT, &meta);
    struct nuc_node *node = nuc_add_node(g, NULL, NUC_OP_PERMUTE, NULL);
    nuc_set_arg_node(node, g, 0, x);
    nuc_set_arg_ints(node, g, 1, to_last, 4);
    nuc_infer_shape(g, node);
    return nuc_estimate_cpu(nuc_target_find(c->cx, c->options.target), node);
}

static void add_partition(struct trial *t, const struct nuc_lowered_partition *p)
{
    t->transposes += p->info.n_transposes;
    t->moved_bytes += p->info.moved_bytes;
    for (size_t i = 0; i < p->n_cpu_transposed; i++) {
        t->transposes++;
        t->moved_bytes += p->cpu_transposed[i].bytes;
        t->cycles += border_cycles(t->quantized->c, &p->cpu_transposed[i]);
    }
}

static void run_trial(struct nuc_context *cx, void *arg)
{
    struct trial *t = arg;
    struct nuc_compiler *c = t->quantized->c;

    (void)cx;
    struct nuc_model *partitioned = nuc_stage_partition_as(t->quantized, &t->variant);
    const struct nuc_explanation *e = nuc_explain_model(partitioned, true);
    struct nuc_model *lowered = nuc_stage_lower(partitioned);
    nuc_stage_program(lowered);
    t->cycles = e->npu_cycles + e->cpu_cycles;
    t->arena = c->report.arena;
    for (size_t i = 0; i < nuc_model_n_partitions(lowered); i++)
        add_partition(t, &lowered->lowered[i]);
}

/* Without notes, dumps and files: those are of the variant that is kept. */
static void try_variant(struct trial *t)
{
    struct nuc_compiler *c = t->quantized->c;
    struct nuc_options options = c->options;
    struct nuc_arena *outer = nuc_push_arena(c->cx);
    void (*warn)(void *user, const char *message) = c->cx->warn;

    c->options.dump = NULL;
    c->options.intermediates_dir = NULL;
    c->cx->warn = NULL;
    t->ok = nuc_try(c->cx, run_trial, t) == NUC_OK;
    c->cx->warn = warn;
    c->options = options;
    nuc_pop_arena(c->cx, outer);
    t->message = t->ok ? "" : nuc_strdup(c->cx, c->cx->message);
    c->cx->message[0] = '\0';
}

static bool is_better(const struct trial *a, const struct trial *b)
{
    if (a->ok != b->ok)
        return a->ok;
    if (a->cycles != b->cycles)
        return a->cycles < b->cycles;
    if (a->moved_bytes != b->moved_bytes)
        return a->moved_bytes < b->moved_bytes;
    return a->arena < b->arena;
}

static const char *table_of(struct nuc_context *cx, const struct trial *trials, size_t best)
{
    struct nuc_text text;

    nuc_text_init(&text, cx);
    nuc_text_addf(&text, "  %-34s %12s %10s %12s %10s\n", "dim order", "cycles", "transposes", "moved bytes", "arena");
    for (size_t i = 0; i < N_VARIANTS; i++) {
        const struct trial *t = &trials[i];
        if (t->ok)
            nuc_text_addf(&text, "%c %-34s %12llu %10zu %12zu %10zu\n", i == best ? '*' : ' ', variants[i].name,
                          (unsigned long long)t->cycles, t->transposes, t->moved_bytes, t->arena);
        else
            nuc_text_addf(&text, "  %-34s not possible: %s\n", variants[i].name, t->message);
    }
    return nuc_text_string(&text);
}

/* The archive's own order: what equal variants leave. */
static size_t own_variant(const struct nuc_model *m)
{
    for (const struct nuc_node *n = m->graph->first; n != NULL; n = n->next) {
        if (!nuc_is_placeholder(n) || n->input_kind != NUC_USER_INPUT)
            continue;
        if (!nuc_lies_contiguous(&n->vals[0]))
            return N_VARIANTS - 1;
    }
    return 0;
}

struct nuc_variant nuc_choose_variant(struct nuc_model *quantized)
{
    struct nuc_compiler *c = quantized->c;
    struct trial trials[N_VARIANTS];
    size_t best = own_variant(quantized), n_timings = c->n_timings;
    double started = nuc_seconds();

    for (size_t i = 0; i < N_VARIANTS; i++) {
        trials[i] = (struct trial){.quantized = quantized, .variant = variants[i].variant};
        try_variant(&trials[i]);
    }
    for (size_t i = 0; i < N_VARIANTS; i++)
        best = is_better(&trials[i], &trials[best]) ? i : best;
    if (!trials[best].ok)
        nuc_fail(c->cx, NUC_UNSUPPORTED, "%s", trials[best].message);
    c->dim_order_table = table_of(c->cx, trials, best);
    c->report = (struct nuc_program_report){.program = 0};
    c->n_timings = n_timings;
    nuc_stage_done(c, "dim-order", NULL, started);
    return variants[best].variant;
}
