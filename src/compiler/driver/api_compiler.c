/* The compiler object: options, errors, timings. */
#include <string.h>
#include <time.h>

#include "compiler/driver/driver.h"

const char *nuc_version(void)
{
    return NUCLEON_VERSION;
}

void nuc_options_default(struct nuc_options *options)
{
    *options = (struct nuc_options){
        .target = "imxrt700",
        .converter_flavor = "sdk-3.2",
        .delegate = true,
        .use_neutron_for_format_conversion = true,
        .bias_correction = NUC_BIAS_CORRECTION_MEASURED,
        .delegate_data = NUC_DELEGATE_INLINE,
    };
}

struct nuc_compiler *nuc_compiler_new(const struct nuc_options *options, const struct nuc_memory_hooks *hooks)
{
    struct nuc_allocator allocator;
    struct nuc_context *cx;

    if (hooks != NULL) {
        allocator = (struct nuc_allocator){hooks->allocate, hooks->user};
        cx = nuc_context_new(&allocator);
    } else {
        cx = nuc_context_new(NULL);
    }
    if (cx == NULL)
        return NULL;
    struct nuc_compiler *c = cx->allocator.allocate(cx->allocator.user, NULL, sizeof *c);
    if (c == NULL) {
        nuc_context_free(cx);
        return NULL;
    }
    memset(c, 0, sizeof *c);
    c->cx = cx;
    if (options != NULL)
        c->options = *options;
    else
        nuc_options_default(&c->options);
    cx->warn = c->options.warn;
    cx->warn_user = c->options.warn_user;
    return c;
}

void nuc_compiler_free(struct nuc_compiler *c)
{
    if (c == NULL)
        return;
    struct nuc_context *cx = c->cx;
    cx->allocator.allocate(cx->allocator.user, c, 0);
    nuc_context_free(cx);
}

const char *nuc_dim_order_table(const struct nuc_compiler *c)
{
    return c->dim_order_table;
}

const char *nuc_compiler_message(const struct nuc_compiler *c)
{
    return c->cx->message;
}

enum nuc_status nuc_enter(struct nuc_compiler *c, void (*fn)(struct nuc_context *cx, void *arg), void *arg)
{
    c->cx->message[0] = '\0';
    return nuc_try(c->cx, fn, arg);
}

double nuc_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* "all" stands for the stages only. */
static void dump_graph(struct nuc_compiler *c, const char *name, bool is_stage, struct nuc_graph *g)
{
    const struct nuc_options *o = &c->options;

    if (c->trial || o->dump == NULL || o->dump_after == NULL)
        return;
    if ((is_stage && strcmp(o->dump_after, "all") == 0) || strcmp(o->dump_after, name) == 0)
        o->dump(o->dump_user, name, nuc_graph_print(g, false));
}

/* A release build verifies between stages only: a graph of thousands of nodes goes through dozens of passes. */
static void verify_pass(struct nuc_graph *g, const char *pass)
{
#if !defined(NDEBUG) || defined(NUCLEON_SANITIZE)
    nuc_graph_verify(g, pass);
#else
    (void)g;
    (void)pass;
#endif
}

void nuc_pass_done(void *user, const char *pass, struct nuc_graph *g)
{
    struct nuc_compiler *c = user;

    verify_pass(g, pass);
    dump_graph(c, pass, false, g);
}

double nuc_stage_done(struct nuc_compiler *c, const char *stage, struct nuc_graph *g, double started)
{
    if (!c->trial && c->n_timings < NUC_MAX_TIMINGS)
        c->timings[c->n_timings++] = (struct nuc_timing){stage, nuc_seconds() - started};
    if (g != NULL) {
        nuc_graph_verify(g, stage);
        dump_graph(c, stage, true, g);
    }
    return nuc_seconds();
}

size_t nuc_timings(const struct nuc_compiler *c, struct nuc_timing *out, size_t max)
{
    for (size_t i = 0; i < c->n_timings && i < max; i++)
        out[i] = c->timings[i];
    return c->n_timings;
}

enum nuc_status nuc_program_report(const struct nuc_compiler *c, struct nuc_program_report *out)
{
    if (c->report.program == 0)
        return NUC_BAD_USAGE;
    *out = c->report;
    return NUC_OK;
}
