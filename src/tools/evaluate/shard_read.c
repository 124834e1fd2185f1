/* The parts of a shard's JSON, checked as they are read: the file may come from anywhere. */
#include <stdlib.h>
#include <string.h>

#include "host/numbers.h"
#include "tools/evaluate/shard.h"

/* Sums of as many as a file holds do not overflow. */
#define MOST ((int64_t)1 << 50)

static size_t count_of(const struct nuc_json *j)
{
    int64_t value = nuc_json_int(j);

    if (value < 0)
        nuc_json_fail(j, NUC_BAD_INPUT, "is a count, and negative");
    if (value > MOST)
        nuc_json_fail(j, NUC_BAD_INPUT, "is a count, and larger than any");
    return (size_t)value;
}

size_t nuc_read_count(const struct nuc_json *object, const char *key)
{
    struct nuc_json j = nuc_json_field(object, key);

    return count_of(&j);
}

const char *nuc_read_text(const struct nuc_json *object, const char *key)
{
    struct nuc_json j = nuc_json_field(object, key);

    return nuc_strdup(object->file->cx, nuc_json_string(&j));
}

const char *nuc_read_text_or_null(const struct nuc_json *object, const char *key)
{
    struct nuc_json j = nuc_json_optional(object, key);

    return nuc_json_is_there(&j) ? nuc_strdup(object->file->cx, nuc_json_string(&j)) : NULL;
}

/* ---- sums ---- */

/* One sum of the text, which ends at a comma or with the text; where that is. */
static const char *read_sum(const struct nuc_json *j, const char *text, struct nuc_exact_sum *out)
{
    while (*text != '\0' && *text != ',') {
        char *end;
        double part;
        uint64_t bits = strtoull(text, &end, 16);
        memcpy(&part, &bits, sizeof part);
        if (end != text + 16 || (*end != '\0' && *end != ' ' && *end != ',') || part != part)
            nuc_json_fail(j, NUC_BAD_INPUT, "is no sum: it has no number of 16 hexadecimal digits at '%.20s'", text);
        nuc_exact_add(j->file->cx, out, part);
        text = end + (*end == ' ');
    }
    return text;
}

static void read_sum_of(const struct nuc_json *object, const char *key, struct nuc_exact_sum *out)
{
    struct nuc_json j = nuc_json_field(object, key);

    if (*read_sum(&j, nuc_json_string(&j), out) != '\0')
        nuc_json_fail(&j, NUC_BAD_INPUT, "has more than one sum");
}

void nuc_read_deviation(const struct nuc_json *object, const char *key, struct nuc_deviation *out)
{
    struct nuc_json d = nuc_json_field(object, key), min = nuc_json_field(&d, "min"), max = nuc_json_field(&d, "max");
    struct nuc_json error = nuc_json_field(&d, "max_error");

    *out = (struct nuc_deviation){
        .min = nuc_json_double(&min), .max = nuc_json_double(&max), .max_error = nuc_json_double(&error)};
    for (size_t i = 0; i < nuc_n_deviation_counts; i++)
        *(size_t *)((char *)out + nuc_deviation_counts[i].offset) = nuc_read_count(&d, nuc_deviation_counts[i].key);
    out->sums = nuc_alloc(object->file->cx, sizeof *out->sums);
    read_sum_of(&d, "signal", &out->sums->signal);
    read_sum_of(&d, "noise", &out->sums->noise);
    read_sum_of(&d, "absolute", &out->sums->absolute);
}

static void read_sizes(const struct nuc_json *object, struct nuc_tensor_info *out)
{
    struct nuc_json sizes = nuc_json_field(object, "sizes");

    out->rank = nuc_json_count(&sizes);
    if (out->rank > NUC_MAX_RANK)
        nuc_json_fail(&sizes, NUC_BAD_INPUT, "has %zu dimensions, at most %d are possible", out->rank, NUC_MAX_RANK);
    for (size_t i = 0; i < out->rank; i++) {
        struct nuc_json size = nuc_json_item(&sizes, i);
        out->sizes[i] = (int64_t)count_of(&size);
    }
}

void nuc_read_channels(const struct nuc_json *object, const char *key, struct nuc_channel_sums *out)
{
    struct nuc_json channels = nuc_json_field(object, key), axes = nuc_json_field(&channels, "axes");
    struct nuc_tensor_info t = {.rank = 0};

    read_sizes(&channels, &t);
    for (size_t which = 0; which < nuc_json_count(&axes); which++) {
        struct nuc_json list = nuc_json_item(&axes, which);
        size_t axis = which == 0 ? 1 : t.rank - 1;
        if (axis >= t.rank || nuc_json_count(&list) != (size_t)t.sizes[axis])
            nuc_json_fail(&list, NUC_BAD_INPUT, "has not one item for each channel");
    }
    nuc_channel_sums_init(object->file->cx, out, &t);
    if (out->n_axes != nuc_json_count(&axes))
        nuc_json_fail(&axes, NUC_BAD_INPUT, "has %zu axes, %zu belong here", nuc_json_count(&axes), out->n_axes);
    out->n_elements = nuc_read_count(&channels, "elements");
    for (size_t which = 0; which < out->n_axes; which++) {
        struct nuc_json list = nuc_json_item(&axes, which);
        for (size_t i = 0; i < nuc_channel_count(out, which); i++) {
            struct nuc_json channel = nuc_json_item(&list, i);
            const char *text = nuc_json_string(&channel);
            for (size_t k = 0; k < NUC_N_PRODUCTS; k++) {
                text = read_sum(&channel, text, &out->of[which][i].of[k]);
                if ((*text == ',') != (k + 1 < NUC_N_PRODUCTS))
                    nuc_json_fail(&channel, NUC_BAD_INPUT, "has not %d sums", NUC_N_PRODUCTS);
                text += *text == ',';
            }
        }
    }
}

