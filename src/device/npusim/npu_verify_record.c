/*
 * What makes a record safe: every operand inside its buffer for every index the kernel forms, every table entry
 * usable, no intermediate of a kernel beyond its type. Sizes and strides are at most NUC_MC_MAX_DIM, so that offsets
 * are sums of at most eight products below 2^56.
 */
#include "device/base/npu_cost.h"
#include "device/base/span.h"
#include "npu.h"

/* Longest row of a window, in products: its 16-bit products then sum up inside 32 bits. */
#define MAX_RUN 65536
#define MAX_WINDOW (1 << 22)
#define MAX_REDUCED (1 << 27)
#define MAX_SOFTMAX 4095

static bool is_size(int32_t v)
{
    return v >= 1 && v <= NUC_MC_MAX_DIM;
}

static bool is_stride(int32_t v)
{
    return v >= 0 && v <= NUC_MC_MAX_DIM;
}

static bool is_i8(int32_t v)
{
    return v >= INT8_MIN && v <= INT8_MAX;
}

static bool is_clamp(int32_t low, int32_t high)
{
    return is_i8(low) && is_i8(high) && low <= high;
}

static bool is_shift(int32_t v)
{
    return v >= -31 && v <= 30;
}

/* Saturating, so that a hostile product is too much work rather than a small one. */
static uint64_t times3(int32_t a, int32_t b, int32_t c)
{
    return nuc_npu_times(nuc_npu_times((uint64_t)a, (uint64_t)b), (uint64_t)c);
}

/* Bytes of the buffer a reference points into, 0 when it does not exist. */
static uint64_t space_size(const struct nuc_npu *npu, uint32_t where)
{
    uint32_t index = where >> 8;

    switch (where & 0xFFu) {
    case NUC_MC_INPUT:
        return index < npu->n_inputs ? nuc_load_u32(npu->io_sizes + (size_t)index * 4) : 0;
    case NUC_MC_OUTPUT:
        return index < npu->n_outputs ? nuc_load_u32(npu->io_sizes + ((size_t)npu->n_inputs + index) * 4) : 0;
    case NUC_MC_SCRATCH:
        return index == 0 ? npu->scratch_size : 0;
    case NUC_MC_WEIGHTS:
        return index == 0 ? npu->readable_end : 0;
    default:
        return 0;
    }
}

/* Bytes [low, high) relative to the operand lie inside its buffer. */
static bool reaches(const struct nuc_npu *npu, struct nuc_mc_ref ref, int64_t low, int64_t high)
{
    uint64_t size = space_size(npu, ref.where);
    int64_t start = (ref.where & 0xFFu) == NUC_MC_WEIGHTS ? npu->readable_start : 0;

    return (int64_t)ref.offset + low >= start && low <= high && (uint64_t)((int64_t)ref.offset + high) <= size;
}

static bool reads(const struct nuc_npu *npu, struct nuc_mc_ref ref, uint64_t bytes)
{
    return bytes < (uint64_t)1 << 40 && reaches(npu, ref, 0, (int64_t)bytes);
}

static bool is_writable(struct nuc_mc_ref ref)
{
    uint32_t space = ref.where & 0xFFu;

    return space == NUC_MC_OUTPUT || space == NUC_MC_SCRATCH;
}

static bool writes(const struct nuc_npu *npu, struct nuc_mc_ref ref, uint64_t bytes)
{
    return is_writable(ref) && reads(npu, ref, bytes);
}

/* `rows` runs of `row` bytes, `pitch` bytes from one to the next; a pitch of 0 means no gaps. */
static bool reads_rows(const struct nuc_npu *npu, struct nuc_mc_ref ref, uint64_t rows, int32_t row, int32_t pitch)
{
    if (pitch == 0)
        return reads(npu, ref, nuc_npu_times(rows, (uint64_t)row));
    return is_size(pitch) && pitch >= row && reads(npu, ref, nuc_npu_times(rows - 1, (uint64_t)pitch) + (uint64_t)row);
}

