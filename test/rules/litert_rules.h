/*
 * What NXP's converter (rule set sdk-3.2) accepts, read off LiteRT models alone: a second statement of the operator
 * support rules and of the verification after conversion, which shares nothing with src/npu/support. It judges the
 * models that partitions become.
 */
#ifndef NUC_TEST_LITERT_RULES_H
#define NUC_TEST_LITERT_RULES_H

#include "litert/litert.h"

struct rule_report {
    size_t models, operators, broken;
};

/* Prints a line for each rule that an operator of the model breaks and counts it. */
void rules_check_model(const struct nuc_lt_model *m, struct rule_report *report);

/* The same of a file. False: it cannot be read, which is said. */
bool rules_check_file(const char *path, struct rule_report *report);

#endif
