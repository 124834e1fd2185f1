/*
 * Cells in a loop: layers of one step, each of which goes on from the states of the one before, over parts of one value
 * that lie one after the other along a dimension. They become one layer, whose kernel keeps the loop. What concatenates
 * the states of all steps again reads its sequence. A loop from the last part to the first one is a layer over the
 * sequence in reverse; with one of the same parts forwards it is a layer of two directions.
 */
#include "ir/args.h"
#include "ir/axis_map.h"
#include "ir/recurrent_args.h"
#include "rewrite/insert.h"
#include "rewrite/pass_list.h"

#define LAYERS NUC_OPS(NUC_OP_GRU, NUC_OP_LSTM, NUC_OP_RNN_TANH, NUC_OP_RNN_RELU)

enum { MOST_STATES = 2 };

/* ---- the chain ---- */

static bool is_step(const struct nuc_node *node)
{
    if (nuc_op_family(node->op) != NUC_FAMILY_RECURRENT || nuc_flag(node, NUC_RECURRENT(train)))
        return false;
    struct nuc_recurrent r = nuc_recurrent_of(node);
    return r.layers == 1 && r.directions == 1 && r.steps == 1;
}

/* Item `index` of the step is the value, past views; a hidden state is the result, too. */
static bool is_state_of(struct nuc_node *value, const struct nuc_node *step, uint32_t state)
{
    value = nuc_past_views(value);
    return value != NULL && (nuc_is_item(value, state + 1) || (state == 0 && nuc_is_item(value, 0))) &&
           nuc_arg_node(value, NUC_SELF) == step;
}

static bool goes_on_from(const struct nuc_node *next, const struct nuc_node *step)
{
    if (next->op != step->op || !is_step(next))
        return false;
    struct nuc_recurrent a = nuc_recurrent_of(step), b = nuc_recurrent_of(next);
    bool same = a.biases == b.biases && a.per_cell == b.per_cell && a.batch == b.batch;
    for (uint32_t i = 0; same && i < a.per_cell; i++)
        same = a.params[i] == b.params[i];
    for (uint32_t s = 0; same && s < b.n_states; s++)
        same = is_state_of(b.states[s], step, s);
    return same;
}

/* The only layer, past views, that goes on from the step. */
static struct nuc_node *next_of(const struct nuc_node *step, const struct nuc_node *value)
{
    for (uint32_t i = 0; i < value->n_users; i++) {
        struct nuc_node *user = value->users[i], *next = NULL;
        if (goes_on_from(user, step))
            next = user;
        else if (user->op == NUC_OP_GETITEM || nuc_op_family(user->op) == NUC_FAMILY_VIEW)
            next = next_of(step, user);
        if (next != NULL)
            return next;
    }
    return NULL;
}

/* Nothing but the next step, past views, reads the value. */
static bool only_feeds(const struct nuc_node *value, const struct nuc_node *next)
{
    for (uint32_t i = 0; i < value->n_users; i++) {
        const struct nuc_node *user = value->users[i];
        if (user != next && (nuc_op_family(user->op) != NUC_FAMILY_VIEW || !only_feeds(user, next)))
            return false;
    }
    return true;
}

static bool hides_cell(const struct nuc_node *step, const struct nuc_node *next)
{
    bool hidden = true;

    for (uint32_t i = 0; i < step->n_users; i++)
        hidden = hidden && (!nuc_is_item(step->users[i], 2) || only_feeds(step->users[i], next));
    return hidden;
}

/* What a step reads, past views. */
static bool read_part(struct nuc_node *value, struct nuc_taken *part)
{
    return nuc_takes_one(nuc_past_views(value), part);
}

/* Steps from `step` on, `part` being what the first one reads and `reversed` the order; returns how many. */
static uint32_t read_chain(struct nuc_node *step, struct nuc_node **chain, uint32_t most, struct nuc_taken *part,
                           bool *reversed)
{
    struct nuc_taken next;
    uint32_t count = 1;

    *reversed = false;
    chain[0] = step;
    if (!read_part(nuc_arg_node(step, NUC_SELF), part))
        return 0;
    for (; count < most; count++) {
        step = next_of(chain[count - 1], chain[count - 1]);
        if (step == NULL || !hides_cell(chain[count - 1], step) || !read_part(nuc_arg_node(step, NUC_SELF), &next) ||
            next.of != part->of || next.dim != part->dim)
            break;
        if (count == 1)
            *reversed = next.at < part->at;
        if (next.at != (*reversed ? part->at - count : part->at + count))
            break;
        chain[count] = step;
    }
    return count;
}

/* ---- the layer ---- */

struct joined {
    struct nuc_graph *g;
    struct nuc_node *layer, *sequence, *states[MOST_STATES];
    struct nuc_recurrent r; /* of a step */
    struct nuc_taken part;  /* the first one of the sequence, which a layer in reverse reads last */
    int64_t steps;
    bool batch_first, reversed, is_paired;
};

