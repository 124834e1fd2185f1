/* The rewriting: operators take fewer frames, and what they read of earlier ones comes from states. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "ir/args.h"
#include "ir/conv_args.h"
#include "ir/quant.h"
#include "ir/recurrent_args.h"
#include "ir/work.h"
#include "rewrite/insert.h"
#include "rewrite/stream/stream.h"

/* Frames of a value that came before: one state, from which all operators read that want the same pad value. */
struct ring {
    struct nuc_node *base; /* the int8 value where there is one, else the real one */
    double pad;
    bool is_pad;    /* frames that do not exist are read */
    int64_t before; /* frames of the state */
    bool quantized;
    struct nuc_quant quant;
    uint8_t order[NUC_MAX_RANK]; /* of the dimensions in memory, on which the order of sums depends */
    bool turned;                 /* `value` has them in that order */
    uint32_t axis;               /* of time in `value` */
    struct nuc_node *value;      /* the state and the frames of the hop; NULL: not made yet */
};

/* Which frames of a hop exist, as a float32 0 or 1 for each, along a dimension. */
struct mask {
    uint32_t rank, axis;
    int64_t frames, delay;
    bool quantized;
    struct nuc_node *value;
};

struct rings {
    struct nuc_graph *g;
    const struct nuc_stream_plan *plan;
    uint32_t n_rings, n_masks;
    size_t masks_capacity, states_capacity;
    struct ring *rings;
    struct mask *masks;
    uint32_t n_states;
    struct nuc_node **next; /* what the states become, in their order */
    size_t bytes;
};

static const struct nuc_quant unit = {
    .scale = 1.0, .axis = -1, .quant_min = INT8_MIN, .quant_max = INT8_MAX, .dtype = NUC_I8};

/* ---- nodes ---- */

/* The value as it is quantized; q NULL: as it is. */
static struct nuc_node *quantized(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *value,
                                  const struct nuc_quant *q)
{
    if (q == NULL)
        return value;
    struct nuc_node *node = nuc_insert_quant(g, before, NUC_OP_QUANTIZE_PER_TENSOR, value, q);
    return nuc_insert_quant(g, before, NUC_OP_DEQUANTIZE_PER_TENSOR, node, q);
}

static struct nuc_node *part(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *value, uint32_t axis,
                             int64_t start, int64_t count, const struct nuc_quant *q)
{
    struct nuc_node *made = nuc_insert_part(g, before, value, axis, start, start + count);

    return made == value ? value : quantized(g, before, made, q);
}

static struct nuc_node *turned(struct nuc_graph *g, struct nuc_node *before, struct nuc_node *value,
                               const uint8_t *order, const struct nuc_quant *q)
{
    int64_t dims[NUC_MAX_RANK];

    for (uint32_t d = 0; d < value->vals[0].rank; d++)
        dims[d] = order[d];
    return quantized(g, before, nuc_insert_permute(g, before, value, dims), q);
}

static void set_operand(struct nuc_graph *g, struct nuc_node *node, uint32_t arg, uint32_t element,
                        struct nuc_node *value)
{
    const struct nuc_arg *a = &node->args[arg];

    if (a->kind == NUC_ARG_NODE) {
        nuc_set_arg_node(node, g, arg, value);
        return;
    }
    struct nuc_node **list = nuc_copy(g->cx, a->u.nodes, a->count * sizeof(struct nuc_node *));
    list[element] = value;
    nuc_set_arg_nodes(node, g, arg, list, a->count);
}

/* ---- states ---- */

/* After what people call the operator that reads it: "layers_0_conv1_frames". */
static const char *state_name(struct nuc_graph *g, const struct nuc_node *reader, const char *what)
{
    const char *label = reader->source->label != NULL ? reader->source->label : reader->name;
    char *name = nuc_strdup(g->cx, nuc_format(g->cx, "%s_%s", label, what));

    for (char *c = name; *c != '\0'; c++)
        *c = (char)(isalnum((unsigned char)*c) ? *c : '_');
    return name;
}

