/* Values of options: the library reads them; lists may be given several times, some answer "help". */
#include <assert.h>
#include <string.h>

#include "tools/cli/arguments/command_args.h"

static void *member(const struct cli_args *args, size_t offset)
{
    return (char *)(uintptr_t)args + offset;
}

/* Two options that set one member to different values exclude each other. */
static int check_flag(const struct cli_args *args, const struct cli_option *o)
{
    for (size_t i = 0; i < cli_n_options; i++) {
        const struct cli_option *other = &cli_options[i];
        if (args->given[i] && other->kind == NUC_OPTION_FLAG && other->offset == o->offset && other->value != o->value)
            return cli_usage("%s: %s and %s exclude each other", args->command->name, other < o ? other->name : o->name,
                             other < o ? o->name : other->name);
    }
    return CLI_OK;
}

/* Where the words of a list are: the same for all times that it is given. */
static const char **words_of(struct cli_args *args, const struct cli_option *o)
{
    const char *const *list = *(const char *const *const *)member(args, o->offset);

    assert(list != NULL || args->n_lists < CLI_LISTS);
    return list != NULL ? (const char **)(uintptr_t)list : args->lists[args->n_lists++];
}

int cli_set_option(struct cli_args *args, const struct cli_option *o, char *text)
{
    const struct nuc_option_info row = {.name = o->name + 2,
                                        .kind = o->kind,
                                        .value = o->argument,
                                        .offset = o->offset,
                                        .size = o->size,
                                        .count = o->count,
                                        .choices = o->choices,
                                        .set = o->value};
    const char **words = o->kind == NUC_OPTION_LIST ? words_of(args, o) : NULL;
    char message[NUC_OPTION_MESSAGE];
    int code = o->kind == NUC_OPTION_FLAG ? check_flag(args, o) : CLI_OK;

    if (code != CLI_OK)
        return code;
    if (o->list != NULL && strcmp(text, "help") == 0) {
        o->list();
        return CLI_LISTED;
    }
    if (nuc_option_parse(&row, text, words, CLI_LIST_MAX, args, message) != NUC_OK)
        return cli_usage("%s", message);
    return CLI_OK;
}
