/* What the numbers of an output are, where labels do not say it: by the option, the reference's graph, the shape. */
#include <string.h>

#include "ir/args.h"
#include "tools/evaluate/score.h"

/* ---- what the graph says ---- */

static bool has_same_sizes(const struct nuc_meta *a, const struct nuc_meta *b)
{
    return a->rank == b->rank && memcmp(a->sizes, b->sizes, a->rank * sizeof a->sizes[0]) == 0;
}

/* Elements keep their values and their number: the shape alone may be another. */
static bool is_reshaping(const struct nuc_node *n)
{
    enum nuc_family f = nuc_op_family(n->op);

    return f == NUC_FAMILY_VIEW || f == NUC_FAMILY_COPY || f == NUC_FAMILY_CAST || f == NUC_FAMILY_QUANT ||
           f == NUC_FAMILY_DEQUANT;
}

static const struct nuc_node *operand(const struct nuc_node *n)
{
    return n->n_args != 0 && n->args[NUC_SELF].kind == NUC_ARG_NODE ? n->args[NUC_SELF].u.node : NULL;
}

/* Dimensions with more than one element after the first, which is the batch. */
static size_t n_real_dimensions(const struct nuc_meta *m)
{
    size_t count = 0;

    for (size_t i = 1; i < m->rank; i++)
        count += m->sizes[i] > 1;
    return count;
}

/* The axis of a softmax in an output that may be a view of its value: that of the same size, where it is the only one.
 */
static bool find_axis(const struct nuc_node *softmax, const struct nuc_meta *output, size_t *axis)
{
    const struct nuc_meta *m = &softmax->vals[0];
    int64_t dim = softmax->args[NUC_ARG(SOFTMAX, dim)].u.i;
    size_t at = (size_t)(dim < 0 ? dim + m->rank : dim), found = 0;

    if (m->rank == 0)
        return false;
    *axis = at;
    if (has_same_sizes(m, output))
        return true;
    for (size_t i = 0; i < output->rank; i++) {
        if (output->sizes[i] != m->sizes[at])
            continue;
        *axis = i;
        found++;
    }
    return found == 1;
}

struct nuc_output_facts nuc_output_facts(const struct nuc_scoring *s, size_t output)
{
    struct nuc_output_facts facts = {.has_softmax = false};

    if (s->reference == NULL)
        return facts;
    const struct nuc_graph *g = s->reference->graph;
    const struct nuc_node *n = nuc_output_node(g)->args[NUC_ARG(OUTPUT, values)].u.nodes[output];
    const struct nuc_meta *last = &n->vals[0];
    bool reshaped = false;
    while (n != NULL && is_reshaping(n)) {
        reshaped |= nuc_op_family(n->op) == NUC_FAMILY_VIEW;
        n = operand(n);
    }
    if (n == NULL)
        return facts;
    if (nuc_op_family(n->op) == NUC_FAMILY_SOFTMAX)
        facts.has_softmax = find_axis(n, last, &facts.axis);
    if (facts.has_softmax && nuc_is_image_output(s->reference, output))
        facts.axis = facts.axis == 1 ? 3 : facts.axis == 0 ? 0 : facts.axis - 1;
    const struct nuc_node *tuple = n->op == NUC_OP_GETITEM ? operand(n) : NULL;
    facts.is_index = s->outputs[output].score->is_integer &&
                     (n->op == NUC_OP_ARGMAX || (tuple != NULL && nuc_op_family(tuple->op) == NUC_FAMILY_ORDER));
    facts.has_sigmoid = n->op == NUC_OP_SIGMOID || n->op == NUC_OP_HARDSIGMOID;
    facts.is_map = facts.has_sigmoid || n->op == NUC_OP_TANH;
    /* Through what each element goes through alone, a view may lie before. */
    while (n != NULL && (is_reshaping(n) || nuc_op_family(n->op) == NUC_FAMILY_MAP)) {
        reshaped |= nuc_op_family(n->op) == NUC_FAMILY_VIEW;
        n = operand(n);
    }
    facts.is_image = reshaped && n != NULL && n->n_vals != 0 && n_real_dimensions(&n->vals[0]) >= 2;
    return facts;
}

/* ---- tasks ---- */

