/* Checks on graphs: quantization parameters and partitioning decisions. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "conf_flow.h"
#include "conformance.h"

#define SCALE_TOLERANCE 1e-4
#define MAX_PARTITIONS 256

/*
 * A reference node of kind call_function, and ours, advancing in step. torch.export puts _assert_tensor_metadata in
 * front of a conversion; it makes no value, later stages of the reference drop it, and the importer here does at once.
 */
static json_t *next_call(json_t *nodes, size_t *at)
{
    static const char assertion[] = "aten._assert_tensor_metadata.default";

    while (*at < json_array_size(nodes)) {
        json_t *n = json_array_get(nodes, (*at)++);
        const char *op = json_string_value(json_object_get(n, "op"));
        const char *target = json_string_value(json_object_get(n, "target"));
        if (op != NULL && strcmp(op, "call_function") == 0 && (target == NULL || strcmp(target, assertion) != 0))
            return n;
    }
    return NULL;
}

static bool is_call(const struct nuc_node_info *n)
{
    return strcmp(n->target, "placeholder") != 0 && strcmp(n->target, "output") != 0;
}

static bool next_own_call(struct nuc_model *m, size_t *at, struct nuc_node_info *out)
{
    while (*at < nuc_model_n_nodes(m)) {
        if (nuc_model_node(m, (*at)++, out) == NUC_OK && is_call(out))
            return true;
    }
    return false;
}

static const char *text_of(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text == NULL ? "" : text;
}

/* The value list of a constant an argument names, or NULL. */
static json_t *constant_values(json_t *graph, json_t *arg)
{
    const char *name = json_string_value(json_object_get(arg, "n"));

    return name == NULL ? NULL : json_object_get(json_object_get(json_object_get(graph, "constants"), name), "values");
}

static enum conf_result same_parameter(struct conf_report *r, const char *name, size_t channel, double scale,
                                       long long zero_point, double own_scale, long long own_zero_point)
{
    if (zero_point != own_zero_point)
        return conf_differ(r, "%s channel %zu: zero point %lld, the reference has %lld (scale %.9g, %.9g)", name,
                           channel, own_zero_point, zero_point, own_scale, scale);
    if (!conf_near(own_scale, scale, SCALE_TOLERANCE))
        return conf_differ(r, "%s channel %zu: scale %.9g, the reference has %.9g", name, channel, own_scale, scale);
    return CONF_EQUAL;
}

static enum conf_result same_quantization(json_t *graph, json_t *node, const struct nuc_node_info *own,
                                          struct conf_report *r)
{
    json_t *args = json_object_get(node, "args");
    json_t *scales = constant_values(graph, json_array_get(args, 1));
    json_t *zero_points = constant_values(graph, json_array_get(args, 2));

    if (scales == NULL) {
        double scale = json_number_value(json_array_get(args, 1));
        long long zero_point = json_integer_value(json_array_get(args, 2));
        if (own->n_scales != 1)
            return conf_differ(r, "%s: %zu scales, the reference has 1", own->name, own->n_scales);
        return same_parameter(r, own->name, 0, scale, zero_point, (double)own->scales[0], own->zero_points[0]);
    }
    if (json_array_size(scales) != own->n_scales)
        return conf_differ(r, "%s: %zu scales, the reference has %zu", own->name, own->n_scales,
                           json_array_size(scales));
    for (size_t i = 0; i < own->n_scales; i++) {
        long long zero_point = zero_points == NULL ? 0 : json_integer_value(json_array_get(zero_points, i));
        if (same_parameter(r, own->name, i, json_number_value(json_array_get(scales, i)), zero_point,
                           (double)own->scales[i], own->zero_points[i]) != CONF_EQUAL)
            return CONF_DIFFERENT;
    }
    return CONF_EQUAL;
}

