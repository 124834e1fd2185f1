#include "run/vector_calls.h"

#include <stdlib.h>
#include <string.h>

#include "device/base/span.h"
#include "device/npusim/npu_host.h"
#include "device/runtime/operators/ops_int8.h"
#include "host/context.h"

/* ---- calls as records of the simulator ---- */

/* What becomes of a call: its record, and its constants next to each other, which planning reads. */
struct lowering {
    struct nuc_kernel_context *cx;
    uint8_t *constants;
    size_t size;
    bool failed; /* a constant is none, or there is no memory */
};

/*
 * An operator: its call, and where the operands and parameters are among the arguments. `table`: one that is read as
 * the weights when the call runs.
 */
struct row {
    const char *name;
    enum nuc_mc_opcode opcode;
    bool (*lower)(struct lowering *l, const struct row *row, struct nuc_value *const *args, union nuc_mc_record *r);
    uint8_t a, b, table, out;
    uint8_t dilation, requantize; /* of a convolution */
    bool overlays;                /* where the output may lie over an input, element by element */
};

static const struct nuc_mc_ref first_input = {NUC_MC_INPUT, 0}, second_input = {NUC_MC_INPUT | 1U << 8, 0},
                               output = {NUC_MC_OUTPUT, 0};

/* Zeros at `*ref` of the constants, or NULL. Until there is more room. */
static void *room(struct lowering *l, size_t bytes, struct nuc_mc_ref *ref)
{
    const size_t at = nuc_align_up(l->size, NUC_MC_ALIGNMENT);
    uint8_t *grown = !l->failed && bytes < INT32_MAX - at ? realloc(l->constants, at + bytes + 1) : NULL;

    if (grown == NULL) {
        l->failed = true;
        return NULL;
    }
    *ref = (struct nuc_mc_ref){NUC_MC_WEIGHTS, (uint32_t)at};
    l->constants = grown;
    l->size = at + bytes;
    return memset(grown + at, 0, bytes);
}

/* A constant of the program; zeros where there is none. */
static struct nuc_mc_ref put(struct lowering *l, const struct nuc_tensor *t, size_t bytes)
{
    struct nuc_mc_ref ref = {NUC_MC_WEIGHTS, 0};
    void *to = room(l, bytes, &ref);

    l->failed = l->failed || (t != NULL && (!t->constant || t->data == NULL || t->bytes != bytes));
    if (t != NULL && !l->failed && bytes > 0)
        memcpy(to, t->data, bytes);
    return ref;
}

/* Pairs of requantizations. */
static struct nuc_mc_ref put_pairs(struct lowering *l, const int32_t *multipliers, const int32_t *shifts, int32_t n)
{
    struct nuc_mc_ref ref = {NUC_MC_WEIGHTS, 0};
    int32_t *to = room(l, (size_t)n * 2 * sizeof *to, &ref);

    for (int32_t i = 0; i < n && to != NULL; i++) {
        to[2 * i] = multipliers[i];
        to[2 * i + 1] = shifts[i];
    }
    return ref;
}

static struct nuc_mc_call call_of(enum nuc_mc_opcode opcode)
{
    return (struct nuc_mc_call){(uint32_t)opcode, nuc_mc_record_size(opcode) / 4, 0, 0};
}

static bool lower_images(struct lowering *l, const struct row *row, struct nuc_value *const *args,
                         union nuc_mc_record *r)
{
    const struct nuc_args_images *a = (const void *)(args + row->a);
    const struct nuc_args_requantize *q = (const void *)(args + row->requantize);
    const struct nuc_tensor *in = &a->input->u.tensor, *weight = &a->weight->u.tensor;
    const struct nuc_tensor *out = &args[row->out]->u.tensor, *shifts = &q->requantize_shifts->u.tensor,
                            *multipliers = &q->requantize_multipliers->u.tensor;
    const int32_t in_c = in->sizes[1], out_c = out->sizes[1];
    int32_t dilations[2] = {1, 1};

