/*
 * The simulated Neutron-C: a prepared program, the verifier that makes it safe to run without checks, and the kernels.
 * Freestanding; the only state is struct nuc_npu in memory the caller of the driver owns.
 */
#ifndef NUC_DEVICE_NPUSIM_NPU_H
#define NUC_DEVICE_NPUSIM_NPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/base/microcode.h"
#include "device/base/microcode_table.h"
#include "nucleon/NeutronDriver.h"
#include "nucleon/simulator.h"
#include "nucleon/simulator_faults.h"

#define NPU_HANDLE_MAGIC 0x4E70755Fu
#define NPU_DEFAULT_TIMEOUT 60 /* seconds */

/* Work the device does in a second: 64 multiply-accumulates per cycle at about 2^28 Hz. */
#define NPU_WORK_PER_SECOND ((uint64_t)1 << 34)

struct npu_host;
/* The trace a handle writes: NeutronTraceConfig, and how far it got. */
struct nuc_npu_trace {
    uint32_t levels; /* TRACE_CONFIG_*, 0: off */
    char *text;      /* of the application */
    size_t capacity, length;
    bool ran;
};

/* A program that was verified. Everything it points to is borrowed. */
struct nuc_npu {
    const struct nuc_npu *self; /* while prepared, with the magic: memory of anything else is not taken for a handle */
    uint32_t magic;             /* NPU_HANDLE_MAGIC */
    bool allocated;             /* by npu_context_alloc() */
    uint8_t kind;               /* enum nuc_npu_kind: the NPU that the program is for */
    uint8_t revision;           /* of the microcode */
    uint32_t n_inputs, n_outputs, n_calls;
    uint32_t scratch_size, profile_size, weights_size;
    uint32_t staging_size;                 /* 0: weights are read where they are */
    uint32_t readable_start, readable_end; /* while verifying: bytes of the weights a call may read */
    struct nuc_npu_trace trace;
    const uint8_t *calls;    /* first record */
    const uint8_t *io_sizes; /* words: inputs, outputs */
    const uint8_t *weights;
    struct npu_host *host; /* owned; NULL: every call runs as plain C */
};

/* Buffers of a run; where records point to. */
struct nuc_npu_memory {
    const void *const *inputs;
    void *const *outputs;
    uint8_t *scratch;
    const uint8_t *weights; /* of staged ones: where they would begin if all were */
    uint8_t *staging;
    const NeutronConfig *copies; /* the application's functions; NULL without a staging buffer */
};

enum nuc_npu_fault { NPU_FINE, NPU_BAD_MAGIC, NPU_BAD_VERSION, NPU_BAD_LAYOUT, NPU_BAD_RECORD, NPU_TOO_SLOW };

/*
 * Checks a program's header, tables and every record, and fills *npu. `detail` is the faulty word of the header, or the
 * number of the faulty call. max_work bounds the sum of the calls' work in multiply-accumulates.
 */
enum nuc_npu_fault nuc_npu_verify(const uint8_t *microcode, const uint8_t *weights, uint64_t max_work,
                                  struct nuc_npu *npu, uint32_t *detail);

/*
 * True when record `r` stays inside its buffers and its values are usable; then *work is its size in multiply-
 * accumulates or elements moved.
 */
bool nuc_npu_verify_record(const struct nuc_npu *npu, const union nuc_mc_record *r, uint64_t *work);

/* The program of a driver handle, NULL when it is not one. On a host any address may be asked about. */
struct nuc_npu *nuc_npu_of(void *hdl);

/*
 * What belongs to the device and not to a prepared program: the public API sets it without a handle. The only variable
 * of the library.
 */
struct nuc_npu_device {
    NeutronConfig copies; /* copy functions of the application, NULL before neutronSetConfig() */
    uint32_t inits;       /* calls of neutronInit() without one of neutronDeinit() */
    bool off;             /* after the last neutronDeinit() */
    bool suspended;
    struct nuc_simulator_power power;
    bool faulty;
    struct nuc_simulator_fault fault;
    void (*watcher)(void *user, const void *handle, uint32_t call, uint32_t sum); /* NULL: nobody looks */
    void *watcher_user;
};

