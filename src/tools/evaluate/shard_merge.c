/* One evaluation of its shards. */
#include <stdio.h>
#include <string.h>

#include "host/file.h"
#include "host/limits.h"
#include "host/text.h"
#include "tools/evaluate/shard.h"

/* What one shard has of a list that goes on from shard to shard. */
struct shard {
    const char *file;
    size_t n_disagreements;
    struct nuc_disagreement *disagreements;
    const struct nuc_decision_scoring *decisions;
};

struct output {
    struct nuc_tally program, reference;
    size_t top;
};

struct merging {
    struct nuc_context *cx;
    const struct nuc_evaluate_options *options;
    size_t n_shards, n_all; /* samples of the data set */
    const char *first_file;
    struct nuc_evaluation_origin origin; /* of all */
    struct shard *shards;                /* by index from 0 */
    struct nuc_evaluation *result;
    struct nuc_output_score *scores;
    struct output *outputs;
    struct nuc_node_evaluation *nodes; /* NULL: there are none */
    struct nuc_node_score *node_scores;
    struct nuc_channel_sums *channels;
    const char **notes; /* of the shards, each once */
    size_t n_notes, notes_capacity;
};

/* ---- a file ---- */

static const char no_shard[] = "give what 'nucleon evaluate --shard I/N --json' printed";

static struct nuc_json open_file(struct merging *m, const char *path)
{
    struct nuc_context *cx = m->cx;
    struct nuc_span text = nuc_read_file(cx, path);
    size_t i = 0;

    while (i < text.size && strchr(" \n\r\t", text.data[i]) != NULL && text.data[i] != '\0')
        i++;
    if (i == text.size || text.data[i] != '{')
        nuc_fail(cx, NUC_BAD_INPUT, "%s: is no evaluation: %s", path, no_shard);
    if (text.size > NUC_MAX_JSON)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: has %zu bytes, at most %zu can be read: evaluate without --quantized", path,
                 text.size, NUC_MAX_JSON);
    struct nuc_json root = nuc_json_parse(cx, path, text);
    struct nuc_json command = nuc_json_maybe_member(&root, "command"), error = nuc_json_maybe_member(&root, "error");
    const char *name = nuc_json_maybe_text(&command);
    if (name != NULL && strcmp(name, "evaluate") != 0)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: is what 'nucleon %.40s' printed, no evaluation: %s", path, name, no_shard);
    struct nuc_json message = nuc_json_maybe_member(&error, "message");
    if (nuc_json_maybe_text(&message) != NULL)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: the evaluation failed: %.400s", path, nuc_json_maybe_text(&message));
    struct nuc_json outputs = nuc_json_maybe_member(&root, "outputs"), shard = nuc_json_maybe_member(&root, "shard");
    if (!nuc_json_is_there(&outputs))
        nuc_fail(cx, NUC_BAD_INPUT, "%s: is no evaluation: %s", path, no_shard);
    if (!nuc_json_is_there(&shard))
        nuc_fail(cx, NUC_BAD_INPUT,
                 "%s: is an evaluation of all samples, made without --shard: there is nothing to "
                 "merge",
                 path);
    return root;
}

