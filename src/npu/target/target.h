/*
 * Chips and converter generations as constant data: the only place where a limit of the hardware or of the vendor's
 * converter is a number. Support rules, lowering and cost model read it; nothing else decides by a target's name.
 */
#ifndef NUC_NPU_TARGET_TARGET_H
#define NUC_NPU_TARGET_TARGET_H

#include <stddef.h>
#include <stdint.h>

#include "device/base/npu_cost.h"
#include "host/context.h"
#include "nucleon/compile.h"

/* Who reads a memory in place, and writes it unless it is flash. */
enum { NUC_BY_CPU = 1, NUC_BY_NPU = 2, NUC_BY_DMA = 4, NUC_BY_ALL = 7 };

/*
 * A memory that the program's buffers or weights can be placed in. The first one of a target is all of its SRAM; banks
 * of it follow, named as the regions of the vendor's linker scripts, then flash.
 */
struct nuc_memory {
    const char *name;
    uint64_t bytes; /* largest size the part can have */
    unsigned reach; /* NUC_BY_... */
    unsigned speed; /* an order, no cycles: buffers go to the banks of the smallest number first */
    bool flash;     /* weights alone */
};

#define NUC_TARGET_MEMORIES 6

/* Kernels of the NPU's firmware, under the names that the vendor's library has for them. */
enum nuc_firmware_kernel {
    NUC_FW_NONE, /* nothing is called */
#define FIRMWARE_KERNEL(name, npus) NUC_FW_##name,
#include "npu/target/firmware.def"
#undef FIRMWARE_KERNEL
    NUC_FW_COUNT
};

/*
 * Cycles of the CPU's kernels of one element type, for decisions that have no operator yet and for kernels that
 * npu/support/kernel_cycles.c has no row for.
 */
struct nuc_kernel_costs {
    double call;     /* of one kernel by the runtime */
    double mac;      /* multiply-accumulate of a product of matrices */
    double conv_mac; /* of a convolution */
    double element;  /* value read, computed and written */
    double function; /* value of exp, tanh and the like */
    double softmax;  /* value of a softmax */
    double gate;     /* gate of a recurrent layer, besides its products */
    bool real;       /* float32 */
    bool scalar;     /* a core without DSP instructions and long multiplication */
    bool vector;     /* a core with vector instructions (MVE), each of which counts as two cycles */
};

/* What is outside the NPU, in cycles of the common clock of NPU and CPU (docs/cycle-model.md). */
struct nuc_costs {
    uint32_t npu_call; /* one delegate call: driver, cache maintenance, interrupt */
    struct nuc_kernel_costs int8, real;
};

/* What the CPU's int8 kernels are made of; it decides how much scratch memory they need. */
enum nuc_isa { NUC_ISA_SCALAR, NUC_ISA_DSP, NUC_ISA_MVE, NUC_ISA_COUNT };

/*
 * Scratch memory of CMSIS-NN's kernels by instruction set, in bytes. Source: CMSIS-NN *get_buffer_sizes_s8.c,
 * ExecuTorch backends/cortex_m/passes/scratch_buffer_sizes.py. `taps` is kernel height * width * input channels.
 */
struct nuc_scratch_rules {
    uint32_t conv_tap_bytes;    /* a convolution: so many bytes for each tap, after rounding ... */
    uint32_t conv_tap_round;    /* ... the number of taps up to a multiple of this */
    uint32_t conv_rows;         /* CONV_1xN: buffer of rows instead; 0: as any convolution */
    uint32_t depthwise_bytes;   /* a depthwise convolution: bytes for each tap of a channel, times ... */
    bool depthwise_channels;    /* ... the number of channels */
    bool depthwise_free_3x3;    /* none for 3 x 3 with a padding of at most 1 */
    uint32_t depthwise_as_conv; /* one input channel and more than this many output channels: as a convolution; 0: no */
    uint32_t matmul_bytes;      /* a batched matrix product: for each column of the result */
    uint32_t pool_bytes;        /* average pooling: for each channel */
};

/* The CPU side of a target whose operators run as int8 kernels of the Cortex-M dialect. */
struct nuc_cpu {
    const char *name;
    enum nuc_isa isa;
    const struct nuc_scratch_rules *scratch;
    bool kernel_sums; /* linear reads the sums of its weights, bias included, instead of the bias */
};

struct nuc_target {
    const char *name; /* as in --target */
    const char *description;
    const char *npu_name;       /* in the compile spec, and to the vendor's converter; NULL: there is no NPU */
    const char *npu_kind;       /* what the vendor calls it: "N3-64" */
    const struct nuc_cpu *cpu;  /* its int8 kernels; NULL: what is not delegated runs in float */
    enum nuc_cpu_kernels named; /* what the name says beside the chip: NUC_CPU_AUTO: nothing */
    uint32_t pipelines;         /* dot products computed side by side */
    uint32_t num_macs;          /* length of one dot product: input channels are rounded up to it */
    double clock_hz;
    const struct nuc_npu_costs *npu; /* cycles of its kernels; the simulator uses the same */
    struct nuc_costs costs;
    uint32_t n_memories;
    struct nuc_memory memories[NUC_TARGET_MEMORIES];

    int64_t slice_step; /* a slice of channels begins and ends at multiples of it */
    /* Largest kernel, stride and dilation along each axis. */
    int64_t max_window;
    /* Bound of kernel height * kernel width * input channels rounded up to num_macs. */
    int64_t max_mac_buffer;
    int64_t max_transposed_stride;
    /* Softmax: channels, product of all other dimensions, product of all dimensions. */
    int64_t max_softmax_channels;
    int64_t max_softmax_rows;
    int64_t max_softmax_elements;
    /* A tensor a RESHAPE produces has fewer dimensions than this. */
    uint32_t view_rank_limit;
    /* Limits of rule set sdk-3.1 alone: softmax channels, height * width of a PReLU. */
    int64_t max_softmax_channels_sdk31;
    int64_t max_prelu_pixels_sdk31;
};

/* What operators may be: the tables of support/. */
enum nuc_rule_set { NUC_RULES_SDK_3_2, NUC_RULES_SDK_3_1, NUC_RULE_SET_COUNT };

#define NUC_MAX_FLAVOR_ALIASES 4

/* Which generation of the vendor's converter the rules and the generated model follow. */
struct nuc_flavor {
    const char *name; /* as in --converter-flavor */
    const char *description;
    enum nuc_rule_set rules;
    const char *aliases[NUC_MAX_FLAVOR_ALIASES]; /* other names that select it; NULL after the last one */
};

/*
 * Fails with NUC_BAD_USAGE listing the known names when there is none of that name. NULL: the default. The vendor's
 * name of a target gives the first that has it, an alias of a flavor that flavor and a note.
 */
const struct nuc_target *nuc_target_find(struct nuc_context *cx, const char *name);
const struct nuc_flavor *nuc_flavor_find(struct nuc_context *cx, const char *name);

/* The same without the note. */
const struct nuc_flavor *nuc_flavor_look_up(struct nuc_context *cx, const char *name);

/* "scalar", "DSP", "MVE". */
const char *nuc_isa_name(enum nuc_isa isa);

/* In order of listing; NULL after the last one. */
const struct nuc_target *nuc_target_at(size_t index);
const struct nuc_flavor *nuc_flavor_at(size_t index);

/* The firmware of its NPU has the kernel; true of NUC_FW_NONE. */
bool nuc_has_firmware_kernel(const struct nuc_target *target, enum nuc_firmware_kernel kernel);

/* Multiply-accumulates per second when every lane is busy. */
double nuc_target_peak_macs(const struct nuc_target *target);

#endif
