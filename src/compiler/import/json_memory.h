/*
 * Memory of jansson's reader. Its scanner (2.14, lex_scan_string()) goes on when an allocation fails, and then writes
 * beyond a block or asserts: so while it reads, memory comes from the current arena, and one that has none left ends
 * the call under way, jansson included. Nothing leaks: the tree is freed with the arena, never by json_decref().
 */
#ifndef NUC_IMPORT_JSON_MEMORY_H
#define NUC_IMPORT_JSON_MEMORY_H

#include "host/context.h"

/* From here to nuc_json_memory_end(), what jansson allocates in this thread lies in the current arena. */
void nuc_json_memory_begin(struct nuc_context *cx);
void nuc_json_memory_end(void);

#endif
