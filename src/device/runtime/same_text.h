/* Names in a program against names in a table: the device code has no strcmp(). */
#ifndef NUC_DEVICE_RUNTIME_SAME_TEXT_H
#define NUC_DEVICE_RUNTIME_SAME_TEXT_H

#include <stdbool.h>

static inline bool nuc_same_text(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

#endif