    nuc_list_pair(l->cx, args[row->dilation], NULL, dilations);
    l->failed = l->failed || !multipliers->constant || !shifts->constant;
    r->conv = (struct nuc_mc_conv){.call = call_of(row->opcode),
                                   .input = first_input,
                                   .output = output,
                                   .weight = put(l, weight, weight->bytes),
                                   .bias = put(l, nuc_optional_tensor(a->bias), (size_t)out_c * sizeof(int32_t)),
                                   .batches = in->sizes[0],
                                   .in_h = in->sizes[2],
                                   .in_w = in->sizes[3],
                                   .in_c = in_c,
                                   .out_h = out->sizes[2],
                                   .out_w = out->sizes[3],
                                   .out_c = out_c,
                                   .k_h = weight->sizes[1],
                                   .k_w = weight->sizes[2],
                                   .stride_h = (int32_t)nuc_list_int(l->cx, a->stride, 0),
                                   .stride_w = (int32_t)nuc_list_int(l->cx, a->stride, 1),
                                   .dilation_h = dilations[0],
                                   .dilation_w = dilations[1],
                                   .pad_top = (int32_t)nuc_list_int(l->cx, a->padding, 0),
                                   .pad_left = (int32_t)nuc_list_int(l->cx, a->padding, 1),
                                   .groups = row->opcode == NUC_MC_OP_CONV_2D             ? in_c / weight->sizes[3]
                                             : row->opcode == NUC_MC_OP_DEPTHWISE_CONV_2D ? in_c
                                                                                          : out_c / weight->sizes[0],
                                   .input_zero = -nuc_int32(q->input_offset),
                                   .output_zero = nuc_int32(q->output_offset),
                                   .clamp_min = nuc_int32(q->activation_min),
                                   .clamp_max = nuc_int32(q->activation_max)};
    if (!l->failed)
        r->conv.requant = put_pairs(l, multipliers->data, shifts->data, out_c);
    return row->opcode != NUC_MC_OP_TRANSPOSE_CONV || r->conv.groups == 1;
}

static bool lower_linear(struct lowering *l, const struct row *row, struct nuc_value *const *args,
                         union nuc_mc_record *r)
{
    const struct nuc_args_int8_linear *a = (const void *)args;
    const struct nuc_tensor *weight = &a->weights->u.tensor, *sums = nuc_optional_tensor(a->kernel_sum);
    const int32_t depth = weight->sizes[1], columns = weight->sizes[0];
    const struct nuc_multiplier m = {(int32_t)nuc_list_int(l->cx, a->requantize_multipliers, 0),
                                     (int32_t)nuc_list_int(l->cx, a->requantize_shifts, 0)};

    r->matmul = (struct nuc_mc_matmul){.call = call_of(row->opcode),
                                       .lhs = first_input,
                                       .rhs = put(l, weight, weight->bytes),
                                       .output = output,
                                       .batches = 1,
                                       .rows = (int32_t)(a->input->u.tensor.bytes / (size_t)depth),
                                       .columns = columns,
                                       .depth = depth,
                                       .lhs_row_stride = depth,
                                       .lhs_depth_stride = 1,
                                       .rhs_column_stride = depth,
                                       .rhs_depth_stride = 1,
                                       .has_bias = 1,
                                       .lhs_zero = sums != NULL ? 0 : -nuc_int32(a->input_offset),
                                       .output_zero = nuc_int32(a->output_offset),
                                       .clamp_min = nuc_int32(a->activation_min),
                                       .clamp_max = nuc_int32(a->activation_max)};
    r->matmul.bias = put(l, sums != NULL ? sums : nuc_optional_tensor(a->bias), (size_t)columns * sizeof(int32_t));
    r->matmul.requant = put_pairs(l, &m.multiplier, &m.shift, 1);
    return a->filter_offset->u.i == 0;
}

/* A right operand that is constant is packed once, if it is one matrix. */
static bool lower_products(struct lowering *l, const struct row *row, struct nuc_value *const *args,
                           union nuc_mc_record *r)
{
    const struct nuc_args_int8_batch_matmul *a = (const void *)args;
    const struct nuc_tensor *left = &a->lhs->u.tensor, *right = &a->rhs->u.tensor;
    const int32_t rows = left->sizes[1], depth = left->sizes[2], columns = right->sizes[1];
    const struct nuc_multiplier m = nuc_multiplier_of(a->output_multiplier, a->output_shift);

