#include "conf_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *conf_block(size_t size)
{
    size_t rounded = (size + NUC_MEMORY_ALIGNMENT) & ~(size_t)(NUC_MEMORY_ALIGNMENT - 1);
    void *block = aligned_alloc(NUC_MEMORY_ALIGNMENT, rounded);

    if (block == NULL)
        abort();
    memset(block, 0, rounded);
    return block;
}

void *conf_read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    long end = -1;

    if (file == NULL)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0)
        end = ftell(file);
    rewind(file);
    *size = end > 0 ? (size_t)end : 0;
    void *bytes = conf_block(*size);
    bool whole = end >= 0 && fread(bytes, 1, *size, file) == *size;
    fclose(file);
    if (whole)
        return bytes;
    free(bytes);
    return NULL;
}

bool conf_array(const struct nuc_dataset *d, const char *name, struct nuc_array_info *out)
{
    for (size_t i = 0; i < nuc_dataset_n_arrays(d); i++) {
        if (nuc_dataset_array(d, i, out) == NUC_OK && strcmp(out->name, name) == 0)
            return true;
    }
    return false;
}

void conf_rearrange(const struct nuc_tensor *t, const char *from, char *to, bool to_physical)
{
    size_t size = nuc_dtype_size((enum nuc_dtype)t->dtype), at = 0;
    size_t strides[NUC_MAX_RANK] = {0}, index[NUC_MAX_RANK] = {0}, stride = 1;

    for (size_t i = t->rank; i-- > 0;) {
        strides[t->dim_order[i]] = stride;
        stride *= (size_t)t->sizes[t->dim_order[i]];
    }
    for (size_t logical = 0; logical * size < t->bytes; logical++) {
        memcpy(to + (to_physical ? at : logical) * size, from + (to_physical ? logical : at) * size, size);
        for (size_t d = t->rank; d-- > 0;) {
            at += strides[d];
            if (++index[d] < (size_t)t->sizes[d])
                break;
            at -= strides[d] * (size_t)t->sizes[d];
            index[d] = 0;
        }
    }
}

enum conf_result conf_refused(struct conf_report *r, const char *what, enum nuc_status status,
                              const struct nuc_detail *detail)
{
    return conf_differ(r, "%s: %s%s%s%s%s", what, detail->message != NULL ? detail->message : nuc_status_name(status),
                       detail->argument != NULL ? ": " : "", detail->argument != NULL ? detail->argument : "",
                       detail->where != NULL ? ", at " : "", detail->where != NULL ? detail->where : "");
}

bool conf_load(struct conf_loaded *l, const void *bytes, size_t size, struct conf_report *r)
{
    struct nuc_detail detail = {.message = NULL};
    struct nuc_program_sizes sizes;

    l->image = conf_block(size);
    memcpy(l->image, bytes, size);
    enum nuc_status s = nuc_program_sizes(l->image, size, &nuc_default_backends, &sizes, &detail);
    if (s == NUC_OK) {
        l->memory.state = conf_block(l->memory.state_size = sizes.state);
        l->memory.temporary = conf_block(l->memory.temporary_size = sizes.temporary);
        for (size_t i = 0; i < sizes.n_planned; i++)
            l->memory.planned[i] = conf_block(l->memory.planned_size[i] = sizes.planned[i]);
        s = nuc_program_load(&l->program, l->image, size, &l->memory, &nuc_default_kernels, &nuc_default_backends,
                             &detail);
    }
    l->is_loaded = s == NUC_OK;
    if (!l->is_loaded)
        conf_refused(r, "load", s, &detail);
    return l->is_loaded;
}

void conf_unload(struct conf_loaded *l)
{
    if (l->is_loaded)
        nuc_program_unload(&l->program);
    for (size_t i = 0; i < NUC_MAX_MEMORIES; i++)
        free(l->memory.planned[i]);
    free(l->memory.state);
    free(l->memory.temporary);
    free(l->image);
}