/* What it becomes is r->next[*at]. */
static struct nuc_node *add_state(struct rings *r, struct nuc_node *before, const char *name,
                                  const struct nuc_meta *meta, const double *values, uint32_t *at)
{
    struct nuc_node *state = nuc_insert_values(r->g, before, meta, values);

    r->next = nuc_grow(r->g->cx, r->next, &r->states_capacity, r->n_states + 1, sizeof *r->next);
    *at = r->n_states++;
    nuc_rename(r->g, state, name);
    state->input_kind = NUC_STATE;
    state->target = state->name;
    return state;
}

/*
 * The latest `count` frames of the earlier hops, then those of `value`: a state of which frame i begins as values[i].
 */
static struct nuc_node *put_behind_state(struct rings *r, struct nuc_node *before, struct nuc_node *value,
                                         uint32_t axis, int64_t count, const double *values, const char *name,
                                         const struct nuc_quant *q)
{
    struct nuc_graph *g = r->g;
    struct nuc_meta meta = nuc_meta_make(value->vals[0].dtype, value->vals[0].sizes, value->vals[0].rank);
    const int64_t frames = meta.sizes[axis];
    uint32_t at;

    meta.sizes[axis] = count;
    const int64_t below = nuc_elements_between(&meta, axis + 1, meta.rank), all = nuc_elements(&meta);
    double *each = nuc_alloc_array(g->cx, (size_t)all, sizeof *each);
    for (int64_t i = 0; i < all; i++)
        each[i] = values[i / below % count];
    struct nuc_node *parts[2] = {quantized(g, before, add_state(r, before, name, &meta, each, &at), q), value};
    struct nuc_node *both = quantized(g, before, nuc_insert_cat(g, before, parts, 2, axis), q);
    r->next[at] = part(g, before, both, axis, frames, count, q);
    r->bytes += (size_t)all * (q != NULL ? 1 : nuc_dtype_size(meta.dtype));
    return both;
}

/* ---- frames that do not exist ---- */

static struct nuc_node *mask_of(struct rings *r, struct nuc_node *before, const struct mask *wanted)
{
    struct nuc_graph *g = r->g;
    const struct nuc_quant *q = wanted->quantized ? &unit : NULL;
    int64_t sizes[NUC_MAX_RANK];

    for (uint32_t i = 0; i < r->n_masks; i++) {
        const struct mask *m = &r->masks[i];
        if (m->rank == wanted->rank && m->axis == wanted->axis && m->frames == wanted->frames &&
            m->delay == wanted->delay && m->quantized == wanted->quantized)
            return m->value;
    }
    for (uint32_t d = 0; d < wanted->rank; d++)
        sizes[d] = d == wanted->axis ? wanted->frames : 1;
    const struct nuc_meta meta = nuc_meta_make(q != NULL ? NUC_I8 : NUC_F32, sizes, wanted->rank);
    struct nuc_node *ones = nuc_insert_filled(g, before, &meta, 1);
    if (q != NULL)
        ones = nuc_insert_quant(g, before, NUC_OP_DEQUANTIZE_PER_TENSOR, ones, q);
    double *zeros = nuc_alloc_array(g->cx, (size_t)wanted->delay, sizeof *zeros);
    struct nuc_node *both = put_behind_state(r, before, ones, wanted->axis, wanted->delay, zeros, "stream_begun", q);
    r->masks = nuc_grow(g->cx, r->masks, &r->masks_capacity, r->n_masks + 1, sizeof *r->masks);
    struct mask *made = &r->masks[r->n_masks++];
    *made = *wanted;
    made->value = part(g, before, both, wanted->axis, 0, wanted->frames, q);
    return made->value;
}

/* `value` where the frames exist, else `other`. */
static struct nuc_node *choose(struct rings *r, struct nuc_node *before, struct nuc_node *value, struct nuc_node *other,
                               struct mask wanted)
{
    struct nuc_graph *g = r->g;
    struct nuc_node *begun = nuc_insert_with_number(g, before, NUC_OP_GT, mask_of(r, before, &wanted), 0.5);

