/*
 * Checks on int8 LiteRT models as input of the compiler: models made by others and the reference's partition files are
 * imported, compiled and run by the runtime; outputs are compared byte by byte in the models' own order.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf_run.h"
#include "nucleon/NeutronDriver.h"

#define MAX_IO 16

/* ---- a compiled model in the runtime ---- */

struct compiled {
    struct conf_loaded loaded;
    void *outputs[MAX_IO];
    bool on_npu; /* every operator is delegated */
};

static enum nuc_status compile(struct nuc_compiler *c, const char *path, struct compiled *l, const uint8_t **bytes,
                               size_t *size)
{
    struct nuc_model *model, *partitioned, *lowered;
    struct nuc_explain_result explained;
    enum nuc_status s = nuc_model_open(c, path, &model);

    if (s == NUC_OK)
        s = nuc_partition(model, &partitioned);
    if (s == NUC_OK)
        s = nuc_explain(model, NULL, &explained);
    if (s != NUC_OK)
        return s;
    l->on_npu = explained.first_on_cpu == NULL;
    s = nuc_lower(partitioned, &lowered);
    return s == NUC_OK ? nuc_program(lowered, bytes, size) : s;
}

/* Inputs and expected outputs of all samples, in the order of the model's bytes. */
struct samples {
    size_t count, n_inputs, n_outputs;
    const char *inputs[MAX_IO], *outputs[MAX_IO];
    bool exact[MAX_IO]; /* otherwise one step apart is equal */
};

static bool same_bytes(const struct nuc_tensor *t, const char *expected, bool exact, struct conf_report *r)
{
    const signed char *own = t->data, *wanted = (const signed char *)expected;

    for (size_t i = 0; i < t->bytes; i++) {
        int difference = abs(own[i] - wanted[i]);
        r->near_misses += difference == 1 && !exact;
        if (difference > (exact || t->dtype != NUC_I8 ? 0 : 1)) {
            conf_differ(r, "byte %zu is %d, %d is expected", i, own[i], wanted[i]);
            return false;
        }
    }
    return true;
}

static bool run_sample(struct compiled *l, const struct samples *s, size_t k, struct conf_report *r)
{
    struct nuc_detail detail = {.message = NULL};
    struct nuc_tensor t;
    enum nuc_status status = NUC_OK;

    for (size_t i = 0; i < s->n_inputs && status == NUC_OK; i++) {
        nuc_program_input_info(&l->loaded.program, i, &t);
        void *copy = conf_block(t.bytes);
        memcpy(copy, s->inputs[i] + k * t.bytes, t.bytes);
        status = nuc_program_set_input(&l->loaded.program, i, copy, t.bytes, &detail);
        if (!t.planned) {
            conf_differ(r, "an input is not planned");
            status = NUC_UNSUPPORTED;
        }
        free(copy);
    }
    for (size_t i = 0; i < s->n_outputs && status == NUC_OK; i++) {
        nuc_program_output_info(&l->loaded.program, i, &t);
        if (t.planned || t.constant || l->outputs[i] != NULL)
            continue;
        l->outputs[i] = conf_block(t.bytes);
        status = nuc_program_set_output(&l->loaded.program, i, l->outputs[i], t.bytes, &detail);
    }
    if (status == NUC_OK)
        status = nuc_program_execute(&l->loaded.program, &detail);
    if (status != NUC_OK) {
        conf_refused(r, "run", status, &detail);
        return false;
    }
    for (size_t i = 0; i < s->n_outputs; i++) {
        nuc_program_output(&l->loaded.program, i, &t);
        if (!same_bytes(&t, s->outputs[i] + k * t.bytes, s->exact[i] && l->on_npu, r))
            return false;
    }
    return true;
}

static bool run_model(struct nuc_compiler *c, const char *path,
                      bool (*bind)(void *user, struct compiled *l, struct samples *s), void *user,
                      struct conf_report *r)
{
    struct compiled l = {.on_npu = false};
    struct samples s = {.count = 0};
    const uint8_t *bytes;
    size_t size;

    if (compile(c, path, &l, &bytes, &size) != NUC_OK) {
        conf_failed(r, c, "compile");
        return false;
    }
    bool equal = conf_load(&l.loaded, bytes, size, r);
    if (equal && !bind(user, &l, &s)) {
        conf_differ(r, "the recorded values do not fit the program's inputs and outputs");
        equal = false;
    }
    for (size_t k = 0; k < s.count && equal; k++)
        equal = run_sample(&l, &s, k, r);
    conf_unload(&l.loaded);
    for (size_t i = 0; i < MAX_IO; i++)
        free(l.outputs[i]);
    return equal;
}

/* ---- models with input.bin and output.bin ---- */

struct files {
    char *bytes[2];
    size_t sizes[2];
};

static bool bind_files(void *user, struct compiled *l, struct samples *s)
{
    const struct files *f = user;
    struct nuc_tensor input, output;

    if (nuc_program_n_inputs(&l->loaded.program) != 1 || nuc_program_n_outputs(&l->loaded.program) != 1 ||
        nuc_program_input_info(&l->loaded.program, 0, &input) != NUC_OK ||
        nuc_program_output_info(&l->loaded.program, 0, &output) != NUC_OK)
        return false;
    *s = (struct samples){.count = f->sizes[0] / input.bytes, .n_inputs = 1, .n_outputs = 1, .exact = {true}};
    s->inputs[0] = f->bytes[0];
    s->outputs[0] = f->bytes[1];
    return s->count > 0 && s->count * input.bytes == f->sizes[0] && s->count * output.bytes == f->sizes[1];
}