static struct nuc_node *insert_recurrent(struct joined *j, struct nuc_node *before, struct nuc_node *x,
                                         struct nuc_node *const states[MOST_STATES], struct nuc_node **params,
                                         uint32_t directions)
{
    struct nuc_graph *g = j->g;
    struct nuc_node **list = nuc_copy(g->cx, states, MOST_STATES * sizeof *states);
    struct nuc_arg hx = j->r.n_states > 1 ? nuc_nodes_arg(list, j->r.n_states) : nuc_node_arg(states[0]);

    return nuc_emit(g, before, j->r.op, before,
                    NUC_ARGS(x, hx, nuc_nodes_arg(params, directions * j->r.per_cell), nuc_bool_arg(j->r.biases), 1,
                             ((struct nuc_arg){.kind = NUC_ARG_FLOAT}), nuc_bool_arg(false),
                             nuc_bool_arg(directions == 2), nuc_bool_arg(j->batch_first)));
}

static struct nuc_node *turned(const struct joined *j, struct nuc_node *before, struct nuc_node *sequence)
{
    const int64_t dim = j->batch_first ? 1 : 0;

    return !j->reversed ? sequence
                        : nuc_emit(j->g, before, NUC_OP_FLIP, before, NUC_ARGS(sequence, nuc_ints_arg(&dim, 1)));
}

/* ---- two directions ---- */

static bool stands_before(const struct nuc_graph *g, const struct nuc_node *node, const struct nuc_node *other)
{
    for (const struct nuc_node *n = g->first; n != NULL && n != other; n = n->next) {
        if (n == node)
            return true;
    }
    return false;
}

/* The layer forwards reads the parts that the other one reads in reverse, whose states are there already. */
static bool is_pair(const struct joined *f, const struct joined *j)
{
    const struct nuc_recurrent *a = &f->r, *b = &j->r;
    bool same = !f->reversed && !f->is_paired && a->op == b->op && a->biases == b->biases &&
                a->per_cell == b->per_cell && a->batch == b->batch && a->hidden == b->hidden &&
                a->outputs == b->outputs && f->part.of == j->part.of && f->part.dim == j->part.dim &&
                f->part.at == j->part.at && f->steps == j->steps;

    for (uint32_t s = 0; same && s < b->n_states; s++)
        same = stands_before(j->g, nuc_past_views(b->states[s]), f->layer);
    return same;
}

/* Both layers become one of two directions. */
static void insert_pair(struct joined *f, struct joined *j)
{
    struct nuc_graph *g = j->g;
    struct nuc_node *before = f->layer, *states[MOST_STATES] = {NULL};
    struct nuc_node **params = nuc_alloc_array(g->cx, 2 * (size_t)j->r.per_cell, sizeof *params);
    const int64_t outputs = j->r.outputs;

    for (uint32_t i = 0; i < j->r.per_cell; i++) {
        params[i] = f->r.params[i];
        params[j->r.per_cell + i] = j->r.params[i];
    }
    for (uint32_t s = 0; s < j->r.n_states; s++) {
        const struct nuc_meta *m = &j->r.states[s]->vals[0];
        struct nuc_node *own = nuc_insert_reshaped(g, before, nuc_past_views(j->r.states[s]), m->sizes, 3);
        struct nuc_node *both[2] = {f->r.states[s], own};
        states[s] = nuc_insert_cat(g, before, both, 2, 0);
    }
    j->batch_first = f->batch_first;
    struct nuc_node *layer = insert_recurrent(j, before, nuc_arg_node(before, NUC_SELF), states, params, 2);
    struct nuc_node *sequence = nuc_insert_getitem(g, before, layer, 0);
    struct nuc_node *forwards = nuc_insert_slice(g, before, sequence, 2, 0, outputs);
    j->sequence = nuc_insert_slice(g, before, sequence, 2, outputs, 2 * outputs);
    nuc_replace_uses(g, f->sequence, forwards, NULL);
    f->sequence = forwards;
    for (uint32_t s = 0; s < j->r.n_states; s++) {
        struct nuc_node *last = nuc_insert_getitem(g, before, layer, s + 1);
        struct nuc_node *of_forwards = nuc_insert_slice(g, before, last, 0, 0, 1);
        j->states[s] = nuc_insert_slice(g, before, last, 0, 1, 2);
        nuc_replace_uses(g, f->states[s], of_forwards, NULL);
        f->states[s] = of_forwards;
    }
    f->layer = j->layer = layer;
    f->is_paired = j->is_paired = true;
}

