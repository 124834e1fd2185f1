#include "driver/model_metadata.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "back/program/program.h"
#include "data/class_folders.h"
#include "front/pt2/pt2_write.h"
#include "host/file.h"
#include "ir/quant.h"
#include "npu/target/target.h"
#include "nucleon/decision.h"

static struct nuc_seen *new_seen(const struct nuc_model *m)
{
    struct nuc_context *cx = m->c->cx;
    struct nuc_seen *seen = nuc_alloc(cx, sizeof *seen);

    seen->n_inputs = nuc_model_n_inputs(m);
    seen->least = nuc_alloc_array(cx, seen->n_inputs, sizeof *seen->least);
    seen->most = nuc_alloc_array(cx, seen->n_inputs, sizeof *seen->most);
    for (size_t i = 0; i < seen->n_inputs; i++)
        seen->least[i] = seen->most[i] = (double)NAN;
    return seen;
}

/* ---- imported ---- */

/* What computes the value: that it is quantized is not what it is called after. */
static const char *name_of(const struct nuc_node *node)
{
    const struct nuc_node *n = node;

    while (nuc_is_quantization(n) && nuc_arg_node(n, NUC_SELF) != NULL &&
           !nuc_is_placeholder(nuc_arg_node(n, NUC_SELF)))
        n = nuc_arg_node(n, NUC_SELF);
    return n->name;
}

static void note_names(struct nuc_model *m)
{
    const struct nuc_arg *list = &nuc_output_node(m->graph)->args[NUC_ARG(OUTPUT, values)];
    const char *const *keys = m->graph->output_names;
    struct nuc_model_names *names = nuc_alloc(m->c->cx, sizeof *names);
    struct nuc_tensor_info t;

    names->n_inputs = nuc_model_n_inputs(m);
    names->n_outputs = nuc_model_n_outputs(m);
    const char **inputs = nuc_alloc_array(m->c->cx, names->n_inputs, sizeof *inputs);
    const char **outputs = nuc_alloc_array(m->c->cx, names->n_outputs, sizeof *outputs);
    for (size_t i = 0; i < names->n_inputs; i++)
        inputs[i] = nuc_model_input(m, i, &t) == NUC_OK ? t.name : NULL;
    for (size_t i = 0; i < names->n_outputs; i++) {
        const struct nuc_node *value = list->u.nodes[i];
        outputs[i] = keys != NULL && keys[i] != NULL ? keys[i] : value != NULL ? name_of(value) : NULL;
    }
    names->inputs = inputs;
    names->outputs = outputs;
    names->keys = keys;
    m->names = names;
}

const char *nuc_input_name(const struct nuc_model *m, size_t index)
{
    struct nuc_tensor_info t;

    if (m->names != NULL && index < m->names->n_inputs)
        return m->names->inputs[index];
    return nuc_model_input(m, index, &t) == NUC_OK ? t.name : NULL;
}

const char *nuc_output_name(const struct nuc_model *m, size_t index)
{
    struct nuc_tensor_info t;

    if (m->names != NULL && index < m->names->n_outputs)
        return m->names->outputs[index];
    return nuc_model_output(m, index, &t) == NUC_OK ? t.name : NULL;
}

/* What the quantize nodes that read an input let through. */
static void note_scales(struct nuc_model *m)
{
    struct nuc_seen *seen = new_seen(m);
    size_t i = 0;

    for (const struct nuc_node *n = m->graph->first; n != NULL; n = n->next) {
        if (!nuc_is_user_input(n))
            continue;
        for (uint32_t k = 0; k < n->n_users; k++) {
            struct nuc_quant q;
            if (!nuc_is_quantize(n->users[k]) || !nuc_quant_of(n->users[k], &q) || q.per_channel)
                continue;
            double least = (double)(q.quant_min - q.zero_point) * q.scale;
            double most = (double)(q.quant_max - q.zero_point) * q.scale;
            seen->least[i] = seen->least[i] < least ? seen->least[i] : least;
            seen->most[i] = seen->most[i] > most ? seen->most[i] : most;
        }
        i++;
    }
    m->seen = seen;
}

