/* What lt_ops.def says of an operator's options, as data: how they are stored and printed. */
#ifndef NUC_LITERT_LITERT_OPS_H
#define NUC_LITERT_LITERT_OPS_H

#include "device/base/flatbuf.h"
#include "host/flatbuilder.h"
#include "litert/litert.h"

enum nuc_lt_field_kind {
    NUC_LT_FIELD_PAIR,  /* of height and width */
    NUC_LT_FIELD_INT,   /* int32_t */
    NUC_LT_FIELD_COUNT, /* int32_t, printed unless it is 0 */
    NUC_LT_FIELD_BYTE,  /* int8_t */
    NUC_LT_FIELD_FLAG,  /* bool */
    NUC_LT_FIELD_REAL,  /* float */
    NUC_LT_FIELD_PADDING,
    NUC_LT_FIELD_ACTIVATION,
    NUC_LT_FIELD_LIST,  /* struct nuc_lt_list */
    NUC_LT_FIELD_TEXT,  /* const char *, NULL: empty */
    NUC_LT_FIELD_BYTES, /* struct nuc_span: the options of CUSTOM, which are not a table */
};

struct nuc_lt_field {
    enum nuc_lt_field_kind kind;
    const char *text;    /* its name in printed forms; NULL: not printed */
    uint16_t offset[2];  /* in union nuc_lt_options; of height and width when it is a pair */
    int8_t id[2];        /* in the schema's table, -1: not stored */
    int8_t value_absent; /* of an absent field. A list: whether an empty one is stored */
};

struct nuc_lt_fields {
    const struct nuc_lt_field *list;
    size_t n;
};

/* Whether lt_ops.def has the operator. */
bool nuc_lt_is_known(int32_t code);

/* The fields of an operator's options; none for an operator that is not known. */
struct nuc_lt_fields nuc_lt_fields(int32_t code);

/* The member of the options that a field stands for. */
static inline const void *nuc_lt_member(const union nuc_lt_options *o, const struct nuc_lt_field *f)
{
    return (const uint8_t *)o + f->offset[0];
}

/* A whole number, flag, padding or activation; `part` 1 is the width of a pair. */
int32_t nuc_lt_field_int(const union nuc_lt_options *o, const struct nuc_lt_field *f, int part);

/* "valid", "relu6": the value of a padding or activation. */
const char *nuc_lt_field_name(const union nuc_lt_options *o, const struct nuc_lt_field *f);

/* A text. */
const char *nuc_lt_field_text(const union nuc_lt_options *o, const struct nuc_lt_field *f);

/* ---- reader and writer ---- */

/* Position in the union BuiltinOptions; 0: the operator stores no options. */
uint8_t nuc_lt_options_type(int32_t code);

/* `t` may be absent: the options are then the schema's defaults. */
void nuc_lt_options_read(struct nuc_fb_reader *r, struct nuc_fb_table t, int32_t code, union nuc_lt_options *o);
nuc_fb_ref nuc_lt_options_write(struct nuc_fb_builder *b, int32_t code, const union nuc_lt_options *o);

/* TensorType of a handle of a variable. */
enum { NUC_LT_UINT64 = 12, NUC_LT_RESOURCE = 13, NUC_LT_UINT32 = 15, NUC_LT_INT4 = 17, NUC_LT_INT2 = 19 };

/* TensorType of the schema for an element type and back. -1, NUC_DTYPE_COUNT: the schema or we have none. */
int nuc_lt_type_from_dtype(enum nuc_dtype dtype);
enum nuc_dtype nuc_lt_dtype_from_type(int type);

#endif