    return nuc_emit(g, before, NUC_OP_WHERE, value, NUC_ARGS(begun, value, other));
}

/* Frames that do not exist become the pad value. A product with 1 leaves an int8 value as it is. */
static struct nuc_node *padded(struct rings *r, struct nuc_node *before, struct nuc_node *value,
                               const struct ring *ring)
{
    const struct nuc_track *t = &r->plan->tracks[ring->base->id];
    const struct mask wanted = {
        value->vals[0].rank, ring->axis, t->frames, t->delay, ring->quantized && nuc_numbers_equal(ring->pad, 0), NULL};
    struct nuc_node *made;

    if (wanted.quantized)
        made = nuc_emit(r->g, before, NUC_OP_MUL, value, NUC_ARGS(value, mask_of(r, before, &wanted)));
    else
        made = choose(r, before, value, nuc_insert_constant(r->g, before, value->vals[0].dtype, ring->pad), wanted);
    return quantized(r->g, before, made, ring->quantized ? &ring->quant : NULL);
}

/* ---- rings ---- */

static struct nuc_node *base_of(struct nuc_node *value)
{
    bool is_int8 = value->op == NUC_OP_DEQUANTIZE_PER_TENSOR;

    return is_int8 ? nuc_arg_node(value, NUC_SELF) : value;
}

/* The ring that serves the need: its own is added where none does yet. */
static struct ring *ring_of(struct rings *r, const struct nuc_stream_need *need)
{
    struct nuc_node *base = base_of(need->value);
    uint32_t i = 0;

    while (i < r->n_rings && (r->rings[i].base != base || !nuc_numbers_equal(r->rings[i].pad, need->pad)))
        i++;
    struct ring *ring = &r->rings[i];
    if (i == r->n_rings) {
        r->n_rings++;
        *ring = (struct ring){.base = base, .pad = need->pad};
        ring->quantized = base != need->value && nuc_dequantize_quant(need->value, &ring->quant);
        const struct nuc_meta lies = need->value->vals[0];
        ring->turned = !nuc_is_contiguous(&lies);
        memcpy(ring->order, lies.dim_order, sizeof ring->order);
    }
    return ring;
}

/* `base` is what became of the ring's. */
static void make_ring(struct rings *r, struct nuc_node *before, struct nuc_node *base, struct ring *ring)
{
    const struct nuc_track *t = &r->plan->tracks[ring->base->id];
    const struct nuc_quant *q = ring->quantized ? &ring->quant : NULL;
    struct nuc_node *value = base;

    if (q != NULL)
        value = nuc_insert_quant(r->g, before, NUC_OP_DEQUANTIZE_PER_TENSOR, value, q);
    ring->axis = t->axis;
    if (ring->turned) {
        value = turned(r->g, before, value, ring->order, q);
        for (uint32_t d = 0; d < value->vals[0].rank; d++)
            ring->axis = ring->order[d] == t->axis ? d : ring->axis;
    }
    struct nuc_meta contiguous = value->vals[0];
    nuc_set_contiguous(&contiguous);
    if (!nuc_same_layout(&value->vals[0], &contiguous))
        value = quantized(r->g, before, nuc_insert_unary(r->g, before, NUC_OP_CONTIGUOUS, value), q);
    if (ring->is_pad)
        value = padded(r, before, value, ring);
    if (ring->before > 0) {
        double *values = nuc_alloc_array(r->g->cx, (size_t)ring->before, sizeof *values);
        for (int64_t i = 0; i < ring->before; i++) /* frame i - before - delay */
            values[i] = i - ring->before - t->delay < 0 ? ring->pad : t->fill;
        value =
            put_behind_state(r, before, value, ring->axis, ring->before, values, state_name(r->g, before, "frames"), q);
    }
    ring->value = value;
}

