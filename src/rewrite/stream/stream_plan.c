/* How values follow the stream, operator by operator. */
#include <math.h>

#include "host/numbers.h"
#include "ir/args.h"
#include "ir/conv_args.h"
#include "ir/recurrent_args.h"
#include "rewrite/insert.h"
#include "rewrite/stream/stream.h"

/* More frames than any network has: what is beyond would overflow. */
#define MAX_FRAMES ((int64_t)1 << 30)

struct nuc_node *nuc_stream_operand(const struct nuc_node *node, uint32_t arg, uint32_t element)
{
    const struct nuc_arg *a = nuc_arg_at(node, arg);

    if (a->kind == NUC_ARG_NODES)
        return element < a->count ? a->u.nodes[element] : NULL;
    return a->kind == NUC_ARG_NODE && element == 0 ? a->u.node : NULL;
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

/* ---- operands that are frames ---- */

/* One operand that follows the stream, in the walk over those of a call. */
struct operand {
    uint32_t arg, element;
    struct nuc_node *node;
    const struct nuc_track *track;
};

/* The next operand of that kind; false: there is none. */
static bool next_operand(const struct nuc_stream_plan *p, const struct nuc_node *n, enum nuc_track_kind kind,
                         struct nuc_cursor *at, struct operand *out)
{
    struct nuc_node *input;

    while ((input = nuc_next_input(n, at)) != NULL) {
        *out = (struct operand){at->argument, at->element - 1, input, &p->tracks[input->id]};
        if (out->track->kind == kind)
            return true;
    }
    return false;
}

/* The first of them; of a call that has none, one without a node. */
static struct operand first_operand(const struct nuc_stream_plan *p, const struct nuc_node *n, enum nuc_track_kind kind)
{
    struct operand o = {0};

    return next_operand(p, n, kind, &(struct nuc_cursor){0, 0}, &o) ? o : (struct operand){0};
}

static int64_t size_along(const struct operand *o)
{
    return o->node->vals[0].sizes[o->track->axis];
}

static struct nuc_stream_need *add_need(struct nuc_stream_plan *p, struct nuc_node *user, const struct operand *o)
{
    p->needs = nuc_grow(p->g->cx, p->needs, &p->capacity, p->n_needs + 1, sizeof *p->needs);
    struct nuc_stream_need *need = &p->needs[p->n_needs++];
    *need = (struct nuc_stream_need){.user = user, .value = o->node, .arg = o->arg, .element = o->element};
    return need;
}

/* ---- rates ---- */

static void set_rate(struct nuc_stream_plan *p, const struct nuc_node *n, struct nuc_track *t, int64_t num, int64_t den)
{
    int64_t divisor = nuc_common_divisor(num, den);

    t->num = num / divisor;
    t->den = den / divisor;
    p->multiple = p->multiple / nuc_common_divisor(p->multiple, t->den) * t->den;
    if (t->num > MAX_FRAMES || t->den > MAX_FRAMES || p->multiple > MAX_FRAMES)
        nuc_fail(p->g->cx, NUC_UNSUPPORTED, "%s: %s: the steps along the axis of --stream multiply to more than %lld",
                 p->g->file, nuc_node_text(p->g->cx, n), (long long)MAX_FRAMES);
    t->frames = p->hop / t->den * t->num;
}

static void set_delay(const struct nuc_stream_plan *p, const struct nuc_node *n, struct nuc_track *t, int64_t delay)
{
    if (delay > MAX_FRAMES || delay < -MAX_FRAMES)
        nuc_fail(p->g->cx, NUC_UNSUPPORTED, "%s: %s: results would come %lld frames late, %lld are the limit",
                 p->g->file, nuc_node_text(p->g->cx, n), (long long)delay, (long long)MAX_FRAMES);
    t->delay = delay;
}

/* ---- windows along the axis: all operators whose axis map says how they read it ---- */

/* Frame j of a result is computed of `taps` frames of the operand, `dilation` apart, from start + step * j on. */
struct reach {
    int64_t start, step, taps, dilation;
    double pad;
};

/* The frames of an operand that a hop's results need, where these are as late as their track says. */
static void need_frames(struct nuc_stream_plan *p, struct nuc_node *n, const struct operand *o, const struct reach *r,
                        const struct nuc_track *t)
{
    int64_t before = r->step * t->delay - o->track->delay - r->start;
    int64_t count = r->step * (t->frames - 1) + r->dilation * (r->taps - 1) + 1;
    bool is_pad = r->start < 0 && o->track->delay > 0;

    p->looks_back |= r->start < 0;
    if (before == 0 && count == o->track->frames && !is_pad)
        return;
    struct nuc_stream_need *need = add_need(p, n, o);
    need->before = before;
    need->count = count;
    need->pad = r->pad;
    need->is_pad = is_pad;
}

/* The least delay with which the frames that a result needs have come. */
static int64_t least_delay(const struct operand *o, const struct reach *r)
{
    return divide_up(r->start + r->dilation * (r->taps - 1) - r->step + 1 + o->track->delay, r->step);
}

/* The operator gives the values of its one operand as they are: what is known of the first frames stays true. */
static bool keeps_values(const struct nuc_node *n)
{
    switch ((unsigned)nuc_op_family(n->op)) {
    case NUC_FAMILY_QUANT:
    case NUC_FAMILY_DEQUANT:
    case NUC_FAMILY_PERMUTE:
    case NUC_FAMILY_COPY:
    case NUC_FAMILY_PAD:
        return true;
    default:
        return n->op == NUC_OP_SLICE;
    }
}

/* Values are moved along the axis: their delay changes, and no frame is kept. */
static bool move(struct nuc_stream_plan *p, struct nuc_node *n, const struct operand *o, const struct reach *r,
                 struct nuc_track *t)
{
    bool pads = nuc_op_family(n->op) == NUC_FAMILY_PAD && r->start < 0;

