/* How the options of each builtin operator are stored: one row an operator, shared by reader and writer. */
#ifndef NUC_LITERT_OPTIONS_H
#define NUC_LITERT_OPTIONS_H

#include "base/flatbuf.h"
#include "compiler/litert/litert.h"
#include "host/flatbuilder.h"

struct nuc_lt_codec {
    uint8_t type; /* value of the union BuiltinOptions; 0: the operator has none */

    /* Both NULL: the table has no fields. `t` may be absent: the options are then the schema's defaults. */
    void (*read)(struct nuc_fb_reader *r, struct nuc_fb_table t, union nuc_lt_options *options);
    nuc_fb_ref (*write)(struct nuc_fb_builder *b, const union nuc_lt_options *options);
};

/* The row of an operator; for one that is not known a row without options. */
const struct nuc_lt_codec *nuc_lt_codec(int32_t code);

/* TensorType of the schema for an element type and back. -1, NUC_DTYPE_COUNT: there is none. */
int nuc_lt_type_from_dtype(enum nuc_dtype dtype);
enum nuc_dtype nuc_lt_dtype_from_type(int type);

#endif
