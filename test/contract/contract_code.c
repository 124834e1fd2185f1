#include "contract_code.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nucleon/firmware.h"

static char message[2048];

/* Elements of a tensor between logical order and that of its memory. */
static void lay(const struct nuc_tensor_info *info, const uint8_t *from, uint8_t *to, bool to_memory)
{
    size_t strides[NUC_MAX_RANK], count = 1, size = nuc_dtype_size(info->dtype);

    for (size_t i = info->rank; i-- > 0;) {
        strides[info->dim_order[i]] = count;
        count *= (size_t)info->sizes[info->dim_order[i]];
    }
    for (size_t i = 0; i < count; i++) {
        size_t rest = i, at = 0;
        for (size_t d = info->rank; d-- > 0;) {
            at += rest % (size_t)info->sizes[d] * strides[d];
            rest /= (size_t)info->sizes[d];
        }
        memcpy(to + (to_memory ? at : i) * size, from + (to_memory ? i : at) * size, size);
    }
}

/* A function of the library, through memory, as ISO C has no cast between objects and functions. */
static bool find(void *library, const char *name, void *function, size_t size)
{
    void *found = dlsym(library, name);

    memcpy(function, &found, size);
    return found != NULL;
}

static const char *compare(void *library, struct nuc_runner *r, const void *const *inputs, void *const *outputs)
{
    enum nuc_status (*run)(struct nuc_detail *), (*load)(struct nuc_detail *);
    struct nuc_detail detail = {.message = NULL};
    struct nuc_tensor_info info;
    char name[64];

    if (find(library, "model_load", &load, sizeof load) && load(&detail) != NUC_OK)
        return detail.message != NULL ? detail.message : "model_load() fails";
    if (!find(library, "model_run", &run, sizeof run))
        return "there is no model_run()";
    for (size_t i = 0; i < nuc_runner_n_inputs(r); i++) {
        void *(*address)(void);
        snprintf(name, sizeof name, "model_input%zu", i);
        if (!find(library, name, &address, sizeof address) || nuc_runner_input(r, i, &info) != NUC_OK)
            return "an input is missing";
        lay(&info, inputs[i], address(), true);
    }
    if (run(&detail) != NUC_OK)
        return detail.message != NULL ? detail.message : "model_run() fails";
    for (size_t i = 0; i < nuc_runner_n_outputs(r); i++) {
        const void *(*address)(void);
        snprintf(name, sizeof name, "model_output%zu", i);
        if (!find(library, name, &address, sizeof address) || nuc_runner_output(r, i, &info) != NUC_OK)
            return "an output is missing";
        uint8_t *got = malloc(info.bytes + 1);
        lay(&info, address(), got, false);
        bool same = memcmp(got, outputs[i], info.bytes) == 0;
        free(got);
        if (!same)
            return "an output has other bytes";
    }
    return NULL;
}

static const char *build(const char *folder, const char *cc, const char *include)
{
    char command[4096], text[1024] = "";

    snprintf(command, sizeof command,
             "%s -std=c11 -pedantic -Wall -Wextra -Werror -O0 -shared -fPIC -I%s/code -I%s %s/code/model.c "
             "%s/code/model_data.c -o %s/code/model.so 2>&1",
             cc, folder, include, folder, folder, folder);
    FILE *f = popen(command, "r");
    size_t length = f != NULL ? fread(text, 1, sizeof text - 1, f) : 0;
    text[length] = '\0';
    if (f != NULL && pclose(f) == 0)
        return NULL;
    snprintf(message, sizeof message, "%s: %s", cc, text);
    return message;
}

const char *code_check(struct nuc_compiler *c, const char *path, const char *folder, const char *cc,
                       const char *include, struct nuc_runner *r, const void *const *inputs, void *const *outputs,
                       const char **refused)
{
    static const char *const files[] = {"model.c", "model.h", "model_data.c", "model.so", ""};
    char code[1024];

    snprintf(code, sizeof code, "%s/code", folder);
    *refused = NULL;
    if (nuc_codegen_program(c, path, code, "model") != NUC_OK) {
        *refused = nuc_compiler_message(c);
        return NULL;
    }
    const char *wrong = build(folder, cc, include);
    if (wrong == NULL) {
        snprintf(code, sizeof code, "%s/code/model.so", folder);
        void *library = dlopen(code, RTLD_NOW | RTLD_LOCAL);
        wrong = library != NULL ? compare(library, r, inputs, outputs) : dlerror();
        if (wrong != message && wrong != NULL) {
            snprintf(message, sizeof message, "generated code: %s", wrong);
            wrong = message;
        }
        if (library != NULL)
            dlclose(library);
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(code, sizeof code, "%s/code/%s", folder, files[i]);
        remove(code);
    }
    return wrong;
}
