/*
 * Conversion: the prepared graph copied node by node with a quantize and dequantize pair in place of every observation
 * point. What follows is what torchao's convert_pt2e leaves after duplicating dequantize nodes and folding quantized
 * constants, and torch.export after re-tracing: names, and placeholders by kind.
 */
#include <math.h>
#include <string.h>

#include "ir/args.h"
#include "ir/masks.h"
#include "ir/quant.h"
#include "quantize/quantized_constant.h"
#include "quantize/search/effect.h"

/* A user with a dequantize node of its own. */
struct reader {
    const struct nuc_node *user;
    struct nuc_node *dequantize;
};

/* An observation point in the new graph. */
struct pair {
    uint32_t group;
    struct nuc_node *quantized;          /* quantize node or integer constant */
    struct nuc_node *scale, *zero_point; /* buffers, when per channel */

    /* Readers that are annotated, in order of execution; all others share one dequantize node. */
    uint32_t n_own, next_own;
    size_t own_capacity;
    struct reader *own;
    bool has_others;
    struct nuc_node *shared;
};

/* A node of the prepared graph in the new one. */
struct image {
    struct nuc_node *value; /* NULL: a constant that nobody reads as float */
    bool is_read;           /* the value itself */
    uint32_t n_pairs;
    struct pair *pairs; /* in order of execution: that of the output when there is one, then the edges from the last */
};

struct conversion {
    struct nuc_calibration *c;
    struct nuc_graph *to;
    struct image *images; /* by node id */
    const float **biases; /* by id of a constant: values to quantize instead of its own; NULL: none at all */
    unsigned n_frozen, n_scales, n_zero_points;
    struct nuc_quantized_point *points; /* quantize nodes of computed values, in order */
    uint32_t n_points;
    size_t points_capacity;
};

/* ---- parameters of quantize and dequantize nodes ---- */

/* Both directions have the same arguments in the same places. */
static struct nuc_node *add_quantization(struct conversion *v, struct nuc_node *input, const struct pair *p,
                                         bool quantize)
{
    const struct nuc_observer *o = v->c->observers[p->group];
    /* A node of either direction, in the form that the point's parameters have, without input and value. */
    static const struct {
        enum nuc_op op;
        const char *name;
    } forms[2][2] = {
        {{NUC_OP_DEQUANTIZE_PER_TENSOR, "dequantize_per_tensor"},
         {NUC_OP_DEQUANTIZE_PER_CHANNEL, "dequantize_per_channel"}},
        {{NUC_OP_QUANTIZE_PER_TENSOR, "quantize_per_tensor"}, {NUC_OP_QUANTIZE_PER_CHANNEL, "quantize_per_channel"}},
    };
    bool channels = p->scale != NULL;
    struct nuc_node *node = nuc_add_node(v->to, NULL, forms[quantize][channels].op, forms[quantize][channels].name);
    struct nuc_meta meta = input->vals[0];

    meta.dtype = quantize ? o->spec->dtype : NUC_F32;
    nuc_set_arg_node(node, v->to, NUC_SELF, input);
    if (p->scale != NULL) {
        const struct nuc_qspec *spec = v->c->observers[p->group]->spec;
        nuc_set_arg_node(node, v->to, NUC_ARG(QUANTIZE_PER_CHANNEL, scales), p->scale);
        nuc_set_arg_node(node, v->to, NUC_ARG(QUANTIZE_PER_CHANNEL, zero_points), p->zero_point);
        nuc_set_arg_int(node, NUC_ARG(QUANTIZE_PER_CHANNEL, axis), spec->ch_axis);
        nuc_set_arg_int(node, NUC_ARG(QUANTIZE_PER_CHANNEL, quant_min), spec->quant_min);
        nuc_set_arg_int(node, NUC_ARG(QUANTIZE_PER_CHANNEL, quant_max), spec->quant_max);
        nuc_set_arg_dtype(node, NUC_ARG(QUANTIZE_PER_CHANNEL, dtype), spec->dtype);
    } else {
        nuc_set_quant(node, &(struct nuc_quant){.scale = (double)o->scale[0],
                                                .zero_point = o->zero_point[0],
                                                .quant_min = o->spec->quant_min,
                                                .quant_max = o->spec->quant_max,
                                                .dtype = o->spec->dtype});
    }
    nuc_set_val(v->to, node, &meta);
    nuc_made_of(node, input);
    return node;
}

/* ---- who reads an observation point ---- */

