/*
 * Cycles of the NPU's kernel calls: the one cost model of simulator, profile and reports (docs/cycle-model.md). A
 * call's work is counted from its sizes; constants of the hardware make cycles of it. Freestanding.
 */
#ifndef NUC_DEVICE_BASE_NPU_COST_H
#define NUC_DEVICE_BASE_NPU_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "device/base/microcode.h"

/* The NPUs that programs are made for. */
enum nuc_npu_kind { NUC_NPU_N3_64, NUC_NPU_N1_16, NUC_NPU_KINDS };

/* Constants of an NPU, in cycles of its clock. */
struct nuc_npu_costs {
    enum nuc_npu_kind kind;
    uint32_t code;           /* in the header of microcode; no two differ in a single bit */
    uint32_t pipelines;      /* dot products side by side: output channels are rounded up to it */
    uint32_t num_macs;       /* length of one dot product: input channels are rounded up to it */
    uint32_t depthwise_macs; /* multiply-accumulates a pipeline does in a cycle when each channel has its own input */
    uint32_t kernel;         /* cycles to start a kernel and to finish it */
    uint32_t bus_bytes;      /* operands and results moved in a cycle; not overlapped with the array */
    uint32_t softmax_steps;  /* lane steps of an element */
    uint32_t copy_start;     /* cycles of the CPU for the call that copies weights from flash, or starts a DMA */
    uint32_t burst_bytes;    /* the flash controller reads ahead: so many bytes in one sequence, */
    uint32_t burst_cycles;   /* whose command, address and wait take so long, */
    uint32_t wire_percent;   /* and a hundred bytes of data these cycles more */
};

/* eIQ Neutron N3-64 as in the i.MX RT700, N1-16 as in MCX N. */
extern const struct nuc_npu_costs nuc_npus[NUC_NPU_KINDS];

/* The one of that code; NUC_NPU_KINDS: none. */
enum nuc_npu_kind nuc_npu_with_code(uint32_t code);

/* What a kernel call does. */
struct nuc_npu_work {
    uint64_t array;     /* multiply-accumulates of the whole array, channels already rounded up */
    uint64_t depthwise; /* multiply-accumulates of single pipelines, channels already rounded up */
    uint64_t lanes;     /* elements the pipelines handle one by one */
    uint64_t bytes;     /* read and written */
};

/* Counts that saturate, for sizes nobody has checked. */
uint64_t nuc_npu_times(uint64_t a, uint64_t b);
uint64_t nuc_npu_round_up(uint64_t value, uint32_t step);

/* Cycles of a kernel call with that work. */
uint64_t nuc_npu_cycles(const struct nuc_npu_costs *costs, const struct nuc_npu_work *work);

/*
 * The time of a program: calls block, one after the other. So do copies from flash, which the CPU makes where they are
 * started; by a DMA they go on beside the calls, as fast. Starts at zero.
 */
struct nuc_npu_clock {
    bool dma;
    uint64_t now;
    uint64_t copies_done;             /* when the last copy ends: they follow each other */
    uint64_t copied[NUC_MC_CHANNELS]; /* when the copy of a channel ends */
};

/* Advances the clock by one call and returns the time it ends. Waiting for a copy takes what is left of it. */
uint64_t nuc_npu_clock_step(const struct nuc_npu_costs *costs, struct nuc_npu_clock *clock,
                            const union nuc_mc_record *r);

/* The time of a program under both kinds of copies, and what its copies take of it. Starts at zero. */
struct nuc_npu_fetching {
    struct nuc_npu_clock clock; /* the CPU copies */
    struct nuc_npu_clock dma;
    uint64_t calls, bytes; /* cycles of everything but copies; bytes that are copied */
};

/* Advances both clocks by one call and returns the time the CPU's ends. */
uint64_t nuc_npu_fetching_step(const struct nuc_npu_costs *costs, struct nuc_npu_fetching *f,
                               const union nuc_mc_record *r);

#endif
