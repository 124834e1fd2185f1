/* Memory of handles on the host, and which of them are prepared. Not part of the device library. */
#include <pthread.h>
#include <stdlib.h>

#include "device/npusim/npu.h"

void *npu_context_alloc(size_t size)
{
    return aligned_alloc(NUC_MC_ALIGNMENT, size);
}

void npu_context_free(void *context)
{
    free(context);
}

/* A prepared handle. The nodes are the list's own: memory of an application may be gone without a word. */
struct handle_node {
    const void *handle;
    struct handle_node *next;
};

/* Part of the simulated device, like the_device; handles of different threads come and go at once. */
static struct handle_node *the_handles;
static pthread_mutex_t the_handles_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Where the node of a handle hangs, or the end of the list. Under the mutex. */
static struct handle_node **find(const void *handle)
{
    struct handle_node **at = &the_handles;

    while (*at != NULL && (*at)->handle != handle)
        at = &(*at)->next;
    return at;
}

bool npu_handle_may_be(const void *handle)
{
    pthread_mutex_lock(&the_handles_mutex);
    bool listed = *find(handle) != NULL;
    pthread_mutex_unlock(&the_handles_mutex);
    return listed;
}

/* An address of the list whose memory is no handle any more was given to something else, and now is given back. */
enum npu_handle_added npu_handle_add(const struct nuc_npu *handle)
{
    struct handle_node *node = malloc(sizeof *node);
    enum npu_handle_added result = NPU_HANDLE_FINE;

    if (node == NULL)
        return NPU_HANDLE_NO_MEMORY;
    pthread_mutex_lock(&the_handles_mutex);
    struct handle_node **at = find(handle);
    bool listed = *at != NULL;
    *node = (struct handle_node){handle, NULL};
    if (!listed)
        *at = node;
    else if (handle->self == handle && handle->magic == NPU_HANDLE_MAGIC)
        result = NPU_HANDLE_TWICE;
    pthread_mutex_unlock(&the_handles_mutex);
    if (listed)
        free(node);
    return result;
}

void npu_handle_remove(const void *handle)
{
    pthread_mutex_lock(&the_handles_mutex);
    struct handle_node **at = find(handle), *node = *at;
    if (node != NULL)
        *at = node->next;
    pthread_mutex_unlock(&the_handles_mutex);
    free(node);
}