void nuc_scores_along(struct nuc_scored_output *o, size_t axis)
{
    const struct nuc_tensor_info *t = &o->score->info;

    o->scores = (struct nuc_scores){.outer = 1, .classes = (size_t)t->sizes[axis], .inner = 1};
    for (size_t i = 0; i < t->rank; i++) {
        if (i < axis)
            o->scores.outer *= (size_t)t->sizes[i];
        else if (i > axis)
            o->scores.inner *= (size_t)t->sizes[i];
    }
    o->score->class_axis = axis;
    o->score->n_classes = o->scores.classes;
}

void nuc_scores_are_indices(struct nuc_scored_output *o, size_t ranks)
{
    o->scores = (struct nuc_scores){.outer = o->n_elements / ranks, .classes = ranks, .inner = 1, .is_index = true};
    o->score->is_index = true;
}

/* Of a [N, C, ...] as torch has it; [C]; the last one of what a LiteRT model calls an image. */
static size_t usual_axis(const struct nuc_scoring *s, size_t output)
{
    if (s->options->class_axis != NUC_CLASS_AXIS_AUTO)
        return (size_t)s->options->class_axis;
    if (s->reference != NULL && nuc_is_image_output(s->reference, output))
        return 3;
    return s->outputs[output].score->info.rank < 2 ? 0 : 1;
}

static bool equals_an_input(const struct nuc_scoring *s, const struct nuc_scored_output *o)
{
    struct nuc_tensor_info t;

    for (size_t i = 0; i < nuc_runner_n_inputs(s->runner); i++) {
        if (nuc_runner_input(s->runner, i, &t) == NUC_OK && t.bytes / nuc_dtype_size(t.dtype) == o->n_elements)
            return true;
    }
    return false;
}

/* One input, one output [N, C] or [C], and nothing that says it is something else. */
static bool looks_like_scores(const struct nuc_scoring *s, const struct nuc_scored_output *o,
                              const struct nuc_output_facts *facts)
{
    const struct nuc_tensor_info *t = &o->score->info;

    if (o->score->is_integer || s->result->n_outputs != 1 || nuc_runner_n_inputs(s->runner) != 1)
        return false;
    return t->rank >= 1 && t->rank <= 2 && t->sizes[t->rank - 1] >= 2 && !facts->is_map && !facts->is_image &&
           !equals_an_input(s, o);
}

static void use_axis(const struct nuc_scoring *s, struct nuc_scored_output *o, size_t axis)
{
    const struct nuc_tensor_info *t = &o->score->info;

    if (o->score->is_integer)
        nuc_scores_are_indices(o, 1);
    else if (axis >= t->rank || t->sizes[axis] < 2)
        nuc_fail(s->cx, NUC_BAD_USAGE,
                 "output '%s' has shape %s: there are no classes along axis %zu; --class-axis N says where, --task "
                 "regress that there are none",
                 o->score->name, nuc_sizes_text(s->cx, t->sizes, t->rank), axis);
    else
        nuc_scores_along(o, axis);
}

static void find_task(const struct nuc_scoring *s, size_t i)
{
    struct nuc_scored_output *o = &s->outputs[i];
    struct nuc_output_score *score = o->score;
    const struct nuc_output_facts facts = nuc_output_facts(s, i);
    size_t axis = usual_axis(s, i);

    if (s->options->task != NUC_TASK_AUTO) {
        score->task = s->options->task;
        score->because = "asked for";
        if (score->task != NUC_TASK_REGRESS)
            use_axis(s, o, s->options->class_axis == NUC_CLASS_AXIS_AUTO && facts.has_softmax ? facts.axis : axis);
    } else if (s->options->class_axis != NUC_CLASS_AXIS_AUTO && !score->is_integer) {
        score->task = NUC_TASK_CLASSIFY;
        score->because = "--class-axis";
        use_axis(s, o, axis);
    } else if (facts.has_softmax && (score->info.rank <= 3 || facts.axis == usual_axis(s, i)) &&
               score->info.sizes[facts.axis] >= 2) {
        score->task = NUC_TASK_CLASSIFY;
        score->because = "a softmax makes it";
        nuc_scores_along(o, facts.axis);
    } else if (looks_like_scores(s, o, &facts)) {
        score->task = NUC_TASK_CLASSIFY;
        score->because = "by its shape";
        score->is_guess = true;
        nuc_scores_along(o, axis);
    }
}

void nuc_find_tasks(struct nuc_scoring *s)
{
    for (size_t i = 0; i < s->result->n_outputs; i++) {
        if (s->outputs[i].score->labels == NULL)
            find_task(s, i);
    }
}
