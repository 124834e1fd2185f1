/* An evaluation under way: what `nucleon evaluate` opened and counts. */
#ifndef NUC_CLI_EVALUATION_H
#define NUC_CLI_EVALUATION_H

#include "cli/args.h"

/* Sums of squares over all samples: of a signal, and of its difference to what approximates it. */
struct cli_ratio {
    double signal, noise;
};

void cli_ratio_add(struct cli_ratio *r, const float *a, const float *b, size_t count);

/* Signal-to-noise ratio; infinite when both are equal. */
double cli_ratio_db(const struct cli_ratio *r);

struct evaluation {
    struct nuc_compiler *compiler;
    const struct cli_args *args;
    struct cli_program program;
    struct nuc_dataset *data;    /* bound to the program's inputs */
    struct nuc_model *reference; /* the float model; NULL: none */
    struct nuc_model *quantized; /* what the program was compiled from; NULL: no comparison node by node */
    const int64_t *labels;       /* NULL: none */
    size_t n_samples;
    struct nuc_tensor_info output; /* the first output, float32 */
    struct cli_ratio ratio;        /* of the reference and the program */
    size_t n_labelled, n_program_right, n_reference_right, n_agree;
};

/* That a model takes and gives what the program does; else prints one line and returns CLI_BAD_USAGE. */
int cli_check_io(const struct evaluation *e, const struct nuc_model *m, const char *name, bool types);

/*
 * Prints the signal-to-noise ratio at every node whose value is quantized: float against quantized model, quantized
 * model against compiled program, float against program; and names the first node below the threshold. The quantized
 * model is compiled again with its inner values as outputs; its own outputs are compared with the program's.
 */
int cli_evaluate_nodes(struct evaluation *e);

#endif