static bool writes_rows(const struct nuc_npu *npu, struct nuc_mc_ref ref, uint64_t rows, int32_t row, int32_t pitch)
{
    return is_writable(ref) && reads_rows(npu, ref, rows, row, pitch);
}

/* `n` words of a table in the weights. */
static bool reads_words(const struct nuc_npu *npu, struct nuc_mc_ref ref, uint64_t n)
{
    return (ref.where & 0xFFu) == NUC_MC_WEIGHTS && ref.offset % 4 == 0 && reads(npu, ref, nuc_npu_times(n, 4));
}

static bool reads_requant(const struct nuc_npu *npu, struct nuc_mc_ref ref, int32_t n)
{
    if (!reads_words(npu, ref, nuc_npu_times((uint64_t)n, 2)))
        return false;
    const uint8_t *table = npu->weights + ref.offset;
    for (int64_t i = 0; i < n; i++) {
        if (!is_shift((int32_t)nuc_load_u32(table + i * 8 + 4)))
            return false;
    }
    return true;
}

/* Positions along one axis of a window operator fit 31 bits. */
static bool is_axis(int32_t in, int32_t out, int32_t k, int32_t stride, int32_t dilation, int32_t pad)
{
    if (!is_size(in) || !is_size(out) || !is_size(k) || !is_size(stride) || !is_size(dilation) || !is_stride(pad))
        return false;
    return (int64_t)(out - 1) * stride <= INT32_MAX && (int64_t)(k - 1) * dilation <= NUC_MC_MAX_DIM;
}

static bool verify_conv(const struct nuc_npu *npu, const union nuc_mc_record *r, uint64_t *work)
{
    const struct nuc_mc_conv *c = &r->conv;
    bool depthwise = nuc_mc_opcode_of(&c->call) == NUC_MC_OP_DEPTHWISE_CONV_2D;
    bool transposed = nuc_mc_opcode_of(&c->call) == NUC_MC_OP_TRANSPOSE_CONV;

    if (!is_axis(c->in_h, c->out_h, c->k_h, c->stride_h, c->dilation_h, c->pad_top) ||
        !is_axis(c->in_w, c->out_w, c->k_w, c->stride_w, c->dilation_w, c->pad_left))
        return false;
    if (!is_size(c->batches) || !is_size(c->in_c) || !is_size(c->out_c) || !is_size(c->groups))
        return false;
    if (c->in_c % c->groups != 0 || c->out_c % c->groups != 0 || (depthwise && c->groups != c->in_c) ||
        (transposed && (c->groups != 1 || c->dilation_h != 1 || c->dilation_w != 1)))
        return false;
    if (!is_i8(c->input_zero) || !is_i8(c->output_zero) || !is_clamp(c->clamp_min, c->clamp_max))
        return false;
    if (nuc_npu_times((uint64_t)c->k_w, (uint64_t)(c->in_c / c->groups)) > MAX_RUN)
        return false;
    uint64_t taps = times3(c->k_h, c->k_w, c->in_c / c->groups);
    uint64_t pixels = times3(c->batches, c->out_h, c->out_w);
    *work = nuc_npu_times(nuc_npu_times(pixels, (uint64_t)c->out_c), taps);
    return reads_rows(npu, c->input, times3(c->batches, c->in_h, c->in_w), c->in_c, c->in_pitch) &&
           writes_rows(npu, c->output, pixels, c->out_c, c->out_pitch) &&
           reads(npu, c->weight, nuc_npu_times(taps, (uint64_t)c->out_c)) &&
           reads_words(npu, c->bias, (uint64_t)c->out_c) && reads_requant(npu, c->requant, c->out_c);
}