    if ((int64_t)rows * depth > NUC_MC_MAX_DIM || (int64_t)columns * depth > NUC_MC_MAX_DIM)
        return false;
    r->matmul = (struct nuc_mc_matmul){.call = call_of(row->opcode),
                                       .lhs = first_input,
                                       .rhs = second_input,
                                       .output = output,
                                       .batches = left->sizes[0],
                                       .rows = rows,
                                       .columns = columns,
                                       .depth = depth,
                                       .lhs_batch_stride = rows * depth,
                                       .lhs_row_stride = depth,
                                       .lhs_depth_stride = 1,
                                       .rhs_batch_stride = columns * depth,
                                       .rhs_column_stride = depth,
                                       .rhs_depth_stride = 1,
                                       .lhs_zero = -nuc_int32(a->lhs_offset),
                                       .rhs_zero = -nuc_int32(a->rhs_offset),
                                       .output_zero = nuc_int32(a->output_offset),
                                       .clamp_min = INT8_MIN,
                                       .clamp_max = INT8_MAX};
    if (right->constant && left->sizes[0] == 1 && a->rhs_offset->u.i == 0)
        r->matmul.rhs = put(l, right, right->bytes);
    r->matmul.requant = put_pairs(l, &m.multiplier, &m.shift, 1);
    return true;
}

/* Loops over an output without gaps as shape and strides; false when they are others. */
static bool take_loops(const struct nuc_loops *loops, int32_t *rank, int32_t *shape, int32_t *a, int32_t *b)
{
    ptrdiff_t dense = 1;

    *rank = (int32_t)loops->rank;
    if (loops->rank > NUC_MC_MAX_RANK)
        return false;
    for (uint32_t d = loops->rank; d-- > 0; dense *= loops->sizes[d]) {
        if (loops->out[d] != dense && loops->sizes[d] != 1)
            return false;
        shape[d] = loops->sizes[d];
        a[d] = (int32_t)loops->a[d];
        if (b != NULL)
            b[d] = (int32_t)loops->b[d];
    }
    return true;
}

static bool lower_binary(struct lowering *l, const struct row *row, struct nuc_value *const *args,
                         union nuc_mc_record *r)
{
    struct nuc_mc_binary *e = &r->binary;
    struct nuc_loops loops;

    *e = (struct nuc_mc_binary){.call = call_of(row->opcode),
                                .a = first_input,
                                .b = second_input,
                                .output = output,
                                .clamp_min = INT8_MIN,
                                .clamp_max = INT8_MAX};
    return nuc_int8_loops(l->cx, &args[row->a]->u.tensor, &args[row->b]->u.tensor, &args[row->out]->u.tensor, &loops) &&
           loops.rank > 0 && take_loops(&loops, &e->rank, e->shape, e->a_stride, e->b_stride);
}

static bool lower_add(struct lowering *l, const struct row *row, struct nuc_value *const *args, union nuc_mc_record *r)
{
    const struct nuc_args_int8_add *a = (const void *)args;
    struct nuc_mc_binary *e = &r->binary;

    if (!lower_binary(l, row, args, r))
        return false;
    e->a_zero = nuc_int32(a->self_zero_point);
    e->b_zero = nuc_int32(a->other_zero_point);
    e->output_zero = nuc_int32(a->output_zero_point);
    e->left_shift = 20;
    e->a_multiplier = nuc_int32(a->self_multiplier);
    e->a_shift = nuc_int32(a->self_shift);
    e->b_multiplier = nuc_int32(a->other_multiplier);
    e->b_shift = nuc_int32(a->other_shift);
    e->out_multiplier = nuc_int32(a->output_multiplier);
    e->out_shift = nuc_int32(a->output_shift);
    e->clamp_min = nuc_int32(a->activation_min);
    e->clamp_max = nuc_int32(a->activation_max);
    return true;
}

static bool lower_mul(struct lowering *l, const struct row *row, struct nuc_value *const *args, union nuc_mc_record *r)
{
    const struct nuc_args_int8_mul *a = (const void *)args;
    struct nuc_mc_binary *e = &r->binary;

    if (!lower_binary(l, row, args, r))
        return false;
    e->a_zero = nuc_int32(a->self_zero_point);
    e->b_zero = nuc_int32(a->other_zero_point);
    e->output_zero = nuc_int32(a->output_zero_point);
    e->out_multiplier = nuc_int32(a->output_multiplier);
    e->out_shift = nuc_int32(a->output_shift);
    return true;
}

