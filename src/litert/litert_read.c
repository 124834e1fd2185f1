/* Field ids are positions in the tables of the public schema (tensorflow/compiler/mlir/lite/schema/schema.fbs). */
#include <string.h>

#include "litert/litert.h"
#include "litert/litert_ops.h"

/* Memory a file may ask for, as a multiple of its size: several references to one table would else multiply it. */
#define BYTES_PER_FILE_BYTE 16
#define BYTES_AT_LEAST ((size_t)64 * 1024)

struct lt_reader {
    struct nuc_context *cx;
    const char *file;
    struct nuc_fb_reader fb;
    size_t allowance; /* bytes that may still be allocated */
    struct nuc_fb_vector codes;
    struct nuc_fb_vector buffers;
};

_Noreturn static void fail(const struct lt_reader *r, const char *what)
{
    nuc_fail(r->cx, NUC_BAD_INPUT, "%s: %s: the LiteRT file is damaged, convert the model again", r->file, what);
}

/* Ill-formed offsets read as absent values; the sticky flag tells them apart. */
static void require_good(const struct lt_reader *r, const char *what)
{
    if (r->fb.bad)
        fail(r, nuc_format(r->cx, "%s points outside the file", what));
}

static void *take(struct lt_reader *r, size_t count, size_t size)
{
    if (count > r->allowance / size)
        fail(r, "tables are referenced more often than a file of this size can hold");
    r->allowance -= count * size;
    return nuc_alloc_array(r->cx, count, size);
}

/* Tensor indices of an operator or subgraph; -1 stands for an optional input left out. */
static int32_t *read_indices(struct lt_reader *r, struct nuc_fb_table t, int id, uint32_t n_tensors, uint32_t *count)
{
    struct nuc_fb_vector v = nuc_fb_vec(&r->fb, t, id, 4);
    int32_t *list = take(r, v.count, sizeof *list);

    for (uint32_t i = 0; i < v.count; i++) {
        list[i] = nuc_fb_vec_i32(&r->fb, v, i);
        if (list[i] < -1 || list[i] >= (int64_t)n_tensors)
            fail(r, nuc_format(r->cx, "tensor %d is used, but there are %u", (int)list[i], n_tensors));
    }
    *count = v.count;
    return list;
}

/*
 * Old converters give biases a dimension that they do not have, which LiteRT does not read: the only one that is as
 * long as the scales are many, where all others have size 1.
 */
static void find_axis(struct nuc_lt_tensor *t)
{
    if (t->quant.axis >= 0 && t->quant.axis < (int64_t)t->rank)
        return;
    for (uint32_t d = 0; d < t->rank; d++) {
        if ((uint32_t)t->shape[d] == t->quant.count && nuc_lt_elements(t) == (int64_t)t->quant.count) {
            t->quant.axis = (int32_t)d;
            return;
        }
    }
}

/* Scales without zero points stand for zero points of 0. */
static void read_quant(struct lt_reader *r, struct nuc_fb_table t, struct nuc_lt_tensor *out)
{
    struct nuc_fb_table q = nuc_fb_sub(&r->fb, t, 4);
    struct nuc_fb_vector scales = nuc_fb_vec(&r->fb, q, 2, 4);
    struct nuc_fb_vector zero_points = nuc_fb_vec(&r->fb, q, 3, 8);

    if (scales.count == 0)
        return;
    if (zero_points.count > 1 && zero_points.count != scales.count)
        fail(r, nuc_format(r->cx, "tensor '%s' has %u scales and %u zero points", out->name, scales.count,
                           zero_points.count));
    float *scale = take(r, scales.count, sizeof *scale);
    int64_t *zero_point = take(r, scales.count, sizeof *zero_point);
    for (uint32_t i = 0; i < scales.count; i++) {
        scale[i] = nuc_fb_vec_f32(&r->fb, scales, i);
        if (zero_points.count != 0)
            zero_point[i] = nuc_fb_vec_i64(&r->fb, zero_points, zero_points.count == 1 ? 0 : i);
    }
    out->quant = (struct nuc_lt_quant){scales.count, scale, zero_point, nuc_fb_i32(&r->fb, q, 6, 0)};
    if (scales.count == 1) {
        out->quant.axis = 0;
        return;
    }
    find_axis(out);
    if (out->quant.axis < 0 || out->quant.axis >= (int64_t)out->rank ||
        (uint32_t)out->shape[out->quant.axis] != scales.count)
        fail(r, nuc_format(r->cx, "tensor '%s' has %u scales for dimension %d", out->name, scales.count,
                           (int)out->quant.axis));
}

