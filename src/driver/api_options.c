/* Options of the compiler by name (nucleon/options.h), and who listens to it. */
#include <string.h>

#include "driver/driver.h"
#include "host/nearest.h"
#include "npu/target/target.h"
#include "options/options.h"

static const char *option_name(const void *list, size_t index)
{
    (void)list;
    return index < nuc_n_option_rows ? nuc_option_rows[index].name : NULL;
}

static const struct nuc_option_info *find(struct nuc_context *cx, const char *name)
{
    const struct nuc_option_info *row = nuc_option_find(name);
    const char *plain = strncmp(name, "--", 2) == 0 ? name + 2 : name;

    if (row == NULL)
        nuc_fail(cx, NUC_BAD_USAGE, "'%s' is not an option of the compiler%s", name,
                 nuc_did_you_mean(cx, plain, option_name, NULL));
    return row;
}

enum nuc_status nuc_option_set(struct nuc_compiler *c, const char *name, const char *text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, name != NULL);
        struct nuc_options o = c->options;
        const struct nuc_option_info *row = find(c->cx, name);
        nuc_option_assign(c->cx, row, text, &o);
        nuc_settings_check(c->cx, row->name, &o);
        c->options = o;
        c->settings = NULL;
    }
    return nuc_leave(&call);
}

void nuc_options_now(const struct nuc_compiler *c, struct nuc_options *out)
{
    *out = c->options;
}

enum nuc_status nuc_option_text(struct nuc_compiler *c, const char *name, const struct nuc_options *o,
                                const struct nuc_options *from, const char **text)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, name != NULL && o != NULL && text != NULL);
        struct nuc_options defaults;
        nuc_options_default(&defaults);
        *text = nuc_option_print(c->cx, find(c->cx, name), o, from != NULL ? from : &defaults);
    }
    return nuc_leave(&call);
}

void nuc_listen(struct nuc_compiler *c, void (*warn)(void *user, const char *message),
                void (*progress)(void *user, const char *what, size_t done, size_t total), void *user)
{
    struct nuc_context *cx = c->cx;

    c->options.warn = cx->warn = warn;
    c->options.warn_user = cx->warn_user = user;
    c->options.progress = cx->progress = progress;
    c->options.progress_user = cx->progress_user = user;
}
