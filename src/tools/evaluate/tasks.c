/* What the numbers of an output are, where labels do not say it: by the option, the reference's graph, the shape. */
#include "tools/evaluate/scored_output.h"

struct nuc_output_facts nuc_scored_facts(const struct nuc_scoring *s, size_t output)
{
    struct nuc_output_facts facts = {.name = NULL};

    if (s->reference != NULL)
        facts = nuc_output_facts(s->reference, output);
    facts.is_index &= s->outputs[output].score->is_integer;
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
    if (s->reference != NULL && nuc_output_facts(s->reference, output).has_channels_last)
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

void nuc_check_class_axis(const struct nuc_scoring *s, const struct nuc_output_score *o, size_t axis)
{
    if (axis >= o->info.rank || o->info.sizes[axis] < 2)
        nuc_fail(s->cx, NUC_BAD_USAGE,
                 "output '%s' has shape %s: there are no classes along axis %zu; --class-axis N says where, --task "
                 "regress that there are none",
                 o->name, nuc_sizes_text(s->cx, o->info.sizes, o->info.rank), axis);
}

static void use_axis(const struct nuc_scoring *s, struct nuc_scored_output *o, size_t axis)
{
    if (o->score->is_integer) {
        nuc_scores_are_indices(o, 1);
        return;
    }
    nuc_check_class_axis(s, o->score, axis);
    nuc_scores_along(o, axis);
}

static void find_task(const struct nuc_scoring *s, size_t i)
{
    struct nuc_scored_output *o = &s->outputs[i];
    struct nuc_output_score *score = o->score;
    const struct nuc_output_facts facts = nuc_scored_facts(s, i);
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