static bool lower_pool(struct lowering *l, const struct row *row, struct nuc_value *const *args, union nuc_mc_record *r)
{
    const struct nuc_args_pool *a = (const void *)(args + row->a);
    const struct nuc_tensor *in = &a->input->u.tensor, *out = &args[row->out]->u.tensor;

    r->pool = (struct nuc_mc_pool){.call = call_of(row->opcode),
                                   .input = first_input,
                                   .output = output,
                                   .batches = in->sizes[0],
                                   .in_h = in->sizes[2],
                                   .in_w = in->sizes[3],
                                   .channels = in->sizes[1],
                                   .out_h = out->sizes[2],
                                   .out_w = out->sizes[3],
                                   .k_h = (int32_t)nuc_list_int(l->cx, a->kernel_size, 0),
                                   .k_w = (int32_t)nuc_list_int(l->cx, a->kernel_size, 1),
                                   .stride_h = (int32_t)nuc_list_int(l->cx, a->stride, 0),
                                   .stride_w = (int32_t)nuc_list_int(l->cx, a->stride, 1),
                                   .pad_top = (int32_t)nuc_list_int(l->cx, a->padding, 0),
                                   .pad_left = (int32_t)nuc_list_int(l->cx, a->padding, 1),
                                   .clamp_min = INT8_MIN,
                                   .clamp_max = INT8_MAX};
    return true;
}

static bool lower_largest(struct lowering *l, const struct row *row, struct nuc_value *const *args,
                          union nuc_mc_record *r)
{
    const struct nuc_args_int8_max_pool2d *a = (const void *)args;

    lower_pool(l, row, args, r);
    r->pool.clamp_min = nuc_int32(a->activation_min);
    r->pool.clamp_max = nuc_int32(a->activation_max);
    return true;
}

static bool lower_sum(struct lowering *l, const struct row *row, struct nuc_value *const *args, union nuc_mc_record *r)
{
    const struct nuc_args_int8_sum *a = (const void *)args;
    struct nuc_mc_reduce *d = &r->reduce;
    struct nuc_loops kept, reduced;

    if (!nuc_reduction_loops(l->cx, a->dim, a->keepdim->u.b, &a->input->u.tensor, &a->out->u.tensor, &kept, &reduced) ||
        reduced.rank < 1 || reduced.rank > NUC_MC_MAX_RANK)
        return false;
    *d = (struct nuc_mc_reduce){.call = call_of(row->opcode),
                                .input = first_input,
                                .output = output,
                                .reduced_rank = (int32_t)reduced.rank,
                                .input_zero = nuc_int32(a->input_zero_point),
                                .output_zero = nuc_int32(a->output_zero_point),
                                .multiplier = nuc_int32(a->output_multiplier),
                                .divisor = 1,
                                .shift = nuc_int32(a->output_shift),
                                .clamp_min = INT8_MIN,
                                .clamp_max = INT8_MAX};
    for (uint32_t i = 0; i < reduced.rank; i++) {
        d->reduced_shape[i] = reduced.sizes[i];
        d->reduced_stride[i] = (int32_t)reduced.a[i];
    }
    nuc_loops_in_memory_order(&kept);
    return take_loops(&kept, &d->rank, d->shape, d->stride, NULL);
}

static bool lower_softmax(struct lowering *l, const struct row *row, struct nuc_value *const *args,
                          union nuc_mc_record *r)
{
    const struct nuc_args_int8_softmax *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor;
    const int32_t depth = in->sizes[nuc_dim_of(in, a->dim)];

    (void)l;
    r->softmax = (struct nuc_mc_softmax){.call = call_of(row->opcode),
                                         .input = first_input,
                                         .output = output,
                                         .rows = (int32_t)(in->bytes / (size_t)depth),
                                         .depth = depth,
                                         .multiplier = nuc_int32(a->input_multiplier),
                                         .left_shift = nuc_int32(a->input_shift),
                                         .diff_min = nuc_int32(a->diff_min)};
    return a->out->u.tensor.dtype == NUC_I8;
}

