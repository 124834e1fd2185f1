/* Shards of a data set: which samples they have, how those of one evaluation are known, what their JSON holds. */
#include "tools/evaluate/shard.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "archive/json_build.h"
#include "data/dataset.h"
#include "host/file.h"
#include "host/hash.h"
#include "host/text.h"

size_t nuc_shard_first(struct nuc_shard shard, size_t n)
{
    size_t before = shard.index - 1;

    /* before * n / count, without a product that overflows */
    return n / shard.count * before + n % shard.count * before / shard.count;
}

void nuc_check_shard(struct nuc_context *cx, const struct nuc_evaluate_options *o)
{
    if (o->shard.count == 0)
        return;
    if (o->shard.index == 0 || o->shard.index > o->shard.count)
        nuc_fail(cx, NUC_BAD_USAGE, "--shard %zu/%zu: there is no such shard: they are 1/%zu to %zu/%zu",
                 o->shard.index, o->shard.count, o->shard.count, o->shard.count, o->shard.count);
    if (o->shard.count > NUC_MAX_SHARDS)
        nuc_fail(cx, NUC_BAD_USAGE, "--shard %zu/%zu: at most %zu shards are possible", o->shard.index, o->shard.count,
                 NUC_MAX_SHARDS);
    if (!isnan(o->min_accuracy) || !isnan(o->min_agreement) || !isnan(o->min_sqnr) || !isnan(o->max_false_alarms))
        nuc_fail(cx, NUC_BAD_USAGE,
                 "--shard %zu/%zu: --min-accuracy, --min-agreement, --min-sqnr and --max-false-alarms are demanded of "
                 "all samples: give them to 'nucleon merge-evaluations'",
                 o->shard.index, o->shard.count);
}

/* ---- prints of contents ---- */

/*
 * Of a large array as many blocks, evenly spread, as are read in a moment; the data set is read by each of many
 * machines, which evaluate a small part of it.
 */
enum { BLOCK = 4096, BLOCKS = 1024 };

static uint64_t print_array(uint64_t print, const struct nuc_array *a)
{
    unsigned char block[BLOCK];
    size_t size = a->data.size, n_blocks = size / BLOCK + (size % BLOCK != 0);
    size_t n = n_blocks < BLOCKS ? n_blocks : BLOCKS;

    print = nuc_hash_text(print, a->name);
    print = nuc_hash_bytes(print, &a->dtype, sizeof a->dtype);
    print = nuc_hash_bytes(print, a->shape, a->rank * sizeof a->shape[0]);
    for (size_t i = 0; i < n; i++) {
        size_t at = (n_blocks == n ? i : (size_t)((double)i / (double)(n - 1) * (double)(n_blocks - 1))) * BLOCK;
        size_t part = size - at < BLOCK ? size - at : BLOCK;
        nuc_array_part(a, at, part, block);
        print = nuc_hash_bytes(print, block, part);
    }
    return print;
}

/* Of images the names and sizes: a folder of them is read as slowly as it is evaluated. */
static uint64_t print_images(struct nuc_context *cx, uint64_t print, const struct nuc_dataset *d)
{
    size_t folder = strlen(d->path);

    for (size_t i = 0; i < d->images->count; i++) {
        const char *name = d->images->files[i] + folder;
        struct nuc_file *file = nuc_open_file(cx, d->images->files[i]);
        print = nuc_hash_text(print, name + strspn(name, "/"));
        print = nuc_hash_bytes(print, &file->size, sizeof file->size);
        nuc_close_file(file);
    }
    return print;
}

/* ---- what shards have in common ---- */

const struct nuc_shared_row nuc_shared_rows[NUC_N_SHARED] = {
    [NUC_SHARED_VERSION] = {"version", "version of nucleon"},
    [NUC_SHARED_PROGRAM] = {"program", "program"},
    [NUC_SHARED_REFERENCE] = {"reference", "reference model"},
    [NUC_SHARED_QUANTIZED] = {"quantized", "quantized model"},
    [NUC_SHARED_DATA] = {"data", "data set"},
    [NUC_SHARED_TARGET] = {"target", "--target"},
    [NUC_SHARED_TASK] = {"task", "--task"},
    [NUC_SHARED_CLASS_AXIS] = {"class_axis", "--class-axis"},
    [NUC_SHARED_IGNORE_LABEL] = {"ignore_label", "--ignore-label"},
    [NUC_SHARED_DISAGREEMENTS] = {"disagreements", "--disagreements"},
    [NUC_SHARED_MEAN] = {"mean", "--mean"},
    [NUC_SHARED_STD] = {"std", "--std"},
    [NUC_SHARED_RESIZE] = {"resize", "--resize"},
    [NUC_SHARED_UNLIKE_CALIBRATION] = {"unlike_calibration", "--unlike-calibration"},
};

