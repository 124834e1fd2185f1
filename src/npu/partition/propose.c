/*
 * Merging needs to know which groups a group can reach. Every visited node or group keeps two sets of groups:
 *
 *   reach  groups it has a path to
 *   via    groups it has a path to that passes through another node or group on the way
 *
 * Two groups may be merged unless one is in the other's `via`: then a path would leave the merged group and come back.
 * A group that grows reaches more, and so does everything that reaches it. That is not written to all of them at once
 * but logged; a pair of sets is brought up to date, event by event, when it is used next.
 *
 * A new node can be merged with every group outside its own `via`, which in a long chain is a run of all older groups,
 * so the candidates are found without looking at the others. What was found to be unmergeable stays so until one of
 * the two groups is merged with a third; `known` remembers it. Time is close to linear in the size of the graph unless
 * groups keep growing together.
 */
#include "npu/partition/propose.h"

#include <assert.h>
#include <string.h>

#include "npu/partition/slotset.h"

#define NO_SLOT UINT32_MAX

struct reach {
    const struct slot_set *reach, *via;
    uint32_t n_events; /* how many events are worked in */
};

/* The group `into`, once two groups `into` and `gone`, got new successors `gained`. */
struct event {
    uint32_t into, gone;
    const struct slot_set *gained;
};

/* Groups are numbered in order of creation; of two merged ones the older number stays. */
struct slot {
    uint32_t alias; /* itself, or the slot it was merged into */
    uint32_t tag;
    uint32_t size;
    uint32_t first_member, last_member; /* ids, chained by next_member */
    const struct slot_set *known;       /* groups it cannot be merged with */
    struct reach reach;
};

struct proposing {
    struct nuc_context *cx;
    const struct nuc_flow *flow;
    uint32_t n_slots, next_tag;
    size_t slot_capacity;
    struct slot *slots;
    uint32_t *slot_of;      /* by node id; NO_SLOT: not in a group */
    uint32_t *next_member;  /* by node id */
    struct reach *reach_of; /* by node id, of nodes in no group */
    struct event *events;
    uint32_t n_events;
    size_t event_capacity;
    const struct slot_set *gone; /* slots that were merged into others; never 0, the oldest */
};

static uint32_t resolve(struct proposing *p, uint32_t slot)
{
    uint32_t root = slot;

    while (p->slots[root].alias != root)
        root = p->slots[root].alias;
    while (p->slots[slot].alias != root) {
        uint32_t next = p->slots[slot].alias;
        p->slots[slot].alias = root;
        slot = next;
    }
    return root;
}

static uint32_t group_of(struct proposing *p, uint32_t node)
{
    uint32_t slot = p->slot_of[node];

    return slot == NO_SLOT ? NO_SLOT : resolve(p, slot);
}

static void log_event(struct proposing *p, uint32_t into, uint32_t gone)
{
    p->events = nuc_grow(p->cx, p->events, &p->event_capacity, p->n_events + 1, sizeof *p->events);
    p->events[p->n_events++] = (struct event){into, gone, p->slots[into].reach.reach};
    p->slots[into].reach.n_events = p->n_events;
}

static void refresh(struct proposing *p, struct reach *r)
{
    struct nuc_context *cx = p->cx;

    for (; r->n_events < p->n_events; r->n_events++) {
        const struct event *e = &p->events[r->n_events];
        if (!nuc_slot_set_has(r->reach, e->into) && !nuc_slot_set_has(r->reach, e->gone))
            continue;
        bool indirect = nuc_slot_set_has(r->via, e->into) || nuc_slot_set_has(r->via, e->gone);
        r->reach = nuc_slot_set_add(cx, nuc_slot_set_union(cx, r->reach, e->gained), e->into);
        r->via = nuc_slot_set_union(cx, r->via, e->gained);
        if (indirect)
            r->via = nuc_slot_set_add(cx, r->via, e->into);
    }
}

/* Adds what `node` reaches through its readers, those in group `self` excepted. */
static void add_successors(struct proposing *p, uint32_t node, uint32_t self, struct reach *r)
{
    const struct nuc_flow_node *of_node = &p->flow->nodes[node];
    struct nuc_context *cx = p->cx;

    for (uint32_t i = 0; i < of_node->n_readers; i++) {
        const uint32_t reader = p->flow->readers[of_node->first + i], group = group_of(p, reader);
        if (group == self && group != NO_SLOT)
            continue;
        struct reach *of = group == NO_SLOT ? &p->reach_of[reader] : &p->slots[group].reach;
        refresh(p, of);
        r->via = nuc_slot_set_union(cx, r->via, of->reach);
        r->reach = nuc_slot_set_union(cx, r->reach, of->reach);
        if (group != NO_SLOT)
            r->reach = nuc_slot_set_add(cx, r->reach, group);
    }
    r->n_events = p->n_events;
}

