/* Words as a shell takes them. */
#include <stdlib.h>
#include <string.h>

#include "tools/cli/terminal/cli.h"

void cli_print_word(FILE *to, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";

    if (*text != '\0' && text[strspn(text, plain)] == '\0') {
        fputs(text, to);
        return;
    }
    fputc('\'', to);
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\''", to);
        else
            fputc(*text, to);
    }
    fputc('\'', to);
}

char *cli_invocation_text(int argc, char *const *argv)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    if (to == NULL)
        return NULL;
    fputs("nucleon", to);
    for (int i = 0; i < argc; i++) {
        fputc(' ', to);
        cli_print_word(to, argv[i]);
    }
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}
