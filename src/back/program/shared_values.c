#include "back/program/shared_values.h"

#include <string.h>

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 32);
}

static uint64_t bits_of(double f)
{
    uint64_t bits;

    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* What a value of one item says. */
static uint64_t word_of(const struct nuc_emit_value *v)
{
    if (v->kind == NUC_EMIT_INT)
        return (uint64_t)v->u.i;
    if (v->kind == NUC_EMIT_DOUBLE)
        return bits_of(v->u.f);
    return v->kind == NUC_EMIT_BOOL && v->u.b;
}

static bool is_list(const struct nuc_emit_value *v)
{
    return v->kind == NUC_EMIT_INTS || v->kind == NUC_EMIT_DOUBLES;
}

static uint64_t item_of(const struct nuc_emit_value *v, uint32_t index)
{
    return v->kind == NUC_EMIT_INTS ? (uint64_t)v->u.items[index] : bits_of(v->u.doubles[index]);
}

static uint64_t hash_of(const struct nuc_emit_value *v)
{
    uint64_t hash = mix(v->kind, v->count);

    if (!is_list(v))
        return mix(hash, word_of(v));
    for (uint32_t i = 0; i < v->count; i++)
        hash = mix(hash, item_of(v, i));
    return hash;
}

/* Numbers by their bits: 0 and -0 differ, and a NaN is itself. */
static bool says_the_same(const struct nuc_emit_value *a, const struct nuc_emit_value *b)
{
    if (a->kind != b->kind || a->count != b->count)
        return false;
    if (!is_list(a))
        return word_of(a) == word_of(b);
    for (uint32_t i = 0; i < a->count; i++) {
        if (item_of(a, i) != item_of(b, i))
            return false;
    }
    return true;
}

/* The slot of an equal value, or the free one where it belongs. */
static uint32_t *slot_of(const struct nuc_emission *e, const struct nuc_shared_values *s,
                         const struct nuc_emit_value *v)
{
    size_t at = (size_t)hash_of(v) & (s->n_slots - 1);

    while (s->slots[at] != 0 && !says_the_same(&e->values[s->slots[at] - 1], v))
        at = (at + 1) & (s->n_slots - 1);
    return &s->slots[at];
}

static void grow(const struct nuc_emission *e, struct nuc_shared_values *s)
{
    struct nuc_shared_values larger = {.n_slots = s->n_slots == 0 ? 64 : 2 * s->n_slots, .n = s->n};

    larger.slots = nuc_alloc_array(e->cx, larger.n_slots, sizeof *larger.slots);
    for (size_t i = 0; i < s->n_slots; i++) {
        if (s->slots[i] != 0)
            *slot_of(e, &larger, &e->values[s->slots[i] - 1]) = s->slots[i];
    }
    *s = larger;
}

uint32_t nuc_share_value(struct nuc_emission *e, const struct nuc_emit_value *value)
{
    struct nuc_shared_values *s = e->shared;

    if (value->kind != NUC_EMIT_NONE && value->kind != NUC_EMIT_INT && value->kind != NUC_EMIT_BOOL &&
        value->kind != NUC_EMIT_DOUBLE && !is_list(value))
        return NUC_NO_STORAGE;
    if (2 * (s->n + 1) > s->n_slots)
        grow(e, s);
    uint32_t *slot = slot_of(e, s, value);
    if (*slot != 0)
        return *slot - 1;
    *slot = (uint32_t)e->n_values + 1;
    s->n++;
    return NUC_NO_STORAGE;
}