/* NULL: `user` reads the value itself. */
static struct pair *pair_of(struct conversion *v, const struct nuc_node *node, const struct nuc_node *user)
{
    uint32_t group = nuc_observed_group(v->c, node, user);
    struct image *image = &v->images[node->id];
    uint32_t i = 0;

    if (group == NUC_NO_GROUP)
        return NULL;
    while (image->pairs[i].group != group)
        i++;
    return &image->pairs[i];
}

/* What `user`, copied in the order in which readers were listed, reads for `input`. */
static struct nuc_node *read_value(struct conversion *v, const struct nuc_node *input, const struct nuc_node *user)
{
    struct pair *p = pair_of(v, input, user);

    if (p == NULL)
        return v->images[input->id].value;
    if (!nuc_is_annotated(v->c->annotations[user->id]))
        return p->shared;
    if (p->own[p->next_own].user != user)
        p->next_own++;
    return p->own[p->next_own].dequantize;
}

/* ---- placeholders ---- */

/* The model may have been quantized before, or name anything so; placeholders are named after kind and target. */
static bool is_taken(const struct conversion *v, const char *target)
{
    static const char *const kinds[] = {"b_", "p_", "c_"};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (nuc_find_node(v->c->g, nuc_format(v->to->cx, "%s%s", kinds[i], target)) != NULL)
            return true;
    }
    return false;
}

static const char *free_target(struct conversion *v, const char *prefix, unsigned *next)
{
    const char *target;

    do {
        target = nuc_format(v->to->cx, "%s%u", prefix, (*next)++);
    } while (is_taken(v, target));
    return target;
}

static void add_parameters(struct conversion *v, struct pair *p)
{
    const struct nuc_observer *o = v->c->observers[p->group];
    struct nuc_meta meta = nuc_meta_make(NUC_F32, &(int64_t){o->n}, 1);

    p->scale = nuc_add_buffer(v->to, free_target(v, "_scale_", &v->n_scales), &meta, o->scale);
    meta.dtype = NUC_I64;
    p->zero_point = nuc_add_buffer(v->to, free_target(v, "_zero_point_", &v->n_zero_points), &meta, o->zero_point);
}

static bool is_dead(const struct pair *p)
{
    return p->n_own == 0 && !p->has_others;
}

/* Kinds in the order of torch.export; among the buffers are the new ones, at the place of what they stand for. */
static void add_placeholders(struct conversion *v)
{
    static const enum nuc_input_kind kinds[] = {NUC_PARAMETER, NUC_BUFFER, NUC_STATE, NUC_CONSTANT, NUC_USER_INPUT};

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (uint32_t i = 0; i < v->c->n_order; i++) {
            const struct nuc_node *n = v->c->order[i];
            if (!nuc_is_placeholder(n))
                continue;
            if (n->input_kind == kinds[k] &&
                (v->images[n->id].is_read || kinds[k] == NUC_USER_INPUT || kinds[k] == NUC_STATE)) {
                struct nuc_node *copy = nuc_add_placeholder(v->to, n->name, n->input_kind, &n->vals[0]);
                copy->target = n->target;
                copy->data = v->biases != NULL && v->biases[n->id] != NULL
                                 ? nuc_dense_data(v->to->cx, &n->vals[0], v->biases[n->id])
                                 : n->data;
                nuc_made_of(copy, n);
                v->images[n->id].value = copy;
            }
            if (kinds[k] == NUC_BUFFER && nuc_is_static(n)) {
                struct image *image = &v->images[n->id];
                for (uint32_t m = 0; m < image->n_pairs; m++) {
                    struct pair *p = &image->pairs[m];
                    struct nuc_meta meta;
                    if (is_dead(p))
                        continue;
                    if (v->c->observers[p->group]->spec->ch_axis >= 0)
                        add_parameters(v, p);
                    const float *values = v->biases != NULL && v->biases[n->id] != NULL
                                              ? v->biases[n->id]
                                              : nuc_const_contiguous(v->c->g, n);
                    const void *bytes = nuc_quantize_constant(v->c->g, n, values, v->c->observers[p->group], &meta);
                    p->quantized = nuc_add_buffer(v->to, free_target(v, "_frozen_param", &v->n_frozen), &meta, bytes);
                    nuc_made_of(p->quantized, n);
                }
            }
        }
    }
}

/* ---- nodes ---- */