/* Bytes in field `id` of a table, or after the FlatBuffer where offset and size in the fields from `at` on point. */
static struct nuc_span read_bytes(struct lt_reader *r, struct nuc_fb_table t, int id, int at, const char *what)
{
    struct nuc_span bytes = nuc_fb_bytes(&r->fb, t, id);
    uint64_t offset = nuc_fb_u64(&r->fb, t, at, 0);

    /* Offsets 0 and 1 are reserved for "not there". */
    if (offset > 1 && !nuc_span_slice(r->fb.bytes, offset, nuc_fb_u64(&r->fb, t, at + 1, 0), &bytes))
        fail(r, nuc_format(r->cx, "%s lies outside the file", what));
    return bytes;
}

static struct nuc_span read_buffer(struct lt_reader *r, uint32_t index)
{
    if (index >= r->buffers.count)
        fail(r, nuc_format(r->cx, "buffer %u is used, but there are %u", index, r->buffers.count));
    return read_bytes(r, nuc_fb_vec_table(&r->fb, r->buffers, index), 0, 1, "a buffer");
}

static void read_data(struct lt_reader *r, struct nuc_fb_table t, struct nuc_lt_tensor *out)
{
    struct nuc_span bytes = read_buffer(r, nuc_fb_u32(&r->fb, t, 2, 0));
    size_t expected = (size_t)nuc_lt_elements(out) * nuc_dtype_size(out->dtype);

    if (bytes.data == NULL || bytes.size == 0)
        return;
    if (bytes.size != expected)
        fail(r, nuc_format(r->cx, "tensor '%s' holds %zu bytes, its shape and type need %zu", out->name, bytes.size,
                           expected));
    out->data = bytes;
}

/* A constant of several elements a byte, from its low bits on, as int8. */
static void read_packed(struct lt_reader *r, struct nuc_fb_table t, unsigned bits, struct nuc_lt_tensor *out)
{
    struct nuc_span bytes = read_buffer(r, nuc_fb_u32(&r->fb, t, 2, 0));
    const size_t elements = (size_t)nuc_lt_elements(out), each = 8 / bits;

    if (bytes.size == 0 || nuc_fb_sub(&r->fb, t, 6).at != 0)
        return;
    if (bytes.size != (elements + each - 1) / each)
        fail(r, nuc_format(r->cx, "tensor '%s' holds %zu bytes, its shape and type need %zu", out->name, bytes.size,
                           (elements + each - 1) / each));
    uint8_t *values = take(r, elements + 1, 1);
    for (size_t i = 0; i < elements; i++) {
        const int value = bytes.data[i / each] >> i % each * bits & ((1 << bits) - 1);
        values[i] = (uint8_t)(value >= 1 << (bits - 1) ? value - (1 << bits) : value);
    }
    out->data = (struct nuc_span){values, elements};
    out->dtype = NUC_I8;
    out->unhandled = NULL;
}

/* ---- sparse tensors ---- */

/* One level of a sparse tensor: a dimension, or a dimension inside of blocks. */
struct level {
    bool sparse;
    int32_t size;                           /* dense: positions */
    struct nuc_fb_vector segments, indices; /* sparse: where the entries of each parent begin, and their positions */
    uint8_t segments_type, indices_type;
    int32_t stride; /* of the dense tensor, in elements, for a step along it */
};

