/*
 * Hash tables: where a thing lies in an array of its owner's, by a hash of it. Half of the slots are free. A slot has
 * the whole hash, so that other things are told apart without a look at them, and hashes that differ in the last
 * character of a text, or of numbers in their last bits, lie side by side: who asks in order walks over memory in
 * order.
 */
#ifndef NUC_HOST_INDEX_H
#define NUC_HOST_INDEX_H

#include <stdint.h>

#include "host/context.h"

struct nuc_index_slot {
    uint32_t place; /* + 1; 0: free */
    uint32_t hash;
};

/* All 0: without entries. */
struct nuc_index {
    struct nuc_index_slot *slots;
    uint32_t size; /* a power of two */
    uint32_t used;
};

/* Room for as many entries, in the current arena. */
void nuc_index_reserve(struct nuc_context *cx, struct nuc_index *x, size_t count);

/* Things with one hash are found in the order in which they were added. */
void nuc_index_add(struct nuc_context *cx, struct nuc_index *x, uint32_t hash, uint32_t place);

/* It is without entries again. */
void nuc_index_free(struct nuc_context *cx, struct nuc_index *x);

/* FNV-1a of 32 bits: of a text, and of characters after what `hash` is of. Different numbers have different hashes. */
#define NUC_INDEX_NOTHING 2166136261u
uint32_t nuc_index_text(const char *text);
uint32_t nuc_index_characters(uint32_t hash, const char *text, size_t length);
uint32_t nuc_index_number(uint32_t number);

/* The upper half of a hash of 64 bits is as good as the lower one. */
static inline uint32_t nuc_index_folded(uint64_t hash)
{
    return (uint32_t)(hash ^ hash >> 32);
}

/*
 *     for (struct nuc_index_search s = nuc_index_search(x, hash); nuc_index_next(&s);) {
 *         if (... what lies at s.place is what is looked for ...)
 */
struct nuc_index_search {
    const struct nuc_index *index;
    uint32_t hash, at, place;
};

struct nuc_index_search nuc_index_search(const struct nuc_index *x, uint32_t hash);

static inline bool nuc_index_next(struct nuc_index_search *s)
{
    while (s->index->used != 0) {
        const struct nuc_index_slot slot = s->index->slots[s->at];
        if (slot.place == 0)
            return false;
        s->at = (s->at + 1) & (s->index->size - 1);
        s->place = slot.place - 1;
        if (slot.hash == s->hash)
            return true;
    }
    return false;
}

#endif