/* A file of the case's folder, in bytes and sizes [which]. */
static bool read_bytes(struct files *f, int which, const char *folder, const char *name)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    f->bytes[which] = conf_read_file(path, &f->sizes[which]);
    return f->bytes[which] != NULL;
}

static enum conf_result check_model(struct nuc_compiler *c, const struct conf_case *k, struct conf_report *r)
{
    struct files f = {{NULL, NULL}, {0, 0}};
    enum conf_result result = CONF_ABSENT;
    char path[4096];

    if (conf_path(k, "tflite", path, sizeof path) && read_bytes(&f, 0, k->folder, "input.bin") &&
        read_bytes(&f, 1, k->folder, "output.bin"))
        result = run_model(c, path, bind_files, &f, r) ? CONF_EQUAL : CONF_DIFFERENT;
    free(f.bytes[0]);
    free(f.bytes[1]);
    return result;
}

/* ---- partition files ---- */

struct recorded {
    const struct nuc_dataset *data;
    const char *tag;
    bool has_oracle; /* LiteRT's kernels compute all of its operators right */
};

/* The recorded array has the sizes of the file's tensor, which an image's bytes have in the order [N, H, W, C]. */
static bool same_order(const struct nuc_array_info *a, const struct nuc_tensor *t)
{
    for (size_t i = 1; i < t->rank && a->rank == t->rank; i++) {
        if (a->sizes[i] != t->sizes[t->dim_order[i]])
            return false;
    }
    return true;
}

static bool bind_array(const struct recorded *a, const char *suffix, size_t index, const struct nuc_tensor *t,
                       struct samples *s, const char **out)
{
    struct nuc_array_info array;
    char name[96];

    snprintf(name, sizeof name, "%s_%s%zu", a->tag, suffix, index);
    if (!conf_array(a->data, name, &array) || array.dtype != (enum nuc_dtype)t->dtype || array.bytes % t->bytes != 0 ||
        array.bytes == 0 || !same_order(&array, t))
        return false;
    size_t count = array.bytes / t->bytes;
    if (s->count != 0 && s->count != count)
        return false;
    s->count = count;
    *out = array.data;
    return true;
}

static bool bind_arrays(void *user, struct compiled *l, struct samples *s)
{
    const struct recorded *a = user;
    struct nuc_tensor t;

    s->n_inputs = nuc_program_n_inputs(&l->loaded.program);
    s->n_outputs = nuc_program_n_outputs(&l->loaded.program);
    if (s->n_inputs > MAX_IO || s->n_outputs > MAX_IO)
        return false;
    for (size_t i = 0; i < s->n_inputs; i++) {
        if (nuc_program_input_info(&l->loaded.program, i, &t) != NUC_OK ||
            !bind_array(a, "in", i, &t, s, &s->inputs[i]))
            return false;
    }
    for (size_t i = 0; i < s->n_outputs; i++) {
        s->exact[i] = a->has_oracle;
        if (nuc_program_output_info(&l->loaded.program, i, &t) != NUC_OK ||
            !bind_array(a, a->has_oracle ? "litert_ref_out" : "out", i, &t, s, &s->outputs[i]))
            return false;
    }
    return true;
}

static enum conf_result check_partition_file(struct nuc_compiler *c, const struct conf_case *k, const char *tag,
                                             const json_t *ops, const struct nuc_dataset *data, struct conf_report *r)
{
    struct recorded a = {data, tag, json_object_get(ops, "SUM") == NULL && json_object_get(ops, "LOG") == NULL};
    char suffix[64], path[4096];

    snprintf(suffix, sizeof suffix, "%s.tflite", tag);
    if (!conf_path(k, suffix, path, sizeof path))
        return CONF_ABSENT;
    return run_model(c, path, bind_arrays, &a, r) ? CONF_EQUAL : CONF_DIFFERENT;
}

/* The recorded values are in logical order, which is the order of the files' bytes where the boundary is contiguous. */
static enum conf_result check_partition_files(struct nuc_compiler *c, const struct conf_case *k, struct conf_report *r)
{
    json_t *summary = conf_json(k, "summary.json");
    enum conf_result result = CONF_ABSENT;
    struct nuc_dataset *data;
    char path[4096];
    const char *tag;
    json_t *partition;

    if (conf_path(k, "delegate_io.npz", path, sizeof path) && nuc_dataset_open(c, path, &data) == NUC_OK) {
        json_object_foreach(json_object_get(summary, "litert"), tag, partition)
        {
            if (result == CONF_DIFFERENT)
                continue;
            enum conf_result one = check_partition_file(c, k, tag, json_object_get(partition, "ops"), data, r);
            result = one == CONF_ABSENT ? result : one;
        }
    }
    json_decref(summary);
    return result;
}

static bool ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), n = strlen(end);

    return length >= n && strcmp(text + length - n, end) == 0;
}

enum conf_result check_tflite(struct nuc_compiler *compiler, const struct conf_case *c, struct conf_report *r)
{
    enum conf_result result;

    neutronInit();
    if (ends_in(c->folder, "/contiguous"))
        result = check_partition_files(compiler, c, r);
    else
        result = check_model(compiler, c, r);
    neutronDeinit();
    return result;
}
