/* Source lines and module paths from the metadata of a node. */
#include <stdlib.h>
#include <string.h>

#include "front/pt2/importer.h"
#include "host/characters.h"

/* Reads `File "path", line N`; returns where the path begins, or NULL. */
static const char *read_frame(const char *p, size_t *length, int *line)
{
    static const char start[] = "File \"";
    static const char between[] = "\", line ";

    p = strstr(p, start);
    if (p == NULL)
        return NULL;
    p += sizeof start - 1;
    const char *end = strstr(p, between);
    if (end == NULL)
        return NULL;
    *length = (size_t)(end - p);
    long number = strtol(end + sizeof between - 1, NULL, 10);
    *line = number > 0 && number < 1000000000 ? (int)number : 0;
    return p;
}

static bool is_torch(const char *path, size_t length)
{
    static const char package[] = "/torch/";

    for (size_t i = 0; i + sizeof package - 1 <= length; i++) {
        if (memcmp(path + i, package, sizeof package - 1) == 0)
            return true;
    }
    return false;
}

/* The text, which calls that follow each other share where they have the same; `before`: of the one before, or NULL. */
static const char *shared(struct nuc_context *cx, const char *before, const char *text, size_t length)
{
    if (before != NULL && strncmp(before, text, length) == 0 && before[length] == '\0')
        return before;
    char *own = nuc_alloc(cx, length + 1);
    memcpy(own, text, length);
    return nuc_plain_text(cx, own);
}

/*
 * The trace lists frames from the outermost to the innermost: the last one outside torch is the user's. A module of
 * torch that no line of the user calls, as inside nn.Sequential, has its own.
 */
static void read_trace(struct nuc_context *cx, const char *trace, const struct nuc_source *before,
                       struct nuc_source *source)
{
    const char *path;
    const char *found = NULL;
    size_t length, found_length = 0;
    bool is_users = false;
    int line;

    while ((path = read_frame(trace, &length, &line)) != NULL) {
        bool users = !is_torch(path, length);
        if ((users || !is_users) && memchr(path, '\n', length) == NULL) {
            is_users = users;
            found = path;
            found_length = length;
            source->line = line;
        }
        trace = path + length;
    }
    if (found != NULL)
        source->file = shared(cx, before->file, found, found_length);
}

/* "L__self__,,Net;L__self__stem,stem,torch.nn.Conv2d": the second field of the last element. */
static void read_modules(struct nuc_context *cx, const char *stack, const struct nuc_source *before,
                         struct nuc_source *source)
{
    const char *last = strrchr(stack, ';');
    const char *start = strchr(last == NULL ? stack : last, ',');
    const char *end = start == NULL ? NULL : strchr(start + 1, ',');

    if (end != NULL)
        source->module = shared(cx, before->module, start + 1, (size_t)(end - start) - 1);
}

struct nuc_source *nuc_read_source(struct nuc_context *cx, const struct nuc_json *metadata,
                                   const struct nuc_source *before)
{
    static const struct nuc_source nothing;
    struct nuc_source *source = nuc_alloc(cx, sizeof *source);
    struct nuc_json stack_trace = nuc_json_maybe_member(metadata, "stack_trace");
    struct nuc_json module_stack = nuc_json_maybe_member(metadata, "nn_module_stack");
    struct nuc_json call = nuc_json_maybe_member(metadata, "nucleon_call");
    struct nuc_json name = nuc_json_maybe_member(metadata, "nucleon_label");
    struct nuc_json in_float = nuc_json_maybe_member(metadata, "nucleon_wide");
    struct nuc_json int16 = nuc_json_maybe_member(metadata, "nucleon_int16");
    struct nuc_json centred = nuc_json_maybe_member(metadata, "nucleon_centred");
    const char *trace = nuc_json_maybe_text(&stack_trace), *modules = nuc_json_maybe_text(&module_stack);
    const char *first_call = nuc_json_maybe_text(&call), *label = nuc_json_maybe_text(&name);
    const char *why_float = nuc_json_maybe_text(&in_float), *why_int16 = nuc_json_maybe_text(&int16);
    const char *wide = why_float != NULL ? why_float : why_int16;

    before = before != NULL ? before : &nothing;
    if (trace != NULL)
        read_trace(cx, trace, before, source);
    if (modules != NULL)
        read_modules(cx, modules, before, source);
    if (first_call != NULL)
        source->first_call = shared(cx, before->first_call, first_call, strlen(first_call));
    if (label != NULL)
        source->label = nuc_plain_text(cx, nuc_strdup(cx, label));
    source->is_centred = centred.type == NUC_JSON_TRUE;
    if (wide != NULL) {
        source->width = why_float != NULL ? NUC_WIDTH_FLOAT : NUC_WIDTH_INT16;
        source->wide = nuc_plain_text(cx, nuc_strdup(cx, wide));
    }
    return source;
}