static const char *numbers_text(struct nuc_context *cx, const float *numbers, size_t n)
{
    struct nuc_text text = {.cx = cx};

    for (size_t i = 0; i < n; i++)
        nuc_text_addf(&text, "%s%.9g", i == 0 ? "" : ",", (double)numbers[i]);
    return n == 0 ? NULL : nuc_text_string(&text);
}

const struct nuc_evaluation_origin *nuc_origin_of(const struct nuc_scoring *s)
{
    const struct nuc_options *options = nuc_compiler_options(s->c);
    struct nuc_evaluation_origin *o = nuc_alloc(s->cx, sizeof *o);
    size_t size;
    const void *image = nuc_runner_image(s->runner, &size);

    o->n_samples = s->result->n_samples;
    o->path = s->data->path;
    o->shared[NUC_SHARED_VERSION] = nuc_version();
    o->shared[NUC_SHARED_PROGRAM] = nuc_hash_digits(s->cx, nuc_hash_bytes(NUC_HASH_OF_NOTHING, image, size));
    o->shared[NUC_SHARED_REFERENCE] = s->reference != NULL ? nuc_model_print(s->reference) : NULL;
    uint64_t print = NUC_HASH_OF_NOTHING;
    for (size_t i = 0; i < s->data->arrays.count; i++)
        print = print_array(print, &s->data->arrays.items[i]);
    o->shared[NUC_SHARED_DATA] =
        nuc_hash_digits(s->cx, s->data->images != NULL ? print_images(s->cx, print, s->data) : print);
    o->shared[NUC_SHARED_TARGET] = options->target;
    o->shared[NUC_SHARED_TASK] = nuc_task_names[s->options->task];
    if (s->options->class_axis != NUC_CLASS_AXIS_AUTO)
        o->shared[NUC_SHARED_CLASS_AXIS] = nuc_format(s->cx, "%d", s->options->class_axis);
    if (s->options->ignore_label != NUC_NO_LABEL)
        o->shared[NUC_SHARED_IGNORE_LABEL] = nuc_format(s->cx, "%" PRId64, s->options->ignore_label);
    if (s->options->max_disagreements != 0)
        o->shared[NUC_SHARED_DISAGREEMENTS] = nuc_format(s->cx, "%zu", s->options->max_disagreements);
    o->shared[NUC_SHARED_MEAN] = numbers_text(s->cx, options->image_mean, options->n_image_mean);
    o->shared[NUC_SHARED_STD] = numbers_text(s->cx, options->image_std, options->n_image_std);
    if (options->image_resize != NUC_RESIZE_AUTO)
        o->shared[NUC_SHARED_RESIZE] = nuc_resize_words[options->image_resize];
    o->shared[NUC_SHARED_UNLIKE_CALIBRATION] = options->unlike_calibration ? "on" : NULL;
    return o;
}

/* ---- JSON ---- */

#define COUNT(name, member)                                                                                            \
    {                                                                                                                  \
        name, offsetof(struct nuc_deviation, member)                                                                   \
    }

const struct nuc_member nuc_deviation_counts[] = {
    COUNT("elements", n_elements),
    COUNT("equal", n_equal),
    COUNT("nan", n_nan),
    COUNT("infinite", n_infinite),
    COUNT("not_finite", n_not_finite),
    COUNT("not_finite_in_reference", n_of_not_finite),
    COUNT("not_finite_and_different", n_broken),
};
const size_t nuc_n_deviation_counts = sizeof nuc_deviation_counts / sizeof nuc_deviation_counts[0];

/* The bits of its doubles, in hexadecimal, between blanks. */
static void add_sum(struct nuc_text *text, const struct nuc_exact_sum *s)
{
    for (size_t i = 0; i < s->count; i++) {
        uint64_t bits;
        memcpy(&bits, &s->parts[i], sizeof bits);
        nuc_text_addf(text, "%s%016" PRIx64, i == 0 ? "" : " ", bits);
    }
}

static void put_sum(struct nuc_context *cx, json_t *to, const char *key, const struct nuc_exact_sum *s)
{
    struct nuc_text text = {.cx = cx};

    add_sum(&text, s);
    nuc_put_string(cx, to, key, nuc_text_string(&text));
}

static void put_deviation(struct nuc_context *cx, json_t *to, const char *key, const struct nuc_deviation *d)
{
    static const struct nuc_deviation_sums none;
    const struct nuc_deviation_sums *sums = d->sums != NULL ? d->sums : &none;
    json_t *o = nuc_put_object(cx, to, key);

    for (size_t i = 0; i < nuc_n_deviation_counts; i++)
        nuc_put_count(cx, o, nuc_deviation_counts[i].key,
                      *(const size_t *)((const char *)d + nuc_deviation_counts[i].offset));
    nuc_put_double(cx, o, "min", d->min);
    nuc_put_double(cx, o, "max", d->max);
    nuc_put_double(cx, o, "max_error", d->max_error);
    put_sum(cx, o, "signal", &sums->signal);
    put_sum(cx, o, "noise", &sums->noise);
    put_sum(cx, o, "absolute", &sums->absolute);
}

