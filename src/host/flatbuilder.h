/*
 * Builds a FlatBuffer back to front, as the format demands: children before parents. Identical vtables are shared.
 * References are distances from the end of the buffer, so they stay valid while it grows. Output is deterministic.
 */
#ifndef NUC_HOST_FLATBUILDER_H
#define NUC_HOST_FLATBUILDER_H

#include "device/base/span.h"
#include "host/context.h"

struct nuc_fb_builder;

/* A finished object (string, vector or table). 0: none. */
typedef uint32_t nuc_fb_ref;

struct nuc_fb_builder *nuc_fb_builder_new(struct nuc_context *cx);

nuc_fb_ref nuc_fb_add_string(struct nuc_fb_builder *b, const char *text);

/* A vector of `count` elements of `element_size` bytes; its first element is aligned to `alignment` >= element_size. */
nuc_fb_ref nuc_fb_add_vector(struct nuc_fb_builder *b, const void *elements, size_t count, size_t element_size,
                             size_t alignment);

/* A vector of references to tables or strings. */
nuc_fb_ref nuc_fb_add_refs(struct nuc_fb_builder *b, const nuc_fb_ref *refs, size_t count);

/* Between these two, no other object may be begun. Fields may be added in any order; ids are 0-based. */
void nuc_fb_table_begin(struct nuc_fb_builder *b);
nuc_fb_ref nuc_fb_table_end(struct nuc_fb_builder *b);

/* A scalar equal to its default is left out, as the format's own writers do. */
void nuc_fb_put_u8(struct nuc_fb_builder *b, int id, uint8_t value, uint8_t fallback);
void nuc_fb_put_i8(struct nuc_fb_builder *b, int id, int8_t value, int8_t fallback);
void nuc_fb_put_bool(struct nuc_fb_builder *b, int id, bool value, bool fallback);
void nuc_fb_put_i32(struct nuc_fb_builder *b, int id, int32_t value, int32_t fallback);
void nuc_fb_put_u32(struct nuc_fb_builder *b, int id, uint32_t value, uint32_t fallback);
void nuc_fb_put_i64(struct nuc_fb_builder *b, int id, int64_t value, int64_t fallback);
void nuc_fb_put_u64(struct nuc_fb_builder *b, int id, uint64_t value, uint64_t fallback);
void nuc_fb_put_f32(struct nuc_fb_builder *b, int id, float value, float fallback);
void nuc_fb_put_f64(struct nuc_fb_builder *b, int id, double value, double fallback);

/* A reference of 0 leaves the field out. */
void nuc_fb_put_ref(struct nuc_fb_builder *b, int id, nuc_fb_ref ref);

/*
 * The finished buffer: root offset, 4-character file identifier, then `header_size` bytes of `header` (NULL: none),
 * then the objects; padded so that every alignment asked for, and at least `alignment`, holds from its first byte.
 */
struct nuc_span nuc_fb_finish(struct nuc_fb_builder *b, nuc_fb_ref root, const char identifier[4], const void *header,
                              size_t header_size, size_t alignment);

/* The same after a word with the number of bytes that follow it, which counts for alignments: "size-prefixed". */
struct nuc_span nuc_fb_finish_prefixed(struct nuc_fb_builder *b, nuc_fb_ref root, const char identifier[4]);

#endif
