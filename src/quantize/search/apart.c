/*
 * Values that others read as well, and that reach much less far than what they are concatenated with, or much less or
 * further than the lesser or greater of them and another one.
 */
#include "ir/args.h"
#include "ir/op_list.h"
#include "quantize/calibration.h"
#include "quantize/search/choice_samples.h"

/* Steps that many times as large as those of the value, or of the result, alone: two bits less of it. */
#define FAR_TOO_LARGE 4
#define WITH_ONE_SCALE NUC_OPS(NUC_OP_CAT, NUC_OP_MAXIMUM, NUC_OP_MINIMUM)

static float width(struct nuc_range r)
{
    return r.max - r.min;
}

static bool loses_digits(const struct nuc_calibration *c, const struct nuc_node *result, const struct nuc_node *value)
{
    float whole = width(c->shown[result->id]), part = width(c->shown[value->id]);

    return whole > 0 && (whole >= FAR_TOO_LARGE * part || (result->op != NUC_OP_CAT && part >= FAR_TOO_LARGE * whole));
}

/* Also what makes averages of neighbours, which have the parameters of what they are made of. */
static bool moves(const struct nuc_node *node)
{
    const enum nuc_family family = nuc_op_family(node->op);

    return nuc_moves_values(node) || family == NUC_FAMILY_POOL || family == NUC_FAMILY_RESIZE;
}

/* What the values of the node's group are made of by what moves them alone; a concatenation is what it is. */
static const struct nuc_node *maker_of(const struct nuc_calibration *c, const struct nuc_node *node, uint32_t group)
{
    const struct nuc_node *input;

    while (moves(node) && node->op != NUC_OP_CAT && (input = nuc_arg_node(node, NUC_SELF)) != NULL &&
           c->observed[input->id].output == group)
        node = input;
    return node;
}

/* Something reads the value, moved or not, that is no part of `cat` and does not move it on. */
static bool is_computed_with(const struct nuc_calibration *c, const struct nuc_node *node, const struct nuc_node *cat,
                             uint32_t *looked_at, uint32_t query)
{
    if (looked_at[node->id] == query)
        return false;
    looked_at[node->id] = query;
    for (uint32_t i = 0; i < node->n_users; i++) {
        const struct nuc_node *user = node->users[i];
        bool goes_on = moves(user) && c->observed[user->id].output == c->observed[node->id].output;
        if (user != cat && user->op != NUC_OP_OUTPUT && (!goes_on || is_computed_with(c, user, cat, looked_at, query)))
            return true;
    }
    return false;
}

/* The widths of sequences around recurrent layers are chosen by themselves. */
static bool is_sequence(const struct nuc_node *node, uint32_t *looked_at, uint32_t query)
{
    bool is = nuc_op_family(node->op) == NUC_FAMILY_RECURRENT;

    if (looked_at[node->id] == query)
        return false;
    looked_at[node->id] = query;
    for (uint32_t i = 0; i < node->n_users && !is; i++) {
        const struct nuc_node *user = node->users[i];
        is = nuc_op_family(user->op) == NUC_FAMILY_RECURRENT ||
             (nuc_moves_values(user) && is_sequence(user, looked_at, query));
    }
    return is;
}

struct nuc_apart *nuc_quantize_find_apart(struct nuc_calibration *c)
{
    struct nuc_apart *found = nuc_alloc(c->g->cx, sizeof *found);
    uint32_t *looked_at = NULL, queries = 0;

    if (c->samples == NULL || !nuc_has_both_parts(c->samples, c->samples->count))
        return NULL;
    for (const struct nuc_node *n = c->g->first; n != NULL; n = n->next) {
        const uint32_t group = c->observed[n->id].output, count = nuc_inputs(n, NULL, 0);
        if (!nuc_op_is_in(n->op, WITH_ONE_SCALE) || group == NUC_NO_GROUP)
            continue;
        struct nuc_node **inputs = nuc_alloc_array(c->g->cx, count, sizeof *inputs);
        nuc_inputs(n, inputs, count);
        for (uint32_t i = 0; i < count; i++) {
            const struct nuc_node *maker = maker_of(c, inputs[i], group);
            if (c->observed[inputs[i]->id].output != group || nuc_is_static(maker) || !loses_digits(c, n, maker))
                continue;
            if (looked_at == NULL)
                looked_at = nuc_alloc_array(c->g->cx, c->g->next_id, sizeof *looked_at);
            if (is_sequence(n, looked_at, ++queries) || !is_computed_with(c, maker, n, looked_at, ++queries))
                continue;
            found->values =
                nuc_grow(c->g->cx, found->values, &found->capacity, found->count + 1, sizeof *found->values);
            found->values[found->count++] = (struct nuc_apart_value){n->id, inputs[i]->id};
        }
    }
    if (found->count == 0)
        return NULL;
    nuc_choice_signals(c->g->cx, c->samples);
    return found;
}