/* A slice along the axis is given its frames alone. */
static void take_all(struct nuc_node *slice, int64_t count)
{
    nuc_set_arg_int(slice, NUC_ARG(SLICE, start), 0);
    nuc_set_arg_int(slice, NUC_ARG(SLICE, end), count);
}

static void read_ring(struct rings *r, const struct nuc_stream_need *need)
{
    struct ring *ring = ring_of(r, need);

    if (ring->value == NULL)
        make_ring(r, need->user, base_of(nuc_stream_operand(need->user, need->arg, need->element)), ring);
    const struct nuc_quant *q = ring->quantized ? &ring->quant : NULL;
    struct nuc_node *read =
        part(r->g, need->user, ring->value, ring->axis, ring->before - need->before, need->count, q);
    if (ring->turned) {
        uint8_t back[NUC_MAX_RANK];
        for (uint32_t d = 0; d < read->vals[0].rank; d++)
            back[ring->order[d]] = (uint8_t)d;
        read = turned(r->g, need->user, read, back, q);
    }
    set_operand(r->g, need->user, need->arg, need->element, read);
    if (need->is_part)
        take_all(need->user, need->count);
}

/* ---- arguments ---- */

/* Numbers for each of the last `spatial` dimensions of the node's image, with another one for `axis`. */
static void set_number(struct rings *r, struct nuc_node *n, const char *name, uint32_t spatial, uint32_t axis,
                       int64_t number)
{
    const uint32_t at = nuc_arg_named(n, name), first = n->vals[0].rank - spatial;
    int64_t numbers[NUC_MAX_RANK];

    if (at == NUC_NO_ARG || axis < first)
        return;
    nuc_conv_numbers(n, at, spatial, 0, numbers);
    if (numbers[axis - first] == number)
        return;
    numbers[axis - first] = number;
    nuc_set_arg_ints(n, r->g, at, numbers, spatial);
}

/* A padding that has a name, as numbers: none along the axis. */
static void name_numbers(struct rings *r, struct nuc_node *n, const struct nuc_conv_args *c, uint32_t spatial)
{
    const struct nuc_arg padding = n->args[c->padding];
    const int64_t *kernel = nuc_input_meta(n, NUC_CONV_WEIGHT)->sizes + 2;
    int64_t dilation[NUC_MAX_RANK], numbers[NUC_MAX_RANK] = {0};

    if (padding.kind != NUC_ARG_STRING)
        return;
    nuc_conv_numbers(n, c->dilation, spatial, 1, dilation);
    for (uint32_t i = 0; i < spatial && padding.u.string[0] == 's'; i++)
        numbers[i] = dilation[i] * (kernel[i] - 1) / 2;
    nuc_set_op(r->g, n, spatial == 1 ? NUC_OP_CONV1D : spatial == 2 ? NUC_OP_CONV2D : NUC_OP_CONV3D);
    nuc_set_arg_ints(n, r->g, c->padding, numbers, spatial);
}

static void adapt_conv(struct rings *r, struct nuc_node *n, const struct nuc_track *t)
{
    const struct nuc_conv_args *c = nuc_conv_args(n->op);
    const uint32_t spatial = nuc_input_meta(n, NUC_CONV_WEIGHT)->rank - 2u, i = t->axis - (n->vals[0].rank - spatial);
    int64_t stride[NUC_MAX_RANK], dilation[NUC_MAX_RANK];

    if (c->output_padding == NUC_NO_ARG || !(c->transposed || nuc_flag(n, c->is_transposed))) {
        if (nuc_input_meta(n, NUC_CONV_WEIGHT)->sizes[2 + i] == 1 && n->args[c->padding].kind == NUC_ARG_STRING)
            return; /* there is none along the axis */
        name_numbers(r, n, c, spatial);
        set_number(r, n, "padding", spatial, t->axis, 0);
        return;
    }
    /* Frames that earlier hops gave, and those that later ones complete, are cut off. */
    nuc_conv_numbers(n, c->stride, spatial, 1, stride);
    nuc_conv_numbers(n, c->dilation, spatial, 1, dilation);
    int64_t reach = dilation[i] * (nuc_input_meta(n, NUC_CONV_WEIGHT)->sizes[2 + i] - 1);
    set_number(r, n, "padding", spatial, t->axis, reach / stride[i] * stride[i]);
    set_number(r, n, "output_padding", spatial, t->axis, stride[i] - 1 - reach % stride[i]);
}

