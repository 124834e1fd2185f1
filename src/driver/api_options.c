/* Options of the compiler by name (nucleon/options.h), and who listens to it. */
#include <string.h>

#include "driver/driver.h"
#include "host/nearest.h"
#include "npu/target/target.h"
#include "options/options.h"

struct option_call {
    struct nuc_call call;
    const char *name, *text;
    const struct nuc_options *o, *from;
};

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

static void set_option(struct nuc_call *call)
{
    const struct option_call *k = (const struct option_call *)call;
    struct nuc_context *cx = call->c->cx;
    struct nuc_options o = call->c->options;
    const struct nuc_option_info *row = find(cx, k->name);

    nuc_option_assign(cx, row, k->text, &o);
    nuc_settings_check(cx, row->name, &o);
    call->c->options = o;
    call->c->settings = NULL;
}

enum nuc_status nuc_option_set(struct nuc_compiler *c, const char *name, const char *text)
{
    struct option_call k = {.call = {.c = c}, .name = name, .text = text};

    return nuc_enter(&k.call, set_option);
}

void nuc_options_now(const struct nuc_compiler *c, struct nuc_options *out)
{
    *out = c->options;
}

static void print_option(struct nuc_call *call)
{
    const struct option_call *k = (const struct option_call *)call;
    struct nuc_options defaults;

    nuc_options_default(&defaults);
    *call->out.text =
        nuc_option_print(call->c->cx, find(call->c->cx, k->name), k->o, k->from != NULL ? k->from : &defaults);
}

enum nuc_status nuc_option_text(struct nuc_compiler *c, const char *name, const struct nuc_options *o,
                                const struct nuc_options *from, const char **text)
{
    struct option_call k = {.call = {.c = c, .out.text = text}, .name = name, .o = o, .from = from};

    return nuc_enter(&k.call, print_option);
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