/* Both directions side by side are the sequence of their layer. */
static void read_both(const struct joined *j)
{
    struct nuc_node *sequence = nuc_arg_node(j->sequence, NUC_SELF);

    for (uint32_t i = j->sequence->n_users; i > 0; i--) {
        struct nuc_node *cat = j->sequence->users[i - 1];
        const struct nuc_arg *list = &cat->args[NUC_SELF];
        if (cat->op != NUC_OP_CAT || list->count != 2 || list->u.nodes[1] != j->sequence ||
            !nuc_same_sizes(&cat->vals[0], &sequence->vals[0]))
            continue;
        const struct nuc_node *other = list->u.nodes[0];
        if (other != j->sequence && other->op == NUC_OP_SLICE && nuc_arg_node(other, NUC_SELF) == sequence)
            nuc_replace_uses(j->g, cat, sequence, NULL);
    }
}

/* ---- what reads the steps ---- */

static int64_t place_of(const struct joined *j, int64_t step)
{
    return j->reversed ? j->steps - 1 - step : step;
}

/* What reads results of step k reads the layer's. */
static void replace_step(const struct joined *j, struct nuc_node *step, int64_t k, struct nuc_node *first)
{
    bool last = k == j->steps - 1;

    for (uint32_t i = 0; i < 2; i++) {
        if (!nuc_is_item_read(step, i))
            continue;
        const struct nuc_meta *m = &step->vals[i];
        struct nuc_node *state = j->states[0];
        if (!last)
            state =
                nuc_insert_slice(j->g, first, j->sequence, j->batch_first ? 1 : 0, place_of(j, k), place_of(j, k) + 1);
        nuc_replace_item(j->g, step, i, nuc_insert_reshaped(j->g, first, state, m->sizes, m->rank));
    }
    if (last && j->r.n_states > 1)
        nuc_replace_item(j->g, step, 2, j->states[1]);
}

/* ---- states of all steps side by side ---- */

static bool is_at(const struct joined *j, struct nuc_node *value, int64_t place)
{
    struct nuc_taken p;

    if (place == place_of(j, j->steps - 1))
        return nuc_past_views(value) == j->states[0];
    return read_part(value, &p) && p.of == j->sequence && p.dim == (j->batch_first ? 1 : 0) && p.at == place;
}

static void read_sequence(const struct joined *j, struct nuc_node *cat, uint32_t dim)
{
    const struct nuc_meta *m = &cat->vals[0], *step = &cat->args[NUC_SELF].u.nodes[0]->vals[0];
    const int64_t swapped[3] = {1, 0, 2}, front = 0, to = dim;
    int64_t sizes[NUC_MAX_RANK] = {j->steps};
    struct nuc_node *value = j->sequence;
    uint32_t rank = 1;

    if (!j->batch_first || m->sizes[0] != j->r.batch || dim != 1) {
        if (j->batch_first)
            value = nuc_insert_permute(j->g, cat, value, swapped);
        for (uint32_t i = 0; i < m->rank; i++) {
            if (i != dim || step->sizes[i] != 1)
                sizes[rank++] = step->sizes[i];
        }
        value = nuc_insert_reshaped(j->g, cat, value, sizes, rank);
        value = nuc_insert_moved_dims(j->g, cat, value, &front, &to, 1);
    }
    nuc_replace_uses(j->g, cat, nuc_insert_reshaped(j->g, cat, value, m->sizes, m->rank), NULL);
}

/* Concatenations among what reads the value, past slices and views. */
static void join_readers(const struct joined *j, struct nuc_node *value)
{
    for (uint32_t i = value->n_users; i > 0; i--) {
        struct nuc_node *user = i <= value->n_users ? value->users[i - 1] : NULL;
        if (user == NULL)
            continue;
        if (user->op == NUC_OP_SLICE || nuc_op_family(user->op) == NUC_FAMILY_VIEW)
            join_readers(j, user);
        if (user->op != NUC_OP_CAT || user->n_users == 0)
            continue;
        uint32_t dim = (uint32_t)nuc_dim(user, NUC_ARG(CAT, dim), 0, user->vals[0].rank);
        const struct nuc_arg *list = &user->args[NUC_SELF];
        bool all = list->count == (uint64_t)j->steps;
        for (uint32_t k = 0; all && k < list->count; k++)
            all =
                nuc_same_sizes(&list->u.nodes[k]->vals[0], &list->u.nodes[0]->vals[0]) && is_at(j, list->u.nodes[k], k);
        if (all && user->vals[0].rank < NUC_MAX_RANK)
            read_sequence(j, user, dim);
    }
}

/* ---- steps or samples in front ---- */

/* What the value [a, b, c] has as [b, a, c]; NULL: it is nothing such. */
static struct nuc_node *behind_swap(const struct nuc_node *value)
{
    struct nuc_axis_map map;