static void adapt_pad(struct rings *r, struct nuc_node *n, const struct nuc_track *t)
{
    const struct nuc_arg *pad = nuc_arg_at(n, nuc_arg_named(n, "pad"));
    const uint32_t i = 2 * (n->vals[0].rank - 1 - t->axis);
    int64_t numbers[2 * NUC_MAX_RANK];

    if (i >= pad->count)
        return;
    for (uint32_t k = 0; k < pad->count; k++)
        numbers[k] = k == i || k == i + 1 ? 0 : pad->u.ints[k];
    nuc_set_arg_ints(n, r->g, nuc_arg_named(n, "pad"), numbers, pad->count);
}

/* The sizes that the operator is given, of which that of the axis is what a hop brings. */
static void adapt_sizes(struct rings *r, struct nuc_node *n, const struct nuc_track *t)
{
    const uint32_t size = nuc_arg_named(n, "size"), at = size != NUC_NO_ARG ? size : nuc_arg_named(n, "shape");
    int64_t sizes[NUC_MAX_RANK];

    for (uint32_t d = 0; d < n->vals[0].rank; d++)
        sizes[d] = d == t->axis ? t->frames : n->vals[0].sizes[d];
    if (at != NUC_NO_ARG) {
        nuc_set_arg_ints(n, r->g, at, sizes, n->vals[0].rank);
        return;
    }
    /* A dimension that is named, or dropped for its size, would be another one where a hop is one frame. */
    nuc_replace_uses(r->g, n,
                     nuc_emit(r->g, n->next, NUC_OP_RESHAPE, n,
                              NUC_ARGS(nuc_arg_node(n, NUC_SELF), nuc_ints_arg(sizes, n->vals[0].rank))),
                     NULL);
}

/*
 * Steps begin with what the hop before left, result `result` of it; while its frames do not exist, with what they began
 * with, element `element` of the argument.
 */
static void carry(struct rings *r, struct nuc_node *n, const struct nuc_track *t, uint32_t arg, uint32_t element,
                  uint32_t result)
{
    struct nuc_graph *g = r->g;
    struct nuc_node *first = nuc_stream_operand(n, arg, element);
    const struct nuc_meta meta = first->vals[0];
    const float *begin = meta.dtype == NUC_F32 && nuc_is_static(first) ? nuc_const_contiguous(g, first) : NULL;
    double *values = nuc_alloc_array(g->cx, (size_t)nuc_elements(&meta), sizeof *values);
    uint32_t at;

    for (int64_t i = 0; i < nuc_elements(&meta) && begin != NULL; i++)
        values[i] = (double)begin[i];
    struct nuc_node *state = add_state(r, n, state_name(g, n, "state"), &meta, values, &at);
    set_operand(g, n, arg, element, state);
    struct nuc_node *next = nuc_insert_getitem(g, n->next, n, result);
    if (t->delay > 0)
        next = choose(r, next->next, next, first, (struct mask){meta.rank, 0, 1, t->delay / t->frames, false, NULL});
    r->next[at] = next;
    r->bytes += nuc_bytes(&meta);
}

