#include "device/base/npu_cost.h"

/*
 * Arrays: NXP's neutron-imxrt700.ini and product pages; that the 16 multiply-accumulates of N1-16
 * are 4 dot products of 4 follows from outputs that NXP's converter pads to multiples of 4. `kernel` is fitted to the
 * latencies NXP prints for N3-64 (docs/cycle-model.md); the others are assumptions named there.
 */
#define ANY_NPU                                                                                                        \
    .depthwise_macs = 1, .kernel = 4600, .bus_bytes = 8, .softmax_steps = 16, .copy_start = 500, .burst_bytes = 512,   \
    .burst_cycles = 47, .wire_percent = 81

const struct nuc_npu_costs nuc_npus[NUC_NPU_KINDS] = {
    [NUC_NPU_N3_64] = {.kind = NUC_NPU_N3_64, .pipelines = 8, .num_macs = 8, ANY_NPU},
    [NUC_NPU_N1_16] = {.kind = NUC_NPU_N1_16, .code = 0x116, .pipelines = 4, .num_macs = 4, ANY_NPU},
};

enum nuc_npu_kind nuc_npu_with_code(uint32_t code)
{
    uint32_t kind = 0;

    while (kind < NUC_NPU_KINDS && nuc_npus[kind].code != code)
        kind++;
    return (enum nuc_npu_kind)kind;
}