/* What an archive of nucleon's knows, which is more than its graph shows. */
static void take_stored(struct nuc_model *m, const struct nuc_metadata *f)
{
    struct nuc_context *cx = m->c->cx;
    struct nuc_model_names *names = nuc_copy(cx, m->names, sizeof *names);
    const char **outputs = nuc_alloc_array(cx, names->n_outputs, sizeof *outputs);
    struct nuc_seen *seen = new_seen(m);

    for (size_t i = 0; i < names->n_outputs; i++) {
        outputs[i] = f->outputs[i].name != NULL ? f->outputs[i].name : m->names->outputs[i];
        if (f->outputs[i].n_classes == 0)
            continue;
        seen->n_classes = f->outputs[i].n_classes;
        seen->classes = f->outputs[i].classes;
    }
    names->outputs = outputs;
    for (size_t i = 0; i < seen->n_inputs; i++) {
        seen->least[i] = f->inputs[i].least;
        seen->most[i] = f->inputs[i].most;
    }
    seen->images = f->n_images > 0 ? f->images : NULL;
    seen->calibration = f->n_calibration > 0 ? f->calibration : NULL;
    m->names = names;
    m->seen = seen;
    m->calibrated = seen->calibration != NULL;
}

const struct nuc_decision_rule *nuc_note_imported(struct nuc_model *m)
{
    const struct nuc_span text = m->graph->facts;
    const char *why;

    note_names(m);
    const struct nuc_metadata *stored = text.size == 0 ? NULL : nuc_metadata_read(m->c->cx, text, &why);
    if (text.size > 0 && stored == NULL)
        nuc_warn(m->c->cx, "%s: what it says about its data is not used: %s", m->graph->file, why);
    if (stored != NULL && (stored->n_inputs != m->names->n_inputs || stored->n_outputs != m->names->n_outputs))
        stored = NULL;
    if (stored != NULL)
        take_stored(m, stored);
    else if (nuc_model_is_quantized(m))
        note_scales(m);
    return stored != NULL ? stored->decision : NULL;
}

/* ---- calibrated ---- */

void nuc_note_calibrated(struct nuc_model *prepared, const struct nuc_dataset *samples)
{
    const struct nuc_image_format *format = &samples->format;
    struct nuc_seen *seen = new_seen(prepared);

    for (size_t i = 0; i < seen->n_inputs; i++) {
        if (samples->ranges[i].least > samples->ranges[i].most)
            continue;
        seen->least[i] = samples->ranges[i].least;
        seen->most[i] = samples->ranges[i].most;
    }
    prepared->seen = seen;
    if (samples->calibration.n_marks == NUC_MOST_MARKS)
        seen->calibration = nuc_copy(samples->cx, &samples->calibration, sizeof samples->calibration);
    if (samples->files != NULL && samples->files->classes != NULL) {
        seen->classes = nuc_class_folder_names(samples);
        seen->n_classes = samples->files->n_classes;
    }
    if (samples->images == NULL || samples->camera != NULL)
        return;
    struct nuc_image_metadata *images = nuc_alloc(samples->cx, sizeof *images);
    images->n_mean = images->n_std = format->channels;
    for (uint32_t c = 0; c < format->channels; c++) {
        images->mean[c] = (double)format->mean[c];
        images->std[c] = (double)format->std[c];
    }
    images->resize = (int)format->fit;
    seen->images = images;
}

/* ---- of the program ---- */

/* One score for each class of a sample, or one score for two classes. */
static bool scores_classes(const struct nuc_tensor_info *t, size_t n_classes)
{
    size_t elements = t->bytes / nuc_dtype_size(t->dtype);
    size_t of_sample = t->rank > 1 && t->sizes[0] > 0 ? elements / (size_t)t->sizes[0] : elements;

    return of_sample == n_classes || (of_sample == 1 && n_classes == 2);
}

/*
 * The output that a decision finds so many classes in, or the first one whose scores may be theirs; the number of
 * outputs when there is none.
 */
static size_t output_of_classes(const struct nuc_model *m, size_t n_classes)
{
    size_t n_outputs = nuc_model_n_outputs(m), i = 0;
    const struct nuc_decision_rule *d = m->decision;
    struct nuc_tensor_info t;

    if (d != NULL && n_classes > 0 && nuc_decision_classes(d) == n_classes)
        return d->views[d->n_views - 1].output;
    while (i < n_outputs && (nuc_model_output(m, i, &t) != NUC_OK || !scores_classes(&t, n_classes)))
        i++;
    return i;
}

