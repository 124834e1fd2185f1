/* The trials of nuc_tune() as JSON (docs/json.md). */
#include <math.h>

#include "archive/json_build.h"
#include "driver/driver.h"
#include "nucleon/json.h"

struct json_call {
    struct nuc_call call;
    const struct nuc_tune_result *result;
    const char *const *options, *const *commands;
};

/* A trial that did not come so far has null. */
static void put_trial(struct nuc_context *cx, json_t *list, const struct json_call *j, size_t index)
{
    const struct nuc_tune_trial *t = &j->result->trials[index];
    json_t *o = nuc_put_object(cx, list, NULL);

    nuc_put_text(cx, o, "options", j->options != NULL ? j->options[index] : NULL);
    nuc_put_text(cx, o, "command", j->commands != NULL ? j->commands[index] : NULL);
    nuc_put_bool(cx, o, "compiled", t->compiled);
    nuc_put_bool(cx, o, "best", index == j->result->best);
    nuc_put_bool(cx, o, "unrivalled", t->unrivalled);
    nuc_put_text(cx, o, "reason", t->reason);
    nuc_put_measure(cx, o, "sqnr_db", t->sqnr);
    nuc_put_measure(cx, o, "accuracy", t->accuracy);
    nuc_put_known_count(cx, o, "cycles", t->compiled, t->cycles);
    nuc_put_measure(cx, o, "latency_us", t->compiled ? 1000 * t->milliseconds : (double)NAN);
    nuc_put_known_count(cx, o, "arena_bytes", t->compiled, t->arena);
    nuc_put_known_count(cx, o, "memory_bytes", t->compiled, t->memory);
    nuc_put_known_count(cx, o, "program_bytes", t->compiled, t->program);
    nuc_put_double(cx, o, "seconds", t->seconds);
}

static void write_json(struct nuc_call *k)
{
    const struct json_call *j = (const struct json_call *)k;
    const struct nuc_tune_result *r = j->result;
    struct nuc_context *cx = k->c->cx;
    json_t *tree = nuc_json_tree(cx);

    nuc_put_int(cx, tree, "calibration_samples", (int64_t)r->n_calibration);
    nuc_put_int(cx, tree, "compared_samples", (int64_t)r->n_compared);
    nuc_put_bool(cx, tree, "held_out", r->split);
    nuc_put_bool(cx, tree, "calibrated_on_compared", r->calibrated_on);
    nuc_put_text(cx, tree, "unmet", r->best == r->n_trials ? r->unmet : NULL);
    json_t *list = nuc_put_array(cx, tree, "trials");
    for (size_t i = 0; i < r->n_trials; i++)
        put_trial(cx, list, j, i);
    *k->out.text = nuc_json_text(cx, tree);
}

enum nuc_status nuc_tune_json(struct nuc_compiler *c, const struct nuc_tune_result *result, const char *const *options,
                              const char *const *commands, const char **text)
{
    struct json_call k = {
        .call = {.c = c, .out.text = text}, .result = result, .options = options, .commands = commands};

    return nuc_enter(&k.call, write_json);
}
