/* What a run on the host tells about a program: samples for the image, and their results. */
#ifndef NUC_TOOLS_PROJECT_SAMPLES_H
#define NUC_TOOLS_PROJECT_SAMPLES_H

#include "host/pieces.h"
#include "nucleon/compile.h"

struct nuc_project_run {
    struct nuc_pieces inputs, outputs; /* per sample all of them, one after the other, as they lie in memory */
    size_t n_inputs, n_outputs;
    size_t states; /* bytes of them */
};

/* Over the data set at `data`, all of it; NULL: one sample of zeros. */
void nuc_project_run(struct nuc_compiler *c, const char *program, const char *data, struct nuc_project_run *out);

#endif
