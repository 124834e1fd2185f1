/* A union-find over places in graph order, inputs of a node before its output. */
#include "quantize/sharing.h"

struct entry {
    struct nuc_place place;
    const struct nuc_qspec *spec;
    bool apart;
    uint32_t parent; /* itself at the root of a tree */
};

struct builder {
    struct nuc_graph *g;
    struct nuc_annotation **annotations;
    bool share_derived;
    uint32_t n_entries;
    struct entry *entries;

    /* First entry of a node by id: inputs in order, then the output. */
    uint32_t *first_entry;
};

#define NO_ENTRY UINT32_MAX

/* ---- entries ---- */

static void add_entry(struct builder *b, struct nuc_place place, const struct nuc_qspec *spec, bool apart)
{
    uint32_t i = b->n_entries++;

    b->entries[i] = (struct entry){place, spec, apart, i};
}

static uint32_t find_entry(const struct builder *b, struct nuc_place place)
{
    const struct nuc_node *owner = place.user != NULL ? place.user : place.node;
    const struct nuc_annotation *a = b->annotations[owner->id];

    if (a == NULL)
        return NO_ENTRY;
    if (place.user == NULL)
        return a->output.kind == NUC_QSPEC_NONE ? NO_ENTRY : b->first_entry[owner->id] + a->n_inputs;
    for (uint32_t i = 0; i < a->n_inputs; i++) {
        if (a->inputs[i].arg == place.node)
            return b->first_entry[owner->id] + i;
    }
    return NO_ENTRY;
}

/* ---- trees ---- */

static uint32_t root_of(struct builder *b, uint32_t i)
{
    while (b->entries[i].parent != i) {
        b->entries[i].parent = b->entries[b->entries[i].parent].parent;
        i = b->entries[i].parent;
    }
    return i;
}

/* Hangs the tree of `child` under that of `parent`; the other way round when the parent's root shares the child's. */
static void unite(struct builder *b, uint32_t parent, uint32_t child)
{
    uint32_t above = root_of(b, parent), below = root_of(b, child);
    const struct nuc_qspec *spec = b->entries[above].spec;

    if (spec->kind == NUC_QSPEC_SHARED && spec->from[0].node == b->entries[below].place.node &&
        spec->from[0].user == b->entries[below].place.user)
        b->entries[above].parent = below;
    else
        b->entries[below].parent = above;
}

/*
 * The spec at the end of the chain of sharing places, NULL when the chain ends at a place without one. A chain longer
 * than the number of places is a circle.
 */
static const struct nuc_qspec *resolve(struct builder *b, const struct nuc_qspec *spec)
{
    for (uint32_t steps = 0; spec->kind == NUC_QSPEC_SHARED; steps++) {
        uint32_t i = find_entry(b, spec->from[0]);
        if (i == NO_ENTRY || steps > b->n_entries)
            return NULL;
        spec = b->entries[root_of(b, i)].spec;
    }
    return spec;
}

/*
 * Equal in everything the reference compares. Fixed specs have a scale and zero point and no channel axis, the others
 * the reverse.
 */
static bool same_spec(const struct nuc_qspec *a, const struct nuc_qspec *b)
{
    bool fixed = a->kind == NUC_QSPEC_FIXED;

    if (fixed != (b->kind == NUC_QSPEC_FIXED))
        return false;
    if (fixed && (a->scale != b->scale || a->zero_point != b->zero_point))
        return false;
    return a->dtype == b->dtype && a->quant_min == b->quant_min && a->quant_max == b->quant_max &&
           a->scheme == b->scheme && a->ch_axis == b->ch_axis && a->mask == b->mask;
}

/*
 * Hangs edge `i` under `place` when that is quantized with the same spec. Derived parameters are those of the operator
 * that reads the value: the reference has one bias of several operators share them all the same.
 */
static void unite_if_same(struct builder *b, uint32_t i, const struct nuc_qspec *spec, struct nuc_place place)
{
    uint32_t other = find_entry(b, place);

    if (other == NO_ENTRY || b->entries[other].apart || (spec->kind == NUC_QSPEC_DERIVED && !b->share_derived))
        return;
    const struct nuc_qspec *other_spec = resolve(b, b->entries[other].spec);
    if (other_spec != NULL && same_spec(other_spec, spec))
        unite(b, other, i);
}

/* An edge shares with the other edges of the same value first, then with the value's output. */
static void share_implicitly(struct builder *b, uint32_t i)
{
    struct nuc_place place = b->entries[i].place;
    const struct nuc_qspec *spec = resolve(b, b->entries[i].spec);

    if (spec == NULL || b->entries[i].apart)
        return;
    for (uint32_t k = 0; k < place.node->n_users; k++) {
        struct nuc_node *user = place.node->users[k];
        if (user != place.user)
            unite_if_same(b, i, spec, (struct nuc_place){place.node, user});
    }
    unite_if_same(b, i, spec, (struct nuc_place){place.node, NULL});
}

/* ---- groups ---- */

struct numbering {
    uint32_t *group_of_root; /* by entry, NUC_NO_GROUP: not numbered */
    uint32_t *group;         /* by entry */
};

/*
 * Appends the group whose first place is entry `i`. NUC_NO_GROUP when it cannot have an observer: its parameters
 * derive from places that have none before it.
 */