/* From the first value of a product's matrices to the last. */
static uint64_t matrices_extent(const struct nuc_mc_matmul *g, int32_t stride, int32_t inner_stride)
{
    int32_t inner = g->inner > 0 ? g->inner : 1;

    return (uint64_t)(g->batches / inner - 1) * (uint64_t)stride + (uint64_t)(inner - 1) * (uint64_t)inner_stride;
}

static uint64_t matrix_extent(int32_t rows, int32_t row_stride, int32_t columns, int32_t column_stride)
{
    return (uint64_t)(rows - 1) * (uint64_t)row_stride + (uint64_t)(columns - 1) * (uint64_t)column_stride;
}

/* Batches in two levels, and where their results lie. */
static bool verify_inner(const struct nuc_npu *npu, const struct nuc_mc_matmul *g)
{
    int32_t pitch = (int32_t)npu_pitch(g->out_pitch, g->columns);

    if (!is_size(g->inner) || g->batches % g->inner != 0 || !is_stride(g->lhs_inner_stride) ||
        !is_stride(g->rhs_inner_stride) || !is_stride(g->out_batch_stride) || !is_stride(g->out_inner_stride) ||
        !is_size(pitch) || pitch < g->columns)
        return false;
    return writes(npu, g->output,
                  matrices_extent(g, g->out_batch_stride, g->out_inner_stride) +
                      matrix_extent(g->rows, pitch, g->columns, 1) + 1);
}

static bool verify_matmul(const struct nuc_npu *npu, const union nuc_mc_record *r, uint64_t *work)
{
    const struct nuc_mc_matmul *g = &r->matmul;

    if (!is_size(g->batches) || !is_size(g->rows) || !is_size(g->columns) || !is_size(g->depth))
        return false;
    if (!is_stride(g->lhs_batch_stride) || !is_stride(g->lhs_row_stride) || !is_stride(g->lhs_depth_stride) ||
        !is_stride(g->rhs_batch_stride) || !is_stride(g->rhs_column_stride) || !is_stride(g->rhs_depth_stride))
        return false;
    if (!is_i8(g->lhs_zero) || !is_i8(g->rhs_zero) || !is_i8(g->output_zero) || !is_clamp(g->clamp_min, g->clamp_max))
        return false;
    if (g->has_bias < 0 || g->has_bias > 1 || g->per_channel < 0 || g->per_channel > 1)
        return false;
    uint64_t outputs = times3(g->batches, g->rows, g->columns);
    *work = nuc_npu_times(outputs, (uint64_t)g->depth);
    if (g->inner != 0 ? !verify_inner(npu, g)
                      : !writes_rows(npu, g->output, nuc_npu_times((uint64_t)g->batches, (uint64_t)g->rows), g->columns,
                                     g->out_pitch))
        return false;
    return reads(npu, g->lhs,
                 matrices_extent(g, g->lhs_batch_stride, g->lhs_inner_stride) +
                     matrix_extent(g->rows, g->lhs_row_stride, g->depth, g->lhs_depth_stride) + 1) &&
           reads(npu, g->rhs,
                 matrices_extent(g, g->rhs_batch_stride, g->rhs_inner_stride) +
                     matrix_extent(g->columns, g->rhs_column_stride, g->depth, g->rhs_depth_stride) + 1) &&
           (!g->has_bias || reads_words(npu, g->bias, (uint64_t)g->columns)) &&
           reads_requant(npu, g->requant, g->per_channel ? g->columns : 1);
}

/* Sizes of `rank` dimensions and their product. */
static bool verify_shape(const int32_t *shape, int32_t rank, int32_t min_rank, uint64_t *elements)
{
    *elements = 1;
    if (rank < min_rank || rank > NUC_MC_MAX_RANK)
        return false;
    for (int32_t i = 0; i < rank; i++) {
        if (!is_size(shape[i]))
            return false;
        *elements = nuc_npu_times(*elements, (uint64_t)shape[i]);
    }
    return true;
}

