#include "quantize/search/channel_scales.h"

#include <math.h>
#include <string.h>

#include "eval/eval.h"
#include "ir/axis_map.h"
#include "quantize/calibration.h"
#include "quantize/layers.h"
#include "quantize/ranges/relevant_range.h"
#include "quantize/search/choice_samples.h"

/* Mean of the factors that is worth the products: steps of half the size. */
#define WORTHWHILE 0.5

/* A channel smaller than this share of the largest has steps as if it were as large. */
#define LEAST_FACTOR 0x1p-10F

/* Of what samples show of a channel, which is less than they show of all: the next one may go beyond. */
#define MARGIN 1.25F

/* Operators between a layer and its readers that are followed. */
#define DEEPEST 8

/* What samples show of a channel in front of a ReLU. */
struct shown {
    float above, below; /* 0 */
    double sum, squares, count;
};

/* A layer and the value that float operators read: its own, or that of a ReLU behind it. */
struct scaled {
    struct nuc_layer layer;
    struct nuc_node *value;
    uint32_t dim; /* of the value's channels */
    struct shown *shown;
    float *factors;
};

/* The channel of each index along a dimension of a value. */
struct channels {
    uint32_t dim;
    const int64_t *at;
};

struct scaling {
    struct nuc_graph *g;
    uint32_t count;
    size_t capacity;
    struct scaled *layers;
};

/* The dimensions [from, end) are as one, of which only one has a size other than 1. */
static bool only_dim(const struct nuc_meta *m, uint32_t from, uint32_t end, uint32_t *dim)
{
    uint32_t found = 0;

    *dim = from;
    for (uint32_t d = from; d < end; d++) {
        if (m->sizes[d] != 1) {
            *dim = d;
            found++;
        }
    }
    return from < end && found <= 1;
}

/* Channels of what a move makes of a value; false: they are not along one dimension any more. */
static bool follow(struct nuc_context *cx, const struct nuc_node *value, const struct nuc_node *move,
                   const struct channels *of, struct channels *out)
{
    const struct nuc_meta *from = &value->vals[0], *to = &move->vals[0];
    struct nuc_axis_map map;
    uint32_t own;

    if (!nuc_axis_map(move, 0, NUC_SELF, 0, &map))
        return false;
    for (uint32_t i = 0; i < map.count; i++) {
        const struct nuc_axis *axis = &map.axes[i];
        if (of->dim < axis->from || of->dim >= axis->from_end)
            continue;
        if (axis->kind != NUC_AXIS_ELEMENT || !only_dim(from, axis->from, axis->from_end, &own) ||
            (own != of->dim && from->sizes[of->dim] != 1) || !only_dim(to, axis->to, axis->to_end, &out->dim))
            return false;
        int64_t *at = nuc_alloc_array(cx, (size_t)to->sizes[out->dim], sizeof *at);
        for (int64_t k = 0; k < to->sizes[out->dim]; k++) {
            int64_t index = axis->start + axis->step * k;
            if (index < 0 || index >= from->sizes[of->dim])
                return false;
            at[k] = of->at[index];
        }
        out->at = at;
        return true;
    }
    return false;
}

static bool is_move(const struct nuc_node *node)
{
    return nuc_is_call(node) && nuc_moves_values(node) && node->n_vals == 1;
}

/* A reader of a float value; the factors of its channels are put in front of it. */
static void multiply(struct nuc_graph *g, struct nuc_node *user, struct nuc_node *value, const struct channels *of,
                     const float *factors)
{
    const struct nuc_meta *m = &value->vals[0];
    size_t count = (size_t)m->sizes[of->dim];
    int64_t sizes[NUC_MAX_RANK];
    float *values = nuc_alloc_array(g->cx, count, sizeof *values);

    for (uint32_t d = 0; d < m->rank; d++)
        sizes[d] = d == of->dim ? m->sizes[d] : 1;
    for (size_t k = 0; k < count; k++)
        values[k] = factors[of->at[k]];
    const struct nuc_meta meta = nuc_meta_make(NUC_F32, sizes, m->rank);
    struct nuc_node *constant = nuc_add_constant(g, "channel_scales", &meta, values);
    struct nuc_node *mul = nuc_add_node(g, user, NUC_OP_MUL, "mul");
    nuc_set_arg_node(mul, g, NUC_SELF, value);
    nuc_set_arg_node(mul, g, NUC_OTHER, constant);
    nuc_set_val(g, mul, m);
    mul->source = user->source;
    nuc_replace_input(g, user, value, mul);
}

/* Visits the readers behind moves. False: some are not float. With factors, these are put in front of them. */
static bool visit(struct nuc_graph *g, struct nuc_node *value, const struct channels *of, const float *factors,
                  unsigned left)
{
    struct channels moved;

    if (left == 0 || value->n_users == 0)
        return false;
    for (uint32_t i = value->n_users; i-- > 0;) {
        struct nuc_node *user = value->users[i];
        if (nuc_is_call(user) && user->source->width == NUC_WIDTH_FLOAT) {
            if (factors != NULL)
                multiply(g, user, value, of, factors);
        } else if (!is_move(user) || !follow(g->cx, value, user, of, &moved) ||
                   !visit(g, user, &moved, factors, left - 1)) {
            return false;
        }
    }
    return true;
}

static struct channels channels_of(struct nuc_graph *g, const struct scaled *s)
{
    int64_t *at = nuc_alloc_array(g->cx, s->layer.out, sizeof *at);

