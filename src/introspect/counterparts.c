/* Nodes of a quantized model and those of the float one that compute the same. */
#include <string.h>

#include "driver/driver.h"
#include "introspect/introspect.h"
#include "ir/labels.h"

struct nuc_model *nuc_model_like(const struct nuc_model *quantized, struct nuc_model *floating)
{
    const struct nuc_node *n = quantized->graph->first;

    while (n != NULL && !n->source->is_centred)
        n = n->next;
    return n == NULL ? floating : nuc_model_centred(floating);
}

static bool same_text(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* What makes a node of the quantized and one of the float model the same: calls of its file, or source lines. */
enum likeness { BY_CALL, BY_LINE, N_LIKENESSES };

/* Whether two nodes may compute the same value: one operator, one shape and one origin. */
static bool correspond(enum likeness how, const struct nuc_node *q, const struct nuc_node *f)
{
    const struct nuc_source *a = q->source, *b = f->source;

    if (q->op != f->op || q->n_vals != 1 || f->n_vals != 1 || f->vals[0].dtype != NUC_F32 ||
        !nuc_same_sizes(&q->vals[0], &f->vals[0]))
        return false;
    if (how == BY_CALL)
        return same_text(nuc_first_call(q), nuc_first_call(f));
    return same_text(a->module, b->module) && same_text(a->file, b->file) && a->line == b->line;
}

/* Nodes of the float model that correspond to `q`; `index` is one of them, from 0, NULL: there are fewer. */
static size_t float_like(const struct nuc_graph *g, enum likeness how, const struct nuc_node *q, size_t index,
                         const struct nuc_node **out)
{
    size_t count = 0;

    *out = NULL;
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        if (!nuc_is_call(n) || !correspond(how, q, n))
            continue;
        *out = count++ == index ? n : *out;
    }
    return count;
}

/* Nodes of the quantized model that correspond to `f`, and how many of them come before `q`. */
static size_t quantized_like(const struct nuc_graph *g, enum likeness how, const struct nuc_node *f,
                             const struct nuc_node *q, size_t *before)
{
    size_t count = 0;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        *before = n == q ? count : *before;
        count += nuc_is_call(n) && correspond(how, n, f);
    }
    return count;
}

/*
 * The node of the float model with the same value. Several nodes of one origin correspond in order, where both models
 * have as many; else by their names.
 */
static const struct nuc_node *counterpart(const struct nuc_graph *quantized, const struct nuc_graph *g,
                                          const struct nuc_node *q)
{
    const struct nuc_node *named = nuc_find_node(g, q->name), *found;
    size_t before = 0;

    for (enum likeness how = BY_CALL; how < N_LIKENESSES; how++) {
        size_t n_float = float_like(g, how, q, 0, &found);
        if (n_float == 0)
            continue;
        if (quantized_like(quantized, how, found, q, &before) == n_float) {
            float_like(g, how, q, before, &found);
            return found;
        }
        if (named != NULL && nuc_is_call(named) && correspond(how, q, named))
            return named;
    }
    return NULL;
}

const struct nuc_counterpart *nuc_find_counterparts(const struct nuc_model *quantized, const struct nuc_model *floating,
                                                    const char *const *names, size_t count)
{
    const struct nuc_labels labels = nuc_label_graph(quantized->graph);
    struct nuc_counterpart *found = nuc_alloc_array(nuc_model_context(quantized), count, sizeof *found);

    for (size_t i = 0; i < count; i++) {
        const struct nuc_node *q = nuc_find_node(quantized->graph, names[i]);
        const struct nuc_node *f = counterpart(quantized->graph, floating->graph, q);
        found[i] = (struct nuc_counterpart){.name = q->name, .label = labels.of[q->id]};
        if (f != NULL) {
            found[i].float_name = f->name;
            found[i].op = nuc_node_op_name(f);
            found[i].module = f->source->module;
        }
    }
    return found;
}