/* Smallest and largest offset a strided operand reaches. False when a stride is out of bounds. */
static bool strided_extent(const int32_t *shape, const int32_t *stride, int32_t rank, int64_t *low, int64_t *high)
{
    for (int32_t i = 0; i < rank; i++) {
        if (stride[i] > NUC_MC_MAX_DIM || stride[i] < -NUC_MC_MAX_DIM)
            return false;
        int64_t reach = (int64_t)(shape[i] - 1) * stride[i];
        *(reach < 0 ? low : high) += reach;
    }
    return true;
}

static bool reads_strided(const struct nuc_npu *npu, struct nuc_mc_ref ref, const int32_t *shape, const int32_t *stride,
                          int32_t rank, int32_t unit)
{
    int64_t low = 0, high = unit;

    return strided_extent(shape, stride, rank, &low, &high) && reaches(npu, ref, low, high);
}

static bool verify_binary(const struct nuc_npu *npu, const union nuc_mc_record *r, uint64_t *work)
{
    const struct nuc_mc_binary *e = &r->binary;

    if (!verify_shape(e->shape, e->rank, 1, work))
        return false;
    if (!is_i8(e->a_zero) || !is_i8(e->b_zero) || !is_i8(e->output_zero) || !is_clamp(e->clamp_min, e->clamp_max))
        return false;
    if (e->left_shift < 0 || e->left_shift > 20 || !is_shift(e->a_shift) || !is_shift(e->b_shift) ||
        !is_shift(e->out_shift))
        return false;
    return reads_strided(npu, e->a, e->shape, e->a_stride, e->rank, 1) &&
           reads_strided(npu, e->b, e->shape, e->b_stride, e->rank, 1) &&
           writes_rows(npu, e->output, *work / (uint64_t)e->shape[e->rank - 1], e->shape[e->rank - 1], e->out_pitch);
}

static bool verify_pool(const struct nuc_npu *npu, const union nuc_mc_record *r, uint64_t *work)
{
    const struct nuc_mc_pool *p = &r->pool;

    if (!is_axis(p->in_h, p->out_h, p->k_h, p->stride_h, 1, p->pad_top) ||
        !is_axis(p->in_w, p->out_w, p->k_w, p->stride_w, 1, p->pad_left))
        return false;
    if (!is_size(p->batches) || !is_size(p->channels) || (int64_t)p->k_h * p->k_w > MAX_WINDOW)
        return false;
    if (p->count_pad < 0 || p->count_pad > 1 || !is_i8(p->pad_value) || !is_clamp(p->clamp_min, p->clamp_max))
        return false;
    uint64_t pixels = times3(p->batches, p->out_h, p->out_w);
    *work = nuc_npu_times(nuc_npu_times(pixels, (uint64_t)p->channels), (uint64_t)p->k_h * (uint64_t)p->k_w);
    return reads_rows(npu, p->input, times3(p->batches, p->in_h, p->in_w), p->channels, p->in_pitch) &&
           writes_rows(npu, p->output, pixels, p->channels, p->out_pitch);
}

static bool verify_reduce(const struct nuc_npu *npu, const union nuc_mc_record *r, uint64_t *work)
{
    const struct nuc_mc_reduce *d = &r->reduce;
    uint64_t outputs, reduced;
    int64_t low = 0, high = 1;

    if (!verify_shape(d->shape, d->rank, 0, &outputs) ||
        !verify_shape(d->reduced_shape, d->reduced_rank, 1, &reduced) || reduced > MAX_REDUCED)
        return false;
    if (!is_i8(d->input_zero) || !is_i8(d->output_zero) || !is_clamp(d->clamp_min, d->clamp_max))
        return false;
    if (nuc_mc_opcode_of(&d->call) == NUC_MC_OP_SUM) {
        if (d->multiplier < 1 || d->multiplier > 1 << 24 || d->divisor < 1 || d->divisor > 1 << 24 || d->shift < -512 ||
            d->shift > 512)
            return false;
    } else if (!is_shift(d->shift)) {
        return false;
    }
    *work = nuc_npu_times(outputs, reduced);
    return strided_extent(d->shape, d->stride, d->rank, &low, &high) &&
           strided_extent(d->reduced_shape, d->reduced_stride, d->reduced_rank, &low, &high) &&
           reaches(npu, d->input, low, high) && writes(npu, d->output, outputs);
}

