/* Memory of the host for tensors. */
#include <stdlib.h>

#include "cli/cli.h"

void cli_blocks_free(void **blocks, size_t count)
{
    for (size_t i = 0; blocks != NULL && i < count; i++)
        free(blocks[i]);
    free(blocks);
}

void **cli_blocks_new(const struct nuc_tensor_info *tensors, size_t count, size_t samples)
{
    void **blocks = calloc(count + 1, sizeof *blocks);

    for (size_t i = 0; i < count && blocks != NULL; i++) {
        size_t bytes;
        bool fits = !__builtin_mul_overflow(samples, tensors[i].bytes, &bytes);
        blocks[i] = fits ? malloc(bytes + 1) : NULL;
        if (blocks[i] == NULL) {
            cli_blocks_free(blocks, i);
            return NULL;
        }
    }
    return blocks;
}

void **cli_model_blocks(const struct nuc_model *m, size_t n_outputs)
{
    struct nuc_tensor_info *infos = calloc(n_outputs + 1, sizeof *infos);
    bool known = infos != NULL;

    for (size_t i = 0; i < n_outputs && known; i++)
        known = nuc_model_output(m, i, &infos[i]) == NUC_OK;
    void **blocks = known ? cli_blocks_new(infos, n_outputs, 1) : NULL;
    free(infos);
    return blocks;
}

void **cli_program_blocks(const struct nuc_runner *r)
{
    size_t n_outputs = nuc_runner_n_outputs(r);
    struct nuc_tensor_info *infos = calloc(n_outputs + 1, sizeof *infos);
    bool known = infos != NULL;

    for (size_t i = 0; i < n_outputs && known; i++)
        known = nuc_runner_output(r, i, &infos[i]) == NUC_OK;
    void **blocks = known ? cli_blocks_new(infos, n_outputs, 1) : NULL;
    free(infos);
    return blocks;
}
