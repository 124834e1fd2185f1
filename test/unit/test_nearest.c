/* "did you mean": which word is near enough, and which of several is nearest. */
#include "contexts.h"

#include "host/nearest.h"

static const char *const words[] = {"compile",  "convert", "quantize",      "tune",     "run",
                                    "evaluate", "explain", "imxrt700",      "--target", "aten.add.Tensor",
                                    "sdk-3.2",  "sdk-3.1", "channels-last", NULL};

static const char *word_at(const void *list, size_t index)
{
    return ((const char *const *)list)[index];
}

static void test_near(void **state)
{
    static const char *const rows[][2] = {
        {"complie", "compile"},
        {"cmpile", "compile"},
        {"compille", "compile"},
        {"tone", "tune"},
        {"--traget", "--target"},
        {"--Target", "--target"},
        {"channels_last", "channels-last"},
        {"sdk3.2", "sdk-3.2"},
        {"SDK-3.1", "sdk-3.1"},
        {"rt700", "imxrt700"},
        {"eval", "evaluate"},
        {"ad", "aten.add.Tensor"},
        {"aten.ad.Tensor", "aten.add.Tensor"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *word = nuc_nearest(rows[i][0], word_at, words);
        assert_non_null(word);
        assert_string_equal(word, rows[i][1]);
    }
}

static void test_far(void **state)
{
    static const char *const far[] = {"", "x", "model.pt2", "deploy", "-"};
    char longest[4096];

    memset(longest, 'c', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_null(nuc_nearest(longest, word_at, words));
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++)
        assert_null(nuc_nearest(far[i], word_at, words));
}

RUN_TESTS(cmocka_unit_test(test_near), cmocka_unit_test(test_far))
