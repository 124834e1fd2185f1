#include "compiler/import/json_memory.h"

#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>

/* Whose arena; NULL: this thread is not reading, jansson is used by somebody else or writes. */
static _Thread_local struct nuc_context *reading;

/* What jansson had before, and has outside of reading. */
static json_malloc_t before_malloc;
static json_free_t before_free;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* nuc_alloc() may leave through nuc_try(): then nobody is reading any more. */
static void *allocate(size_t size)
{
    struct nuc_context *cx = reading;

    if (cx == NULL)
        return before_malloc(size);
    reading = NULL;
    void *block = nuc_alloc(cx, size);
    reading = cx;
    return block;
}

static void release(void *block)
{
    if (reading == NULL)
        before_free(block);
}

void nuc_json_memory_begin(struct nuc_context *cx)
{
    json_malloc_t now_malloc;
    json_free_t now_free;

    pthread_mutex_lock(&lock);
    json_get_alloc_funcs(&now_malloc, &now_free);
    if (now_malloc != allocate) {
        before_malloc = now_malloc;
        before_free = now_free;
        json_set_alloc_funcs(allocate, release);
    }
    pthread_mutex_unlock(&lock);
    reading = cx;
}

void nuc_json_memory_end(void)
{
    reading = NULL;
}