struct nuc_npu_device *nuc_npu_device(void);

/* Whether a fault of that kind is due now. */
bool nuc_npu_fails(enum nuc_simulator_fault_kind kind);

/* The CRC-32 of what the call has just written; 0: it writes nothing. */
uint32_t nuc_npu_result_sum(const struct nuc_npu_memory *m, const union nuc_mc_record *r);

/* How a run ended. */
enum nuc_npu_stop { NPU_DONE, NPU_COPY_FAILED, NPU_CALL_FAILED, NPU_CALL_HANGS };

/* Starts the trace of a run; adds a call; ends it. Lines that do not fit the buffer are left out. */
void nuc_npu_trace_begin(struct nuc_npu_trace *t);
void nuc_npu_trace_call(struct nuc_npu_trace *t, uint32_t call, uint32_t opcode, uint64_t start, uint64_t stop);
void nuc_npu_trace_end(struct nuc_npu_trace *t, uint64_t stop);

/*
 * Runs all calls; `profile` is NULL or a buffer of npu->profile_size bytes, `trace` NULL or what the run is
 * noted in. *at is the call that failed.
 */
enum nuc_npu_stop nuc_npu_run(const struct nuc_npu *npu, const struct nuc_npu_memory *memory, uint8_t *profile,
                              struct nuc_npu_trace *trace, uint32_t *at);

/* Starts a copy; the end of one, after which operands in the weights are the copied bytes. False: they are others. */
void nuc_npu_fetch(const struct nuc_npu_memory *memory, const struct nuc_mc_fetch *f, const uint8_t *weights);
bool nuc_npu_wait(struct nuc_npu_memory *memory, const struct nuc_mc_fetch *f, const uint8_t *weights);

/* Memory for a handle: malloc on the host, none on a device. */
void *npu_context_alloc(size_t size);
void npu_context_free(void *context);

/*
 * A host keeps a list of the handles that are prepared, so that no other address is ever read as one. A device keeps
 * none: memory survives its reset, and a handle there owns nothing. npu_handle_may_be(): whether what is at an address
 * may be looked at. npu_handle_add(): what is wrong, FINE or TWICE when a prepared handle lies there.
 */
enum npu_handle_added { NPU_HANDLE_FINE, NPU_HANDLE_TWICE, NPU_HANDLE_NO_MEMORY };
bool npu_handle_may_be(const void *handle);
enum npu_handle_added npu_handle_add(const struct nuc_npu *handle);
void npu_handle_remove(const void *handle);

/* From one row to the next: a record's out_pitch, or in_pitch, in which 0 stands for rows without gaps. */
static inline int64_t npu_pitch(int32_t pitch, int32_t row)
{
    return pitch == 0 ? row : pitch;
}

/* From the first matrix of a product's operand to that of batch `b`. */
static inline int64_t npu_matrix(const struct nuc_mc_matmul *g, int64_t b, int32_t stride, int32_t inner_stride)
{
    return g->inner > 0 ? b / g->inner * stride + b % g->inner * inner_stride : b * stride;
}

/* The same of its result. */
static inline int64_t npu_out_matrix(const struct nuc_mc_matmul *g, int64_t b)
{
    if (g->inner > 0)
        return npu_matrix(g, b, g->out_batch_stride, g->out_inner_stride);
    return b * g->rows * npu_pitch(g->out_pitch, g->columns);
}

/* Operands. */
static inline const uint8_t *npu_source(const struct nuc_npu_memory *m, struct nuc_mc_ref ref)
{
    uint32_t index = ref.where >> 8;

    switch (ref.where & 0xFFu) {
    case NUC_MC_INPUT:
        return (const uint8_t *)m->inputs[index] + ref.offset;
    case NUC_MC_OUTPUT:
        return (const uint8_t *)m->outputs[index] + ref.offset;
    case NUC_MC_SCRATCH:
        return m->scratch + ref.offset;
    default:
        return m->weights + ref.offset;
    }
}