struct class_list {
    size_t count;
    const char *const *names;
};

/* A line for each; an empty last one is the end of the line before. */
static struct class_list read_classes(struct nuc_context *cx, const char *path)
{
    struct nuc_span file = nuc_read_file(cx, path);
    const char **names = NULL;
    size_t count = 0, capacity = 0, begin = 0;

    if (file.size > NUC_METADATA_MAX)
        nuc_fail(cx, NUC_BAD_USAGE, "--classes %s: has %zu bytes: names of classes take at most %zu", path, file.size,
                 NUC_METADATA_MAX);
    for (size_t i = 0; i <= file.size; i++) {
        if (i < file.size && file.data[i] != '\n')
            continue;
        size_t end = i > begin && file.data[i - 1] == '\r' ? i - 1 : i;
        if (i == file.size && begin == i)
            break;
        if (end == begin || end - begin > 1000 || memchr(file.data + begin, 0, end - begin) != NULL)
            nuc_fail(cx, NUC_BAD_USAGE, "--classes %s: line %zu is not the name of a class", path, count + 1);
        names = nuc_grow(cx, names, &capacity, count + 1, sizeof *names);
        names[count++] = nuc_format(cx, "%.*s", (int)(end - begin), (const char *)file.data + begin);
        begin = i + 1;
    }
    return (struct class_list){count, names};
}

/* What the options say; of none of them when they say nothing. */
static struct class_list given_classes(const struct nuc_model *m)
{
    const struct nuc_options *o = &m->settings->o;

    if (o->n_classes == 1)
        return read_classes(m->c->cx, o->classes[0]);
    return (struct class_list){o->n_classes, o->classes};
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names that options give have to be of an output. */
static void check_classes(const struct nuc_model *m, size_t count)
{
    if (m->settings->o.n_classes > 0 && output_of_classes(m, count) == nuc_model_n_outputs(m))
        nuc_fail(m->c->cx, NUC_BAD_USAGE, "--classes names %zu classes, but no output of %s has a score for each",
                 count, m->graph->file);
}

void nuc_check_given_classes(const struct nuc_model *m)
{
    struct nuc_context *cx = m->c->cx;
    struct class_list list = given_classes(m);
    const char **sorted = nuc_alloc_array(cx, list.count, sizeof *sorted);

    /* Two classes of one name are one for who reads results. */
    if (list.count > 0)
        memcpy(sorted, list.names, list.count * sizeof *sorted);
    qsort(sorted, list.count, sizeof *sorted, by_text);
    for (size_t i = 1; i < list.count; i++) {
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            nuc_fail(cx, NUC_BAD_USAGE, "--classes names '%.40s' twice: give each class a name of its own", sorted[i]);
    }
    if (!nuc_waits_for_stream(m))
        check_classes(m, list.count);
}

static void give_classes(const struct nuc_model *m, struct nuc_metadata *metadata)
{
    struct class_list list = given_classes(m);

    if (list.count == 0 && m->seen != NULL)
        list = (struct class_list){m->seen->n_classes, m->seen->classes};
    if (list.count == 0)
        return;
    check_classes(m, list.count);
    size_t i = output_of_classes(m, list.count);
    if (i == metadata->n_outputs) {
        nuc_warn(m->c->cx,
                 "%s: no output has a score for each of the %zu classes of the calibration data: the program does not "
                 "name classes; --classes does",
                 m->graph->file, list.count);
        return;
    }
    metadata->outputs[i].classes = list.names;
    metadata->outputs[i].n_classes = list.count;
}

static struct nuc_metadata *describe(const struct nuc_model *m)
{
    size_t n_inputs = nuc_model_n_inputs(m), n_outputs = nuc_model_n_outputs(m);
    struct nuc_metadata *metadata = nuc_metadata_new(m->c->cx, n_inputs, n_outputs);