    if (pads && o->track->delay < 0 && !nuc_numbers_equal(o->track->fill, r->pad))
        return false;
    set_delay(p, n, t, o->track->delay + r->start);
    t->fill = pads ? r->pad : o->track->fill;
    p->looks_back |= pads;
    if (pads && o->track->delay > 0) {
        struct nuc_stream_need *need = add_need(p, n, o);
        need->count = t->frames;
        need->pad = r->pad;
        need->is_pad = true;
    }
    return true;
}

/* Norms of the last dimensions leave the others alone, and a batch norm has its statistics. */
static bool is_normed(const struct nuc_node *n, uint32_t axis, uint32_t rank)
{
    const struct nuc_arg *shape = nuc_arg_at(n, nuc_arg_named(n, "normalized_shape"));

    if (shape->kind == NUC_ARG_INTS)
        return axis + shape->count >= rank;
    return (n->op != NUC_OP_BATCH_NORM && n->op != NUC_OP_NATIVE_BATCH_NORM) || axis == 1;
}

/* What a pool or a convolution reads beside the image; false where that depends on the place. */
static bool pad_value(const struct nuc_node *n, struct reach *r)
{
    bool is_pool = nuc_op_family(n->op) == NUC_FAMILY_POOL,
         counts = nuc_arg_named(n, "count_include_pad") != NUC_NO_ARG;

    r->pad = nuc_op_family(n->op) == NUC_FAMILY_PAD ? nuc_scalar(n, nuc_arg_named(n, "value"), 0) : 0;
    if (is_pool && !counts)
        r->pad = -(double)INFINITY;
    if (is_pool && nuc_arg_named(n, "output_size") != NUC_NO_ARG)
        return r->taps == 1 && r->step == 1;
    return !counts || r->start == 0 || nuc_flag(n, nuc_arg_named(n, "count_include_pad"));
}

/* A padding by name that is longer at the end of another dimension of the image has no number. */
static bool has_numbers(const struct nuc_node *n, uint32_t axis)
{
    const struct nuc_conv_args *c = nuc_conv_args(n->op);
    int64_t before[NUC_MAX_RANK], more[NUC_MAX_RANK];

    if (c == NULL || c->spatial == 0)
        return true;
    nuc_conv_padding(n, c->spatial, before, more);
    for (uint32_t i = 0; i < c->spatial; i++) {
        if (more[i] != 0 && n->vals[0].rank - c->spatial + i != axis)
            return false;
    }
    return true;
}

/* How the operator reads the axis of the operand, and which dimension of the result follows it. */
static bool find_reach(const struct nuc_node *n, const struct operand *o, struct reach *r, uint32_t *axis)
{
    const struct nuc_meta *x = &o->node->vals[0], *y = &n->vals[0];
    struct nuc_axis_map map;
    const struct nuc_axis *a = NULL;

    if (!nuc_axis_map(n, 0, o->arg, o->element, &map))
        return false;
    for (uint32_t i = 0; i < map.count; i++)
        a = map.axes[i].from <= o->track->axis && o->track->axis < map.axes[i].from_end ? &map.axes[i] : a;
    if (a == NULL || !nuc_is_single_axis(a))
        return false;
    *r = (struct reach){a->start, a->step, a->taps, a->dilation, 0};
    *axis = a->to;
    if (nuc_op_family(n->op) == NUC_FAMILY_NORM) {
        *r = (struct reach){0, 1, 1, 1, 0};
        return !is_normed(n, a->from, x->rank);
    }
    bool is_part = nuc_op_family(n->op) == NUC_FAMILY_SLICE && n->op != NUC_OP_EXPAND;
    if (a->kind == NUC_AXIS_WHOLE || r->step < 1 || r->taps < 1)
        return false;
    if (n->n_vals > 1 && is_part && y->sizes[*axis] != x->sizes[a->from]) /* pieces of the axis */
        return false;
    bool is_latest = r->start + (y->sizes[*axis] - 1) * r->step + 1 == x->sizes[a->from];
    if (is_part && !is_latest && y->sizes[*axis] * r->step * 2 < x->sizes[a->from]) /* certain frames of the window */
        return false;
    if (y->sizes[*axis] == 1 && x->sizes[a->from] > 1) /* one window over all */
        return false;
    return pad_value(n, r) && (r->taps == 1 || has_numbers(n, *axis));
}

/* Values that do not follow the stream are the same for all frames, as parameters are. */
static bool is_constant_along(const struct nuc_stream_plan *p, const struct nuc_node *n, uint32_t axis)
{
    struct nuc_cursor at = {0, 0};
    struct operand o;

    switch ((unsigned)nuc_op_family(n->op)) {
    case NUC_FAMILY_QUANT:
    case NUC_FAMILY_DEQUANT:
    case NUC_FAMILY_NORM:
        return true;
    }
    while (next_operand(p, n, NUC_TRACK_STILL, &at, &o)) {
        struct nuc_axis_map map;
        if (!nuc_axis_map(n, 0, o.arg, o.element, &map))
            return false;
        for (uint32_t i = 0; i < map.count; i++) {
            const struct nuc_axis *a = &map.axes[i];
            int64_t size = 1;
            for (uint32_t d = a->from; d < a->from_end; d++)
                size *= o.node->vals[0].sizes[d];
            if (a->to <= axis && axis < a->to_end && size > 1)
                return false;
        }
    }
    return true;
}

static bool is_concatenated(const struct nuc_node *n, uint32_t axis)
{
    return nuc_op_family(n->op) == NUC_FAMILY_CAT &&
           nuc_dim(n, nuc_arg_named(n, "dim"), 0, n->vals[0].rank) == (int64_t)axis;
}

static bool follow_map(struct nuc_stream_plan *p, struct nuc_node *n, struct nuc_track *t)
{
    struct nuc_cursor at = {0, 0};
    struct operand o;
    struct reach r = {0};
    uint32_t axis = 0, count = 0;
    int64_t delay = 0;

    for (; next_operand(p, n, NUC_TRACK_FRAMES, &at, &o); count++) {
        uint32_t to;
        struct nuc_track own = {0};
        if (!find_reach(n, &o, &r, &to))
            return false;
        own.num = o.track->num;
        own.den = o.track->den * r.step;
        int64_t divisor = nuc_common_divisor(own.num, own.den);
        if (count > 0 && (to != axis || own.num / divisor != t->num || own.den / divisor != t->den))
            return false;
        axis = to;
        t->num = own.num / divisor;
        t->den = own.den / divisor;
        delay = least_delay(&o, &r) > delay ? least_delay(&o, &r) : delay;
    }
    if (!is_constant_along(p, n, axis) || is_concatenated(n, axis) ||
        (n->n_vals > 1 && nuc_op_family(n->op) == NUC_FAMILY_POOL && nuc_is_item_read(n, 1)))
        return false;
    t->axis = axis;
    set_rate(p, n, t, t->num, t->den);
    if (count == 1 && keeps_values(n) && r.step == 1 && r.taps == 1) {
        o = first_operand(p, n, NUC_TRACK_FRAMES);
        return move(p, n, &o, &r, t);
    }
    set_delay(p, n, t, delay);
    at = (struct nuc_cursor){0, 0};
    while (next_operand(p, n, NUC_TRACK_FRAMES, &at, &o)) {
        find_reach(n, &o, &r, &axis);
        need_frames(p, n, &o, &r, t);
    }
    return true;
}

/* ---- operators that have rules of their own ---- */

/* The axis moves on, merges with the dimensions below it, or is divided into frames of several elements. */
static bool follow_view(struct nuc_stream_plan *p, struct nuc_node *n, struct nuc_track *t)
{
    const struct nuc_meta *y = &n->vals[0];
    const struct operand o = first_operand(p, n, NUC_TRACK_FRAMES);

    if (o.node == NULL)
        return false;
    const int64_t size = size_along(&o),
                  below = nuc_elements_between(&o.node->vals[0], o.track->axis + 1, o.node->vals[0].rank);
    for (uint32_t d = 0; d < y->rank; d++) {
        int64_t after = nuc_elements_between(y, d + 1, y->rank);
        if (y->sizes[d] * after != size * below || y->sizes[d] == 1)
            continue;
        t->axis = d;
        t->fill = o.track->fill;
        if (below % after == 0) { /* as it is, or with what is below */
            int64_t times = below / after;
            set_rate(p, n, t, o.track->num * times, o.track->den);
            set_delay(p, n, t, o.track->delay * times);
            return true;
        }
        if (after % below != 0)
            return false;
        struct reach r = {0, after / below, after / below, 1, 0};
        set_rate(p, n, t, o.track->num, o.track->den * r.step);
        int64_t delay = least_delay(&o, &r);
        set_delay(p, n, t, delay > 0 ? delay : 0);
        need_frames(p, n, &o, &r, t);
        return true;
    }
    return false;
}

/* Frames repeated. Sizes of other dimensions may change in any way. */
static bool follow_resize(struct nuc_stream_plan *p, struct nuc_node *n, struct nuc_track *t)
{
    const struct operand o = first_operand(p, n, NUC_TRACK_FRAMES);

    if (o.node == NULL || o.arg != NUC_SELF || n->vals[0].rank != o.node->vals[0].rank || o.track->axis < 2)
        return false;
    int64_t size = size_along(&o), made = n->vals[0].sizes[o.track->axis];
    if (made % size != 0 || (made != size && n->op != NUC_OP_UPSAMPLE_NEAREST) ||
        (n->op != NUC_OP_UPSAMPLE_NEAREST && n->op != NUC_OP_UPSAMPLE_BILINEAR))
        return false;
    t->axis = o.track->axis;
    t->fill = o.track->fill;
    set_rate(p, n, t, o.track->num * (made / size), o.track->den);
    set_delay(p, n, t, o.track->delay * (made / size));
    return true;
}

/* A frame of the operand reaches `taps` of the result, which are complete when the last one that reaches them came. */
static bool follow_transposed(struct nuc_stream_plan *p, struct nuc_node *n, struct nuc_track *t)
{
    const struct nuc_conv_args *c = nuc_conv_args(n->op);
    const struct nuc_meta *w = nuc_input_meta(n, NUC_CONV_WEIGHT);
    int64_t step[NUC_MAX_RANK], pad[NUC_MAX_RANK], dilation[NUC_MAX_RANK];
    const struct operand o = first_operand(p, n, NUC_TRACK_FRAMES);

    uint32_t spatial = w->rank - 2u, first = n->vals[0].rank - spatial;
    if (o.node == NULL || o.arg != NUC_CONV_INPUT || o.track->axis < first)
        return false;
    nuc_conv_numbers(n, c->stride, spatial, 1, step);
    nuc_conv_numbers(n, c->padding, spatial, 0, pad);
    nuc_conv_numbers(n, c->dilation, spatial, 1, dilation);
    uint32_t i = o.track->axis - first;
    int64_t back = dilation[i] * (w->sizes[2 + i] - 1) / step[i], from = o.track->delay > 0 ? o.track->delay : 0;
    t->axis = o.track->axis;
    set_rate(p, n, t, o.track->num * step[i], o.track->den);
    set_delay(p, n, t, from * step[i] + pad[i]);
    if (back == 0 && from == o.track->delay)
        return true;
    struct nuc_stream_need *need = add_need(p, n, &o);
    need->before = from + back - o.track->delay;
    need->count = back + o.track->frames;
    need->is_pad = back > 0 && o.track->delay > 0;
    p->looks_back |= back > 0;
    return true;
}

/* Steps that begin where the hop before ended. Hops of frames that do not exist leave the state as it began. */
static bool follow_recurrent(struct nuc_stream_plan *p, struct nuc_node *n, struct nuc_track *t)
{
    struct nuc_recurrent layer = nuc_recurrent_of(n);
    const struct operand o = first_operand(p, n, NUC_TRACK_FRAMES);

    if (o.node == NULL || o.arg != NUC_SELF || layer.directions != 1 || o.track->axis != (layer.batch_first ? 1u : 0u))
        return false;
    for (uint32_t s = 0; s < layer.n_states; s++) {
        if (!nuc_is_static_float(layer.states[s]) && !nuc_is_zero_state(p->g, layer.states[s]))
            return false;
    }
    int64_t delay = o.track->delay < 0 ? 0 : o.track->delay;
    t->axis = o.track->axis;
    set_rate(p, n, t, o.track->num, o.track->den);
    if (t->frames > 0)
        delay = divide_up(delay, t->frames) * t->frames;
    set_delay(p, n, t, delay);
    need_frames(p, n, &o, &(struct reach){0, 1, 1, 1, 0}, t);
    p->looks_back = true;
    return true;
}

/* Frames of the micro frontend, whose estimate of the noise goes on from hop to hop as the state of a recurrent layer.
 */
static bool follow_micro(struct nuc_stream_plan *p, struct nuc_node *n, struct nuc_track *t)
{
    const struct operand o = first_operand(p, n, NUC_TRACK_FRAMES);
    const struct nuc_node *noise = nuc_stream_operand(n, NUC_ARG(SIGNAL_MICRO, noise), 0);
    struct reach r;

    if (o.node == NULL || o.arg != NUC_SELF || noise == NULL || !nuc_is_static(noise) ||
        !find_reach(n, &o, &r, &t->axis))
        return false;
    set_rate(p, n, t, o.track->num, o.track->den * r.step);
    int64_t delay = least_delay(&o, &r) > 0 ? least_delay(&o, &r) : 0;
    if (t->frames > 0)
        delay = divide_up(delay, t->frames) * t->frames;
    set_delay(p, n, t, delay);
    need_frames(p, n, &o, &r, t);
    p->looks_back = true;
    return true;
}

/* ---- windows ---- */

/* The dimensions of the result in which dimension `axis` of the operand is left, as a bit mask. */
static uint32_t axes_left(const struct nuc_node *n, const struct operand *o, uint32_t axis)
{
    struct nuc_axis_map map;
    uint32_t left = 0;

    if (n->op == NUC_OP_GETITEM || (nuc_op_family(n->op) == NUC_FAMILY_RECURRENT && o->arg == NUC_SELF))
        return 1u << axis;
    if (n->n_vals == 0 || !nuc_axis_map(n, 0, o->arg, o->element, &map))
        return 0;
    for (uint32_t i = 0; i < map.count; i++) {
        const struct nuc_axis *a = &map.axes[i];
        bool alone = nuc_is_single_axis(a);
        for (uint32_t d = a->to; d < a->to_end && a->from <= axis && axis < a->from_end; d++) {
            int64_t size = n->vals[0].sizes[d];
            left |= size > 1 && (alone || size == o->node->vals[0].sizes[axis]) ? 1u << d : 0;
        }
    }
    return left;
}

/* Windows reach back as far as the first of `size` frames, of which the last one has come. */
static void extend_span(struct nuc_stream_plan *p, const struct nuc_track *t, int64_t size)
{
    int64_t span = divide_up((t->delay + size) * t->den, t->num);

    p->span = span > p->span ? span : p->span;
}

/* A part of the axis needs no more of the window than that. */
static void need_window(struct nuc_stream_plan *p, struct nuc_node *n, const struct operand *o)
{
    const int64_t size = size_along(o);
    struct nuc_stream_need *need = add_need(p, n, o);
    struct nuc_axis_map map;

    need->is_whole = true;
    need->count = size;
    if (n->op == NUC_OP_SLICE && nuc_axis_map(n, 0, o->arg, o->element, &map)) {
        const struct nuc_axis *a = nuc_axis_to(&map, o->track->axis);
        if (a != NULL && (a->start != 0 || n->vals[0].sizes[o->track->axis] != size)) {
            need->is_part = true;
            need->from = a->start;
            need->count = (n->vals[0].sizes[o->track->axis] - 1) * a->step + 1;
        }
    }
    extend_span(p, o->track, size);
}

/* Everything that the operator reads of the stream is taken as a whole window. */
static void take_window(struct nuc_stream_plan *p, struct nuc_node *n, struct nuc_track *t)
{
    struct nuc_cursor at = {0, 0};
    struct operand o;

    *t = (struct nuc_track){.kind = NUC_TRACK_WINDOW, .why = n};
    while (next_operand(p, n, NUC_TRACK_WINDOW, &at, &o)) {
        for (uint32_t d = 0; d < NUC_MAX_RANK; d++)
            t->left |= o.track->left >> d & 1 ? axes_left(n, &o, d) : 0;
        t->why = o.track->why;
    }
    at = (struct nuc_cursor){0, 0};
    while (next_operand(p, n, NUC_TRACK_FRAMES, &at, &o)) {
        need_window(p, n, &o);
        t->left |= n->op == NUC_OP_SLICE ? 0 : axes_left(n, &o, o.track->axis);
    }
}

/* ---- the walk ---- */

static bool follow(struct nuc_stream_plan *p, struct nuc_node *n, struct nuc_track *t)
{
    const struct nuc_conv_args *c = nuc_conv_args(n->op);

    t->kind = NUC_TRACK_FRAMES;
    if (n->op == NUC_OP_SIGNAL_MICRO)
        return follow_micro(p, n, t);
    switch ((unsigned)nuc_op_family(n->op)) {
    case NUC_FAMILY_RECURRENT:
        return follow_recurrent(p, n, t);
    case NUC_FAMILY_VIEW:
        return follow_view(p, n, t);
    case NUC_FAMILY_RESIZE:
        return follow_resize(p, n, t);
    default:
        return c != NULL && c->output_padding != NUC_NO_ARG && (c->transposed || nuc_flag(n, c->is_transposed))
                   ? follow_transposed(p, n, t)
                   : follow_map(p, n, t);
    }
}

static void visit(struct nuc_stream_plan *p, struct nuc_node *n)
{
    struct nuc_track *t = &p->tracks[n->id];
    uint32_t needs = p->n_needs;
    const struct operand o = first_operand(p, n, NUC_TRACK_FRAMES);

    *t = (struct nuc_track){0};
    if (first_operand(p, n, NUC_TRACK_WINDOW).node != NULL) {
        take_window(p, n, t);
    } else if (o.node != NULL) {
        if (n->op == NUC_OP_GETITEM && nuc_op_family(o.node->op) == NUC_FAMILY_RECURRENT &&
            nuc_integer(n, NUC_ARG(GETITEM, index), 0) > 0) { /* the last state */
            *t = (struct nuc_track){.kind = NUC_TRACK_WINDOW, .why = o.node};
            extend_span(p, o.track, nuc_recurrent_of(o.node).steps);
        } else if (n->op == NUC_OP_GETITEM)
            *t = *o.track;
        else if (!follow(p, n, t)) {
            p->n_needs = needs;
            take_window(p, n, t);
        }
    }
}

/* Results that would begin with frames that are known before the first hop wait for them. */
static void visit_output(struct nuc_stream_plan *p, struct nuc_node *output)
{
    struct nuc_cursor at = {0, 0};
    struct operand o;

    while (next_operand(p, output, NUC_TRACK_FRAMES, &at, &o)) {
        if (o.track->delay >= 0)
            continue;
        struct nuc_stream_need *need = add_need(p, output, &o);
        need->before = -o.track->delay;
        need->count = o.track->frames;
    }
}

static void walk(struct nuc_stream_plan *p, uint32_t axis, int64_t whole)
{
    p->n_needs = 0;
    p->span = 0;
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        struct nuc_node *n = p->nodes[i];
        const struct nuc_meta *m = n->n_vals == 1 ? &n->vals[0] : NULL;
        if (nuc_is_user_input(n) && m->rank > axis && m->sizes[axis] == whole)
            p->tracks[n->id] =
                (struct nuc_track){.kind = NUC_TRACK_FRAMES, .axis = axis, .num = 1, .den = 1, .frames = p->hop};
        else if (n->op == NUC_OP_OUTPUT)
            visit_output(p, n);
        else if (nuc_is_call(n))
            visit(p, n);
    }
    /* Windows end together, at a frame of which all rates have a whole number. */
    p->span = divide_up(p->span, p->multiple) * p->multiple;
    for (uint32_t i = 0; i < p->n_needs; i++) {
        struct nuc_stream_need *need = &p->needs[i];
        const struct nuc_track *t = &p->tracks[need->value->id];
        if (need->is_whole)
            need->before = p->span / t->den * t->num - t->frames - t->delay - need->from;
    }
}

