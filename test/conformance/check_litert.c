/*
 * Check on the LiteRT models of partitions: ours and the reference's are both read by the project's reader and compared
 * operator by operator, following tensors from the first use; dead tensors and unused operator codes do not matter.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "conformance.h"
#include "host/file.h"
#include "litert/litert.h"

struct comparison {
    const struct nuc_lt_subgraph *own, *reference;
    int32_t *own_of;       /* indexed by the reference's tensor: our tensor, or -1 */
    int32_t *reference_of; /* the other way round */
    struct conf_report *r;
    const char *tag;
};

static bool same_scales(const struct nuc_lt_quant *a, const struct nuc_lt_quant *b)
{
    if (a->count != b->count || (a->count > 1 && a->axis != b->axis))
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        if (!conf_near((double)a->scale[i], (double)b->scale[i], 1e-7) || a->zero_point[i] != b->zero_point[i])
            return false;
    }
    return true;
}

static const char *tensor_difference(const struct nuc_lt_tensor *a, const struct nuc_lt_tensor *b)
{
    if (a->dtype != b->dtype)
        return "element type";
    if (a->rank != b->rank || memcmp(a->shape, b->shape, a->rank * sizeof a->shape[0]) != 0)
        return "shape";
    if (!same_scales(&a->quant, &b->quant))
        return "quantization";
    if (a->data.size != b->data.size)
        return "size of the constant";
    if (a->data.size != 0 && memcmp(a->data.data, b->data.data, a->data.size) != 0)
        return "bytes of the constant";
    return NULL;
}

static bool same_tensor(struct comparison *c, int32_t reference, int32_t own, const char *op, uint32_t position)
{
    if (reference < 0 || own < 0) {
        if (reference < 0 && own < 0)
            return true;
        conf_differ(c->r, "%s: %s: operand %u is there on one side only", c->tag, op, position);
        return false;
    }
    const struct nuc_lt_tensor *b = &c->reference->tensors[reference], *a = &c->own->tensors[own];
    const char *what = tensor_difference(a, b);
    if (what != NULL) {
        conf_differ(c->r, "%s: %s: operand %u ('%s') differs in %s", c->tag, op, position, b->name, what);
        return false;
    }
    /* A constant may be shared on one side and duplicated on the other. */
    bool met = c->own_of[reference] >= 0 || c->reference_of[own] >= 0;
    if (b->data.data == NULL && met && (c->own_of[reference] != own || c->reference_of[own] != reference)) {
        conf_differ(c->r, "%s: %s: operand %u ('%s') is another tensor", c->tag, op, position, b->name);
        return false;
    }
    c->own_of[reference] = own;
    c->reference_of[own] = reference;
    return true;
}

static bool same_list(struct comparison *c, const int32_t *reference, uint32_t n_reference, const int32_t *own,
                      uint32_t n_own, const char *op)
{
    if (n_reference != n_own) {
        conf_differ(c->r, "%s: %s: %u operands, the reference has %u", c->tag, op, n_own, n_reference);
        return false;
    }
    for (uint32_t i = 0; i < n_own; i++) {
        if (!same_tensor(c, reference[i], own[i], op, i))
            return false;
    }
    return true;
}

