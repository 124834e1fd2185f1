/* Bytes that do not lie together: what is long and made of parts is not copied to be written. */
#ifndef NUC_HOST_PIECES_H
#define NUC_HOST_PIECES_H

#include "device/base/span.h"
#include "host/context.h"

/* Zeroed: none. The bytes are others', the list is in the arena. */
struct nuc_pieces {
    struct nuc_span *items;
    size_t count, capacity;
};

/* Empty spans are left out. */
void nuc_add_piece(struct nuc_context *cx, struct nuc_pieces *pieces, struct nuc_span bytes);
void nuc_add_pieces(struct nuc_context *cx, struct nuc_pieces *pieces, const struct nuc_pieces *others);

size_t nuc_pieces_size(const struct nuc_pieces *pieces);

/* A copy in one span, in the arena. */
struct nuc_span nuc_join_pieces(struct nuc_context *cx, const struct nuc_pieces *pieces);

#endif