static inline uint8_t *npu_target(const struct nuc_npu_memory *m, struct nuc_mc_ref ref)
{
    if ((ref.where & 0xFFu) == NUC_MC_OUTPUT)
        return (uint8_t *)m->outputs[ref.where >> 8] + ref.offset;
    return m->scratch + ref.offset;
}

static inline const int8_t *npu_source_i8(const struct nuc_npu_memory *m, struct nuc_mc_ref ref)
{
    return (const int8_t *)npu_source(m, ref);
}

static inline int8_t *npu_target_i8(const struct nuc_npu_memory *m, struct nuc_mc_ref ref)
{
    return (int8_t *)npu_target(m, ref);
}

/* Tables of words in the weights; verified to be 4-byte aligned. */
static inline const int32_t *npu_source_i32(const struct nuc_npu_memory *m, struct nuc_mc_ref ref)
{
    return (const int32_t *)(const void *)npu_source(m, ref);
}

/*
 * The table of kernels and the version of the microcode they are for; NULL: this firmware does not have the kernel.
 * From npu_kernels.c, or from the kernel selection file of a firmware. Results other than 0 do not occur.
 */
extern const uint32_t neutronKernelsVersion;
extern int32_t (*const neutronKernels[NUC_MC_OPCODE_COUNT])(const struct nuc_npu_memory *m,
                                                            const union nuc_mc_record *r);

/* One function per kernel; records have been verified. */
void npu_conv(const struct nuc_npu_memory *m, const union nuc_mc_record *r);
void npu_depthwise(const struct nuc_npu_memory *m, const union nuc_mc_record *r);
void npu_transpose_conv(const struct nuc_npu_memory *m, const union nuc_mc_record *r);
void npu_matmul(const struct nuc_npu_memory *m, const union nuc_mc_record *r);
void npu_binary(const struct nuc_npu_memory *m, const union nuc_mc_record *r);
void npu_average_pool(const struct nuc_npu_memory *m, const union nuc_mc_record *r);
void npu_max_pool(const struct nuc_npu_memory *m, const union nuc_mc_record *r);
void npu_reduce(const struct nuc_npu_memory *m, const union nuc_mc_record *r);
void npu_softmax(const struct nuc_npu_memory *m, const union nuc_mc_record *r);
void npu_softmax_table(const struct nuc_npu_memory *m, const union nuc_mc_record *r);
void npu_lut(const struct nuc_npu_memory *m, const union nuc_mc_record *r);
void npu_copy(const struct nuc_npu_memory *m, const union nuc_mc_record *r);
void npu_gather(const struct nuc_npu_memory *m, const union nuc_mc_record *r);
void npu_resize_bilinear(const struct nuc_npu_memory *m, const union nuc_mc_record *r);

/* Parts of kernels that prepared calls share. exp of the differences 0 to -255, and rows by such a table or NULL. */
void npu_softmax_exponentials(const struct nuc_mc_softmax *s, int32_t *table);
void npu_softmax_from(const struct nuc_mc_softmax *s, const int32_t *table, const int8_t *in, int8_t *out);

/*
 * Long rows have fewer values than places. What each exponential adds to the sum; and with the sum of a row and its
 * largest value, the output of each input, less -128. Arrays of 256.
 */
void npu_softmax_addends(const int32_t *table, uint32_t *addends);
void npu_softmax_bytes(const int32_t *table, uint32_t sum, int32_t largest, int8_t *bytes);

/* The two rows or columns an output position of a resize lies between, and the weight of the upper one in 1/1024. */
struct npu_between {
    int32_t low, high;
    int64_t part;
};
struct npu_between npu_between(int32_t out, int32_t scale, int32_t half_pixel, int32_t size);

/* MEAN or SUM of values whose sum, less their zero points, is `sum`; not clamped. */
int32_t npu_reduced_sum(const struct nuc_mc_reduce *d, int64_t sum);

#endif