/* ---- outputs ---- */

static void read_type(const struct nuc_json *output, struct nuc_output_score *out)
{
    struct nuc_json j = nuc_json_field(output, "dtype");
    const char *name = nuc_json_string(&j);

    for (enum nuc_dtype dtype = 0; dtype < NUC_DTYPE_COUNT; dtype++) {
        if (strcmp(nuc_dtype_name(dtype), name) != 0)
            continue;
        out->info.dtype = dtype;
        out->is_integer = nuc_is_integer(dtype);
        return;
    }
    nuc_json_fail(&j, NUC_BAD_INPUT, "is no type of elements");
}

static void read_task(const struct nuc_json *output, struct nuc_output_score *out)
{
    struct nuc_json j = nuc_json_optional(output, "task");

    if (!nuc_json_is_there(&j))
        return;
    for (enum nuc_task task = NUC_TASK_CLASSIFY; task <= NUC_TASK_REGRESS; task++) {
        if (strcmp(nuc_json_string(&j), nuc_task_names[task]) == 0)
            out->task = task;
    }
    if (out->task == NUC_TASK_AUTO)
        nuc_json_fail(&j, NUC_BAD_INPUT, "is no task");
}

void nuc_read_output(const struct nuc_json *output, bool has_reference, struct nuc_output_score *out)
{
    struct nuc_json quantized = nuc_json_field(output, "int8"), guess = nuc_json_field(output, "guess");

    *out = (struct nuc_output_score){.name = nuc_read_text(output, "name")};
    read_type(output, out);
    read_sizes(output, &out->info);
    out->info.name = out->name;
    out->is_quantized = nuc_json_bool(&quantized);
    read_task(output, out);
    out->because = nuc_read_text_or_null(output, "because");
    out->is_guess = nuc_json_bool(&guess);
    out->labels = nuc_read_text_or_null(output, "labels");
    if (out->task == NUC_TASK_CLASSIFY || out->task == NUC_TASK_SEGMENT) {
        struct nuc_json classes = nuc_json_field(output, "classes"), indices = nuc_json_field(&classes, "indices");
        out->n_classes = nuc_read_count(&classes, "count");
        out->is_index = nuc_json_bool(&indices);
        out->class_axis = out->is_index ? 0 : nuc_read_count(&classes, "axis");
        if (!out->is_index && out->class_axis >= out->info.rank)
            nuc_json_fail(&classes, NUC_BAD_INPUT, "has its classes along axis %zu of %zu", out->class_axis,
                          out->info.rank);
        out->n_decisions = nuc_read_count(&classes, "decisions");
        out->n_undecided = nuc_read_count(&classes, "undecided");
        out->n_agree = has_reference ? nuc_read_count(&classes, "agree") : 0;
        out->n_ignored = out->labels != NULL ? nuc_read_count(&classes, "labels_left_out") : 0;
    }
}

/* ---- decisions ---- */

static void read_counts(const struct nuc_json *list, uint64_t *out, size_t n)
{
    if (nuc_json_count(list) != n)
        nuc_json_fail(list, NUC_BAD_INPUT, "has %zu counts, %zu belong here", nuc_json_count(list), n);
    for (size_t i = 0; i < n; i++) {
        struct nuc_json item = nuc_json_item(list, i);
        out[i] = count_of(&item);
    }
}

void nuc_read_tally(const struct nuc_json *classes, const struct nuc_json *sums, const char *key, size_t n_classes,
                    struct nuc_tally *out)
{
    struct nuc_json own = nuc_json_field(sums, key), score = nuc_json_field(classes, key);
    struct nuc_json right = nuc_json_field(&own, "right"), labelled = nuc_json_field(&own, "labelled");
    struct nuc_json decided = nuc_json_field(&own, "decided");

    if (nuc_json_count(&right) != n_classes) /* before memory is taken for as many */
        nuc_json_fail(&right, NUC_BAD_INPUT, "has %zu counts, of %zu classes", nuc_json_count(&right), n_classes);
    nuc_tally_init(sums->file->cx, out, n_classes);
    read_counts(&right, out->right, n_classes);
    read_counts(&labelled, out->labelled, n_classes);
    read_counts(&decided, out->decided, n_classes);
    out->n = nuc_read_count(&score, "labelled");
    out->n_right = nuc_read_count(&score, "right");
    out->n_top = nuc_read_count(&own, "in_top");
    if (out->confusion == NULL)
        return;
    struct nuc_json rows = nuc_json_field(&score, "confusion");
    if (nuc_json_count(&rows) != n_classes)
        nuc_json_fail(&rows, NUC_BAD_INPUT, "has %zu rows, of %zu classes", nuc_json_count(&rows), n_classes);
    for (size_t i = 0; i < n_classes; i++) {
        struct nuc_json row = nuc_json_item(&rows, i);
        read_counts(&row, out->confusion + i * n_classes, n_classes);
    }
}