uint64_t nuc_npu_times(uint64_t a, uint64_t b)
{
    uint64_t product;

    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

uint64_t nuc_npu_round_up(uint64_t value, uint32_t step)
{
    return value > UINT64_MAX - step ? UINT64_MAX : (value + step - 1) / step * step;
}

static uint64_t divide_up(uint64_t value, uint64_t by)
{
    return value / by + (value % by != 0);
}

/* A size of a record; one that is not positive counts as none. */
static uint64_t size(int32_t v)
{
    return v > 0 ? (uint64_t)v : 0;
}

static uint64_t size3(int32_t a, int32_t b, int32_t c)
{
    return nuc_npu_times(nuc_npu_times(size(a), size(b)), size(c));
}

static uint64_t product(const int32_t *shape, int32_t rank)
{
    uint64_t elements = 1;

    for (int32_t i = 0; i < rank && i < NUC_MC_MAX_RANK; i++)
        elements = nuc_npu_times(elements, size(shape[i]));
    return elements;
}

/* Bytes of a table of a function. */
#define LUT_BYTES 256

/* Bytes of an int32 bias and a requant pair per channel. */
#define TABLE_BYTES 12

static struct nuc_npu_work conv_work(const struct nuc_npu_costs *k, const union nuc_mc_record *r)
{
    const struct nuc_mc_conv *c = &r->conv;
    uint32_t opcode = nuc_mc_opcode_of(&c->call);
    uint64_t groups = c->groups > 0 ? (uint64_t)c->groups : 1;
    uint64_t taps = nuc_npu_times(size(c->k_h), size(c->k_w));
    uint64_t in = size3(c->batches, c->in_h, c->in_w), out = size3(c->batches, c->out_h, c->out_w);
    uint64_t in_group = size(c->in_c) / groups, out_group = size(c->out_c) / groups;
    uint64_t weights = nuc_npu_times(nuc_npu_times(taps, in_group), size(c->out_c));
    struct nuc_npu_work w = {
        .bytes = plus(plus(nuc_npu_times(in, size(c->in_c)), nuc_npu_times(out, size(c->out_c))),
                      plus(weights, nuc_npu_times(size(c->out_c), TABLE_BYTES))),
    };

    if (opcode == NUC_MC_OP_DEPTHWISE_CONV_2D) {
        w.depthwise = nuc_npu_times(nuc_npu_times(out, taps), nuc_npu_round_up(size(c->out_c), k->pipelines));
        return w;
    }
    /* A transposed convolution visits every tap of every input pixel. */
    uint64_t visits = nuc_npu_times(opcode == NUC_MC_OP_TRANSPOSE_CONV ? in : out, taps);
    uint64_t channels =
        nuc_npu_times(nuc_npu_round_up(in_group, k->num_macs), nuc_npu_round_up(out_group, k->pipelines));
    w.array = nuc_npu_times(nuc_npu_times(visits, channels), groups);
    return w;
}

static struct nuc_npu_work matmul_work(const struct nuc_npu_costs *k, const union nuc_mc_record *r)
{
    const struct nuc_mc_matmul *g = &r->matmul;
    uint64_t rows = nuc_npu_times(size(g->batches), size(g->rows)), columns = size(g->columns), depth = size(g->depth);
    uint64_t sides = g->rhs_batch_stride != 0 ? size(g->batches) : 1;

    return (struct nuc_npu_work){
        .array = nuc_npu_times(nuc_npu_times(rows, nuc_npu_round_up(columns, k->pipelines)),
                               nuc_npu_round_up(depth, k->num_macs)),
        .bytes = plus(plus(nuc_npu_times(rows, depth), nuc_npu_times(rows, columns)),
                      plus(nuc_npu_times(nuc_npu_times(columns, depth), sides), nuc_npu_times(columns, TABLE_BYTES))),
    };
}

/* Values of an operand that repeats along dimensions of stride 0. */
static uint64_t distinct(const int32_t *shape, const int32_t *stride, int32_t rank)
{
    uint64_t elements = 1;

    for (int32_t i = 0; i < rank && i < NUC_MC_MAX_RANK; i++)
        elements = stride[i] != 0 ? nuc_npu_times(elements, size(shape[i])) : elements;
    return elements;
}

static struct nuc_npu_work binary_work(const struct nuc_npu_costs *k, const union nuc_mc_record *r)
{
    const struct nuc_mc_binary *e = &r->binary;
    uint64_t elements = product(e->shape, e->rank);
    uint64_t read = plus(distinct(e->shape, e->a_stride, e->rank), distinct(e->shape, e->b_stride, e->rank));

    (void)k;
    return (struct nuc_npu_work){.lanes = elements, .bytes = plus(elements, read)};
}

static struct nuc_npu_work pool_work(const struct nuc_npu_costs *k, const union nuc_mc_record *r)
{
    const struct nuc_mc_pool *p = &r->pool;
    uint64_t out = size3(p->batches, p->out_h, p->out_w), in = size3(p->batches, p->in_h, p->in_w);

    return (struct nuc_npu_work){
        .lanes = nuc_npu_times(nuc_npu_times(out, nuc_npu_times(size(p->k_h), size(p->k_w))),
                               nuc_npu_round_up(size(p->channels), k->pipelines)),
        .bytes = nuc_npu_times(plus(in, out), size(p->channels)),
    };
}

static struct nuc_npu_work reduce_work(const struct nuc_npu_costs *k, const union nuc_mc_record *r)
{
    uint64_t out = product(r->reduce.shape, r->reduce.rank);
    uint64_t in = nuc_npu_times(out, product(r->reduce.reduced_shape, r->reduce.reduced_rank));

    (void)k;
    return (struct nuc_npu_work){.lanes = in, .bytes = plus(in, out)};
}

static struct nuc_npu_work softmax_work(const struct nuc_npu_costs *k, const union nuc_mc_record *r)
{
    uint64_t elements = nuc_npu_times(size(r->softmax.rows), size(r->softmax.depth));

    return (struct nuc_npu_work){.lanes = nuc_npu_times(elements, k->softmax_steps),
                                 .bytes = nuc_npu_times(elements, 2)};
}

static struct nuc_npu_work softmax_table_work(const struct nuc_npu_costs *k, const union nuc_mc_record *r)
{
    uint64_t elements = nuc_npu_times(size(r->softmax_table.rows), size(r->softmax_table.depth));

    return (struct nuc_npu_work){.lanes = nuc_npu_times(elements, k->softmax_steps),
                                 .bytes = plus(nuc_npu_times(elements, 2), 1024)};
}

static struct nuc_npu_work lut_work(const struct nuc_npu_costs *k, const union nuc_mc_record *r)
{
    uint64_t elements = size(r->lut.count);

    (void)k;
    return (struct nuc_npu_work){.lanes = elements, .bytes = plus(nuc_npu_times(elements, 2), LUT_BYTES)};
}

static struct nuc_npu_work copy_work(const struct nuc_npu_costs *k, const union nuc_mc_record *r)
{
    uint64_t units = product(r->copy.shape, r->copy.rank);

    (void)k;
    return (struct nuc_npu_work){
        .lanes = units,
        .bytes = plus(nuc_npu_times(nuc_npu_times(units, size(r->copy.unit)), 2), size(r->copy.fill_size))};
}

static struct nuc_npu_work gather_work(const struct nuc_npu_costs *k, const union nuc_mc_record *r)
{
    uint64_t units = product(r->gather.shape, r->gather.rank);

    (void)k;
    return (struct nuc_npu_work){.lanes = units, .bytes = nuc_npu_times(nuc_npu_times(units, size(r->gather.unit)), 2)};
}

/* Four values are read for each result. */
static struct nuc_npu_work resize_work(const struct nuc_npu_costs *k, const union nuc_mc_record *r)
{
    const struct nuc_mc_resize *z = &r->resize;
    uint64_t out = nuc_npu_times(size3(z->batches, z->out_h, z->out_w), size(z->channels));

    (void)k;
    return (struct nuc_npu_work){.lanes = nuc_npu_times(out, 4), .bytes = nuc_npu_times(out, 5)};
}

/* Copies are not work of the NPU: nuc_npu_clock_step() has their time. */
static struct nuc_npu_work fetch_work(const struct nuc_npu_costs *k, const union nuc_mc_record *r)
{
    (void)k;
    (void)r;
    return (struct nuc_npu_work){.bytes = 0};
}

/*
 * The work of a call, from the sizes in its record. A table at its end costs no steps, as rounding and clamping do not:
 * pipelines look up as many values in a cycle as the bus takes bytes.
 */
static struct nuc_npu_work work_of(const struct nuc_npu_costs *costs, const union nuc_mc_record *r)
{
    typedef struct nuc_npu_work (*work_function)(const struct nuc_npu_costs *k, const union nuc_mc_record *r);
    static const work_function works[NUC_MC_OPCODE_COUNT] = {
#define WORK(name, number, record) [number] = record##_work,
        NUC_MC_OPCODES(WORK)
#undef WORK
    };
    uint32_t opcode = nuc_mc_opcode_of(&r->call);

    struct nuc_npu_work w =
        opcode < NUC_MC_OPCODE_COUNT && works[opcode] ? works[opcode](costs, r) : (struct nuc_npu_work){0};
    if (r->call.opcode & NUC_MC_TABLE)
        w.bytes = plus(w.bytes, LUT_BYTES);
    return w;
}

uint64_t nuc_npu_cycles(const struct nuc_npu_costs *k, const struct nuc_npu_work *w)
{
    uint64_t array = divide_up(w->array, (uint64_t)k->pipelines * k->num_macs);
    uint64_t lanes =
        plus(divide_up(w->depthwise, (uint64_t)k->pipelines * k->depthwise_macs), divide_up(w->lanes, k->pipelines));

    return plus(plus(k->kernel, divide_up(w->bytes, k->bus_bytes)), plus(array, lanes));
}

/* The CPU's whole copy, or a DMA's start. */
static void start_copy(const struct nuc_npu_costs *k, struct nuc_npu_clock *clock, const struct nuc_mc_fetch *f)
{
    uint64_t bytes = size(f->size);
    uint64_t copy = plus(nuc_npu_times(divide_up(bytes, k->burst_bytes), k->burst_cycles),
                         divide_up(nuc_npu_times(bytes, k->wire_percent), 100));

    clock->now = plus(clock->now, k->copy_start);
    if (!clock->dma) {
        clock->now = plus(clock->now, copy);
        return;
    }
    uint64_t start = clock->now > clock->copies_done ? clock->now : clock->copies_done;
    clock->copies_done = plus(start, copy);
    clock->copied[(uint32_t)f->channel % NUC_MC_CHANNELS] = clock->copies_done;
}

uint64_t nuc_npu_clock_step(const struct nuc_npu_costs *k, struct nuc_npu_clock *clock, const union nuc_mc_record *r)
{
    uint32_t opcode = nuc_mc_opcode_of(&r->call);

    if (opcode == NUC_MC_OP_FETCH) {
        start_copy(k, clock, &r->fetch);
    } else if (opcode == NUC_MC_OP_WAIT) {
        uint64_t copied = clock->copied[(uint32_t)r->fetch.channel % NUC_MC_CHANNELS];
        clock->now = copied > clock->now ? copied : clock->now;
    } else {
        struct nuc_npu_work work = work_of(k, r);
        clock->now = plus(clock->now, nuc_npu_cycles(k, &work));
    }
    return clock->now;
}

uint64_t nuc_npu_fetching_step(const struct nuc_npu_costs *k, struct nuc_npu_fetching *f, const union nuc_mc_record *r)
{
    uint32_t opcode = nuc_mc_opcode_of(&r->call);
    uint64_t before = f->clock.now, now = nuc_npu_clock_step(k, &f->clock, r);

    f->dma.dma = true;
    (void)nuc_npu_clock_step(k, &f->dma, r);
    if (opcode == NUC_MC_OP_FETCH)
        f->bytes = plus(f->bytes, size(r->fetch.size));
    else if (opcode != NUC_MC_OP_WAIT)
        f->calls = plus(f->calls, now - before);
    return now;
}