    for (uint32_t k = 0; k < s->layer.out; k++)
        at[k] = k;
    return (struct channels){s->dim, at};
}

static void find_layers(struct scaling *s)
{
    for (struct nuc_node *n = s->g->first; n != NULL; n = n->next) {
        struct scaled found = {.value = n};
        if (!nuc_is_call(n) || n->source->width >= NUC_WIDTH_INT16 || !nuc_layer_of(n, &found.layer) || n->n_users == 0)
            continue;
        if (n->n_users == 1 && n->users[0]->op == NUC_OP_RELU && n->users[0]->source->width < NUC_WIDTH_INT16)
            found.value = n->users[0];
        uint32_t rank = n->vals[0].rank, behind = n->op == NUC_OP_LINEAR ? 1 : 3;
        if (rank < behind || nuc_elements(&n->vals[0]) == 0)
            continue;
        found.dim = rank - behind;
        struct channels of = channels_of(s->g, &found);
        if (!visit(s->g, found.value, &of, NULL, DEEPEST))
            continue;
        found.shown = nuc_alloc_array(s->g->cx, found.layer.out, sizeof *found.shown);
        found.factors = nuc_alloc_array(s->g->cx, found.layer.out, sizeof *found.factors);
        s->layers = nuc_grow(s->g->cx, s->layers, &s->capacity, s->count + 1, sizeof *s->layers);
        s->layers[s->count++] = found;
    }
}

static void observe(void *user, const struct nuc_node *node, uint32_t val_index, const void *data, size_t elements)
{
    struct scaling *s = user;
    const float *x = data;

    for (uint32_t i = 0; i < s->count; i++) {
        struct scaled *l = &s->layers[i];
        size_t run = 1;
        if (l->layer.node != node || val_index != 0)
            continue;
        for (uint32_t d = l->dim + 1; d < node->vals[0].rank; d++)
            run *= (size_t)node->vals[0].sizes[d];
        for (size_t k = 0; k < elements; k++) {
            struct shown *c = &l->shown[k / run % l->layer.out];
            c->above = x[k] > c->above ? x[k] : c->above;
            c->below = -x[k] > c->below ? -x[k] : c->below;
            c->sum += (double)x[k];
            c->squares += (double)x[k] * (double)x[k];
            c->count++;
        }
    }
}

/*
 * Behind a ReLU, which may have let through nothing of a channel that the next sample has something of: as far as so
 * many normally distributed values go.
 */
static void find_reach(struct shown *c)
{
    const double mean = c->sum / c->count, variance = fmax(c->squares / c->count - mean * mean, 0);

    c->above = fmaxf(c->above, (float)(mean + sqrt(2 * log(c->count) * variance)));
    c->below = 0;
}

/* Each channel reaches nearly as far as all of them do, above 0 or below it. False: that gains too little. */
static bool find_factors(struct scaled *s)
{
    float above = 0, below = 0;
    double sum = 0;

    for (uint32_t k = 0; k < s->layer.out; k++) {
        if (s->value != s->layer.node && s->shown[k].count > 0)
            find_reach(&s->shown[k]);
        above = fmaxf(above, s->shown[k].above);
        below = fmaxf(below, s->shown[k].below);
    }
    if (!isfinite(above) || !isfinite(below))
        return false;
    for (uint32_t k = 0; k < s->layer.out; k++) {
        float up = above > 0 ? s->shown[k].above / above : 0, down = below > 0 ? s->shown[k].below / below : 0;
        float factor = MARGIN * fmaxf(up, down);
        s->factors[k] = factor < LEAST_FACTOR ? LEAST_FACTOR : factor < 1 ? factor : 1;
        sum += (double)s->factors[k];
    }
    return sum < WORTHWHILE * s->layer.out;
}

static void divide(struct nuc_graph *g, struct nuc_node *constant, const struct scaled *s)
{
    float *values = nuc_layer_values(g, constant);
    size_t count = (size_t)nuc_elements(&constant->vals[0]), run = count / s->layer.out;

    for (size_t k = 0; k < count; k++)
        values[k] /= s->factors[k / run];
    nuc_layer_set_values(g, constant, values);
}

void nuc_scale_channels(struct nuc_graph *g, const struct nuc_calibration *observed)
{
    struct scaling s = {.g = g};
    const void *const *samples[NUC_CHOICE_MOST];

    find_layers(&s);
    if (s.count == 0)
        return;
    struct nuc_sub_arena *memory = nuc_enter_sub_arena(g->cx);
    struct nuc_evaluator *e = nuc_eval_new(g, observed->threads);
    nuc_eval_observe(e, observe, &s);
    const size_t count = nuc_kept_samples(observed, NUC_BOTH_PARTS, samples);
    for (size_t k = 0; k < count; k++)
        nuc_eval_run(e, samples[k], NULL);
    nuc_leave_sub_arena(g->cx, memory);
    nuc_free_sub_arena(memory);
    for (uint32_t i = 0; i < s.count; i++) {
        struct scaled *l = &s.layers[i];
        if (!find_factors(l))
            continue;
        struct channels of = channels_of(g, l);
        divide(g, l->layer.weight, l);
        if (l->layer.bias != NULL)
            divide(g, l->layer.bias, l);
        visit(g, l->value, &of, l->factors, DEEPEST);
    }
}