static bool same_subgraph(struct nuc_context *cx, struct comparison *c)
{
    if (!same_list(c, c->reference->inputs, c->reference->n_inputs, c->own->inputs, c->own->n_inputs, "inputs"))
        return false;
    for (uint32_t i = 0; i < c->own->n_ops || i < c->reference->n_ops; i++) {
        if (i >= c->own->n_ops || i >= c->reference->n_ops) {
            conf_differ(c->r, "%s: %u operators, the reference has %u", c->tag, c->own->n_ops, c->reference->n_ops);
            return false;
        }
        const struct nuc_lt_op *a = &c->own->ops[i], *b = &c->reference->ops[i];
        const char *name = nuc_lt_code_name(cx, a->code);
        if (a->code != b->code) {
            conf_differ(c->r, "%s: operator %u is %s, the reference has %s", c->tag, i, name,
                        nuc_lt_code_name(cx, b->code));
            return false;
        }
        if (memcmp(&a->options, &b->options, sizeof a->options) != 0) {
            conf_differ(c->r, "%s: operator %u (%s) has other options", c->tag, i, name);
            return false;
        }
        if (!same_list(c, b->inputs, b->n_inputs, a->inputs, a->n_inputs, name) ||
            !same_list(c, b->outputs, b->n_outputs, a->outputs, a->n_outputs, name))
            return false;
    }
    return same_list(c, c->reference->outputs, c->reference->n_outputs, c->own->outputs, c->own->n_outputs, "outputs");
}

struct models {
    const char *path;
    struct nuc_span own;
    struct comparison comparison;
    bool same;
};

static void compare_models(struct nuc_context *cx, void *arg)
{
    struct models *m = arg;
    struct nuc_lt_model *own = nuc_lt_read(cx, "own model", m->own);
    struct nuc_lt_model *reference = nuc_lt_read(cx, m->path, nuc_read_file(cx, m->path));
    struct comparison *c = &m->comparison;

    if (own->n_subgraphs == 0 || reference->n_subgraphs == 0)
        nuc_fail(cx, NUC_BAD_INPUT, "a model without a subgraph");
    c->own = &own->subgraphs[0];
    c->reference = &reference->subgraphs[0];
    c->own_of = nuc_alloc_array(cx, c->reference->n_tensors, sizeof *c->own_of);
    for (uint32_t i = 0; i < c->reference->n_tensors; i++)
        c->own_of[i] = -1;
    c->reference_of = nuc_alloc_array(cx, c->own->n_tensors, sizeof *c->reference_of);
    for (uint32_t i = 0; i < c->own->n_tensors; i++)
        c->reference_of[i] = -1;
    m->same = same_subgraph(cx, c);
}

static enum conf_result same_partition(const struct conf_case *k, const struct nuc_partition_info *p,
                                       struct conf_report *r)
{
    char suffix[64], path[4096];
    struct nuc_context *cx = nuc_context_new(NULL);
    struct models m = {path, {p->litert, p->litert_size}, {.r = r, .tag = p->tag}, false};

    if (cx == NULL)
        return conf_differ(r, "out of memory");
    snprintf(suffix, sizeof suffix, "%s.tflite", p->tag);
    if (!conf_path(k, suffix, path, sizeof path)) {
        nuc_context_free(cx);
        return conf_differ(r, "partition %s: the reference has no such file", p->tag);
    }
    if (nuc_try(cx, compare_models, &m) != NUC_OK)
        conf_differ(r, "%s: %s", p->tag, cx->message);
    nuc_context_free(cx);
    return m.same ? CONF_EQUAL : CONF_DIFFERENT;
}

enum conf_result check_litert(struct nuc_compiler *compiler, const struct conf_case *c, struct conf_report *r)
{
    json_t *summary = conf_json(c, "summary.json");
    size_t expected = json_object_size(json_object_get(summary, "litert"));

    json_decref(summary);
    struct nuc_model *lowered = conf_lowered(compiler, c, "qdq.pt2", r);
    enum conf_result result = lowered == NULL ? CONF_DIFFERENT : CONF_EQUAL;
    if (lowered != NULL && nuc_model_n_partitions(lowered) != expected)
        result = conf_differ(r, "%zu partitions, the reference has %zu", nuc_model_n_partitions(lowered), expected);
    for (size_t i = 0; result == CONF_EQUAL && i < nuc_model_n_partitions(lowered); i++) {
        struct nuc_partition_info p;
        if (nuc_model_partition(lowered, i, &p) != NUC_OK)
            result = conf_failed(r, compiler, "partition");
        else
            result = same_partition(c, &p, r);
    }
    return result;
}
