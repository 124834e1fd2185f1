/* Options as a command line would give them, by their rows. */
#include <stdlib.h>

#include "tools/cli/arguments/command_args.h"

char *cli_options_text(struct nuc_compiler *c, unsigned commands, const struct nuc_options *o,
                       const struct nuc_options *from)
{
    char *text = NULL;
    const char *value;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    enum nuc_status status = NUC_OK;
    bool any = false;

    if (to == NULL)
        return NULL;
    for (size_t i = 0; i < cli_n_options && status == NUC_OK; i++) {
        const struct cli_option *row = &cli_options[i];
        if ((row->commands & commands) == 0 || !row->shared)
            continue;
        status = nuc_option_text(c, row->name, o, from, &value);
        if (status != NUC_OK || value == NULL)
            continue;
        fprintf(to, "%s%s", any ? "\n" : "", row->name);
        if (row->argument != NULL) {
            fputc(' ', to);
            cli_print_word(to, value);
        }
        any = true;
    }
    if (fclose(to) != 0 || status != NUC_OK) {
        free(text);
        return NULL;
    }
    return text;
}
