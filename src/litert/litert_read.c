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

static void read_tensor(struct lt_reader *r, struct nuc_fb_table t, struct nuc_lt_tensor *out)
{
    const char *name = nuc_fb_string(&r->fb, t, 3, NULL);
    int type = nuc_fb_i8(&r->fb, t, 1, 0);

    out->name = name == NULL ? "" : name;
    out->dtype = nuc_lt_dtype_from_type(type);
    require_good(r, "a tensor");
    if (out->dtype == NUC_DTYPE_COUNT)
        nuc_fail(r->cx, NUC_UNSUPPORTED,
                 "%s: tensor '%s' has element type %d of the schema, which is not handled: "
                 "convert the model with int8 quantization",
                 r->file, out->name, type);
    out->is_variable = nuc_fb_bool(&r->fb, t, 5, false);
    if (nuc_fb_sub(&r->fb, t, 6).at != 0)
        nuc_fail(r->cx, NUC_UNSUPPORTED,
                 "%s: tensor '%s' is stored sparsely, which is not handled: convert the model "
                 "without sparsity",
                 r->file, out->name);
    struct nuc_fb_vector v = nuc_fb_vec(&r->fb, t, 0, 4);
    int64_t elements = 1;
    if (v.count > NUC_MAX_RANK)
        nuc_fail(r->cx, NUC_UNSUPPORTED, "%s: tensor '%s' has %u dimensions, at most %d are handled: reshape it",
                 r->file, out->name, v.count, NUC_MAX_RANK);
    out->rank = v.count;
    for (uint32_t i = 0; i < v.count; i++) {
        out->shape[i] = nuc_fb_vec_i32(&r->fb, v, i);
        if (out->shape[i] < 0 || __builtin_mul_overflow(elements, out->shape[i], &elements) || elements > INT32_MAX)
            fail(r, nuc_format(r->cx, "tensor '%s' has an impossible size %d in dimension %u", out->name,
                               (int)out->shape[i], i));
    }
    read_quant(r, t, out);
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
    nuc_lt_options_read(&r->fb, type == 0 ? (struct nuc_fb_table){0, 0, 0, 0} : nuc_fb_sub(&r->fb, t, 4), op->code,
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
    m->description = nuc_fb_string(&r.fb, root, 3, NULL);
    m->n_subgraphs = subgraphs.count;
    m->subgraphs = take(&r, subgraphs.count, sizeof *m->subgraphs);
    for (uint32_t i = 0; i < subgraphs.count; i++)
        read_subgraph(&r, nuc_fb_vec_table(&r.fb, subgraphs, i), &m->subgraphs[i]);
    require_good(&r, "the model");
    return m;
}
