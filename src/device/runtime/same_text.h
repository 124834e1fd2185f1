/* Names in a program against names in a table, and the backend of a name: the device code has no strcmp(). */
#ifndef NUC_DEVICE_RUNTIME_SAME_TEXT_H
#define NUC_DEVICE_RUNTIME_SAME_TEXT_H

#include "nucleon/runtime.h"

static inline bool nuc_same_text(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* The backend of that name, or NULL. */
static inline const struct nuc_backend *nuc_backend_find(const struct nuc_backend_table *table, const char *id)
{
    for (size_t i = 0; table != NULL && i < table->count; i++) {
        if (nuc_same_text(table->entries[i]->id, id))
            return table->entries[i];
    }
    return NULL;
}

#endif
