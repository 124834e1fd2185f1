/*
 * Check on transposes: how many there are and how many bytes they write, in the reference's LiteRT models, in ours in
 * reference mode and in ours by default, from the reference's quantized graph and from the float model. A case is equal
 * when reference mode moves what the reference moves, and the default mode never more; a network may keep one transpose
 * where its input is contiguous, none where channels-last.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"
#include "host/file.h"
#include "litert/litert.h"
#include "npu/arrange/arrange.h"

struct model_file {
    const char *path; /* NULL: bytes */
    struct nuc_span bytes;
    struct conf_moved *sum;
};

static void add_model(struct nuc_context *cx, void *arg)
{
    struct model_file *f = arg;
    struct nuc_span bytes = f->path != NULL ? nuc_read_file(cx, f->path) : f->bytes;
    struct nuc_lt_model *m = nuc_lt_read(cx, f->path != NULL ? f->path : "own model", bytes);

    if (m->n_subgraphs == 0)
        nuc_fail(cx, NUC_BAD_INPUT, "a model without a subgraph");
    struct nuc_moved moved = nuc_moved_by_transposes(m);
    f->sum->transposes += moved.transposes;
    f->sum->bytes += moved.bytes;
}

static bool add(struct model_file f, struct conf_report *r)
{
    struct nuc_context *cx = nuc_context_new(NULL);

    if (cx == NULL)
        abort();
    bool ok = nuc_try(cx, add_model, &f) == NUC_OK;
    if (!ok)
        conf_differ(r, "%s", cx->message);
    nuc_context_free(cx);
    return ok;
}

static bool add_reference(const struct conf_case *c, json_t *summary, struct conf_report *r)
{
    char suffix[64], path[4096];
    const char *tag;
    json_t *partition;

    json_object_foreach(json_object_get(summary, "litert"), tag, partition)
    {
        snprintf(suffix, sizeof suffix, "%s.tflite", tag);
        if (!conf_path(c, suffix, path, sizeof path) || !add((struct model_file){path, {NULL, 0}, &r->reference}, r))
            return false;
    }
    return true;
}

static bool add_lowered(struct nuc_model *lowered, struct conf_moved *sum, struct conf_report *r)
{
    bool ok = lowered != NULL;

    for (size_t i = 0; ok && i < nuc_model_n_partitions(lowered); i++) {
        struct nuc_partition_info p;
        ok = nuc_model_partition(lowered, i, &p) == NUC_OK &&
             add((struct model_file){NULL, {p.litert, p.litert_size}, sum}, r);
    }
    return ok;
}

static bool add_own(struct nuc_compiler *compiler, const struct conf_case *c, struct conf_moved *sum,
                    struct conf_report *r)
{
    return add_lowered(conf_lowered(compiler, c, "qdq.pt2", r), sum, r);
}

/* The whole path; a case without samples, or that its own quantization leaves on the CPU, counts as its quantized one.
 */
static bool add_whole(struct nuc_compiler *compiler, const struct conf_case *c, struct conf_report *r)
{
    char path[4096];
    struct nuc_model *model, *quantized, *partitioned, *lowered;
    struct nuc_dataset *samples;

    r->whole = r->own;
    if (!conf_path(c, "fp32.pt2", path, sizeof path) || nuc_model_open(compiler, path, &model) != NUC_OK ||
        !conf_path(c, "calib.npz", path, sizeof path) || nuc_dataset_open(compiler, path, &samples) != NUC_OK ||
        nuc_quantize(model, samples, &quantized) != NUC_OK || nuc_partition(quantized, &partitioned) != NUC_OK ||
        nuc_lower(partitioned, &lowered) != NUC_OK)
        return true;
    r->whole = (struct conf_moved){0, 0};
    return add_lowered(lowered, &r->whole, r);
}

static bool is_network(json_t *summary)
{
    const char *flow = json_string_value(json_object_get(summary, "flow"));

    return flow != NULL && strcmp(flow, "cli") == 0;
}

static bool is_channels_last(const struct conf_case *c)
{
    return strstr(c->label, "channels_last") != NULL;
}

static enum conf_result judge(const struct conf_case *c, json_t *summary, struct conf_report *r)
{
    if (r->compat.transposes != r->reference.transposes || r->compat.bytes != r->reference.bytes)
        return conf_differ(r, "%lu transposes of %lu bytes in reference mode, the reference has %lu of %lu",
                           r->compat.transposes, r->compat.bytes, r->reference.transposes, r->reference.bytes);
    if (r->own.transposes > r->reference.transposes || r->own.bytes > r->reference.bytes)
        return conf_differ(r, "%lu transposes of %lu bytes, the reference has %lu of %lu", r->own.transposes,
                           r->own.bytes, r->reference.transposes, r->reference.bytes);
    if (is_network(summary) && r->own.transposes > (is_channels_last(c) ? 0 : 1))
        return conf_differ(r, "%lu transposes in a network", r->own.transposes);
    return CONF_EQUAL;
}

enum conf_result check_moved(struct nuc_compiler *compat, const struct conf_case *c, struct conf_report *r)
{
    enum conf_result result = CONF_DIFFERENT;
    json_t *summary = conf_json(c, "summary.json");
    struct nuc_compiler *own = conf_default_compiler(c);

    if (own == NULL)
        abort();
    r->has_moved = true;
    r->network = is_network(summary);
    r->multi = json_integer_value(json_object_get(summary, "n_compute")) > 1;
    if (add_reference(c, summary, r) && add_own(compat, c, &r->compat, r) && add_own(own, c, &r->own, r) &&
        add_whole(own, c, r))
        result = judge(c, summary, r);
    nuc_compiler_free(own);
    json_decref(summary);
    return result;
}