static void adapt(struct rings *r, struct nuc_node *n, const struct nuc_track *t)
{
    const uint32_t pools = nuc_arg_named(n, "kernel_size") != NUC_NO_ARG
                               ? nuc_op_schema(n->op)->args[nuc_arg_named(n, "kernel_size")].list_size
                               : 2;

    switch ((unsigned)nuc_op_family(n->op)) {
    case NUC_FAMILY_CONV:
        adapt_conv(r, n, t);
        break;
    case NUC_FAMILY_POOL:
        set_number(r, n, "padding", pools, t->axis, 0);
        set_number(r, n, "output_size", pools, t->axis, t->frames);
        break;
    case NUC_FAMILY_RESIZE:
        if (nuc_arg_at(n, nuc_arg_named(n, "output_size"))->kind == NUC_ARG_INTS)
            set_number(r, n, "output_size", n->vals[0].rank - 2u, t->axis, t->frames);
        break;
    case NUC_FAMILY_PAD:
        adapt_pad(r, n, t);
        break;
    case NUC_FAMILY_VIEW:
        adapt_sizes(r, n, t);
        break;
    case NUC_FAMILY_RECURRENT:
        for (uint32_t s = 0, n_states = nuc_recurrent_of(n).n_states; s < n_states; s++)
            carry(r, n, t, NUC_RECURRENT(hx), s, s + 1);
        break;
    default:
        if (n->op == NUC_OP_SIGNAL_MICRO)
            carry(r, n, t, NUC_ARG(SIGNAL_MICRO, noise), 0, 1);
        if (n->op == NUC_OP_EXPAND)
            adapt_sizes(r, n, t);
        if (n->op == NUC_OP_SLICE && nuc_dim(n, NUC_ARG(SLICE, dim), 0, n->vals[0].rank) == (int64_t)t->axis)
            take_all(n, nuc_input_meta(n, NUC_SELF)->sizes[t->axis]);
    }
}

/* ---- the graph ---- */

static double products_of(const struct nuc_graph *g)
{
    double products = 0;

    for (const struct nuc_node *n = g->first; n != NULL; n = n->next)
        products += nuc_is_call(n) ? nuc_node_products(n) : 0;
    return products;
}

/* What every result is: frames of a hop, or of a window that has no axis of time left. */
static void check_results(const struct nuc_stream_plan *p, uint32_t axis, struct nuc_stream_report *out)
{
    struct nuc_graph *g = p->g;
    const struct nuc_arg *values = &nuc_output_node(g)->args[NUC_ARG(OUTPUT, values)];
    bool any = false;

    for (uint32_t i = 0; i < values->count; i++) {
        const struct nuc_track *t = values->u.nodes[i] != NULL ? &p->tracks[values->u.nodes[i]->id] : NULL;
        if (t == NULL || t->kind == NUC_TRACK_STILL)
            continue;
        any = true;
        if (t->kind == NUC_TRACK_FRAMES) {
            int64_t late = t->delay > 0 ? (t->delay * t->den + t->num - 1) / t->num : 0;
            out->latency = late > out->latency ? late : out->latency;
            continue;
        }
        out->window_from = out->window_from == NULL ? nuc_node_text(g->cx, t->why) : out->window_from;
        if (t->left != 0)
            nuc_fail(g->cx, NUC_UNSUPPORTED,
                     "%s: --stream %u: %s reads the axis as a whole, so that result %u has no frames of its own a hop: "
                     "replace it by a causal operator, or end the network before it",
                     g->file, (unsigned)axis, nuc_node_text(g->cx, t->why), (unsigned)i);
    }
    if (!any)
        nuc_fail(g->cx, NUC_BAD_USAGE, "%s: --stream %u: no result follows that axis: name the axis of time", g->file,
                 (unsigned)axis);
}

static const struct nuc_node *check_input(struct nuc_graph *g, int64_t *axis, int64_t hop)
{
    const struct nuc_node *input = g->first;

    while (input != NULL && !nuc_is_user_input(input))
        input = input->next;
    if (input == NULL || nuc_n_states(g) > 0)
        nuc_fail(g->cx, NUC_UNSUPPORTED, "%s: --stream: the model %s: compile it as it is", g->file,
                 input == NULL ? "has no inputs" : "keeps states of its own");
    const int64_t rank = input->vals[0].rank, given = *axis;
    *axis += *axis < 0 ? rank : 0;
    if (*axis < 0 || *axis >= rank)
        nuc_fail(g->cx, NUC_BAD_USAGE, "%s: --stream: input '%s' is %s and has no axis %lld: give one from 0 to %lld",
                 g->file, input->name, nuc_meta_text(g->cx, &input->vals[0]), (long long)given, (long long)rank - 1);
    if (hop < 0 || hop > input->vals[0].sizes[*axis])
        nuc_fail(g->cx, NUC_BAD_USAGE,
                 "%s: --stream: a hop of %lld frames: axis %lld of input '%s' has %lld: give a "
                 "hop from 1 to that",
                 g->file, (long long)hop, (long long)*axis, input->name, (long long)input->vals[0].sizes[*axis]);
    return input;
}