static void read_origin(const struct nuc_json *shard, struct nuc_evaluation_origin *out)
{
    struct nuc_json of = nuc_json_field(shard, "of");

    *out = (struct nuc_evaluation_origin){.n_samples = nuc_read_count(shard, "all_samples"),
                                          .path = nuc_read_text(shard, "path")};
    for (size_t i = 0; i < NUC_N_SHARED; i++)
        out->shared[i] = nuc_read_text_or_null(&of, nuc_shared_rows[i].key);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static const char *or_none(const char *text)
{
    return text != NULL ? text : "none";
}

/* Each shard once. */
static size_t place(struct merging *m, const struct nuc_json *root, const struct nuc_json *shard, const char *file)
{
    const struct nuc_shard is = {nuc_read_count(shard, "index"), nuc_read_count(shard, "count")};

    if (is.count != m->n_shards)
        nuc_fail(m->cx, NUC_BAD_INPUT, "%s: is one of %zu shards, %s of %zu: shards of one evaluation are merged", file,
                 is.count, m->first_file, m->n_shards);
    if (is.index == 0 || is.index > is.count || is.count > m->n_all)
        nuc_fail(m->cx, NUC_BAD_INPUT, "%s: is shard %zu/%zu of %zu samples: there is no such shard", file, is.index,
                 is.count, m->n_all);
    size_t at = is.index - 1, first = nuc_shard_first(is, m->n_all);
    if (m->shards[at].file != NULL)
        nuc_fail(m->cx, NUC_BAD_INPUT, "%s: is shard %zu/%zu, as is %s: give each once", file, is.index, is.count,
                 m->shards[at].file);
    m->shards[at].file = file;
    size_t n = nuc_shard_first((struct nuc_shard){is.index + 1, is.count}, m->n_all) - first;
    if (nuc_read_count(root, "samples") != n || nuc_read_count(shard, "first_sample") != first)
        nuc_fail(m->cx, NUC_BAD_INPUT, "%s: has other samples than shard %zu/%zu of %zu", file, is.index, is.count,
                 m->n_all);
    return at;
}

/* ---- what is there once ---- */

static const char *const *read_texts(struct nuc_context *cx, const struct nuc_json *object, const char *key, size_t *n)
{
    struct nuc_json list = nuc_json_field(object, key);

    *n = nuc_json_count(&list);
    const char **texts = nuc_alloc_array(cx, *n, sizeof *texts);
    for (size_t i = 0; i < *n; i++) {
        struct nuc_json item = nuc_json_item(&list, i);
        texts[i] = nuc_strdup(cx, nuc_json_string(&item));
    }
    return texts;
}

static void begin(struct merging *m, const struct nuc_json *root, const struct nuc_json *shard)
{
    struct nuc_json outputs = nuc_json_field(root, "outputs"), nodes = nuc_json_optional(root, "nodes");
    struct nuc_evaluation *e = m->result;

    read_origin(shard, &m->origin);
    m->n_all = m->origin.n_samples;
    m->n_shards = nuc_read_count(shard, "count");
    if (m->n_shards == 0 || m->n_shards > NUC_MAX_SHARDS)
        nuc_fail(m->cx, NUC_BAD_INPUT, "%s: is one of %zu shards, which cannot be", m->first_file, m->n_shards);
    m->shards = nuc_alloc_array(m->cx, m->n_shards, sizeof *m->shards);
    e->has_reference = m->origin.shared[NUC_SHARED_REFERENCE] != NULL;
    e->data = read_texts(m->cx, shard, "bindings", &e->n_data);
    e->class_names = read_texts(m->cx, root, "class_names", &e->n_class_names);
    e->n_outputs = nuc_json_count(&outputs);
    m->scores = nuc_alloc_array(m->cx, e->n_outputs, sizeof *m->scores);
    m->outputs = nuc_alloc_array(m->cx, e->n_outputs, sizeof *m->outputs);
    e->outputs = m->scores;
    if (!nuc_json_is_there(&nodes))
        return;
    m->nodes = nuc_alloc(m->cx, sizeof *m->nodes);
    m->nodes->n_nodes = nuc_json_count(&nodes);
    m->nodes->unmatched = read_texts(m->cx, root, "nodes_without_counterpart", &m->nodes->n_unmatched);
    m->node_scores = nuc_alloc_array(m->cx, m->nodes->n_nodes, sizeof *m->node_scores);
    m->channels = nuc_alloc_array(m->cx, m->nodes->n_nodes, sizeof *m->channels);
    m->nodes->nodes = m->node_scores;
}

/* ---- outputs ---- */

static bool is_same_output(const struct nuc_output_score *a, const struct nuc_output_score *b)
{
    return same_text(a->name, b->name) && a->info.dtype == b->info.dtype && a->info.rank == b->info.rank &&
           memcmp(a->info.sizes, b->info.sizes, a->info.rank * sizeof a->info.sizes[0]) == 0 &&
           a->is_quantized == b->is_quantized && a->task == b->task && same_text(a->labels, b->labels) &&
           a->n_classes == b->n_classes && a->is_index == b->is_index && a->class_axis == b->class_axis;
}

static void merge_tallies(struct merging *m, const struct nuc_json *output, const struct nuc_json *sums, size_t i,
                          bool is_first)
{
    struct nuc_json classes = nuc_json_field(output, "classes");
    struct nuc_tally *to[] = {&m->outputs[i].program, &m->outputs[i].reference};
    static const char *const keys[] = {"program", "reference"};

    for (size_t k = 0; k < (m->result->has_reference ? 2 : 1); k++) {
        struct nuc_json score = nuc_json_field(&classes, keys[k]), top = nuc_json_optional(&score, "top");
        struct nuc_tally tally;
        nuc_read_tally(&classes, sums, keys[k], m->scores[i].n_classes, &tally);
        if (is_first) {
            m->outputs[i].top = nuc_json_is_there(&top) ? nuc_read_count(&score, "top") : 0;
            *to[k] = tally;
        } else {
            nuc_tally_merge(to[k], &tally);
        }
    }
}

static void merge_output(struct merging *m, const struct nuc_json *output, const struct nuc_json *sums, size_t i,
                         const char *file, bool is_first)
{
    struct nuc_output_score *to = &m->scores[i], from;
    struct nuc_deviation d;

    nuc_read_output(output, m->result->has_reference, &from);
    if (is_first) {
        *to = from;
    } else {
        if (!is_same_output(to, &from))
            nuc_fail(m->cx, NUC_BAD_INPUT,
                     "%s: output %zu is another one than in %s: shards of one evaluation are "
                     "merged",
                     file, i, m->first_file);
        to->n_decisions += from.n_decisions;
        to->n_undecided += from.n_undecided;
        to->n_agree += from.n_agree;
        to->n_ignored += from.n_ignored;
    }
    nuc_read_deviation(sums, "against_reference", &d);
    nuc_deviation_merge(m->cx, &to->deviation, &d);
    if (to->labels == NULL)
        return;
    if (to->task == NUC_TASK_CLASSIFY || to->task == NUC_TASK_SEGMENT) {
        merge_tallies(m, output, sums, i, is_first);
        return;
    }
    nuc_read_deviation(sums, "program_against_labels", &d);
    nuc_deviation_merge(m->cx, &to->program_error, &d);
    nuc_read_deviation(sums, "reference_against_labels", &d);
    nuc_deviation_merge(m->cx, &to->reference_error, &d);
}

static size_t output_named(const struct merging *m, const struct nuc_json *j)
{
    const char *name = nuc_json_string(j);

    for (size_t i = 0; i < m->result->n_outputs; i++) {
        if (strcmp(m->scores[i].name, name) == 0)
            return i;
    }
    nuc_json_fail(j, NUC_BAD_INPUT, "is no output");
}

static int64_t class_of(const struct nuc_json *object, const char *key)
{
    struct nuc_json j = nuc_json_field(object, key);

    return nuc_json_int(&j);
}

/* ---- nodes ---- */

static void merge_node(struct merging *m, const struct nuc_json *node, const struct nuc_json *sums, size_t i,
                       const char *file, bool is_first)
{
    struct nuc_node_score *to = &m->node_scores[i];
    struct nuc_channel_sums channels;
    const char *name = nuc_read_text(node, "name");

    nuc_read_channels(sums, "channels", &channels);
    if (is_first) {
        to->name = name;
        to->label = nuc_read_text(node, "label");
        to->float_name = nuc_read_text(node, "float_name");
        to->op = nuc_read_text(node, "operator");
        to->module = nuc_read_text_or_null(node, "module");
        to->channels = &m->channels[i];
        m->channels[i] = channels;
    } else if (strcmp(name, to->name) != 0 || channels.rank != m->channels[i].rank ||
               memcmp(channels.sizes, m->channels[i].sizes, sizeof channels.sizes) != 0) {
        nuc_fail(m->cx, NUC_BAD_INPUT, "%s: node %zu is another one than in %s: shards of one evaluation are merged",
                 file, i, m->first_file);
    } else {
        nuc_channel_sums_merge(m->cx, &m->channels[i], &channels);
    }
    for (size_t k = 0; k < NUC_NODE_DEVIATIONS; k++) {
        struct nuc_deviation d;
        nuc_read_deviation(sums, nuc_node_deviations[k].key, &d);
        nuc_deviation_merge(m->cx, nuc_node_deviation(to, k), &d);
    }
}

static void merge_nodes(struct merging *m, const struct nuc_json *root, const struct nuc_json *shard, const char *file,
                        bool is_first)
{
    if (m->nodes == NULL)
        return;
    struct nuc_json nodes = nuc_json_field(root, "nodes"), sums = nuc_json_field(shard, "nodes");
    if (nuc_json_count(&nodes) != m->nodes->n_nodes || nuc_json_count(&sums) != m->nodes->n_nodes)
        nuc_fail(m->cx, NUC_BAD_INPUT, "%s: has not %zu nodes as %s", file, m->nodes->n_nodes, m->first_file);
    m->nodes->n_elements += nuc_read_count(shard, "node_elements");
    m->nodes->n_unequal += nuc_read_count(root, "elements_compiled_otherwise");
    for (size_t i = 0; i < m->nodes->n_nodes; i++) {
        struct nuc_json node = nuc_json_item(&nodes, i), sum = nuc_json_item(&sums, i);
        merge_node(m, &node, &sum, i, file, is_first);
    }
}

/* ---- a shard ---- */

static double seconds(const struct nuc_json *root, const char *key)
{
    struct nuc_json j = nuc_json_field(root, key);

    return nuc_json_double(&j);
}

/* Their kind is that of the first file. */
static void read_decisions(struct merging *m, const struct nuc_json *root, const struct nuc_json *shard, size_t at,
                           bool is_first)
{
    static const char *const kinds[] = {"boxes", "keypoints", "anomaly", NULL};
    const struct nuc_json scores = nuc_json_optional(root, "decisions");
    const char *kind = NULL;

    if (nuc_json_is_there(&scores))
        kind = kinds[nuc_json_word(&scores, "kind", kinds, 0)];
    if (is_first)
        m->result->decision = kind;
    if (!same_text(m->result->decision, kind))
        nuc_fail(m->cx, NUC_BAD_INPUT, "%s: has decisions of another kind than %s: shards of one evaluation are merged",
                 m->shards[at].file, m->first_file);
    if (kind != NULL)
        m->shards[at].decisions =
            nuc_read_decision_marks(shard, kind, m->result->has_reference, nuc_read_count(shard, "first_sample"),
                                    nuc_read_count(root, "samples"));
}

static void collect_notes(struct merging *m, const struct nuc_json *root)
{
    struct nuc_json list = nuc_json_maybe_member(root, "warnings");

    for (size_t i = 0; i < nuc_json_maybe_count(&list); i++) {
        struct nuc_json item = nuc_json_maybe_item(&list, i);
        const char *text = nuc_json_maybe_text(&item);
        bool is_known = text == NULL;
        for (size_t k = 0; k < m->n_notes && !is_known; k++)
            is_known = strcmp(m->notes[k], text) == 0;
        if (is_known)
            continue;
        m->notes = nuc_grow(m->cx, m->notes, &m->notes_capacity, m->n_notes + 1, sizeof *m->notes);
        m->notes[m->n_notes++] = nuc_strdup(m->cx, text);
    }
}

static void merge_file(struct merging *m, const char *file, bool is_first)
{
    struct nuc_json root = open_file(m, file), shard = nuc_json_field(&root, "shard");
    struct nuc_evaluation_origin origin;

    if (is_first)
        begin(m, &root, &shard);
    read_origin(&shard, &origin);
    /* Of one program, one data set and so on: what a user can tell apart is named. */
    for (size_t i = 0; i < NUC_N_SHARED; i++) {
        const char *a = m->origin.shared[i], *b = origin.shared[i], *what = nuc_shared_rows[i].what;
        bool is_print = i >= NUC_SHARED_PROGRAM && i <= NUC_SHARED_DATA;
        if (same_text(a, b))
            continue;
        if (is_print && (a == NULL || b == NULL))
            nuc_fail(m->cx, NUC_BAD_INPUT, "%s: has %s %s, %s has %s: shards of one evaluation are merged", file,
                     b == NULL ? "no" : "a", what, m->first_file, a == NULL ? "none" : "one");
        if (is_print)
            nuc_fail(m->cx, NUC_BAD_INPUT, "%s: is of another %s than %s: shards of one evaluation are merged", file,
                     what, m->first_file);
        nuc_fail(m->cx, NUC_BAD_INPUT, "%s: %s is %s, of %s it is %s: shards of one evaluation are merged", file, what,
                 or_none(b), m->first_file, or_none(a));
    }
    if (origin.n_samples != m->n_all)
        nuc_fail(m->cx, NUC_BAD_INPUT, "%s: is of %zu samples, %s of %zu: shards of one evaluation are merged", file,
                 origin.n_samples, m->first_file, m->n_all);
    size_t at = place(m, &root, &shard, file);
    m->result->seconds += seconds(&root, "seconds");
    m->result->program_seconds += seconds(&root, "program_seconds");
    m->result->reference_seconds += seconds(&root, "reference_seconds");
    struct nuc_json outputs = nuc_json_field(&root, "outputs"), sums = nuc_json_field(&shard, "outputs");
    size_t n = m->result->n_outputs;
    if (nuc_json_count(&outputs) != n || nuc_json_count(&sums) != n)
        nuc_fail(m->cx, NUC_BAD_INPUT, "%s: has not %zu outputs as %s", file, n, m->first_file);
    for (size_t i = 0; i < n; i++) {
        struct nuc_json output = nuc_json_item(&outputs, i), sum = nuc_json_item(&sums, i);
        merge_output(m, &output, &sum, i, file, is_first);
    }
    struct shard *to = &m->shards[at];
    struct nuc_json list = nuc_json_field(&root, "disagreements");
    to->n_disagreements = nuc_json_count(&list);
    to->disagreements = nuc_alloc_array(m->cx, to->n_disagreements, sizeof *to->disagreements);
    for (size_t i = 0; i < to->n_disagreements; i++) {
        struct nuc_json d = nuc_json_item(&list, i), output = nuc_json_field(&d, "output");
        to->disagreements[i] = (struct nuc_disagreement){
            .sample = nuc_read_count(&d, "sample"),
            .output = output_named(m, &output),
            .position = nuc_read_count(&d, "place"),
            .label = class_of(&d, "label"),
            .reference = class_of(&d, "reference"),
            .program = class_of(&d, "program"),
        };
    }
    merge_nodes(m, &root, &shard, file, is_first);
    read_decisions(m, &root, &shard, at, is_first);
    collect_notes(m, &root);
    nuc_json_close(&root);
}

/* ---- the whole ---- */

/* The first of those that are missing by name. */
static void check_all(const struct merging *m)
{
    enum { NAMED = 8 };
    struct nuc_text text = {.cx = m->cx};
    size_t n = 0;

    for (size_t i = 0; i < m->n_shards; i++) {
        if (m->shards[i].file != NULL)
            continue;
        if (n < NAMED)
            nuc_text_addf(&text, "%s%zu/%zu", n == 0 ? "" : ", ", i + 1, m->n_shards);
        n++;
    }
    if (n != 0)
        nuc_fail(m->cx, NUC_BAD_INPUT, "%zu of %zu shards %s missing: %s%s", n, m->n_shards, n == 1 ? "is" : "are",
                 nuc_text_string(&text), n > NAMED ? ", ..." : "");
}

/* The first of all, in the order of samples. */
static void join_disagreements(struct merging *m)
{
    const char *most = m->origin.shared[NUC_SHARED_DISAGREEMENTS];
    struct nuc_disagreement *all;
    size_t n = 0;

    for (size_t i = 0; i < m->n_shards; i++)
        n += m->shards[i].n_disagreements;
    m->result->disagreements = all = nuc_alloc_array(m->cx, n, sizeof *all);
    for (size_t i = 0; i < m->n_shards; i++) {
        for (size_t k = 0; k < m->shards[i].n_disagreements; k++)
            all[m->result->n_disagreements++] = m->shards[i].disagreements[k];
    }
    unsigned long long limit = 0;
    if (most != NULL && sscanf(most, "%llu", &limit) == 1 && limit < m->result->n_disagreements)
        m->result->n_disagreements = (size_t)limit;
}

static void finish(struct merging *m)
{
    m->result->n_samples = m->n_all;
    for (size_t i = 0; i < m->result->n_outputs; i++) {
        struct nuc_output_score *o = &m->scores[i];
        if (o->labels == NULL || o->task == NUC_TASK_REGRESS)
            continue;
        o->program_accuracy = nuc_tally_accuracy(&m->outputs[i].program, m->outputs[i].top);
        o->reference_accuracy = nuc_tally_accuracy(&m->outputs[i].reference, m->outputs[i].top);
    }
    nuc_finish_evaluation(m->result, m->scores);
    for (size_t i = 0; m->nodes != NULL && i < m->nodes->n_nodes; i++)
        nuc_finish_node(&m->node_scores[i]);
    join_disagreements(m);
    if (m->result->decision != NULL) {
        const struct nuc_decision_scoring **all = nuc_alloc_array(m->cx, m->n_shards, sizeof *all);
        for (size_t i = 0; i < m->n_shards; i++)
            all[i] = m->shards[i].decisions;
        nuc_score_decision_shards(m->cx, all, m->n_shards, m->result);
    }
    nuc_check_gates(m->cx, m->result, m->options);
    for (size_t i = 0; i < m->n_notes; i++)
        nuc_warn(m->cx, "%s", m->notes[i]);
    nuc_note_doubtful_labels(m->cx, m->origin.path, m->result);
    m->result->missed = nuc_missed_gates(m->cx, m->result, m->options);
}

enum nuc_status nuc_merge_evaluations(struct nuc_compiler *c, const char *const *files, size_t n_files,
                                      const struct nuc_evaluate_options *options, const struct nuc_evaluation **out,
                                      const struct nuc_node_evaluation **nodes)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, files != NULL && n_files > 0 && out != NULL);
        struct nuc_evaluate_options standard;
        nuc_evaluate_options_default(&standard);
        struct merging m = {
            .cx = nuc_context_of(c), .options = options != NULL ? options : &standard, .first_file = files[0]};
        m.result = nuc_alloc(m.cx, sizeof *m.result);
        for (size_t i = 0; i < n_files; i++)
            merge_file(&m, files[i], i == 0);
        check_all(&m);
        finish(&m);
        *out = m.result;
        if (nodes != NULL)
            *nodes = m.nodes;
    }
    return nuc_leave(&call);
}