static enum conf_result same_call(json_t *graph, json_t *n, const struct nuc_node_info *own, struct conf_report *r)
{
    if (strcmp(text_of(n, "target"), own->target) != 0)
        return conf_differ(r, "node '%s' is %s, the reference has %s", own->name, own->target, text_of(n, "target"));
    return own->is_quantize || own->is_dequantize ? same_quantization(graph, n, own, r) : CONF_EQUAL;
}

/* Compares the calls of two graphs in their order. */
static enum conf_result walk(json_t *nodes, struct nuc_model *own, const char *graph, struct conf_report *r,
                             enum conf_result (*same)(void *user, json_t *n, const struct nuc_node_info *own,
                                                      struct conf_report *r),
                             void *user)
{
    size_t at = 0, own_at = 0;

    for (;;) {
        json_t *n = next_call(nodes, &at);
        struct nuc_node_info info;
        bool more = next_own_call(own, &own_at, &info);
        if (n == NULL && !more)
            return CONF_EQUAL;
        if (n == NULL || !more)
            return conf_differ(r, "the %s graph has %s nodes than the reference's", graph, more ? "more" : "fewer");
        if (same(user, n, &info, r) != CONF_EQUAL)
            return CONF_DIFFERENT;
    }
}

static enum conf_result same_listed(void *graph, json_t *n, const struct nuc_node_info *own, struct conf_report *r)
{
    return same_call(graph, n, own, r);
}

/* Node by node; where the lists are ordered otherwise, along the data flow. */
enum conf_result conf_same_quantized_graph(json_t *graph, struct nuc_model *own, struct conf_report *r)
{
    struct conf_report in_order = *r;

    if (walk(json_object_get(graph, "nodes"), own, "quantized", &in_order, same_listed, graph) == CONF_EQUAL)
        return CONF_EQUAL;
    if (conf_same_flow(graph, own, same_call, r) != CONF_EQUAL)
        return CONF_DIFFERENT;
    r->reordered = true;
    return CONF_EQUAL;
}

/* "p_conv1_weight" observes what torch calls "conv1_weight" before export. */
static bool observes_same(const char *own, const char *reference)
{
    if (own == NULL || strcmp(own, reference) == 0)
        return own != NULL;
    return (strncmp(own, "p_", 2) == 0 || strncmp(own, "b_", 2) == 0) && strcmp(own + 2, reference) == 0;
}

static json_t *element(json_t *list_or_value, size_t i)
{
    return json_is_array(list_or_value) ? json_array_get(list_or_value, i) : list_or_value;
}

static bool same_kind_of_observer(const struct nuc_observer_info *a, const struct nuc_observer_info *b)
{
    return a->quant_min == b->quant_min && a->quant_max == b->quant_max && a->observes != NULL && b->observes != NULL &&
           strcmp(a->observes, b->observes) == 0 && a->class_name != NULL && b->class_name != NULL &&
           strcmp(a->class_name, b->class_name) == 0;
}

/* An observer after another one of its kind: the reference says that it observes the other one, not the value. */
static bool is_behind_another(struct nuc_model *prepared, size_t index, const struct nuc_observer_info *own)
{
    struct nuc_observer_info earlier;

    for (size_t i = 0; i < index; i++) {
        if (nuc_model_observer(prepared, i, &earlier) == NUC_OK && same_kind_of_observer(&earlier, own))
            return true;
    }
    return false;
}

static enum conf_result same_observer(json_t *o, const struct nuc_observer_info *own, struct conf_report *r)
{
    json_t *scale = json_object_get(o, "scale"), *zero_point = json_object_get(o, "zero_point");

    for (size_t s = 0; s < own->n_scales; s++) {
        if (same_parameter(r, own->observes, s, json_number_value(element(scale, s)),
                           json_integer_value(element(zero_point, s)), (double)own->scales[s],
                           own->zero_points[s]) != CONF_EQUAL)
            return CONF_DIFFERENT;
    }
    return CONF_EQUAL;
}

