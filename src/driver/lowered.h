/* Lowered models: what became of the partitions, and what is written about the program. */
#ifndef NUC_DRIVER_LOWERED_H
#define NUC_DRIVER_LOWERED_H

#include "driver/stages.h"
#include "ir/quant.h"
#include "npu/lower/lower.h"

struct nuc_neutron_image;
struct nuc_program_options;

/* What became of one partition. */
struct nuc_lowered_partition {
    struct nuc_delegate *delegate;
    struct nuc_partition_info info;
    size_t n_cpu_transposed; /* inputs and outputs that the runtime transposes */
    const struct nuc_tensor_info *cpu_transposed;
    const struct nuc_neutron_image *image; /* its bytes lie in the payload */
};

struct nuc_lowered {
    uint32_t n_ids;                  /* of the partitioned graph */
    const enum nuc_numbers *numbers; /* by id of a node of it: of an operator that is not delegated; NONE: of others */
    /* By the same: what became of it computes in float. NULL: not known yet. */
    const bool *in_float;
    uint32_t n_partitions;
    struct nuc_lowered_partition *partitions;
    uint32_t n_handles;               /* debug handles are 1 + an index here: */
    const uint32_t *origins;          /* 1 + id of a node of the partitioned graph, 0: none */
    struct nuc_io_quantizations io;   /* inputs and outputs that are int8 */
    struct nuc_program_report report; /* as far as it is known without the program */
};

/* How its partitions are lowered; `labels` of its graph may be NULL. */
struct nuc_lower_options nuc_lowering_options(const struct nuc_model *m, const struct nuc_labels *labels);

/* Of a partitioned model: what is known of inputs and outputs that are int8 already (boundary.c). */
struct nuc_io_quantizations nuc_note_io(const struct nuc_model *m);

/* Scale, zero point, range and type of each int8 input and output, under names software for ExecuTorch asks for. */
void nuc_add_io_constants(const struct nuc_model *m, struct nuc_program_options *o);

/* What a program is planned with: a plan that is to tell of a program's memory has the same. */
struct nuc_program_options nuc_plan_options(const struct nuc_settings *s);

/* Bytes of the arena of a lowered model with the scratch of delegates inside. */
size_t nuc_plan_one_pool(const struct nuc_model *lowered);

/* ---- the program (compiled_program.c, rehearsal.c) ---- */

/* Files the options ask for, and NUC_PROPERTY when the program needs more memory than its budget. */
void nuc_write_kernel_selection(const struct nuc_job *j);
void nuc_write_memory_map(const struct nuc_job *j);
void nuc_check_memory_budget(const struct nuc_job *j);

/* Fails with NUC_UNSUPPORTED naming the operator that the runtime has no kernel for, for its element types above all.
 */
void nuc_rehearse_program(const struct nuc_job *j);

#endif