static uint32_t add_group(struct builder *b, struct nuc_sharing *s, const struct numbering *n, uint32_t i)
{
    const struct nuc_qspec *spec = resolve(b, b->entries[i].spec);
    struct nuc_qgroup group = {.from = {NUC_NO_GROUP, NUC_NO_GROUP}};

    if (spec == NULL)
        return NUC_NO_GROUP;
    group.spec = *spec;
    for (int k = 0; k < 2 && spec->kind == NUC_QSPEC_DERIVED; k++) {
        uint32_t from = spec->from[k].node == NULL ? NO_ENTRY : find_entry(b, spec->from[k]);
        if (from >= i || n->group[from] == NUC_NO_GROUP)
            return NUC_NO_GROUP;
        group.from[k] = n->group[from];
    }
    s->groups[s->n_groups] = group;
    return s->n_groups++;
}

/* A state and what it becomes have one scale: what one run leaves is what the next one reads. */
static void unite_states(struct builder *b)
{
    const struct nuc_states states = nuc_states_of(b->g);

    for (uint32_t i = 0; i < states.count; i++) {
        struct nuc_node *n = states.nodes[i];
        struct nuc_node *next = nuc_output_node(b->g)->args[NUC_ARG(OUTPUT, values)].u.nodes[states.first_next + i];
        uint32_t state = find_entry(b, (struct nuc_place){n, NULL}),
                 value = find_entry(b, (struct nuc_place){next, NULL});
        const struct nuc_qspec *x = state != NO_ENTRY ? resolve(b, b->entries[root_of(b, state)].spec) : NULL;
        const struct nuc_qspec *y = value != NO_ENTRY ? resolve(b, b->entries[root_of(b, value)].spec) : NULL;
        if (x != NULL && y != NULL && same_spec(x, y) && root_of(b, state) != root_of(b, value))
            unite(b, value, state);
    }
}

struct nuc_sharing *nuc_share(struct nuc_graph *g, struct nuc_annotation **annotations, bool share_derived)
{
    struct builder b = {.g = g, .annotations = annotations, .share_derived = share_derived};
    struct nuc_sharing *s = nuc_alloc(g->cx, sizeof *s);

    uint32_t count = 0;
    for (const struct nuc_node *n = g->first; n != NULL; n = n->next) {
        const struct nuc_annotation *a = annotations[n->id];
        if (a != NULL)
            count += a->n_inputs + (a->output.kind != NUC_QSPEC_NONE);
    }
    b.entries = nuc_alloc_array(g->cx, count, sizeof *b.entries);
    b.first_entry = nuc_alloc_array(g->cx, g->next_id, sizeof *b.first_entry);
    for (struct nuc_node *k = g->first; k != NULL; k = k->next) {
        const struct nuc_annotation *a = annotations[k->id];
        if (a == NULL)
            continue;
        b.first_entry[k->id] = b.n_entries;
        for (uint32_t i = 0; i < a->n_inputs; i++)
            add_entry(&b, (struct nuc_place){a->inputs[i].arg, k}, &a->inputs[i].spec, a->inputs[i].apart);
        if (a->output.kind != NUC_QSPEC_NONE)
            add_entry(&b, (struct nuc_place){k, NULL}, &a->output, false);
    }
    for (uint32_t i = 0; i < b.n_entries; i++) {
        const struct nuc_qspec *spec = b.entries[i].spec;
        if (b.entries[i].place.user != NULL)
            share_implicitly(&b, i);
        if (spec->kind != NUC_QSPEC_SHARED)
            continue;
        uint32_t with = find_entry(&b, spec->from[0]);
        if (with != NO_ENTRY)
            unite(&b, with, i);
    }
    unite_states(&b);
    struct numbering n = {nuc_alloc_array(g->cx, b.n_entries, sizeof *n.group_of_root),
                          nuc_alloc_array(g->cx, b.n_entries, sizeof *n.group)};
    s->groups = nuc_alloc_array(g->cx, b.n_entries, sizeof *s->groups);
    for (uint32_t i = 0; i < b.n_entries; i++)
        n.group_of_root[i] = NUC_NO_GROUP;
    for (uint32_t i = 0; i < b.n_entries; i++) {
        uint32_t root = root_of(&b, i);
        if (n.group_of_root[root] == NUC_NO_GROUP)
            n.group_of_root[root] = add_group(&b, s, &n, i);
        n.group[i] = n.group_of_root[root];
    }
    const uint32_t *group = n.group;
    s->output_group = nuc_alloc_array(g->cx, g->next_id, sizeof *s->output_group);
    s->input_groups = nuc_alloc_array(g->cx, g->next_id, sizeof *s->input_groups);
    for (const struct nuc_node *i = g->first; i != NULL; i = i->next) {
        const struct nuc_annotation *a = annotations[i->id];
        s->output_group[i->id] = NUC_NO_GROUP;
        if (a == NULL)
            continue;
        uint32_t first = b.first_entry[i->id];
        s->input_groups[i->id] = nuc_copy(g->cx, &group[first], a->n_inputs * sizeof *group);
        if (a->output.kind != NUC_QSPEC_NONE)
            s->output_group[i->id] = group[first + a->n_inputs];
    }
    return s;
}

uint32_t nuc_edge_group(const struct nuc_sharing *s, struct nuc_annotation **annotations, const struct nuc_node *node,
                        const struct nuc_node *user)
{
    const struct nuc_annotation *a = annotations[user->id];

    for (uint32_t i = 0; a != NULL && i < a->n_inputs; i++) {
        if (a->inputs[i].arg == node)
            return s->input_groups[user->id][i];
    }
    return NUC_NO_GROUP;
}
