/* The trials of nuc_tune() as JSON (docs/json.md). */
#include <math.h>

#include "archive/json_build.h"
#include "host/call.h"
#include "nucleon/json.h"

/* A trial that did not come so far has null. */
static void put_trial(struct nuc_context *cx, json_t *list, const struct nuc_tune_trial *t, bool best,
                      const char *options, const char *command)
{
    json_t *o = nuc_put_object(cx, list, NULL);

    nuc_put_text(cx, o, "options", options);
    nuc_put_text(cx, o, "command", command);
    nuc_put_bool(cx, o, "compiled", t->compiled);
    nuc_put_bool(cx, o, "best", best);
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

enum nuc_status nuc_tune_json(struct nuc_compiler *c, const struct nuc_tune_result *result, const char *const *options,
                              const char *const *commands, const char **text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, result != NULL && text != NULL);
        struct nuc_context *cx = nuc_context_of(c);
        json_t *tree = nuc_json_tree(cx);
        nuc_put_int(cx, tree, "calibration_samples", (int64_t)result->n_calibration);
        nuc_put_int(cx, tree, "compared_samples", (int64_t)result->n_compared);
        nuc_put_bool(cx, tree, "held_out", result->split);
        nuc_put_bool(cx, tree, "calibrated_on_compared", result->calibrated_on);
        nuc_put_text(cx, tree, "unmet", result->best == result->n_trials ? result->unmet : NULL);
        nuc_put_texts(cx, tree, "changes", result->changes, result->n_changes);
        json_t *list = nuc_put_array(cx, tree, "trials");
        for (size_t i = 0; i < result->n_trials; i++)
            put_trial(cx, list, &result->trials[i], i == result->best, options != NULL ? options[i] : NULL,
                      commands != NULL ? commands[i] : NULL);
        *text = nuc_json_text(cx, tree);
    }
    return nuc_leave(&call);
}