/* Entry `i` of an Int32Vector (1), Uint16Vector (2) or Uint8Vector (3); -1 beyond its end. */
static int64_t sparse_entry(struct lt_reader *r, struct nuc_fb_vector v, uint8_t type, int64_t i)
{
    if (i < 0 || i >= (int64_t)v.count)
        return -1;
    size_t at = v.at + (size_t)i * (type == 1 ? 4 : type == 2 ? 2 : 1);
    const uint8_t *p = r->fb.bytes.data + at;
    return type == 1 ? (int32_t)nuc_load_u32(p) : type == 2 ? nuc_load_u16(p) : *p;
}

static struct nuc_fb_vector sparse_vector(struct lt_reader *r, struct nuc_fb_table level, int type_id, uint8_t *type)
{
    *type = nuc_fb_u8(&r->fb, level, type_id, 0);
    if (*type < 1 || *type > 3)
        fail(r, "a sparse tensor has entries of an unknown type");
    return nuc_fb_vec(&r->fb, nuc_fb_sub(&r->fb, level, type_id + 1), 0, *type == 1 ? 4 : *type == 2 ? 2 : 1);
}

struct expansion {
    struct lt_reader *r;
    struct level levels[2 * NUC_MAX_RANK];
    uint32_t n;
    struct nuc_span values;
    size_t size; /* of an element */
    uint8_t *out;
    size_t elements;
};

/*
 * Copies the values of the levels from `k` on; `position` is the entry of the level before, `at` its place. Entries of
 * different parents are different ones, so that no value is copied twice.
 */
static void expand_level(const struct expansion *x, uint32_t k, int64_t position, int64_t at)
{
    const struct level *l = &x->levels[k];

    if (k == x->n) {
        if (at < 0 || at >= (int64_t)x->elements || (size_t)position >= x->values.size / x->size)
            fail(x->r, "a sparse tensor has values outside of its shape");
        memcpy(x->out + (size_t)at * x->size, x->values.data + (size_t)position * x->size, x->size);
        return;
    }
    int64_t first = position * l->size, end = first + l->size;
    if (l->sparse) {
        first = sparse_entry(x->r, l->segments, l->segments_type, position);
        end = sparse_entry(x->r, l->segments, l->segments_type, position + 1);
        if (first < 0 || end < first || end > (int64_t)l->indices.count)
            fail(x->r, "a sparse tensor has segments that are out of order");
    }
    for (int64_t i = first; i < end; i++) {
        int64_t along = l->sparse ? sparse_entry(x->r, l->indices, l->indices_type, i) : i - first;
        expand_level(x, k + 1, i, at + along * l->stride);
    }
}

/*
 * SparsityParameters of the schema: levels in the order in which they are nested, the dimensions of the tensor first,
 * then those of blocks; each dense, or with the positions that have values.
 */
