#include "options/memories.h"

#include <string.h>

#include "nucleon/options.h"

const struct nuc_memory_size *nuc_memory_sizes(struct nuc_context *cx, const struct nuc_options *o)
{
    static const struct nuc_option_info row = {
        .name = "memory", .kind = NUC_OPTION_BYTES, .value = "NAME=SIZE", .size = sizeof(size_t)};
    struct nuc_memory_size *sizes = nuc_alloc_array(cx, o->n_memories + 1, sizeof *sizes);

    for (size_t i = 0; i < o->n_memories; i++) {
        const char *text = o->memories[i], *equals = strchr(text, '=');
        size_t length = equals == NULL ? 0 : (size_t)(equals - text), bytes = 0;
        char message[NUC_OPTION_MESSAGE];
        bool good = length > 0 && length <= NUC_MEMORY_NAME && !(text[0] >= '0' && text[0] <= '9');
        for (size_t j = 0; j < length && good; j++) {
            char c = text[j];
            good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        }
        if (!good)
            nuc_fail(cx, NUC_BAD_USAGE,
                     "--memory takes NAME=SIZE, where NAME is a memory of the target: letters, digits and _, at most "
                     "%d, not '%.80s'",
                     NUC_MEMORY_NAME, text);
        if (nuc_option_parse(&row, nuc_strdup(cx, equals + 1), NULL, 0, &bytes, message) != NUC_OK)
            nuc_fail(cx, NUC_BAD_USAGE, "%s", message);
        sizes[i] = (struct nuc_memory_size){nuc_format(cx, "%.*s", (int)length, text), bytes};
        for (size_t k = 0; k < i; k++) {
            if (strcmp(sizes[k].name, sizes[i].name) == 0)
                nuc_fail(cx, NUC_BAD_USAGE, "--memory gives %s twice: give one size", sizes[i].name);
        }
    }
    return sizes;
}
