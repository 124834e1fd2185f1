/*
 * litert_rules FILE.tflite ...: exit code 0 when the models keep to what the converter accepts, 1 and a line for each
 * violation when not, 2 when a file cannot be read. `nucleon compile --intermediates-dir DIR` writes the models of
 * partitions as DIR/tag<n>_pure.et.tflite.
 */
#include <stdio.h>

#include "rules/litert_rules.h"

int main(int argc, char **argv)
{
    struct rule_report report = {0};
    int code = 0;

    for (int i = 1; i < argc; i++) {
        if (!rules_check_file(argv[i], &report))
            code = 2;
    }
    printf("%zu models, %zu operators: %zu violations\n", report.models, report.operators, report.broken);
    return code != 0 ? code : report.broken != 0;
}
