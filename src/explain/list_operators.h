/* What the tables of rules and targets hold, as text and as JSON: `nucleon ops`, `nucleon targets` and
 * docs/supported-ops.md. */
#ifndef NUC_EXPLAIN_LIST_OPERATORS_H
#define NUC_EXPLAIN_LIST_OPERATORS_H

#include <jansson.h>

#include "ir/graph.h"
#include "npu/support/support.h"
#include "npu/target/target.h"

/* What runs an operator of an archive, where its arguments allow it. */
struct nuc_runs_on {
    bool npu, int8, real; /* the NPU; an int8 kernel or table, a float kernel of the CPU */
    bool nothing;         /* it is gone before anything runs */
};
typedef struct nuc_runs_on nuc_runs_on_fn(struct nuc_context *cx, const struct nuc_support *s, enum nuc_op op);

/* The operators of archives with what runs them, then those of the rule set with their rules, one per line. */
const char *nuc_operators_text(struct nuc_context *cx, const struct nuc_support *s, nuc_runs_on_fn *runs_on);

/*
 * One operator of archives or of the rules, by its name with or without dialect and overload: what runs it, what others
 * express it by, its rules. Fails with NUC_BAD_USAGE where no operator has that name.
 */
const char *nuc_operator_text(struct nuc_context *cx, const struct nuc_support *s, nuc_runs_on_fn *runs_on,
                              const char *name);

/* nuc_operators_text() for all rule sets: the contents of docs/supported-ops.md. */
const char *nuc_operators_markdown(struct nuc_context *cx, nuc_runs_on_fn *runs_on);

const char *nuc_targets_text(struct nuc_context *cx);

/* The same as JSON, of the rule set alone (docs/json.md). */
const char *nuc_operators_tree(struct nuc_context *cx, const struct nuc_support *s, nuc_runs_on_fn *runs_on);
const char *nuc_targets_tree(struct nuc_context *cx);

/* Member "memories" of an object: those of the target. */
void nuc_put_memories(struct nuc_context *cx, json_t *to, const struct nuc_target *target);

#endif
