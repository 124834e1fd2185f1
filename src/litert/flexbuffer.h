/*
 * The custom options of a NeutronGraph: a FlexBuffer (FlatBuffers' schemaless format) that is one map from texts to
 * texts; those of signal operators have numbers. Reading takes untrusted bytes; writing gives the narrowest form, as
 * the format's own writers do.
 */
#ifndef NUC_LITERT_FLEXBUFFER_H
#define NUC_LITERT_FLEXBUFFER_H

#include "device/base/span.h"
#include "host/context.h"

/* A map of one entry. Key and value together have less than 200 bytes. */
struct nuc_span nuc_flex_write(struct nuc_context *cx, const char *key, const char *value);

/* The number of `key`, an integer or a bool; false when the bytes are not a map or have no such number. */
bool nuc_flex_int(struct nuc_span bytes, const char *key, int64_t *value);

/* A copy of the text of `key`, or NULL when the bytes are not a map or have no such text. */
const char *nuc_flex_read(struct nuc_context *cx, struct nuc_span bytes, const char *key);

#endif