static bool lower_table(struct lowering *l, const struct row *row, struct nuc_value *const *args,
                        union nuc_mc_record *r)
{
    const struct nuc_args_int8_activation *a = (const void *)args;
    const struct nuc_tensor *out = &a->out->u.tensor;

    r->lut = (struct nuc_mc_lut){.call = call_of(row->opcode),
                                 .input = first_input,
                                 .output = output,
                                 .table = put(l, &a->lut->u.tensor, 256),
                                 .count = (int32_t)out->bytes};
    return out->bytes <= INT32_MAX;
}

/* The step from one position to the next in 1/1024, where it is whole and half of it too: none is rounded then. */
static bool step_of(int32_t in, int32_t out, bool align_corners, int32_t *step)
{
    const int64_t from = in - (align_corners ? 1 : 0), to = out - (align_corners ? 1 : 0);

    if (to <= 0 || from * 1024 % to != 0)
        return false;
    *step = (int32_t)(from * 1024 / to);
    return align_corners || *step % 2 == 0;
}

static bool lower_resize(struct lowering *l, const struct row *row, struct nuc_value *const *args,
                         union nuc_mc_record *r)
{
    const struct nuc_args_int8_resize_bilinear *a = (const void *)args;
    const struct nuc_tensor *in = &a->input->u.tensor, *out = &a->out->u.tensor;
    struct nuc_mc_resize *z = &r->resize;

    (void)l;
    *z = (struct nuc_mc_resize){.call = call_of(row->opcode),
                                .input = first_input,
                                .output = output,
                                .batches = in->sizes[0],
                                .in_h = in->sizes[2],
                                .in_w = in->sizes[3],
                                .channels = in->sizes[1],
                                .out_h = out->sizes[2],
                                .out_w = out->sizes[3],
                                .half_pixel = a->align_corners->u.b ? 0 : 1};
    return out->dtype == NUC_I8 && step_of(z->in_h, z->out_h, a->align_corners->u.b, &z->scale_h) &&
           step_of(z->in_w, z->out_w, a->align_corners->u.b, &z->scale_w);
}

/* ---- the operators ---- */

#define AT(list, member) (uint8_t)(offsetof(struct nuc_args_##list, member) / sizeof(struct nuc_value *))
#define ONE(list, input) .a = AT(list, input), .b = AT(list, input), .out = AT(list, out)
#define TWO(list, first, second) .a = AT(list, first), .b = AT(list, second), .out = AT(list, out)

#define IMAGES(list) ONE(list, images.input), .dilation = AT(list, dilation), .requantize = AT(list, requantize)

static const struct row rows[] = {
    {"cortex_m::quantized_conv2d.out", NUC_MC_OP_CONV_2D, lower_images, IMAGES(int8_conv2d)},
    {"nucleon::quantized_conv2d.out", NUC_MC_OP_CONV_2D, lower_images, IMAGES(int8_sided_conv2d)},
    {"cortex_m::quantized_depthwise_conv2d.out", NUC_MC_OP_DEPTHWISE_CONV_2D, lower_images,
     IMAGES(int8_depthwise_conv2d)},
    {"nucleon::quantized_depthwise_conv2d.out", NUC_MC_OP_DEPTHWISE_CONV_2D, lower_images,
     IMAGES(int8_sided_depthwise_conv2d)},
    {"cortex_m::quantized_transpose_conv2d.out", NUC_MC_OP_TRANSPOSE_CONV, lower_images, IMAGES(int8_transpose_conv2d)},
    {"nucleon::quantized_transpose_conv2d.out", NUC_MC_OP_TRANSPOSE_CONV, lower_images,
     IMAGES(int8_grouped_transpose_conv2d)},
    {"cortex_m::quantized_linear.out", NUC_MC_OP_FULLY_CONNECTED, lower_linear, ONE(int8_linear, input)},
    {"cortex_m::quantized_batch_matmul.out", NUC_MC_OP_BATCH_MATMUL, lower_products, TWO(int8_batch_matmul, lhs, rhs)},
    {"cortex_m::quantized_add.out", NUC_MC_OP_ADD, lower_add, TWO(int8_add, self, other), .overlays = true},
    {"cortex_m::quantized_mul.out", NUC_MC_OP_MUL, lower_mul, TWO(int8_mul, self, other), .overlays = true},
    {"cortex_m::minimum.out", NUC_MC_OP_MINIMUM, lower_binary, TWO(int8_minimum, self, other), .overlays = true},
    {"cortex_m::maximum.out", NUC_MC_OP_MAXIMUM, lower_binary, TWO(int8_minimum, self, other), .overlays = true},
    {"cortex_m::quantized_avg_pool2d.out", NUC_MC_OP_AVERAGE_POOL_2D, lower_pool, ONE(int8_avg_pool2d, pool.input)},
    {"cortex_m::quantized_max_pool2d.out", NUC_MC_OP_MAX_POOL_2D, lower_largest, ONE(int8_max_pool2d, pool.input)},
    {"nucleon::quantized_sum.out", NUC_MC_OP_MEAN, lower_sum, ONE(int8_sum, input)},
    {"nucleon::quantized_resize_bilinear.out", NUC_MC_OP_RESIZE_BILINEAR, lower_resize,
     ONE(int8_resize_bilinear, input)},
    {"cortex_m::softmax.out", NUC_MC_OP_SOFTMAX, lower_softmax, ONE(int8_softmax, input), .overlays = true},
    {"cortex_m::quantized_activation.out", NUC_MC_OP_LUT, lower_table, ONE(int8_activation, input),
     .table = AT(int8_activation, lut), .overlays = true},
};