int64_t nuc_stream_graph(struct nuc_graph *g, int64_t axis, int64_t hop, struct nuc_stream_report *out)
{
    const struct nuc_node *input = check_input(g, &axis, hop);

    *out = (struct nuc_stream_report){.window = input->vals[0].sizes[axis], .window_macs = products_of(g)};
    struct rings r = {.g = g, .plan = nuc_plan_stream(g, (uint32_t)axis, hop)};
    const struct nuc_stream_plan *p = r.plan;
    uint32_t at = 0;

    out->hop = p->hop;
    check_results(p, (uint32_t)axis, out);
    out->overhang = p->span > out->window ? p->span - out->window : 0;
    out->looks_back = p->looks_back;
    r.rings = nuc_alloc_array(g->cx, p->n_needs, sizeof *r.rings);
    for (uint32_t i = 0; i < p->n_needs; i++) {
        const struct nuc_stream_need *need = &p->needs[i];
        struct ring *ring = ring_of(&r, need);
        ring->is_pad |= need->is_pad;
        ring->before = need->before > ring->before ? need->before : ring->before;
    }
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        struct nuc_node *n = p->nodes[i];
        for (; at < p->n_needs && p->needs[at].user == n; at++)
            read_ring(&r, &p->needs[at]);
        const struct nuc_track *t = &p->tracks[n->id];
        if (t->kind != NUC_TRACK_FRAMES)
            continue;
        if (nuc_is_placeholder(n)) {
            struct nuc_meta meta = n->vals[0];
            meta.sizes[t->axis] = t->frames;
            nuc_set_val(g, n, &meta);
            continue;
        }
        adapt(&r, n, t);
        if (n->n_users == 0)
            continue;
        nuc_infer_shape(g, n);
        if (n->vals[0].sizes[t->axis] != t->frames)
            nuc_fail(g->cx, NUC_INTERNAL, "%s: --stream: %s gives %lld frames a hop, not %lld", g->file,
                     nuc_node_text(g->cx, n), (long long)n->vals[0].sizes[t->axis], (long long)t->frames);
        bool is_part = n->op == NUC_OP_SLICE || nuc_op_family(n->op) == NUC_FAMILY_PAD;
        if (is_part && nuc_same_sizes(&n->vals[0], nuc_input_meta(n, NUC_SELF)))
            nuc_replace_uses(g, n, nuc_operand(g, n, NUC_SELF), NULL);
    }
    struct nuc_node *output = nuc_output_node(g);
    const struct nuc_arg *values = &output->args[NUC_ARG(OUTPUT, values)];
    struct nuc_node **all = nuc_alloc_array(g->cx, values->count + r.n_states, sizeof *all);
    for (uint32_t i = 0; i < values->count + r.n_states; i++)
        all[i] = i < values->count ? values->u.nodes[i] : r.next[i - values->count];
    nuc_set_arg_nodes(output, g, NUC_ARG(OUTPUT, values), all, values->count + r.n_states);
    nuc_remove_dead(g);
    out->ring_bytes = r.bytes;
    out->macs = products_of(g);
    if (out->window_from != NULL && out->window_macs > 0 && out->macs >= out->window_macs)
        nuc_fail(g->cx, NUC_UNSUPPORTED,
                 "%s: --stream %lld: %s reads the axis as a whole, and nothing in front of it is saved by a stream: "
                 "compile the network without --stream",
                 g->file, (long long)axis, out->window_from);
    return p->multiple;
}