/* "aten.conv2d.default" -> "conv2d", as torch names a traced node. */
static const char *traced_name(struct nuc_context *cx, const struct nuc_node *node)
{
    const char *name = nuc_node_op_name(node), *end = strrchr(name, '.');

    if (end == NULL)
        return name;
    const char *begin = end;
    while (begin > name && begin[-1] != '.')
        begin--;
    return nuc_format(cx, "%.*s", (int)(end - begin), begin);
}

/* The quantize node of a computed value. */
static struct nuc_node *add_point(struct conversion *v, struct nuc_node *value, const struct pair *p)
{
    struct nuc_node *quantize = add_quantization(v, value, p, true);

    v->points = nuc_grow(v->to->cx, v->points, &v->points_capacity, v->n_points + 1, sizeof *v->points);
    v->points[v->n_points++] = (struct nuc_quantized_point){quantize, p->group};
    return quantize;
}

static struct nuc_node *add_fixed(struct conversion *v, struct nuc_node *input, enum nuc_op op, const char *name,
                                  const struct nuc_quant *quant)
{
    struct nuc_node *node = nuc_add_node(v->to, NULL, op, name);
    struct nuc_meta meta = input->vals[0];

    meta.dtype = op == NUC_OP_QUANTIZE_PER_TENSOR ? quant->dtype : NUC_F32;
    nuc_set_arg_node(node, v->to, NUC_SELF, input);
    nuc_set_quant(node, quant);
    nuc_set_val(v->to, node, &meta);
    nuc_made_of(node, input);
    return node;
}

/*
 * A mask that was seen with biases beside what hides is added twice: its biases with steps of their own, which end
 * where those do, and in steps that make 0 of any of them.
 */
static struct nuc_node *hide(struct conversion *v, const struct nuc_node *from, struct nuc_node *sum)
{
    enum nuc_mask kind;
    struct nuc_node *mask = nuc_added_mask(v->c->g, from, &kind);
    uint32_t group = mask == NULL ? NUC_NO_GROUP : nuc_observed_group(v->c, mask, from);
    const struct nuc_observer *o = group == NUC_NO_GROUP ? NULL : v->c->observers[group];
    const struct image *image = &v->images[from->id];

    if (o == NULL || !o->hides || nuc_is_plain_mask(o) || v->c->observed[mask->id].output != NUC_NO_GROUP ||
        v->c->observed[from->id].output == NUC_NO_GROUP)
        return sum;
    struct nuc_quant quant = {.scale = fmax((double)NUC_MASK_STEP, 2.01 * (double)-o->min[0]),
                              .zero_point = o->spec->quant_max,
                              .quant_min = o->spec->quant_min,
                              .quant_max = o->spec->quant_max,
                              .dtype = o->spec->dtype};
    struct nuc_node *scores = add_quantization(v, add_point(v, sum, &image->pairs[0]), &image->pairs[0], false);
    struct nuc_node *quantized =
        add_fixed(v, v->images[mask->id].value, NUC_OP_QUANTIZE_PER_TENSOR, "quantize_per_tensor", &quant);
    struct nuc_node *hidden = add_fixed(v, quantized, NUC_OP_DEQUANTIZE_PER_TENSOR, "dequantize_per_tensor", &quant);
    struct nuc_node *node = nuc_add_node(v->to, NULL, from->op, traced_name(v->to->cx, from));
    nuc_set_args(v->to, node, NUC_ARGS(scores, hidden));
    nuc_infer_shape(v->to, node);
    nuc_made_of(node, from);
    node->origin = sum->origin;
    return node;
}

static void copy_node(struct conversion *v, const struct nuc_node *from)
{
    struct nuc_node *node = nuc_add_node(v->to, NULL, from->op, traced_name(v->to->cx, from));

    node->in_place = from->in_place;
    for (uint32_t i = 0; i < from->n_args; i++) {
        if (from->args[i].kind == NUC_ARG_NODE) {
            nuc_set_arg_node(node, v->to, i, read_value(v, from->args[i].u.node, from));
        } else if (from->args[i].kind == NUC_ARG_NODES) {
            const struct nuc_arg *arg = &from->args[i];
            struct nuc_node **list = nuc_alloc_array(v->to->cx, arg->count, sizeof(struct nuc_node *));
            for (uint32_t k = 0; k < arg->count; k++)
                list[k] = arg->u.nodes[k] == NULL ? NULL : read_value(v, arg->u.nodes[k], from);
            nuc_set_arg_nodes(node, v->to, i, list, arg->count);
        } else {
            node->args[i] = from->args[i];
        }
        node->args[i].given = from->args[i].given;
    }
    if (from->n_vals != 0)
        nuc_infer_shape(v->to, node); /* the dim order of a constant may have changed */
    nuc_made_of(node, from);
    if (node->origin == 0) /* who marked the graph before wants its own marks */
        node->origin = from->id + 1;
    v->images[from->id].value = hide(v, from, node);
}

