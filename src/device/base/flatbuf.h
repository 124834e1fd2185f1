/*
 * Bounded reader for FlatBuffers. Every access is checked against the buffer, so a reader may walk a hostile file:
 * an absent or ill-formed field reads as absent and raises the sticky flag `bad` when the bytes contradict the format.
 * No allocation, no recursion. Source: the FlatBuffers internals document of google/flatbuffers. Freestanding.
 */
#ifndef NUC_DEVICE_BASE_FLATBUF_H
#define NUC_DEVICE_BASE_FLATBUF_H

#include "device/base/span.h"

struct nuc_fb_reader {
    struct nuc_span bytes;
    bool bad; /* an offset pointed outside, or a vector was longer than the file */
};

/* A table whose vtable has been checked: the position of its soffset, 0: absent. One word is passed in a register. */
struct nuc_fb_table {
    uint32_t at;
};

/* A vector's elements. at == 0: absent, then count is 0. */
struct nuc_fb_vector {
    uint32_t at; /* of element 0 */
    uint32_t count;
};

/* The root table; `root_at` is the position of the root offset (0 in a plain file). */
struct nuc_fb_table nuc_fb_root(struct nuc_fb_reader *r, uint32_t root_at);

/* Position of the `size` inline bytes of field `id`; 0 when absent. */
uint32_t nuc_fb_field(struct nuc_fb_reader *r, struct nuc_fb_table t, int id, uint32_t size);

/* Scalars of field `id` (0-based declaration order), or the default when absent. */
uint8_t nuc_fb_u8(struct nuc_fb_reader *r, struct nuc_fb_table t, int id, uint8_t fallback);
int8_t nuc_fb_i8(struct nuc_fb_reader *r, struct nuc_fb_table t, int id, int8_t fallback);
uint32_t nuc_fb_u32(struct nuc_fb_reader *r, struct nuc_fb_table t, int id, uint32_t fallback);
int32_t nuc_fb_i32(struct nuc_fb_reader *r, struct nuc_fb_table t, int id, int32_t fallback);
uint64_t nuc_fb_u64(struct nuc_fb_reader *r, struct nuc_fb_table t, int id, uint64_t fallback);
int64_t nuc_fb_i64(struct nuc_fb_reader *r, struct nuc_fb_table t, int id, int64_t fallback);
float nuc_fb_f32(struct nuc_fb_reader *r, struct nuc_fb_table t, int id, float fallback);
double nuc_fb_f64(struct nuc_fb_reader *r, struct nuc_fb_table t, int id, double fallback);
bool nuc_fb_bool(struct nuc_fb_reader *r, struct nuc_fb_table t, int id, bool fallback);

/* A table in field `id`, a union member (the same encoding), or an absent table. */
struct nuc_fb_table nuc_fb_sub(struct nuc_fb_reader *r, struct nuc_fb_table t, int id);

/* A vector of elements of `element_size` bytes in field `id`; its extent has been checked. */
struct nuc_fb_vector nuc_fb_vec(struct nuc_fb_reader *r, struct nuc_fb_table t, int id, uint32_t element_size);

/* The bytes of a vector of bytes. */
struct nuc_span nuc_fb_bytes(struct nuc_fb_reader *r, struct nuc_fb_table t, int id);

/*
 * A string field: pointer to its NUL-terminated bytes inside the buffer and its length, or NULL when absent or not
 * terminated. `length` may be NULL.
 */
const char *nuc_fb_string(struct nuc_fb_reader *r, struct nuc_fb_table t, int id, uint32_t *length);

/* Element `i` of a vector of offsets to tables or strings; `i` beyond the count reads as absent and sets bad. */
struct nuc_fb_table nuc_fb_vec_table(struct nuc_fb_reader *r, struct nuc_fb_vector v, uint32_t i);
const char *nuc_fb_vec_string(struct nuc_fb_reader *r, struct nuc_fb_vector v, uint32_t i, uint32_t *length);

/* Element `i` of a vector of scalars; `i` beyond the count reads as 0 and sets bad. */
uint8_t nuc_fb_vec_u8(struct nuc_fb_reader *r, struct nuc_fb_vector v, uint32_t i);
int32_t nuc_fb_vec_i32(struct nuc_fb_reader *r, struct nuc_fb_vector v, uint32_t i);
int64_t nuc_fb_vec_i64(struct nuc_fb_reader *r, struct nuc_fb_vector v, uint32_t i);
float nuc_fb_vec_f32(struct nuc_fb_reader *r, struct nuc_fb_vector v, uint32_t i);
double nuc_fb_vec_f64(struct nuc_fb_reader *r, struct nuc_fb_vector v, uint32_t i);

#endif
