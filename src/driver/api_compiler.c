/* The compiler object: options, errors, timings. */
#include <string.h>

#include "driver/pipeline.h"
#include "host/characters.h"
#include "host/file.h"
#include "host/nearest.h"
#include "npu/target/target.h"
#include "nucleon/version.h"
#include "options/options.h"

const char *nuc_version(void)
{
    return NUCLEON_VERSION;
}

struct words {
    const char *const *items;
    size_t count;
};

static const char *word_at(const void *list, size_t index)
{
    const struct words *words = list;

    return index < words->count ? words->items[index] : NULL;
}

const char *nuc_nearest_word(const char *text, const char *const *words, size_t count)
{
    return nuc_nearest(text, word_at, &(struct words){words, count});
}

uint32_t nuc_text_character(const char *text, size_t *bytes)
{
    return nuc_character(text, bytes);
}

bool nuc_is_control_character(uint32_t character)
{
    return nuc_is_control(character);
}

struct nuc_compiler *nuc_compiler_new(const struct nuc_options *options, const struct nuc_memory_hooks *hooks)
{
    struct nuc_allocator allocator;

    if (hooks != NULL)
        allocator = (struct nuc_allocator){hooks->allocate, hooks->user};
    struct nuc_context *cx = nuc_context_new(hooks != NULL ? &allocator : NULL);
    if (cx == NULL)
        return NULL;
    /* Not from the context's arenas: an allocation there that fails needs a call to end. */
    struct nuc_compiler *c = cx->allocator.allocate(cx->allocator.user, NULL, sizeof *c);
    if (c == NULL) {
        nuc_context_free(cx);
        return NULL;
    }
    *c = (struct nuc_compiler){.cx = cx, .arena = cx->arena, .pipeline = nuc_pipeline};
    if (options != NULL)
        c->options = *options;
    else
        nuc_options_default(&c->options);
    cx->warn = c->options.warn;
    cx->warn_user = c->options.warn_user;
    cx->progress = c->options.progress;
    cx->progress_user = c->options.progress_user;
    return c;
}

void nuc_compiler_free(struct nuc_compiler *c)
{
    if (c == NULL)
        return;
    struct nuc_context *cx = c->cx;
    if (cx->outputs.arena != NULL)
        nuc_end_outputs(cx);
    cx->allocator.allocate(cx->allocator.user, c, 0);
    nuc_context_free(cx);
}

void nuc_interrupt(struct nuc_compiler *c)
{
    atomic_store(&c->cx->interrupted, true);
}

void nuc_compiler_abandon(struct nuc_compiler *c)
{
    nuc_discard_unfinished(&c->cx->unfinished);
}

/* ---- files of several calls ---- */

void nuc_begin_files(struct nuc_compiler *c)
{
    nuc_begin_outputs(c->cx);
}

enum nuc_status nuc_commit_files(struct nuc_compiler *c)
{
    struct nuc_call call;

    if (c == NULL || c->cx->outputs.arena == NULL)
        return NUC_BAD_USAGE;
    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, c->cx, __func__, true);
        nuc_commit_outputs(c->cx);
    }
    enum nuc_status status = nuc_leave(&call);
    nuc_end_outputs(c->cx);
    return status;
}

/* ---- what can be asked for afterwards ---- */

const struct nuc_options *nuc_compiler_options(const struct nuc_compiler *c)
{
    return &c->options;
}

const char *nuc_compiler_message(const struct nuc_compiler *c)
{
    return c->cx->message;
}

bool nuc_written_file(const struct nuc_compiler *c, size_t index, const char **path, size_t *bytes)
{
    return nuc_written_output(c->cx, index, path, bytes);
}

const char *nuc_dim_order_table(const struct nuc_compiler *c)
{
    return c->dim_order_table;
}

size_t nuc_timings(const struct nuc_compiler *c, struct nuc_timing *out, size_t max)
{
    const struct nuc_stage_seconds *s = &c->seconds;

    for (size_t i = 0; i < s->count && i < max; i++)
        out[i] = s->stages[i];
    return s->count;
}

enum nuc_status nuc_program_report(const struct nuc_compiler *c, struct nuc_program_report *out)
{
    if (c->report.program == 0)
        return NUC_BAD_USAGE;
    *out = c->report;
    return NUC_OK;
}

enum nuc_status nuc_target_facts(struct nuc_compiler *c, struct nuc_target_facts *out)
{
    struct nuc_call call;

    if (setjmp(call.catch.here) == 0) {
        nuc_enter(&call, nuc_context_of(c), __func__, out != NULL);
        const struct nuc_target *target = nuc_settings(c)->target;
        *out = (struct nuc_target_facts){target->name, target->npu_name != NULL, target->cpu != NULL,
                                         target->cpu != NULL ? target->cpu->name : ""};
    }
    return nuc_leave(&call);
}

/* ---- options by name (nucleon/options.h), and who listens ---- */

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
        if (strcmp(row->name, "dump-after") == 0)
            nuc_check_dump_point(c->cx, o.dump_after);
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