#define N_ROWS (sizeof rows / sizeof rows[0])

/* ---- calls of a program ---- */

enum state { CALL_NEW, CALL_CHECKED, CALL_PLANNED, CALL_PLAIN };

struct nuc_vector_call {
    const struct row *row;
    nuc_kernel_fn kernel; /* in plain C */
    enum state state;
};

/* The record's buffers are those of the operands, and the constants its weights. */
static bool plan_record(struct nuc_vector_calls *v, const struct row *row, uint32_t index,
                        struct nuc_value *const *args, const struct lowering *l, const union nuc_mc_record *r)
{
    const size_t bytes[3] = {args[row->a]->u.tensor.bytes, args[row->b]->u.tensor.bytes,
                             args[row->out]->u.tensor.bytes};
    uint8_t sizes[sizeof bytes / sizeof bytes[0] * 4];
    struct nuc_npu npu = {.n_inputs = 2,
                          .n_outputs = 1,
                          .io_sizes = sizes,
                          .weights = l->constants,
                          .weights_size = (uint32_t)l->size,
                          .readable_end = (uint32_t)l->size};
    uint64_t work;

    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        if (bytes[i] > INT32_MAX)
            return false;
        nuc_store_u32(sizes + 4 * i, (uint32_t)bytes[i]);
    }
    if (!nuc_npu_verify_record(&npu, r, &work))
        return false;
    npu_host_plan(v->host, index, &npu, r);
    return npu_host_ready(v->host);
}

static bool plan(struct nuc_vector_calls *v, const struct row *row, uint32_t index, struct nuc_kernel_context *cx,
                 struct nuc_value *const *args)
{
    struct lowering l = {.cx = cx};
    union nuc_mc_record r;
    bool planned = row->lower(&l, row, args, &r) && !l.failed && plan_record(v, row, index, args, &l, &r);

    free(l.constants);
    cx->detail->message = cx->detail->argument = NULL; /* what does not fit a record is no error */
    return planned;
}

/* Bytes of an input, or a copy of them where the output lies over it and a row of it may be written too early. */
static const void *source_of(struct nuc_vector_calls *v, const struct row *row, const struct nuc_tensor *in,
                             const struct nuc_tensor *out)
{
    if (row->overlays || nuc_is_apart(in->data, in->bytes, out->data, out->bytes))
        return in->data;
    if (in->bytes > v->copy_size) {
        free(v->copy);
        v->copy = malloc(in->bytes);
        v->copy_size = v->copy != NULL ? in->bytes : 0;
    }
    return v->copy != NULL ? memcpy(v->copy, in->data, in->bytes) : NULL;
}

