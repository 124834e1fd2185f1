/* Compiles a model with the library: main MODEL.pt2 CALIBRATION OUT.pte [OPTION=VALUE ...] */
#include <stdio.h>
#include <string.h>

#include <nucleon/options.h>

static void print_note(void *user, const char *message)
{
    (void)user;
    fprintf(stderr, "note: %s\n", message);
}

/* "memory-budget=64Ki", or "profile" for a flag: named as on the command line. */
static enum nuc_status set_option(struct nuc_compiler *c, char *text)
{
    char *value = strchr(text, '=');

    if (value != NULL)
        *value++ = '\0';
    return nuc_option_set(c, text, value);
}

int main(int argc, char **argv)
{
    struct nuc_program_report report;
    enum nuc_status status = NUC_OK;

    if (argc < 4) {
        fprintf(stderr, "usage: %s MODEL.pt2 CALIBRATION OUT.pte [OPTION=VALUE ...]\n", argv[0]);
        return 2;
    }
    struct nuc_compiler *c = nuc_compiler_new(NULL, NULL);
    if (c == NULL)
        return 1;
    nuc_listen(c, print_note, NULL, NULL);
    for (int i = 4; i < argc && status == NUC_OK; i++)
        status = set_option(c, argv[i]);
    if (status == NUC_OK)
        status = nuc_compile_file(c, argv[1], argv[2], argv[3]);
    if (status != NUC_OK)
        fprintf(stderr, "%s\n", nuc_compiler_message(c));
    else if (nuc_program_report(c, &report) == NUC_OK)
        printf("%zu of %zu operators on the NPU\n", report.n_operators_delegated, report.n_operators);
    nuc_compiler_free(c);
    return status == NUC_OK ? 0 : 1;
}