    for (size_t i = 0; i < n_inputs; i++) {
        metadata->inputs[i].name = nuc_input_name(m, i);
        if (m->seen == NULL || m->seen->n_inputs != n_inputs)
            continue;
        metadata->inputs[i].least = m->seen->least[i];
        metadata->inputs[i].most = m->seen->most[i];
    }
    for (size_t i = 0; i < n_outputs; i++) {
        metadata->outputs[i].name = nuc_output_name(m, i);
        /* A model may have more outputs than were opened: nuc_model_expose(). */
        bool has_key = m->names != NULL && m->names->keys != NULL && i < m->names->n_outputs;
        metadata->outputs[i].key = has_key ? m->names->keys[i] : NULL;
    }
    if (m->seen != NULL && m->seen->images != NULL) {
        metadata->images = nuc_copy(m->c->cx, m->seen->images, sizeof *metadata->images);
        metadata->n_images = 1;
    }
    if (m->front_end != NULL) {
        metadata->front_ends =
            nuc_copy(m->c->cx, &(struct nuc_front_end_metadata){m->front_end}, sizeof *metadata->front_ends);
        metadata->n_front_ends = 1;
    }
    metadata->calibration = m->seen != NULL ? m->seen->calibration : NULL;
    metadata->n_calibration = metadata->calibration != NULL;
    give_classes(m, metadata);
    metadata->decision = m->decision;
    return metadata;
}

static void give_target(const struct nuc_model *m, struct nuc_metadata *metadata)
{
    const struct nuc_target *t = m->settings->row, *usual = nuc_target_at(0);

    if (t->cpu == usual->cpu && t->npu == usual->npu)
        return;
    metadata->target = nuc_alloc(m->c->cx, sizeof *metadata->target);
    *metadata->target = (struct nuc_target_metadata){t->name, t->cpu != NULL ? t->cpu->name : NULL};
    metadata->n_target = 1;
}

static void add_memory(struct nuc_metadata *m, const char *name, size_t bytes, enum nuc_memory_holds holds)
{
    m->memories[m->n_memories++] =
        (struct nuc_memory_metadata){name, holds == NUC_HOLDS_PLANNED ? (double)bytes : (double)NAN, (int)holds};
}

/* A planned memory for each bank, then that of the states. */
static void give_memories(const struct nuc_model *m, const struct nuc_program_memory_report *r,
                          struct nuc_metadata *metadata)
{
    const char *weights = m->settings->o.weights_memory;

    metadata->memories = nuc_alloc_array(m->c->cx, 2 * r->n_banks + 2, sizeof *metadata->memories);
    for (size_t i = 0; i < r->n_banks; i++)
        add_memory(metadata, r->banks[i].name, r->banks[i].size, NUC_HOLDS_PLANNED);
    for (size_t i = 0; i < r->n_banks; i++) {
        if (r->banks[i].states > 0)
            add_memory(metadata, r->banks[i].name, r->banks[i].size, NUC_HOLDS_PLANNED);
    }
    for (size_t i = 0; i < r->n_banks; i++) {
        if (r->banks[i].temporary > 0)
            add_memory(metadata, r->banks[i].name, 0, NUC_HOLDS_TEMPORARY);
    }
    if (weights != NULL)
        add_memory(metadata, weights, 0, NUC_HOLDS_WEIGHTS);
}

struct nuc_span nuc_model_metadata_text(const struct nuc_model *m, const struct nuc_program_memory_report *banks)
{
    const struct nuc_options *o = &m->settings->o;

    if (o->reference_compat || o->no_metadata)
        return (struct nuc_span){NULL, 0};
    struct nuc_metadata *metadata = describe(m);
    give_target(m, metadata);
    if (banks != NULL)
        give_memories(m, banks, metadata);
    return nuc_metadata_write(m->c->cx, metadata);
}

struct nuc_pieces nuc_model_archive(struct nuc_model *m)
{
    m->graph->facts = nuc_model_metadata_text(m, NULL);
    return nuc_write_pt2(m->graph);
}

enum nuc_status nuc_model_write(struct nuc_model *m, const char *path)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_model_context(m), __func__, path != NULL);
        struct nuc_pieces archive = nuc_model_archive(m);
        nuc_write_pieces(m->c->cx, path, &archive);
    }
    return nuc_leave(&call);
}
