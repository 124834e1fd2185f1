/* What a backend makes of one partition: the processed blob a delegate call carries into the program. */
#ifndef NUC_NPU_PARTITION_DELEGATE_H
#define NUC_NPU_PARTITION_DELEGATE_H

#include "device/base/span.h"

struct nuc_compile_spec {
    const char *key;
    const char *value; /* text; the program stores its bytes without a terminator */
};

struct nuc_delegate {
    const char *backend_id; /* "NeutronBackend" */
    const char *tag;        /* name of the partition, used for file names */
    uint32_t n_compile_specs;
    const struct nuc_compile_spec *compile_specs;
    struct nuc_span payload; /* bytes of processed data */
    /* By argument and by result: offset inside the scratch where it may lie, UINT32_MAX: nowhere; NULL: no such. */
    const uint32_t *input_places, *output_places;
    uint32_t scratch_size; /* bytes the runtime allocates for each call */
};

#endif
