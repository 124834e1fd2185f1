/* What was found in the outputs of inferences, as JSON. */
#include "archive/json_build.h"
#include "data/decision_json.h"
#include "host/call.h"
#include "nucleon/runner.h"

static void put_found(const struct nuc_runner *r, json_t *to, const struct nuc_found *found)
{
    const enum nuc_decision_kind kind = nuc_runner_decision(r)->kind;
    struct nuc_context *cx = nuc_context_of(nuc_runner_compiler(r));

    nuc_put_int(cx, to, "label", found->label);
    if (nuc_runner_label(r, found->label) != NULL)
        nuc_put_text(cx, to, "name", nuc_runner_label(r, found->label));
    nuc_put_double(cx, to, "score", (double)found->score);
    if (kind != NUC_DECIDE_BOXES && kind != NUC_DECIDE_KEYPOINTS)
        return;
    nuc_put_double(cx, to, "x", (double)found->x);
    nuc_put_double(cx, to, "y", (double)found->y);
    if (kind == NUC_DECIDE_KEYPOINTS)
        return;
    nuc_put_double(cx, to, "w", (double)found->w);
    nuc_put_double(cx, to, "h", (double)found->h);
}

enum nuc_status nuc_runner_decisions_json(const struct nuc_runner *r, const struct nuc_found *found,
                                          const size_t *counts, const bool *is_new, size_t count, const char **text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        struct nuc_compiler *c = nuc_runner_compiler(r);
        nuc_enter(&call, nuc_context_of(c), __func__, text != NULL && nuc_runner_decision(r) != NULL);
        struct nuc_context *cx = nuc_context_of(c);
        json_t *tree = nuc_json_tree(cx);
        nuc_put_string(cx, tree, "decision", nuc_decision_kind_name(nuc_runner_decision(r)->kind));
        json_t *list = nuc_put_array(cx, tree, "decisions");
        for (size_t i = 0, at = 0; i < count; i++) {
            json_t *step = nuc_put_object(cx, list, NULL);
            nuc_put_bool(cx, step, "new", is_new[i]);
            json_t *all = nuc_put_array(cx, step, "found");
            for (size_t k = 0; k < counts[i]; k++)
                put_found(r, nuc_put_object(cx, all, NULL), &found[at++]);
        }
        *text = nuc_json_text(cx, tree);
    }
    return nuc_leave(&call);
}
