/* Memory of handles on the host. Not part of the device library. */
#include <stdlib.h>

#include "npusim/npu.h"

void *npu_context_alloc(size_t size)
{
    return aligned_alloc(NUC_MC_ALIGNMENT, size);
}

void npu_context_free(void *context)
{
    free(context);
}
