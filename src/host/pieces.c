#include "host/pieces.h"

#include <string.h>

void nuc_add_piece(struct nuc_context *cx, struct nuc_pieces *pieces, struct nuc_span bytes)
{
    if (bytes.size == 0)
        return;
    pieces->items = nuc_grow(cx, pieces->items, &pieces->capacity, pieces->count + 1, sizeof *pieces->items);
    pieces->items[pieces->count++] = bytes;
}

void nuc_add_pieces(struct nuc_context *cx, struct nuc_pieces *pieces, const struct nuc_pieces *others)
{
    for (size_t i = 0; i < others->count; i++)
        nuc_add_piece(cx, pieces, others->items[i]);
}

size_t nuc_pieces_size(const struct nuc_pieces *pieces)
{
    size_t size = 0;

    for (size_t i = 0; i < pieces->count; i++)
        size += pieces->items[i].size;
    return size;
}

struct nuc_span nuc_join_pieces(struct nuc_context *cx, const struct nuc_pieces *pieces)
{
    size_t size = nuc_pieces_size(pieces), at = 0;
    uint8_t *bytes = nuc_alloc(cx, size);

    for (size_t i = 0; i < pieces->count; i++) {
        memcpy(bytes + at, pieces->items[i].data, pieces->items[i].size);
        at += pieces->items[i].size;
    }
    return (struct nuc_span){bytes, size};
}
