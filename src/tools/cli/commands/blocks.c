/* Memory of the host for tensors. */
#include <stdlib.h>

#include "tools/cli/commands/commands.h"

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
