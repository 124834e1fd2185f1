/* Compiles a model with the library: main MODEL.pt2 CALIBRATION OUT.pte */
#include <stdio.h>

#include <nucleon/compile.h>

int main(int argc, char **argv)
{
    struct nuc_options options;
    struct nuc_program_report report;

    if (argc != 4) {
        fprintf(stderr, "usage: %s MODEL.pt2 CALIBRATION OUT.pte\n", argv[0]);
        return 2;
    }
    nuc_options_default(&options);
    struct nuc_compiler *c = nuc_compiler_new(&options, NULL);
    if (c == NULL)
        return 1;
    enum nuc_status status = nuc_compile_file(c, argv[1], argv[2], argv[3]);
    if (status != NUC_OK)
        fprintf(stderr, "%s\n", nuc_compiler_message(c));
    else if (nuc_program_report(c, &report) == NUC_OK)
        printf("%zu of %zu operators on the NPU\n", report.n_operators_delegated, report.n_operators);
    nuc_compiler_free(c);
    return status == NUC_OK ? 0 : 1;
}
