/* An evaluation as JSON (docs/json.md). */

#include "archive/json_build.h"
#include "tools/evaluate/scored_output.h"

struct writer {
    struct nuc_context *cx;
    const struct nuc_evaluation *e;
    size_t most_classes; /* of a confusion matrix */
};

const char *const nuc_task_names[] = {
    [NUC_TASK_CLASSIFY] = "classify", [NUC_TASK_SEGMENT] = "segment", [NUC_TASK_REGRESS] = "regress"};

const struct nuc_member nuc_node_deviations[NUC_NODE_DEVIATIONS] = {
    {"quantized_against_float", offsetof(struct nuc_node_score, float_quantized)},
    {"program_against_quantized", offsetof(struct nuc_node_score, quantized_program)},
    {"program_against_float", offsetof(struct nuc_node_score, float_program)},
};

static double share(size_t part, size_t whole)
{
    return whole == 0 ? 0 : (double)part / (double)whole;
}

static void put_deviation(const struct writer *w, json_t *to, const char *key, const struct nuc_deviation *d)
{
    json_t *o = nuc_put_object(w->cx, to, key);

    nuc_put_count(w->cx, o, "elements", d->n_elements);
    nuc_put_count(w->cx, o, "equal", d->n_equal);
    nuc_put_count(w->cx, o, "not_finite", d->n_not_finite);
    nuc_put_count(w->cx, o, "not_finite_and_different", d->n_broken);
    nuc_put_double(w->cx, o, "sqnr_db", d->sqnr_db);
    nuc_put_double(w->cx, o, "mse", d->mse);
    nuc_put_double(w->cx, o, "mae", d->mae);
    nuc_put_double(w->cx, o, "max_error", d->max_error);
    nuc_put_double(w->cx, o, "psnr_db", d->psnr_db);
    if (d->max < d->min)
        return;
    nuc_put_double(w->cx, o, "min", d->min);
    nuc_put_double(w->cx, o, "max", d->max);
}

static void put_label_score(const struct writer *w, json_t *to, const char *key, const struct nuc_label_score *a,
                            size_t n_classes)
{
    json_t *o = nuc_put_object(w->cx, to, key);

    nuc_put_count(w->cx, o, "labelled", a->n);
    nuc_put_count(w->cx, o, "right", a->n_right);
    nuc_put_double(w->cx, o, "accuracy", share(a->n_right, a->n));
    if (a->top != 0) {
        nuc_put_count(w->cx, o, "top", a->top);
        nuc_put_double(w->cx, o, "top_accuracy", share(a->n_top, a->n));
    }
    nuc_put_double(w->cx, o, "mean_iou", a->mean_iou);
    nuc_put_count(w->cx, o, "classes_present", a->n_present);
    if (a->confusion == NULL || n_classes > w->most_classes)
        return;
    json_t *rows = nuc_put_array(w->cx, o, "confusion");
    for (size_t i = 0; i < n_classes; i++) {
        json_t *row = nuc_put_array(w->cx, rows, NULL);
        for (size_t k = 0; k < n_classes; k++)
            nuc_put_int(w->cx, row, NULL, (int64_t)a->confusion[i * n_classes + k]);
    }
}

static void put_classes(const struct writer *w, json_t *to, const struct nuc_output_score *o)
{
    json_t *c = nuc_put_object(w->cx, to, "classes");

    nuc_put_count(w->cx, c, "count", o->n_classes);
    nuc_put_bool(w->cx, c, "indices", o->is_index);
    if (!o->is_index)
        nuc_put_count(w->cx, c, "axis", o->class_axis);
    nuc_put_count(w->cx, c, "decisions", o->n_decisions);
    nuc_put_count(w->cx, c, "undecided", o->n_undecided);
    if (w->e->has_reference) {
        nuc_put_count(w->cx, c, "agree", o->n_agree);
        nuc_put_double(w->cx, c, "agreement", share(o->n_agree, o->n_decisions));
    }
    if (w->e->n_sequences > 0)
        nuc_put_last_decisions(w->cx, c, w->e, o);
    if (o->labels == NULL)
        return;
    nuc_put_count(w->cx, c, "labels_left_out", o->n_ignored);
    put_label_score(w, c, "program", &o->program_accuracy, o->n_classes);
    if (w->e->has_reference)
        put_label_score(w, c, "reference", &o->reference_accuracy, o->n_classes);
}