/* That of the output comes first: edges read its dequantized value. */
static void add_pairs(struct conversion *v, const struct nuc_node *node)
{
    struct image *image = &v->images[node->id];
    struct nuc_node *value = image->value;

    for (uint32_t i = 0; i < image->n_pairs; i++) {
        struct pair *p = &image->pairs[i];
        if (is_dead(p))
            continue;
        if (!nuc_is_static(node))
            p->quantized = add_point(v, value, p);
        /* Copies of a dequantize node go right after it one after the other, so the last one comes first. */
        if (p->has_others)
            p->shared = add_quantization(v, p->quantized, p, false);
        for (uint32_t k = p->n_own; k-- > 0;)
            p->own[k].dequantize = add_quantization(v, p->quantized, p, false);
        if (p->group == v->c->observed[node->id].output && p->shared != NULL)
            value = p->shared;
    }
}

struct nuc_converted nuc_convert_graph(struct nuc_calibration *c, const float **biases)
{
    struct conversion v = {.c = c, .to = nuc_graph_new(c->g->cx, c->g->file), .biases = biases};

    const struct nuc_calibration *j = v.c;
    struct nuc_sub_arena *sub = nuc_enter_sub_arena(v.to->cx);
    v.images = nuc_alloc_array(v.to->cx, j->g->next_id, sizeof *v.images);
    for (uint32_t i = 0; i < j->n_order; i++) {
        const struct nuc_observed *t = &j->observed[j->order[i]->id];
        struct image *image = &v.images[j->order[i]->id];
        bool has_output = t->output != NUC_NO_GROUP;
        image->pairs = nuc_alloc_array(v.to->cx, has_output + t->n_edges, sizeof *image->pairs);
        if (has_output)
            image->pairs[image->n_pairs++] = (struct pair){.group = t->output, .has_others = t->n_edges != 0};
        for (uint32_t k = t->n_edges; k-- > 0;)
            image->pairs[image->n_pairs++] = (struct pair){.group = t->edges[k]};
    }
    for (uint32_t i = 0; i < v.c->n_order; i++) {
        const struct nuc_node *n = v.c->order[i];
        struct nuc_cursor at = {0, 0};
        for (const struct nuc_node *in = nuc_next_input(n, &at); in != NULL; in = nuc_next_input(n, &at)) {
            struct pair *p = pair_of(&v, in, n);
            if (p == NULL) {
                v.images[in->id].is_read = true;
            } else if (!nuc_is_annotated(v.c->annotations[n->id])) {
                p->has_others = true;
            } else if (p->n_own == 0 || p->own[p->n_own - 1].user != n) {
                p->own = nuc_grow(v.to->cx, p->own, &p->own_capacity, p->n_own + 1, sizeof *p->own);
                p->own[p->n_own++] = (struct reader){n, NULL};
            }
        }
    }
    nuc_leave_sub_arena(v.to->cx, sub);
    add_placeholders(&v);
    for (uint32_t i = 0; i < c->n_order; i++) {
        if (!nuc_is_placeholder(c->order[i]))
            copy_node(&v, c->order[i]);
        add_pairs(&v, c->order[i]);
    }
    nuc_free_sub_arena(sub);
    return (struct nuc_converted){v.to, v.n_points, v.points};
}

void nuc_measure_converted(struct nuc_calibration *c, const struct nuc_converted *q, const unsigned *of, unsigned which,
                           struct nuc_sample_figures *figures, struct nuc_effects **again)
{
    struct nuc_choice_samples *all = c->samples, some = nuc_samples_of(all, of, which);
    struct nuc_sample_figures found[NUC_CHOICE_MOST];

    for (size_t k = 0, i = 0; k < all->count; k++) {
        if (of[k] == which)
            found[i++] = figures[k];
    }
    c->samples = &some;
    if (some.count != 0 && (*again == NULL || !nuc_effects_again(*again, q, some.count)))
        *again = nuc_effects_new(c, q, some.count, false);
    if (some.count != 0)
        nuc_measure_samples(*again, found);
    c->samples = all;
    for (size_t k = 0, i = 0; k < all->count; k++) {
        if (of[k] == which)
            figures[k] = found[i++];
    }
}
