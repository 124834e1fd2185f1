#include "compiler/driver/model_facts.h"

#include <math.h>

#include "compiler/export/pt2_write.h"
#include "compiler/graph/quant.h"

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

    while ((nuc_is_quantize(n) || nuc_is_dequantize(n)) && nuc_arg_node(n, NUC_SELF) != NULL &&
           !nuc_is_placeholder(nuc_arg_node(n, NUC_SELF)))
        n = nuc_arg_node(n, NUC_SELF);
    return n->name;
}

static const char *const *output_names(const struct nuc_model *m, size_t count)
{
    const struct nuc_arg *list = &nuc_output_node(m->graph)->args[NUC_ARG(OUTPUT, values)];
    const char *const *keys = m->graph->output_names;
    const char **names = nuc_alloc_array(m->c->cx, count, sizeof *names);

    for (size_t i = 0; i < count; i++) {
        const struct nuc_node *value = list->u.nodes[i];
        names[i] = keys != NULL && keys[i] != NULL ? keys[i] : value != NULL ? name_of(value) : NULL;
    }
    return names;
}

static const char *const *input_names(const struct nuc_model *m, size_t count)
{
    const char **names = nuc_alloc_array(m->c->cx, count, sizeof *names);
    struct nuc_tensor_info t;

    for (size_t i = 0; i < count; i++)
        names[i] = nuc_model_input(m, i, &t) == NUC_OK ? t.name : NULL;
    return names;
}

static void note_names(struct nuc_model *m)
{
    struct nuc_model_names *names = nuc_alloc(m->c->cx, sizeof *names);

    names->n_inputs = nuc_model_n_inputs(m);
    names->n_outputs = nuc_model_n_outputs(m);
    names->inputs = input_names(m, names->n_inputs);
    names->outputs = output_names(m, names->n_outputs);
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
        if (!nuc_is_placeholder(n) || n->input_kind != NUC_USER_INPUT)
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
static const struct nuc_program_facts *stored_facts(const struct nuc_model *m)
{
    const char *why;
    struct nuc_span text = m->graph->facts;
    const struct nuc_program_facts *f = text.size == 0 ? NULL : nuc_facts_read(m->c->cx, text, &why);

    if (text.size > 0 && f == NULL)
        nuc_warn(m->c->cx, "%s: what it says about its data is not used: %s", m->graph->file, why);
    if (f == NULL || f->n_inputs != m->names->n_inputs || f->n_outputs != m->names->n_outputs)
        return NULL;
    return f;
}

static void take_stored(struct nuc_model *m, const struct nuc_program_facts *f)
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
    m->names = names;
    m->seen = seen;
}

void nuc_note_imported(struct nuc_model *m)
{
    note_names(m);
    const struct nuc_program_facts *stored = stored_facts(m);
    if (stored != NULL)
        take_stored(m, stored);
    else if (nuc_model_is_quantized(m))
        note_scales(m);
}

/* ---- calibrated ---- */

static const struct nuc_facts_of_images *image_facts(const struct nuc_dataset *d)
{
    struct nuc_facts_of_images *f = nuc_alloc(d->c->cx, sizeof *f);

    f->n_mean = f->n_std = d->format.channels;
    for (uint32_t c = 0; c < d->format.channels; c++) {
        f->mean[c] = (double)d->format.mean[c];
        f->std[c] = (double)d->format.std[c];
    }
    f->resize = (int)d->resize;
    return f;
}

void nuc_note_calibrated(struct nuc_model *prepared, const struct nuc_dataset *samples, const float *least,
                         const float *most)
{
    struct nuc_context *cx = prepared->c->cx;
    struct nuc_seen *seen = new_seen(prepared);

    for (size_t i = 0; i < seen->n_inputs; i++) {
        if (least[i] > most[i])
            continue;
        seen->least[i] = (double)least[i];
        seen->most[i] = (double)most[i];
    }
    prepared->seen = seen;
    if (samples->images == NULL)
        return;
    seen->images = image_facts(samples);
    const char **classes = nuc_alloc_array(cx, samples->images->n_classes, sizeof *classes);
    for (size_t i = 0; i < samples->images->n_classes; i++)
        classes[i] = nuc_strdup(cx, samples->images->classes[i]);
    seen->classes = classes;
    seen->n_classes = samples->images->n_classes;
}

/* ---- of the program ---- */

/* One score for each class of a sample, or one score for two classes. */
static bool scores_classes(const struct nuc_tensor_info *t, size_t n_classes)
{
    size_t elements = t->bytes / nuc_dtype_size(t->dtype);
    size_t of_sample = t->rank > 1 && t->sizes[0] > 0 ? elements / (size_t)t->sizes[0] : elements;

    return of_sample == n_classes || (of_sample == 1 && n_classes == 2);
}

static void give_classes(const struct nuc_model *m, struct nuc_program_facts *facts)
{
    struct nuc_tensor_info t;

    for (size_t i = 0; i < facts->n_outputs; i++) {
        if (nuc_model_output(m, i, &t) != NUC_OK || !scores_classes(&t, m->seen->n_classes))
            continue;
        facts->outputs[i].classes = m->seen->classes;
        facts->outputs[i].n_classes = m->seen->n_classes;
        return;
    }
    nuc_warn(m->c->cx,
             "%s: no output has a score for each of the %zu classes of the calibration data: the program does "
             "not name classes",
             m->graph->file, m->seen->n_classes);
}

const struct nuc_program_facts *nuc_facts_of(const struct nuc_model *m)
{
    size_t n_inputs = nuc_model_n_inputs(m), n_outputs = nuc_model_n_outputs(m);
    struct nuc_program_facts *facts = nuc_facts_new(m->c->cx, n_inputs, n_outputs);

    for (size_t i = 0; i < n_inputs; i++) {
        facts->inputs[i].name = nuc_input_name(m, i);
        if (m->seen == NULL || m->seen->n_inputs != n_inputs)
            continue;
        facts->inputs[i].least = m->seen->least[i];
        facts->inputs[i].most = m->seen->most[i];
    }
    for (size_t i = 0; i < n_outputs; i++)
        facts->outputs[i].name = nuc_output_name(m, i);
    if (m->seen != NULL && m->seen->images != NULL) {
        facts->images = nuc_copy(m->c->cx, m->seen->images, sizeof *facts->images);
        facts->n_images = 1;
    }
    if (m->seen != NULL && m->seen->n_classes > 0)
        give_classes(m, facts);
    return facts;
}

struct nuc_span nuc_facts_text_of(const struct nuc_model *m)
{
    const struct nuc_options *o = &m->settings->o;

    if (o->reference_compat || o->no_metadata)
        return (struct nuc_span){NULL, 0};
    return nuc_facts_write(m->c->cx, nuc_facts_of(m));
}

struct nuc_span nuc_model_archive(struct nuc_model *m)
{
    m->graph->facts = nuc_facts_text_of(m);
    return nuc_write_pt2(m->graph);
}
