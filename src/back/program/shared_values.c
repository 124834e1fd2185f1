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

uint32_t nuc_share_value(struct nuc_emission *e, const struct nuc_emit_value *value)
{
    if (value->kind != NUC_EMIT_NONE && value->kind != NUC_EMIT_INT && value->kind != NUC_EMIT_BOOL &&
        value->kind != NUC_EMIT_DOUBLE && !is_list(value))
        return NUC_NO_STORAGE;
    const uint32_t hash = nuc_index_folded(hash_of(value));
    for (struct nuc_index_search s = nuc_index_search(e->shared, hash); nuc_index_next(&s);) {
        if (says_the_same(&e->values[s.place], value))
            return s.place;
    }
    nuc_index_add(e->cx, e->shared, hash, (uint32_t)e->n_values);
    return NUC_NO_STORAGE;
}