static void put_counts(struct nuc_context *cx, json_t *to, const char *key, const uint64_t *counts, size_t n)
{
    json_t *list = nuc_put_array(cx, to, key);

    for (size_t i = 0; i < n; i++)
        nuc_put_count(cx, list, NULL, counts[i]);
}

static void put_tally(struct nuc_context *cx, json_t *to, const char *key, const struct nuc_label_score *a, size_t n)
{
    json_t *o = nuc_put_object(cx, to, key);

    nuc_put_count(cx, o, "in_top", a->n_top);
    put_counts(cx, o, "right", a->right, n);
    put_counts(cx, o, "labelled", a->labelled, n);
    put_counts(cx, o, "decided", a->decided, n);
}

static void put_output(struct nuc_context *cx, json_t *to, const struct nuc_evaluation *e,
                       const struct nuc_output_score *o)
{
    put_deviation(cx, to, "against_reference", &o->deviation);
    if (o->task == NUC_TASK_REGRESS && o->labels != NULL) {
        put_deviation(cx, to, "program_against_labels", &o->program_error);
        put_deviation(cx, to, "reference_against_labels", &o->reference_error);
    } else if (o->labels != NULL) {
        put_tally(cx, to, "program", &o->program_accuracy, o->n_classes);
        if (e->has_reference)
            put_tally(cx, to, "reference", &o->reference_accuracy, o->n_classes);
    }
}

/* Of each channel the sums of its products, between commas. */
static void put_channels(struct nuc_context *cx, json_t *to, const struct nuc_channel_sums *s)
{
    json_t *o = nuc_put_object(cx, to, "channels");

    nuc_put_count(cx, o, "elements", s->n_elements);
    json_t *list = nuc_put_array(cx, o, "sizes");
    for (size_t i = 0; i < s->rank; i++)
        nuc_put_count(cx, list, NULL, s->sizes[i]);
    json_t *axes = nuc_put_array(cx, o, "axes");
    for (size_t which = 0; which < s->n_axes; which++) {
        list = nuc_put_array(cx, axes, NULL);
        for (size_t i = 0; i < nuc_channel_count(s, which); i++) {
            struct nuc_text text = {.cx = cx};
            for (size_t k = 0; k < NUC_N_PRODUCTS; k++) {
                nuc_text_addf(&text, k == 0 ? "" : ",");
                add_sum(&text, &s->of[which][i].of[k]);
            }
            nuc_put_string(cx, list, NULL, nuc_text_string(&text));
        }
    }
}

static void put_nodes(struct nuc_context *cx, json_t *to, const struct nuc_node_evaluation *nodes)
{
    nuc_put_count(cx, to, "node_elements", nodes->n_elements);
    json_t *list = nuc_put_array(cx, to, "nodes");
    for (size_t i = 0; i < nodes->n_nodes; i++) {
        const struct nuc_node_score *s = &nodes->nodes[i];
        json_t *o = nuc_put_object(cx, list, NULL);
        for (size_t k = 0; k < NUC_NODE_DEVIATIONS; k++)
            put_deviation(cx, o, nuc_node_deviations[k].key, nuc_node_deviation(s, k));
        put_channels(cx, o, s->channels);
    }
}

void nuc_put_shard(struct nuc_context *cx, json_t *to, const struct nuc_evaluation *e,
                   const struct nuc_node_evaluation *nodes)
{
    const struct nuc_evaluation_origin *origin = e->origin;
    json_t *o = nuc_put_object(cx, to, "shard");

    nuc_put_count(cx, o, "index", e->shard.index);
    nuc_put_count(cx, o, "count", e->shard.count);
    nuc_put_count(cx, o, "first_sample", nuc_shard_first(e->shard, origin->n_samples));
    nuc_put_count(cx, o, "all_samples", origin->n_samples);
    nuc_put_text(cx, o, "path", origin->path);
    json_t *of = nuc_put_object(cx, o, "of");
    for (size_t i = 0; i < NUC_N_SHARED; i++) {
        const char *text = i == NUC_SHARED_QUANTIZED && nodes != NULL ? nodes->origin : origin->shared[i];
        nuc_put_text(cx, of, nuc_shared_rows[i].key, text);
    }
    nuc_put_texts(cx, o, "bindings", e->data, e->n_data);
    json_t *list = nuc_put_array(cx, o, "outputs");
    for (size_t i = 0; i < e->n_outputs; i++)
        put_output(cx, nuc_put_object(cx, list, NULL), e, &e->outputs[i]);
    nuc_put_decision_marks(cx, o, e);
    if (nodes != NULL)
        put_nodes(cx, o, nodes);
}
