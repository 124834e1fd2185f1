/* cmocka and the headers it needs, and those of the standard library that most tests use. */
#ifndef NUC_TEST_TEST_H
#define NUC_TEST_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The main function of a program: it runs these tests. */
#define RUN_TESTS(...)                                                                                                 \
    int main(void)                                                                                                     \
    {                                                                                                                  \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                                               \
                                                                                                                       \
        return cmocka_run_group_tests(tests, NULL, NULL);                                                              \
    }

#endif