static void put_output(const struct writer *w, json_t *to, const struct nuc_output_score *o)
{
    nuc_put_string(w->cx, to, "name", o->name);
    nuc_put_string(w->cx, to, "dtype", nuc_dtype_name(o->info.dtype));
    nuc_put_bool(w->cx, to, "int8", o->is_quantized);
    nuc_put_sizes(w->cx, to, o->info.sizes, o->info.rank);
    nuc_put_count(w->cx, to, "nan", o->deviation.n_nan);
    nuc_put_count(w->cx, to, "infinite", o->deviation.n_infinite);
    if (w->e->has_reference)
        put_deviation(w, to, "against_reference", &o->deviation);
    nuc_put_text(w->cx, to, "task", nuc_task_names[o->task]);
    nuc_put_text(w->cx, to, "because", o->because);
    nuc_put_bool(w->cx, to, "guess", o->is_guess);
    nuc_put_text(w->cx, to, "labels", o->labels);
    if (o->task == NUC_TASK_CLASSIFY || o->task == NUC_TASK_SEGMENT)
        put_classes(w, to, o);
    if (o->task != NUC_TASK_REGRESS || o->labels == NULL)
        return;
    put_deviation(w, to, "program_against_labels", &o->program_error);
    if (w->e->has_reference)
        put_deviation(w, to, "reference_against_labels", &o->reference_error);
}

static void put_nodes(const struct writer *w, json_t *to, const struct nuc_node_evaluation *nodes)
{
    json_t *list = nuc_put_array(w->cx, to, "nodes");

    for (size_t i = 0; i < nodes->n_nodes; i++) {
        const struct nuc_node_score *s = &nodes->nodes[i];
        json_t *o = nuc_put_object(w->cx, list, NULL);
        nuc_put_string(w->cx, o, "name", s->name);
        nuc_put_string(w->cx, o, "label", s->label);
        nuc_put_string(w->cx, o, "float_name", s->float_name);
        nuc_put_string(w->cx, o, "operator", s->op);
        nuc_put_text(w->cx, o, "module", s->module);
        for (size_t k = 0; k < NUC_NODE_DEVIATIONS; k++)
            put_deviation(w, o, nuc_node_deviations[k].key, nuc_node_deviation(s, k));
        if (!s->is_rescaled)
            continue;
        nuc_put_double(w->cx, o, "rescaled_quantized_db", s->rescaled_quantized_db);
        nuc_put_double(w->cx, o, "rescaled_program_db", s->rescaled_program_db);
    }
    nuc_put_texts(w->cx, to, "nodes_without_counterpart", nodes->unmatched, nodes->n_unmatched);
    nuc_put_count(w->cx, to, "elements_compiled_otherwise", nodes->n_unequal);
}

static void put_measures(const struct writer *w, json_t *to)
{
    const struct nuc_evaluation *e = w->e;

    if (e->has_reference)
        nuc_put_double(w->cx, to, "sqnr_db", nuc_total_sqnr(e));
    if (e->n_sequences > 0)
        nuc_put_sequences(w->cx, to, e);
    json_t *list = nuc_put_array(w->cx, to, "outputs");
    for (size_t i = 0; i < e->n_outputs; i++)
        put_output(w, nuc_put_object(w->cx, list, NULL), &e->outputs[i]);
    nuc_put_decision_scores(w->cx, to, e);
    nuc_put_texts(w->cx, to, "class_names", e->class_names, e->n_class_names);
    list = nuc_put_array(w->cx, to, "disagreements");
    for (size_t i = 0; i < e->n_disagreements; i++) {
        const struct nuc_disagreement *d = &e->disagreements[i];
        json_t *o = nuc_put_object(w->cx, list, NULL);
        nuc_put_count(w->cx, o, "sample", d->sample);
        nuc_put_string(w->cx, o, "output", e->outputs[d->output].name);
        nuc_put_count(w->cx, o, "place", d->position);
        nuc_put_int(w->cx, o, "label", d->label);
        nuc_put_int(w->cx, o, "reference", d->reference);
        nuc_put_int(w->cx, o, "program", d->program);
    }
}

void nuc_put_evaluation(struct nuc_context *cx, json_t *to, const struct nuc_evaluation *e, size_t most_classes)
{
    const struct writer w = {cx, e, most_classes};

    nuc_put_count(w.cx, to, "samples", e->n_samples);
    put_measures(&w, to);
}

enum nuc_status nuc_evaluation_json(struct nuc_compiler *c, const struct nuc_evaluation *e,
                                    const struct nuc_node_evaluation *nodes, const char **text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, e != NULL && text != NULL);
        const struct writer w = {nuc_context_of(c), e, NUC_MAX_CONFUSION};
        json_t *tree = nuc_json_tree(w.cx);
        nuc_put_count(w.cx, tree, "samples", e->n_samples);
        nuc_put_double(w.cx, tree, "seconds", e->seconds);
        nuc_put_double(w.cx, tree, "program_seconds", e->program_seconds);
        nuc_put_double(w.cx, tree, "reference_seconds", e->reference_seconds);
        put_measures(&w, tree);
        if (nodes != NULL)
            put_nodes(&w, tree, nodes);
        nuc_put_text(w.cx, tree, "missed", e->missed);
        if (e->shard.count != 0)
            nuc_put_shard(w.cx, tree, e, nodes);
        *text = nuc_json_text(w.cx, tree);
    }
    return nuc_leave(&call);
}