static bool may_be_same(json_t *o, const struct nuc_observer_info *own)
{
    return observes_same(own->observes, text_of(o, "observes")) && strcmp(own->class_name, text_of(o, "class")) == 0 &&
           json_integer_value(json_object_get(o, "quant_min")) == own->quant_min &&
           json_integer_value(json_object_get(o, "quant_max")) == own->quant_max;
}

/*
 * Observers are compared where both sides name the same value; groups that share one report its first member. A value
 * may have several of one class, and after another observer the reference names that instead of the value: one of the
 * candidates has to be equal.
 */
static enum conf_result same_observers(json_t *observers, struct nuc_model *prepared, struct conf_report *r)
{
    for (size_t k = 0; k < nuc_model_n_observers(prepared); k++) {
        struct nuc_observer_info own;
        if (nuc_model_observer(prepared, k, &own) != NUC_OK)
            return conf_differ(r, "observer %zu cannot be read", k);
        if (is_behind_another(prepared, k, &own))
            continue;
        struct conf_report candidate = *r;
        bool any = false, equal = false;
        size_t i;
        json_t *o;
        json_array_foreach(observers, i, o)
        {
            if (equal || !may_be_same(o, &own))
                continue;
            any = true;
            equal = same_observer(o, &own, &candidate) == CONF_EQUAL;
        }
        if (any && !equal) {
            *r = candidate;
            return CONF_DIFFERENT;
        }
    }
    return CONF_EQUAL;
}

static enum conf_result qparams_of(struct nuc_compiler *c, const struct conf_case *k, json_t *graph, json_t *observers,
                                   struct conf_report *r)
{
    char model_path[4096], data_path[4096];
    struct nuc_model *model, *prepared, *quantized;
    struct nuc_dataset *data;

    conf_path(k, "fp32.pt2", model_path, sizeof model_path);
    conf_path(k, "calib.npz", data_path, sizeof data_path);
    if (nuc_model_open(c, model_path, &model) != NUC_OK)
        return conf_failed(r, c, "import");
    if (nuc_dataset_open(c, data_path, &data) != NUC_OK)
        return conf_failed(r, c, "samples");
    if (nuc_prepare(model, &prepared) != NUC_OK || nuc_calibrate(prepared, data) != NUC_OK ||
        nuc_convert(prepared, &quantized) != NUC_OK)
        return conf_failed(r, c, "quantize");
    if (conf_same_quantized_graph(graph, quantized, r) != CONF_EQUAL)
        return CONF_DIFFERENT;
    return same_observers(observers, prepared, r);
}

enum conf_result check_qparams(struct nuc_compiler *c, const struct conf_case *k, struct conf_report *r)
{
    json_t *graph = conf_json(k, "qdq.graph.json");
    json_t *observers = conf_json(k, "observers.json");
    enum conf_result result = json_is_object(graph) ? qparams_of(c, k, graph, observers, r) : CONF_ABSENT;

    json_decref(graph);
    json_decref(observers);
    return result;
}

/* ---- decisions ---- */

/* Partitions are the same groups when their tags correspond one to one. */
struct tag_pairs {
    const char *reference[MAX_PARTITIONS], *own[MAX_PARTITIONS];
    size_t count;
};

static bool same_group(struct tag_pairs *pairs, const char *reference, const char *own)
{
    for (size_t i = 0; i < pairs->count; i++) {
        bool a = strcmp(pairs->reference[i], reference) == 0, b = strcmp(pairs->own[i], own) == 0;
        if (a || b)
            return a && b;
    }
    if (pairs->count == MAX_PARTITIONS)
        return false;
    pairs->reference[pairs->count] = reference;
    pairs->own[pairs->count++] = own;
    return true;
}

/* Sizes and dim order of a node's value; of a tuple's first one. */
static enum conf_result same_shape(json_t *n, const struct nuc_node_info *own, struct conf_report *r)
{
    json_t *val = json_object_get(n, "val");
    json_t *first = json_is_array(val) ? json_array_get(val, 0) : val;
    json_t *sizes = json_object_get(first, "shape"), *order = json_object_get(first, "dim_order");