/* ---- groups ---- */

static void add_member(struct proposing *p, uint32_t slot, uint32_t node)
{
    struct slot *s = &p->slots[slot];

    if (s->size == 0)
        s->first_member = node;
    else
        p->next_member[s->last_member] = node;
    s->last_member = node;
    s->size++;
    p->slot_of[node] = slot;
}

static void open_group(struct proposing *p, uint32_t node, uint32_t tag, const struct reach *r)
{
    uint32_t slot = p->n_slots;

    p->slots = nuc_grow(p->cx, p->slots, &p->slot_capacity, (size_t)slot + 1, sizeof *p->slots);
    p->slots[slot] = (struct slot){.alias = slot, .tag = tag, .reach = *r};
    p->n_slots++;
    add_member(p, slot, node);
}

/* Merges group `other` into the group that tries it, `self`. Returns the number that stays. */
static uint32_t merge(struct proposing *p, uint32_t self, uint32_t other)
{
    uint32_t into = self < other ? self : other, gone = self < other ? other : self;
    assert(into != gone && p->slots[into].alias == into && p->slots[gone].alias == gone);
    struct slot *a = &p->slots[into], *b = &p->slots[gone];
    struct reach r = {NULL, NULL, 0};

    a->tag = p->slots[p->slots[self].size < p->slots[other].size ? other : self].tag;
    a->size += b->size;
    p->next_member[a->last_member] = b->first_member;
    a->last_member = b->last_member;
    a->known = NULL;
    b->alias = into;
    p->gone = nuc_slot_set_add(p->cx, p->gone, gone);
    add_successors(p, a->first_member, into, &r);
    for (uint32_t n = a->first_member; n != a->last_member;)
        add_successors(p, n = p->next_member[n], into, &r);
    a->reach = r;
    log_event(p, into, gone);
    return into;
}

/* First group from `slot` on that neither set holds. */
static uint32_t next_group(const struct proposing *p, const struct slot_set *a, const struct slot_set *b, uint32_t slot)
{
    for (;;) {
        uint32_t next =
            nuc_slot_set_next_absent(p->gone, nuc_slot_set_next_absent(b, nuc_slot_set_next_absent(a, slot)));
        if (next == slot || next >= p->n_slots)
            return next;
        slot = next;
    }
}

/* Tries to merge `self` with every group after slot `from`. */
static void merge_others(struct proposing *p, uint32_t self, uint32_t from)
{
    uint32_t slot = from + 1;

    refresh(p, &p->slots[self].reach);
    for (;;) {
        struct slot *s = &p->slots[self];
        slot = next_group(p, s->reach.via, s->known, slot);
        if (slot >= p->n_slots)
            return;
        refresh(p, &p->slots[slot].reach);
        if (nuc_slot_set_has(p->slots[slot].reach.via, self)) {
            /* Together with `via` the set is most often one run. */
            s->known = nuc_slot_set_add(p->cx, nuc_slot_set_union(p->cx, s->known, s->reach.via), slot);
        } else if (slot != self) {
            self = merge(p, self, slot);
        }
        slot++;
    }
}

/* ---- result ---- */

/* A getitem node belongs to the group of the node it reads, or to none with it. */
static void move_getitems(struct proposing *p)
{
    for (uint32_t i = 0; i < p->flow->n; i++) {
        const uint32_t id = p->flow->order[i];
        const struct nuc_flow_node *n = &p->flow->nodes[id];
        if (!p->flow->only_items[id])
            continue;
        uint32_t group = group_of(p, id);
        for (uint32_t k = 0; k < n->n_readers; k++) {
            const uint32_t reader = p->flow->readers[n->first + k], old = group_of(p, reader);
            if (old == group)
                continue;
            if (old != NO_SLOT)
                p->slots[old].size--;
            if (group != NO_SLOT)
                p->slots[group].size++;
            p->slot_of[reader] = group;
        }
    }
}

/* Groups in the order of their tags. A tag is the number of one supported node, so they are sorted by counting. */
static struct nuc_proposal *result_of(struct proposing *p, struct nuc_proposal *out)
{
    uint32_t *slot_of_tag = nuc_alloc_array(p->cx, (size_t)p->next_tag + 1, sizeof *slot_of_tag);
    int32_t *index = nuc_alloc_array(p->cx, (size_t)p->n_slots + 1, sizeof *index);