static bool run_planned(struct nuc_vector_calls *v, const struct row *row, uint32_t index,
                        struct nuc_value *const *args)
{
    const struct nuc_tensor *out = &args[row->out]->u.tensor, *b = &args[row->b]->u.tensor;
    const void *inputs[2] = {source_of(v, row, &args[row->a]->u.tensor, out), b->data};
    void *outputs[1] = {out->data};
    const struct nuc_npu_memory memory = {
        .inputs = inputs, .outputs = outputs, .weights = row->table > 0 ? args[row->table]->u.tensor.data : NULL};

    if (row->a != row->b && !row->overlays && !nuc_is_apart(b->data, b->bytes, out->data, out->bytes))
        return false;
    return inputs[0] != NULL && npu_host_call(v->host, index, &memory, npu_host_record(v->host, index));
}

/* The first time: by its own kernel, which checks the arguments. */
static enum nuc_status run_first(struct nuc_vector_calls *v, struct nuc_vector_call *call,
                                 struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    const char *name = cx->detail->where;
    const nuc_kernel_fn kernel = nuc_kernel_find(&nuc_default_kernels, name)->run;
    const enum nuc_status status = kernel(cx, args);

    if (v->shares || status != NUC_OK)
        return status;
    call->kernel = kernel;
    call->state = CALL_CHECKED;
    for (call->row = rows; strcmp(call->row->name, name) != 0; call->row++)
        ; /* only operators of the rows come here */
    return NUC_OK;
}

static enum nuc_status run_call(struct nuc_kernel_context *cx, struct nuc_value *const *args)
{
    struct nuc_vector_calls *v = &((struct nuc_run_program *)(uintptr_t)cx->program)->calls;
    const uint32_t index = (uint32_t)cx->detail->instruction;
    struct nuc_vector_call *call = &v->calls[index];

    if (call->state == CALL_NEW)
        return run_first(v, call, cx, args);
    if (call->state == CALL_CHECKED && !v->shares)
        call->state = v->host != NULL && plan(v, call->row, index, cx, args) ? CALL_PLANNED : CALL_PLAIN;
    if (call->state == CALL_PLANNED && run_planned(v, call->row, index, args))
        return NUC_OK;
    return call->kernel(cx, args);
}

/* ---- opening ---- */

void nuc_vector_calls_close(struct nuc_vector_calls *v)
{
    npu_host_close(v->host);
    free(v->copy);
}

void nuc_vector_calls_open(struct nuc_context *cx, size_t size, struct nuc_vector_calls *v)
{
    const size_t n = nuc_default_kernels.count;
    struct nuc_kernel_entry *entries = nuc_copy(cx, nuc_default_kernels.entries, n * sizeof *entries);

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < N_ROWS; k++)
            entries[i].run = strcmp(entries[i].name, rows[k].name) == 0 ? run_call : entries[i].run;
    }
    *v = (struct nuc_vector_calls){.table = {entries, n}, .image_size = size};
}

/* A build that chose kernels is to run them. */
#if defined(NUC_SELECT_REF) || defined(NUC_SELECT_DSP) || defined(NUC_SELECT_MVE) || defined(NUC_SELECT_CMSIS)
#define KERNELS_ARE_CHOSEN true
#else
#define KERNELS_ARE_CHOSEN false
#endif

/* Numbers that move may be others in the next execution: a call is planned for those of the one before. */
void nuc_vector_calls_start(struct nuc_context *cx, struct nuc_run_program *p, enum nuc_simulator_path path,
                            uint32_t threads)
{
    struct nuc_vector_calls *v = &p->calls;

    npu_host_close(v->host);
    path = path == NUC_SIMULATOR_BEST ? npu_host_best() : path;
    v->calls = nuc_alloc_array(cx, p->program.n_instructions, sizeof *v->calls);
    v->host = KERNELS_ARE_CHOSEN || path == NUC_SIMULATOR_PLAIN || p->program.numbers_move
                  ? NULL
                  : npu_host_new(p->program.n_instructions, v->image_size, path, threads, false);
}

bool nuc_vector_calls_share(struct nuc_vector_calls *v, const struct nuc_vector_calls *from)
{
    *v = *from;
    v->shares = true;
    v->copy = NULL;
    v->copy_size = 0;
    v->host = from->host != NULL ? npu_host_share(from->host) : NULL;
    return from->host == NULL || v->host != NULL;
}