    if (nuc_op_family(value->op) != NUC_FAMILY_PERMUTE || value->vals[0].rank != 3 ||
        !nuc_axis_map(value, 0, NUC_SELF, 0, &map))
        return NULL;
    const struct nuc_axis *first = nuc_axis_to(&map, 0), *second = nuc_axis_to(&map, 1);
    return first != NULL && second != NULL && first->from == 1 && second->from == 0 ? nuc_arg_node(value, NUC_SELF)
                                                                                    : NULL;
}

/* All that reads the sequence swaps it. */
static bool is_swapped(const struct nuc_node *layer, struct nuc_node **sequence)
{
    bool all = true;

    for (uint32_t i = 0; i < layer->n_users; i++) {
        if (!nuc_is_item(layer->users[i], 0))
            continue;
        *sequence = layer->users[i];
        for (uint32_t k = 0; k < (*sequence)->n_users; k++)
            all = all && behind_swap((*sequence)->users[k]) != NULL;
    }
    return all;
}

/* A layer between two swaps of steps and samples, as decomposed archives have it, takes and gives what is around. */
static bool fold_swaps(struct nuc_graph *g, struct nuc_node *layer)
{
    struct nuc_node *x = behind_swap(nuc_operand(g, layer, NUC_SELF)), *sequence = NULL;

    if (x == NULL || !is_swapped(layer, &sequence))
        return false;
    nuc_set_arg_node(layer, g, NUC_SELF, x);
    nuc_set_arg_bool(layer, NUC_RECURRENT(batch_first), !nuc_flag(layer, NUC_RECURRENT(batch_first)));
    nuc_infer_shape(g, layer);
    struct nuc_node *now = sequence == NULL ? NULL : nuc_insert_getitem(g, layer->next, layer, 0);
    for (uint32_t i = layer->n_users; now != NULL && i > 0; i--) {
        const struct nuc_node *item = layer->users[i - 1];
        for (uint32_t k = item->n_users; item != now && nuc_is_item(item, 0) && k > 0; k--)
            nuc_replace_uses(g, item->users[k - 1], now, NULL);
    }
    return true;
}

bool nuc_join_recurrent(struct nuc_graph *g)
{
    uint32_t count;
    struct nuc_node **layers = nuc_collect(g, LAYERS, &count);
    struct nuc_node **chain = nuc_alloc_array(g->cx, count, sizeof(struct nuc_node *));
    struct joined *found = nuc_alloc_array(g->cx, count, sizeof *found);
    uint32_t n_found = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct joined *j = &found[n_found], *pair = NULL;
        *j = (struct joined){.g = g};
        if (layers[i]->n_users == 0 || !is_step(layers[i]))
            continue;
        j->steps = read_chain(layers[i], chain, count, &j->part, &j->reversed);
        if (j->steps < 2)
            continue;
        j->r = nuc_recurrent_of(layers[i]);
        j->part.at -= j->reversed ? j->steps - 1 : 0;
        for (uint32_t k = 0; j->reversed && pair == NULL && k < n_found; k++)
            pair = is_pair(&found[k], j) ? &found[k] : NULL;
        if (pair != NULL) {
            insert_pair(pair, j);
        } else {
            /* [samples, steps, inputs] as it is, anything else with the steps in front. */
            const struct nuc_meta *m = &j->part.of->vals[0];
            const int64_t front = 0, sizes[3] = {j->steps, j->r.batch, j->r.inputs};
            struct nuc_node *x =
                nuc_insert_part(j->g, layers[i], j->part.of, (uint32_t)j->part.dim, j->part.at, j->part.at + j->steps);
            struct nuc_node **params = nuc_copy(j->g->cx, j->r.params, j->r.per_cell * sizeof *params);
            struct nuc_node *states[MOST_STATES] = {j->r.states[0], j->r.n_states > 1 ? j->r.states[1] : NULL};
            j->batch_first =
                m->rank == 3 && j->part.dim == 1 && m->sizes[0] == j->r.batch && m->sizes[2] == j->r.inputs;
            if (!j->batch_first)
                x = nuc_insert_reshaped(j->g, layers[i],
                                        nuc_insert_moved_dims(j->g, layers[i], x, &j->part.dim, &front, 1), sizes, 3);
            j->layer = insert_recurrent(j, layers[i], turned(j, layers[i], x), states, params, 1);
            j->sequence = turned(j, layers[i], nuc_insert_getitem(j->g, layers[i], j->layer, 0));
            for (uint32_t s = 0; s < j->r.n_states; s++)
                j->states[s] = nuc_insert_getitem(j->g, layers[i], j->layer, s + 1);
        }
        for (uint32_t k = 0; k < j->steps; k++)
            replace_step(j, chain[k], k, layers[i]);
        join_readers(j, j->sequence);
        if (pair != NULL)
            read_both(j);
        n_found++;
    }
    if (n_found > 0)
        nuc_remove_dead(g);
    return nuc_rewrite_each(g, LAYERS, fold_swaps) || n_found > 0;
}