struct nuc_stream_plan *nuc_plan_stream(struct nuc_graph *g, uint32_t axis, int64_t hop)
{
    struct nuc_stream_plan *p = nuc_alloc(g->cx, sizeof *p);
    int64_t whole = 0;

    *p = (struct nuc_stream_plan){.g = g, .multiple = 1};
    p->nodes = nuc_alloc_array(g->cx, g->n_nodes, sizeof(struct nuc_node *));
    p->tracks = nuc_alloc_array(g->cx, g->next_id, sizeof *p->tracks);
    for (struct nuc_node *n = g->first; n != NULL; n = n->next) {
        p->nodes[p->n_nodes++] = n;
        if (whole == 0 && nuc_is_user_input(n))
            whole = n->vals[0].sizes[axis];
    }
    walk(p, axis, whole); /* finds what hops have to be a multiple of */
    p->hop = hop == 0 ? p->multiple : hop;
    if (p->hop % p->multiple != 0)
        nuc_fail(
            g->cx, NUC_BAD_USAGE,
            "%s: --stream: a hop of %lld frames is no multiple of %lld, the product of the network's strides: give "
            "a hop of %lld",
            g->file, (long long)p->hop, (long long)p->multiple,
            (long long)divide_up(p->hop, p->multiple) * p->multiple);
    walk(p, axis, whole);
    return p;
}