    for (uint32_t i = 0; i < p->n_slots; i++) {
        if (p->slots[i].alias == i && p->slots[i].size > 0)
            slot_of_tag[p->slots[i].tag] = i + 1;
    }
    for (uint32_t tag = 0; tag < p->next_tag; tag++) {
        if (slot_of_tag[tag] == 0)
            continue;
        index[slot_of_tag[tag] - 1] = (int32_t)out->count;
        out->tags[out->count++] = tag;
    }
    for (uint32_t i = 0; i < p->flow->n; i++) {
        const uint32_t id = p->flow->order[i], group = group_of(p, id);
        out->of[id] = group == NO_SLOT ? -1 : index[group];
    }
    return out;
}

struct nuc_flow nuc_flow_of(const struct nuc_graph *g)
{
    struct nuc_context *cx = g->cx;
    struct nuc_flow_node *nodes = nuc_alloc_array(cx, g->next_id, sizeof *nodes);
    uint32_t *order = nuc_alloc_array(cx, g->n_nodes, sizeof *order), count = 0, n = 0;
    bool *only_items = nuc_alloc_array(cx, g->next_id, sizeof *only_items);

    for (const struct nuc_node *at = g->first; at != NULL; at = at->next) {
        nodes[at->id] = (struct nuc_flow_node){count, at->n_users};
        count += at->n_users;
        order[n++] = at->id;
    }
    uint32_t *readers = nuc_alloc_array(cx, (size_t)count + 1, sizeof *readers);
    for (const struct nuc_node *at = g->first; at != NULL; at = at->next) {
        only_items[at->id] = at->n_users > 0;
        for (uint32_t i = 0; i < at->n_users; i++) {
            only_items[at->id] = only_items[at->id] && at->users[i]->op == NUC_OP_GETITEM;
            readers[nodes[at->id].first + i] = at->users[i]->id;
        }
    }
    return (struct nuc_flow){n, order, nodes, readers, only_items, g->next_id};
}

struct nuc_proposal *nuc_propose_partitions(struct nuc_context *cx, struct nuc_arena *to, const struct nuc_flow *flow,
                                            const bool *supported)
{
    struct nuc_proposal *out = nuc_alloc_in(cx, to, sizeof *out);

    out->of = nuc_alloc_in(cx, to, flow->end * sizeof *out->of);
    out->tags = nuc_alloc_in(cx, to, ((size_t)flow->n + 1) * sizeof *out->tags);
    struct nuc_arena *outer = nuc_push_arena(cx);
    struct proposing p = {
        .cx = cx,
        .flow = flow,
        .slot_of = nuc_alloc_array(cx, flow->end, sizeof *p.slot_of),
        .next_member = nuc_alloc_array(cx, flow->end, sizeof *p.next_member),
        .reach_of = nuc_alloc_array(cx, flow->end, sizeof *p.reach_of),
    };
    memset(p.slot_of, 0xFF, flow->end * sizeof *p.slot_of);
    for (uint32_t i = flow->n; i-- > 0;) {
        const uint32_t n = flow->order[i];
        if (supported[n]) {
            struct reach r = {NULL, NULL, 0};
            uint32_t tag = p.next_tag++;
            add_successors(&p, n, NO_SLOT, &r);
            uint32_t slot = next_group(&p, r.via, NULL, 0);
            if (slot >= p.n_slots) {
                open_group(&p, n, tag, &r);
                continue;
            }
            /*
             * Torch keeps the identity of the larger of two merged groups, of equal ones that of the one it tries to
             * merge.
             */
            struct slot *s = &p.slots[slot];
            struct reach gained = {NULL, NULL, 0};
            refresh(&p, &s->reach);
            add_successors(&p, n, slot, &gained);
            if (s->size == 1)
                s->tag = tag;
            add_member(&p, slot, n);
            const struct slot_set *reach = nuc_slot_set_union(cx, s->reach.reach, gained.reach);
            s->reach.via = nuc_slot_set_union(cx, s->reach.via, gained.via);
            if (reach != s->reach.reach) {
                s->reach.reach = reach;
                log_event(&p, slot, slot);
            }
            merge_others(&p, slot, slot);
        } else {
            /* Groups may have become mergeable since they were tried: the oldest one tries all others. */
            add_successors(&p, n, NO_SLOT, &p.reach_of[n]);
            if (p.n_slots > 1)
                merge_others(&p, 0, 0);
        }
    }
    move_getitems(&p);
    result_of(&p, out);
    nuc_pop_arena(cx, outer);
    return out;
}