static void read_sparse(struct lt_reader *r, struct nuc_fb_table t, struct nuc_lt_tensor *out)
{
    struct nuc_fb_table s = nuc_fb_sub(&r->fb, t, 6);
    struct nuc_fb_vector order = nuc_fb_vec(&r->fb, s, 0, 4), block_map = nuc_fb_vec(&r->fb, s, 1, 4);
    struct nuc_fb_vector dims = nuc_fb_vec(&r->fb, s, 2, 4);
    struct nuc_span values = read_buffer(r, nuc_fb_u32(&r->fb, t, 2, 0));
    struct expansion x = {.r = r, .n = out->rank + block_map.count, .values = values};
    int32_t block[NUC_MAX_RANK], dense[NUC_MAX_RANK], stride = 1;
    uint32_t n = x.n;

    if (values.size == 0)
        return;
    if (block_map.count > out->rank || order.count != n || dims.count != n)
        fail(r, nuc_format(r->cx, "tensor '%s' is sparse in a way that does not fit its shape", out->name));
    for (uint32_t d = out->rank; d-- > 0; stride *= out->shape[d]) {
        dense[d] = stride;
        block[d] = 1;
    }
    /* Sizes of blocks before strides of the dimensions that they divide. */
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t k = 0; k < n; k++) {
            int32_t d = nuc_fb_vec_i32(&r->fb, order, k);
            struct nuc_fb_table level = nuc_fb_vec_table(&r->fb, dims, k);
            bool inside = d >= (int32_t)out->rank;
            int32_t of = inside && d < (int32_t)n ? nuc_fb_vec_i32(&r->fb, block_map, (uint32_t)d - out->rank) : d;
            if (d < 0 || d >= (int32_t)n || of < 0 || of >= (int32_t)out->rank)
                fail(r, nuc_format(r->cx, "tensor '%s' is sparse along a dimension that it does not have", out->name));
            struct level *l = &x.levels[k];
            l->sparse = nuc_fb_i8(&r->fb, level, 0, 0) == 1;
            l->size = nuc_fb_i32(&r->fb, level, 1, 0);
            if (l->size < 0 || (!l->sparse && l->size > out->shape[of]))
                fail(r, nuc_format(r->cx, "tensor '%s' is sparse with an impossible size", out->name));
            if (inside && pass == 0)
                block[of] = l->size;
            l->stride = inside ? dense[of] : dense[of] * block[of];
            if (l->sparse && pass == 1) {
                l->segments = sparse_vector(r, level, 2, &l->segments_type);
                l->indices = sparse_vector(r, level, 4, &l->indices_type);
            }
        }
    }
    require_good(r, "a sparse tensor");
    x.size = nuc_dtype_size(out->dtype);
    x.elements = (size_t)nuc_lt_elements(out);
    x.out = take(r, x.elements, x.size);
    expand_level(&x, 0, 0, 0);
    out->data = (struct nuc_span){x.out, x.elements * x.size};
}

const char *nuc_lt_type_name(const struct nuc_lt_tensor *t)
{
    return t->is_resource ? "resource" : t->unhandled != NULL ? t->unhandled : nuc_dtype_name(t->dtype);
}

const char *nuc_lt_type_text(struct nuc_context *cx, const char *name, const char *type)
{
    return nuc_format(
        cx, "tensor '%s' is of the type %s, which is not handled: leave what computes with it out of the model", name,
        type);
}