    if (!json_is_array(sizes))
        return CONF_EQUAL;
    if (json_array_size(sizes) != own->value.rank)
        return conf_differ(r, "'%s' has rank %zu, the reference %zu", own->name, own->value.rank,
                           json_array_size(sizes));
    for (size_t i = 0; i < own->value.rank; i++) {
        long long size = json_integer_value(json_array_get(sizes, i));
        if (size != own->value.sizes[i])
            return conf_differ(r, "'%s': size %zu is %lld, the reference has %lld", own->name, i,
                               (long long)own->value.sizes[i], size);
    }
    for (size_t i = 0; json_is_array(order) && i < own->value.rank; i++) {
        long long dim = json_integer_value(json_array_get(order, i));
        if (json_array_size(order) != own->value.rank || dim != own->value.dim_order[i])
            return conf_differ(r, "'%s': place %zu of the dim order is %u, the reference has %lld", own->name, i,
                               own->value.dim_order[i], dim);
    }
    const char *dtype = text_of(first, "dtype");
    if (dtype[0] != '\0' && strcmp(dtype, nuc_dtype_name(own->value.dtype)) != 0)
        return conf_differ(r, "'%s' is %s, the reference's %s", own->name, nuc_dtype_name(own->value.dtype), dtype);
    return CONF_EQUAL;
}

/* The reference writes every operator of the Edge graph with its dialect in front, the quantization ones too. */
static bool same_target(const char *reference, const char *own)
{
    const char *a = strncmp(reference, "edge.", 5) == 0 ? reference + 5 : reference;
    const char *b = strncmp(own, "edge.", 5) == 0 ? own + 5 : own;

    return strcmp(a, b) == 0;
}

static enum conf_result same_decision(void *user, json_t *n, const struct nuc_node_info *own, struct conf_report *r)
{
    struct tag_pairs *pairs = user;
    const char *tag = json_string_value(json_object_get(n, "partition"));

    if (!same_target(text_of(n, "target"), own->target) || strcmp(text_of(n, "name"), own->name) != 0)
        return conf_differ(r, "node '%s' (%s), the reference has '%s' (%s)", own->name, own->target, text_of(n, "name"),
                           text_of(n, "target"));
    if (tag != NULL && own->partition == NULL)
        return conf_differ(r, "'%s' is not delegated (%s), the reference delegates it", own->name,
                           own->reason != NULL ? own->reason : "no reason given");
    if (tag == NULL && own->partition != NULL)
        return conf_differ(r, "'%s' is delegated, the reference leaves it on the CPU", own->name);
    if (tag != NULL && !same_group(pairs, tag, own->partition))
        return conf_differ(r, "'%s' is in %s, the reference has it in %s", own->name, own->partition, tag);
    const char *format = json_string_value(json_object_get(n, "format"));
    if (format != NULL && own->format != NULL && strcmp(format, own->format) != 0)
        return conf_differ(r, "'%s' has format %s, the reference %s", own->name, own->format, format);
    return same_shape(n, own, r);
}

static enum conf_result same_decisions(json_t *decisions, struct nuc_model *own, struct conf_report *r)
{
    struct tag_pairs pairs = {.count = 0};

    return walk(json_object_get(decisions, "nodes"), own, "Edge", r, same_decision, &pairs);
}

enum conf_result check_decisions(struct nuc_compiler *c, const struct conf_case *k, struct conf_report *r)
{
    json_t *decisions = conf_json(k, "decisions.json");
    struct nuc_model *partitioned = conf_partitioned(c, k, "qdq.pt2", r);
    enum conf_result result = partitioned == NULL ? CONF_DIFFERENT : same_decisions(decisions, partitioned, r);

    json_decref(decisions);
    return result;
}