static bool verify_softmax(const struct nuc_npu *npu, const union nuc_mc_record *r, uint64_t *work)
{
    const struct nuc_mc_softmax *s = &r->softmax;

    if (!is_size(s->rows) || !is_size(s->depth) || s->depth > MAX_SOFTMAX)
        return false;
    if (s->left_shift < 0 || s->left_shift > 31 || s->multiplier < 0 || s->diff_min > 0)
        return false;
    *work = nuc_npu_times((uint64_t)s->rows, (uint64_t)s->depth);
    return reads(npu, s->input, *work) && writes_rows(npu, s->output, (uint64_t)s->rows, s->depth, s->out_pitch);
}

/* Entries are at most 2^31, and the first, that of a row's largest value, is exactly that: no sum is 0. */
static bool reads_exponentials(const struct nuc_npu *npu, struct nuc_mc_ref ref)
{
    if (!reads_words(npu, ref, 256))
        return false;
    const uint8_t *table = npu->weights + ref.offset;
    for (uint32_t i = 0; i < 256; i++) {
        if (nuc_load_u32(table + i * 4) > 1u << 31)
            return false;
    }
    return nuc_load_u32(table) == 1u << 31;
}

static bool verify_softmax_table(const struct nuc_npu *npu, const union nuc_mc_record *r, uint64_t *work)
{
    const struct nuc_mc_softmax_table *s = &r->softmax_table;

    if (!is_size(s->rows) || !is_size(s->depth))
        return false;
    *work = nuc_npu_times((uint64_t)s->rows, (uint64_t)s->depth);
    return reads(npu, s->input, *work) && writes_rows(npu, s->output, (uint64_t)s->rows, s->depth, s->out_pitch) &&
           reads_exponentials(npu, s->table);
}

static bool verify_lut(const struct nuc_npu *npu, const union nuc_mc_record *r, uint64_t *work)
{
    const struct nuc_mc_lut *l = &r->lut;
    int32_t run = l->out_pitch == 0 && l->in_pitch == 0 ? l->count : l->run;

    if (!is_size(l->count) || !is_size(run) || l->count % run != 0)
        return false;
    *work = (uint64_t)l->count;
    return reads_rows(npu, l->input, (uint64_t)(l->count / run), run, l->in_pitch) &&
           writes_rows(npu, l->output, (uint64_t)(l->count / run), run, l->out_pitch) && reads(npu, l->table, 256);
}

static bool verify_copy(const struct nuc_npu *npu, const union nuc_mc_record *r, uint64_t *work)
{
    const struct nuc_mc_copy *c = &r->copy;
    uint64_t elements;

    if (!is_size(c->unit) || !is_stride(c->out_start) || !is_stride(c->fill_size) || c->fill_value < 0 ||
        c->fill_value > 255)
        return false;
    if (!verify_shape(c->shape, c->rank, 1, &elements) || !is_writable(c->output))
        return false;
    *work = nuc_npu_times(elements, (uint64_t)c->unit);
    int64_t low = c->out_start, high = (int64_t)c->out_start + c->unit;
    return reads_strided(npu, c->input, c->shape, c->in_stride, c->rank, c->unit) &&
           strided_extent(c->shape, c->out_stride, c->rank, &low, &high) && reaches(npu, c->output, low, high) &&
           reads(npu, c->output, (uint64_t)c->fill_size);
}