static void read_tensor(struct lt_reader *r, struct nuc_fb_table t, struct nuc_lt_tensor *out)
{
    const char *name = nuc_fb_string(&r->fb, t, 3, NULL);
    int type = nuc_fb_i8(&r->fb, t, 1, 0);

    out->name = name == NULL ? "" : name;
    out->dtype = nuc_lt_dtype_from_type(type);
    out->is_unsigned = type == NUC_LT_UINT32 || type == NUC_LT_UINT64;
    if (out->is_unsigned)
        out->dtype = type == NUC_LT_UINT32 ? NUC_I32 : NUC_I64;
    require_good(r, "a tensor");
    if (out->dtype == NUC_DTYPE_COUNT) {
        /* Types that no tensor is read with, but constants of four and two bits. */
        static const char *const names[] = {[5] = "string",   [8] = "complex64", [11] = "complex128", [13] = "resource",
                                            [14] = "variant", [17] = "int4",     [19] = "int2"};
        bool known = type >= 0 && (size_t)type < sizeof names / sizeof names[0] && names[type] != NULL;
        out->unhandled = known ? names[type] : nuc_format(r->cx, "%d of the schema", type);
        out->is_resource = type == NUC_LT_RESOURCE;
        out->dtype = NUC_I16;
    }
    out->is_variable = nuc_fb_bool(&r->fb, t, 5, false);
    struct nuc_fb_vector v = nuc_fb_vec(&r->fb, t, 0, 4);
    int64_t elements = 1;
    if (v.count > NUC_MAX_RANK)
        nuc_fail(r->cx, NUC_UNSUPPORTED, "%s: tensor '%s' has %u dimensions, at most %d are handled: reshape it",
                 r->file, out->name, v.count, NUC_MAX_RANK);
    out->rank = v.count;
    for (uint32_t i = 0; i < v.count; i++) {
        /* -1 is a size that the converter did not know: others state 1 for it. */
        out->shape[i] = nuc_fb_vec_i32(&r->fb, v, i);
        if (out->shape[i] == -1) {
            out->is_open = true;
            out->shape[i] = 1;
        }
        if (out->shape[i] < 0 || __builtin_mul_overflow(elements, out->shape[i], &elements) || elements > INT32_MAX)
            fail(r, nuc_format(r->cx, "tensor '%s' has an impossible size %d in dimension %u", out->name,
                               (int)out->shape[i], i));
    }
    if (type == NUC_LT_INT4 || type == NUC_LT_INT2)
        read_packed(r, t, type == NUC_LT_INT4 ? 4 : 2, out);
    if (out->unhandled != NULL)
        return;
    read_quant(r, t, out);
    if (out->data.data != NULL)
        return;
    if (nuc_fb_sub(&r->fb, t, 6).at != 0)
        read_sparse(r, t, out);
    else
        read_data(r, t, out);
    require_good(r, "a tensor");
}

/* Files from before the code outgrew a byte have it in field 0, later ones in both or in field 3: the larger counts. */
static void read_code(struct lt_reader *r, uint32_t index, struct nuc_lt_op *op)
{
    if (index >= r->codes.count)
        fail(r, nuc_format(r->cx, "operator code %u is used, but there are %u", index, r->codes.count));
    struct nuc_fb_table t = nuc_fb_vec_table(&r->fb, r->codes, index);
    int32_t old = nuc_fb_i8(&r->fb, t, 0, 0);
    int32_t code = nuc_fb_i32(&r->fb, t, 3, 0);

    op->code = code > old ? code : old;
    op->version = nuc_fb_i32(&r->fb, t, 2, 1);
    if (op->code < 0)
        fail(r, "an operator code is negative");
    if (op->code == NUC_LT_CUSTOM) {
        op->custom_code = nuc_fb_string(&r->fb, t, 1, NULL);
        if (op->custom_code == NULL)
            fail(r, "a custom operator has no name");
    }
}

static void read_op(struct lt_reader *r, struct nuc_fb_table t, uint32_t n_tensors, struct nuc_lt_op *op)
{
    read_code(r, nuc_fb_u32(&r->fb, t, 0, 0), op);
    op->inputs = read_indices(r, t, 1, n_tensors, &op->n_inputs);
    op->outputs = read_indices(r, t, 2, n_tensors, &op->n_outputs);

    uint8_t type = nuc_fb_u8(&r->fb, t, 3, 0), own_type = nuc_lt_options_type(op->code);
    if (type != 0 && own_type != 0 && type != own_type)
        fail(r, nuc_format(r->cx, "operator %s carries the options of another one", nuc_lt_code_name(r->cx, op->code)));
    op->has_unknown_options = type != 0 && !nuc_lt_is_known(op->code);
    nuc_lt_options_read(&r->fb, type == 0 ? (struct nuc_fb_table){0} : nuc_fb_sub(&r->fb, t, 4), op->code,
                        &op->options);
    if (op->code == NUC_LT_CUSTOM)
        op->options.custom.options = read_bytes(r, t, 5, 9, "a list of custom options");
    require_good(r, "an operator");
}

