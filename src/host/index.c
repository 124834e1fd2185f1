#include "host/index.h"

#define PRIME 16777619u    /* of FNV-1a, */
#define UNDONE 0x359c449bu /* by which a product with it is taken back */
#define FIRST_SIZE 32u

/* The last step of FNV-1a taken back are a hash of all but the last character and, in the low bits, that character. */
static uint32_t first_slot(const struct nuc_index *x, uint32_t hash)
{
    const uint32_t last = hash * UNDONE, before = (last >> 4) * 2654435761u; /* Knuth's multiplicative hash */

    return ((before ^ before >> 15) << 4 | (last & 15)) & (x->size - 1);
}

static void put(struct nuc_index *x, struct nuc_index_slot slot)
{
    uint32_t i = first_slot(x, slot.hash);

    while (x->slots[i].place != 0)
        i = (i + 1) & (x->size - 1);
    x->slots[i] = slot;
    x->used++;
}

void nuc_index_reserve(struct nuc_context *cx, struct nuc_index *x, size_t count)
{
    struct nuc_index larger = {.size = x->size == 0 ? FIRST_SIZE : x->size};

    while (larger.size / 2 < count && larger.size <= UINT32_MAX / 2)
        larger.size *= 2;
    if (larger.size == x->size)
        return;
    larger.slots = nuc_alloc_array(cx, larger.size, sizeof *larger.slots);
    /* From a free slot on, so that those of one hash that lie over the end keep their order. */
    uint32_t start = 0;
    while (start < x->size && x->slots[start].place != 0)
        start++;
    for (uint32_t i = 0; i < x->size; i++) {
        const struct nuc_index_slot slot = x->slots[(start + i) & (x->size - 1)];
        if (slot.place != 0)
            put(&larger, slot);
    }
    nuc_index_free(cx, x);
    *x = larger;
}

void nuc_index_add(struct nuc_context *cx, struct nuc_index *x, uint32_t hash, uint32_t place)
{
    nuc_index_reserve(cx, x, (size_t)x->used + 1);
    put(x, (struct nuc_index_slot){place + 1, hash});
}

void nuc_index_free(struct nuc_context *cx, struct nuc_index *x)
{
    nuc_give_back(cx, x->slots, x->size * sizeof *x->slots);
    *x = (struct nuc_index){.slots = NULL};
}

uint32_t nuc_index_characters(uint32_t hash, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * PRIME;
    return hash;
}

uint32_t nuc_index_text(const char *text)
{
    uint32_t hash = NUC_INDEX_NOTHING;

    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * PRIME;
    return hash;
}

uint32_t nuc_index_number(uint32_t number)
{
    return number * PRIME;
}

struct nuc_index_search nuc_index_search(const struct nuc_index *x, uint32_t hash)
{
    return (struct nuc_index_search){x, hash, x->used == 0 ? 0 : first_slot(x, hash), 0};
}