/* Adds the smallest and largest entry of each axis' table. */
static void table_extent(const struct nuc_mc_gather *g, const uint8_t *table, int64_t *low, int64_t *high)
{
    for (int32_t d = 0; d < g->rank; d++) {
        int32_t smallest = INT32_MAX, largest = INT32_MIN;
        for (int32_t i = 0; i < g->shape[d]; i++, table += 4) {
            int32_t v = (int32_t)nuc_load_u32(table);
            smallest = v < smallest ? v : smallest;
            largest = v > largest ? v : largest;
        }
        *low += smallest;
        *high += largest;
    }
}

static bool verify_gather(const struct nuc_npu *npu, const union nuc_mc_record *r, uint64_t *work)
{
    const struct nuc_mc_gather *g = &r->gather;
    uint64_t elements, entries = 0;
    int64_t low = 0, high = g->unit;

    if (!is_size(g->unit) || !verify_shape(g->shape, g->rank, 1, &elements))
        return false;
    for (int32_t i = 0; i < g->rank; i++)
        entries += (uint64_t)g->shape[i];
    *work = nuc_npu_times(elements, (uint64_t)g->unit);
    if (!reads_words(npu, g->table, entries) || !writes(npu, g->output, *work))
        return false;
    table_extent(g, npu->weights + g->table.offset, &low, &high);
    return reaches(npu, g->input, low, high);
}

/* The last position stays within a step of the input, so that interpolation weights stay small. */
static bool is_scaled(int32_t in, int32_t out, int32_t scale)
{
    return is_size(in) && is_size(out) && is_stride(scale) && (int64_t)(out - 1) * scale <= ((int64_t)in + 1) * 1024;
}

static bool verify_resize(const struct nuc_npu *npu, const union nuc_mc_record *r, uint64_t *work)
{
    const struct nuc_mc_resize *z = &r->resize;

    if (!is_scaled(z->in_h, z->out_h, z->scale_h) || !is_scaled(z->in_w, z->out_w, z->scale_w))
        return false;
    if (!is_size(z->batches) || !is_size(z->channels) || z->half_pixel < 0 || z->half_pixel > 1)
        return false;
    *work = nuc_npu_times(times3(z->batches, z->out_h, z->out_w), (uint64_t)z->channels);
    return reads(npu, z->input, nuc_npu_times(times3(z->batches, z->in_h, z->in_w), (uint64_t)z->channels)) &&
           writes_rows(npu, z->output, times3(z->batches, z->out_h, z->out_w), z->channels, z->out_pitch);
}

/* Tables stay aligned in the staging buffer. */
static bool verify_fetch(const struct nuc_npu *npu, const union nuc_mc_record *r, uint64_t *work)
{
    const struct nuc_mc_fetch *f = &r->fetch;

    if (!is_size(f->size) || !is_stride(f->weights_offset) || !is_stride(f->staging_offset) || f->channel < 0 ||
        f->channel >= NUC_MC_CHANNELS)
        return false;
    *work = (uint64_t)f->size;
    return f->weights_offset % NUC_MC_ALIGNMENT == 0 && f->staging_offset % NUC_MC_ALIGNMENT == 0 &&
           (uint64_t)f->weights_offset + *work <= npu->weights_size &&
           (uint64_t)f->staging_offset + *work <= npu->staging_size;
}

typedef bool (*verify_function)(const struct nuc_npu *npu, const union nuc_mc_record *r, uint64_t *work);

bool nuc_npu_verify_record(const struct nuc_npu *npu, const union nuc_mc_record *r, uint64_t *work)
{
    static const verify_function verify[NUC_MC_OPCODE_COUNT] = {
#define VERIFY(name, number, record) [number] = verify_##record,
        NUC_MC_OPCODES(VERIFY)
#undef VERIFY
    };
    uint32_t opcode = nuc_mc_opcode_of(&r->call);

    *work = 0;
    return opcode < NUC_MC_OPCODE_COUNT && verify[opcode] && verify[opcode](npu, r, work);
}