static void read_subgraph(struct lt_reader *r, struct nuc_fb_table t, struct nuc_lt_subgraph *out)
{
    struct nuc_fb_vector tensors = nuc_fb_vec(&r->fb, t, 0, 4);
    struct nuc_fb_vector ops = nuc_fb_vec(&r->fb, t, 3, 4);

    out->name = nuc_fb_string(&r->fb, t, 4, NULL);
    out->n_tensors = tensors.count;
    out->tensors_capacity = tensors.count;
    out->tensors = take(r, tensors.count, sizeof *out->tensors);
    for (uint32_t i = 0; i < tensors.count; i++)
        read_tensor(r, nuc_fb_vec_table(&r->fb, tensors, i), &out->tensors[i]);
    out->inputs = read_indices(r, t, 1, out->n_tensors, &out->n_inputs);
    out->outputs = read_indices(r, t, 2, out->n_tensors, &out->n_outputs);
    out->n_ops = ops.count;
    out->ops_capacity = ops.count;
    out->ops = take(r, ops.count, sizeof *out->ops);
    for (uint32_t i = 0; i < ops.count; i++)
        read_op(r, nuc_fb_vec_table(&r->fb, ops, i), out->n_tensors, &out->ops[i]);
    require_good(r, "a subgraph");
}

struct nuc_lt_model *nuc_lt_read(struct nuc_context *cx, const char *file, struct nuc_span bytes)
{
    struct lt_reader r = {.cx = cx, .file = file, .fb = {bytes, false}};

    if (bytes.size < 8 || memcmp(bytes.data + 4, "TFL3", 4) != 0)
        nuc_fail(cx, NUC_BAD_INPUT, "%s: not a LiteRT file: 'TFL3' is missing at byte 4", file);
    r.allowance = bytes.size > (SIZE_MAX - BYTES_AT_LEAST) / BYTES_PER_FILE_BYTE
                      ? SIZE_MAX
                      : bytes.size * BYTES_PER_FILE_BYTE + BYTES_AT_LEAST;
    struct nuc_fb_table root = nuc_fb_root(&r.fb, 0);
    struct nuc_fb_vector subgraphs = nuc_fb_vec(&r.fb, root, 2, 4);
    r.codes = nuc_fb_vec(&r.fb, root, 1, 4);
    r.buffers = nuc_fb_vec(&r.fb, root, 4, 4);
    if (r.fb.bad || root.at == 0 || subgraphs.count == 0)
        fail(&r, "the model holds no subgraph");
    if (nuc_fb_u32(&r.fb, root, 0, 0) != 3)
        nuc_fail(cx, NUC_UNSUPPORTED, "%s: schema version %u, version 3 is handled: convert the model again", file,
                 nuc_fb_u32(&r.fb, root, 0, 0));

    struct nuc_lt_model *m = nuc_lt_model_new(cx, file);
    struct nuc_fb_vector list = nuc_fb_vec(&r.fb, root, 7, 4);
    m->signatures = take(&r, list.count, sizeof *m->signatures);
    for (uint32_t i = 0; i < list.count; i++) {
        struct nuc_fb_table t = nuc_fb_vec_table(&r.fb, list, i);
        const char *key = nuc_fb_string(&r.fb, t, 2, NULL);
        uint32_t subgraph = nuc_fb_u32(&r.fb, t, 4, 0);
        if (subgraph >= subgraphs.count)
            fail(&r, "a signature belongs to a subgraph that is not there");
        m->signatures[m->n_signatures++] = (struct nuc_lt_signature){key == NULL ? "" : key, subgraph};
    }
    m->description = nuc_fb_string(&r.fb, root, 3, NULL);
    m->n_subgraphs = subgraphs.count;
    m->subgraphs = take(&r, subgraphs.count, sizeof *m->subgraphs);
    for (uint32_t i = 0; i < subgraphs.count; i++)
        read_subgraph(&r, nuc_fb_vec_table(&r.fb, subgraphs, i), &m->subgraphs[i]);
    require_good(&r, "the model");
    return m;
}
