/* Options by name and text: each of them, what flags and lists take, mistakes, when they hold, who listens. */
#include "unit/test.h"

#include <locale.h>
#include <math.h>

#include "nucleon/options.h"

static struct nuc_options now(const struct nuc_compiler *c)
{
    struct nuc_options o;

    nuc_options_now(c, &o);
    return o;
}

static void set(struct nuc_compiler *c, const char *name, const char *text)
{
    enum nuc_status status = nuc_option_set(c, name, text);

    if (status != NUC_OK)
        print_error("%s=%s: %s\n", name, text, nuc_compiler_message(c));
    assert_int_equal(status, NUC_OK);
}

static void refused(struct nuc_compiler *c, const char *name, const char *text, const char *because)
{
    struct nuc_options before = now(c), after;

    assert_int_equal(nuc_option_set(c, name, text), NUC_BAD_USAGE);
    if (strstr(nuc_compiler_message(c), because) == NULL)
        print_error("'%s' is not in '%s'\n", because, nuc_compiler_message(c));
    assert_non_null(strstr(nuc_compiler_message(c), because));
    after = now(c);
    assert_memory_equal(&before, &after, sizeof before);
}

/* A value that is not the default. */
static const char *another(const struct nuc_option_info *i)
{
    if (strcmp(i->name, "target") == 0)
        return "cortex-m33";
    if (strcmp(i->name, "converter-flavor") == 0)
        return "sdk-3.1";
    if (strcmp(i->name, "dump-after") == 0)
        return "quantize";
    if (strcmp(i->name, "rewrite") == 0)
        return "gelu-to-sigmoid,norm-to-tanh@layers.0/*";
    if (strcmp(i->name, "stream") == 0)
        return "-1:4";
    if (strcmp(i->name, "precision") == 0)
        return "decoder.*=int16,layers.0/add=float";
    switch (i->kind) {
    case NUC_OPTION_FLAG:
        return "true";
    case NUC_OPTION_CHOICE:
        return i->choices[1];
    case NUC_OPTION_FLOATS:
        return "0.5,0.25,-1";
    case NUC_OPTION_LIST:
        return "add,layers.0/*";
    case NUC_OPTION_STRING:
    case NUC_OPTION_TEXT:
        return "a text";
    case NUC_OPTION_NUMBER:
    case NUC_OPTION_COUNT:
    case NUC_OPTION_CYCLES:
    case NUC_OPTION_BYTES:
    case NUC_OPTION_INTEGER:
    case NUC_OPTION_REAL:
    case NUC_OPTION_SHARE:
        break;
    }
    return "77";
}

/* What is set is what comes back, and sets the same again. */
static void every_option_can_be_set(void **state)
{
    struct nuc_option_info i;
    size_t count = 0;

    for (; nuc_option_at(count, &i); count++) {
        struct nuc_compiler *c = nuc_compiler_new(NULL, NULL), *again = nuc_compiler_new(NULL, NULL);
        struct nuc_options o = now(c);
        const char *text = another(&i), *back;
        assert_non_null(i.help);
        assert_int_equal(i.value == NULL, i.kind == NUC_OPTION_FLAG);
        assert_int_equal(nuc_option_text(c, i.name, &o, NULL, &back), NUC_OK);
        assert_null(back);
        if (i.kind == NUC_OPTION_CHOICE && strcmp(i.name, "accuracy") == 0)
            text = "high";
        if (strcmp(i.name, "placement") == 0)
            text = "greedy";
        if (strcmp(i.name, "memory") == 0)
            text = "m_data=64Ki,m_ncache=1k";
        set(c, i.name, text);
        o = now(c);
        assert_int_equal(nuc_option_text(c, i.name, &o, NULL, &back), NUC_OK);
        assert_non_null(back);
        assert_string_equal(back, text);
        set(again, i.name, back);
        nuc_compiler_free(c);
        nuc_compiler_free(again);
    }
    assert_true(count > 35);
    assert_false(nuc_option_at(count, &i));
}

static void texts_mean_what_they_mean_on_the_command_line(void **state)
{
    struct nuc_compiler *c = nuc_compiler_new(NULL, NULL);

    set(c, "--memory-budget", "64Ki");
    assert_int_equal(now(c).memory_budget, 65536);
    set(c, "memory_budget", "64K");
    assert_int_equal(now(c).memory_budget, 65536);
    set(c, "memory_budget", "1.5kB");
    assert_int_equal(now(c).memory_budget, 1500);
    set(c, "weights", "per-tensor");
    assert_int_equal(now(c).weights, NUC_WEIGHTS_PER_TENSOR);
    set(c, "neutron-format-conversion", "off");
    assert_false(now(c).use_neutron_for_format_conversion);
    set(c, "converter", "builtin");
    assert_null(now(c).converter);
    set(c, "mean", "0.5,0.25");
    assert_int_equal(now(c).n_image_mean, 2);
    assert_true(now(c).image_mean[1] > 0.24f && now(c).image_mean[1] < 0.26f);
    set(c, "mean", "");
    assert_int_equal(now(c).n_image_mean, 0);
    set(c, "preserve-ops", "pad,prelu");
    assert_int_equal(now(c).n_preserve_ops, 2);
    set(c, "preserve-ops", "hardswish");
    assert_int_equal(now(c).n_preserve_ops, 1);
    assert_string_equal(now(c).preserve_ops[0], "hardswish");
    set(c, "extra-flags", "");
    assert_string_equal(now(c).extra_flags, "");
    nuc_compiler_free(c);
}

static void flags_can_be_taken_back(void **state)
{
    static const char *const on[] = {NULL, "", "true", "on", "yes", "1"}, *const off[] = {"false", "off", "no", "0"};
    struct nuc_compiler *c = nuc_compiler_new(NULL, NULL);

    for (size_t i = 0; i < sizeof on / sizeof on[0]; i++) {
        set(c, "profile", on[i]);
        assert_true(now(c).profile);
        set(c, "profile", off[i % 4]);
        assert_false(now(c).profile);
        set(c, "no-delegate", on[i]);
        assert_false(now(c).delegate);
        set(c, "no-delegate", off[i % 4]);
        assert_true(now(c).delegate);
    }
    nuc_compiler_free(c);
}

static void mistakes_are_refused(void **state)
{
    struct nuc_compiler *c = nuc_compiler_new(NULL, NULL);

    refused(c, "memory-bugdet", "64Ki", "did you mean 'memory-budget'?");
    refused(c, "", "1", "is not an option");
    refused(c, "--", "1", "is not an option");
    refused(c, "memories", "1", "is not an option");
    refused(c, "memory", "1", "takes NAME=SIZE");
    refused(c, "memory", "m_data=1Ki,m_data=2Ki", "gives m_data twice");
    refused(c, "target", "imxrt70", "did you mean 'imxrt700'?");
    refused(c, "converter-flavor", "sdk-3", "did you mean 'sdk-3.");
    refused(c, "dump-after", "quantise", "did you mean 'quantize'?");
    refused(c, "observer", "min-max", "did you mean 'minmax'?");
    refused(c, "weights", "", "takes one of: per-channel, per-tensor");
    refused(c, "memory-budget", "64 KiB", "takes a number such as");
    refused(c, "memory-budget", "0", "takes a number from 1");
    refused(c, "memory-budget", "-1", "takes a number such as");
    refused(c, "memory-budget", NULL, "needs a value: BYTES");
    refused(c, "converter-timeout", "0", "takes a number from 1");
    refused(c, "threads", "4294967296", "takes a number from 0");
    refused(c, "profile", "perhaps", "takes true or false");
    refused(c, "mean", "0.5,nan", "takes finite numbers");
    refused(c, "mean", "1,2,3,4", "takes at most 3 numbers");
    refused(c, "preserve-ops", "pad,,prelu", "has an empty entry");
    refused(c, "target", "", "needs a value: NAME");
    nuc_compiler_free(c);
}

/* Whatever the text, an option is set to what it says or is refused with a reason; what was set can be said again. */
static void any_text_is_set_or_refused(void **state)
{
    static const char alphabet[] = "0123456789.,-+eEkMGiB:/*? \x01\x80\xff\t'=naintrue";
    struct nuc_compiler *c = nuc_compiler_new(NULL, NULL);
    struct nuc_option_info info;
    uint32_t seed = 7;
    size_t n_set = 0, n_refused = 0;

    for (size_t round = 0; round < 200; round++) {
        for (size_t i = 0; nuc_option_at(i, &info); i++) {
            char text[12];
            size_t length = (seed = seed * 1664525 + 1013904223) >> 8 & 7;
            for (size_t k = 0; k < length; k++)
                text[k] = alphabet[((seed = seed * 1664525 + 1013904223) >> 8) % (sizeof alphabet - 1)];
            text[length] = '\0';
            struct nuc_options o;
            const char *back;
            enum nuc_status status = nuc_option_set(c, info.name, text);
            assert_true(status == NUC_OK || status == NUC_BAD_USAGE);
            assert_int_equal(status == NUC_OK, *nuc_compiler_message(c) == '\0');
            n_set += status == NUC_OK;
            n_refused += status != NUC_OK;
            o = now(c);
            assert_int_equal(nuc_option_text(c, info.name, &o, NULL, &back), NUC_OK);
            if (back != NULL)
                set(c, info.name, back);
        }
    }
    assert_true(n_set > 500 && n_refused > 2000);
    nuc_compiler_free(c);
}

/* For targets and lists, which take no model: from the next call on. */
static void options_hold_for_what_comes_after(void **state)
{
    struct nuc_compiler *c = nuc_compiler_new(NULL, NULL);
    struct nuc_target_facts facts;

    assert_int_equal(nuc_target_facts(c, &facts), NUC_OK);
    assert_string_equal(facts.name, "imxrt700");
    set(c, "target", "cortex-m33");
    assert_int_equal(nuc_target_facts(c, &facts), NUC_OK);
    assert_string_equal(facts.name, "cortex-m33");
    /* Options that contradict each other may be set in any order. */
    set(c, "no-quantize", "true");
    set(c, "io", "int8");
    assert_int_equal(nuc_target_facts(c, &facts), NUC_BAD_USAGE);
    set(c, "io", "float");
    assert_int_equal(nuc_target_facts(c, &facts), NUC_OK);
    nuc_compiler_free(c);
}

struct heard {
    char note[256];
    char decimals[8];
};

static void hear(void *user, const char *message)
{
    struct heard *h = user;

    snprintf(h->note, sizeof h->note, "%s", message);
    snprintf(h->decimals, sizeof h->decimals, "%.1f", 0.5);
}

/* Numbers have a point whatever the process's locale is, in which callbacks run. */
static void locale_and_listeners(void **state)
{
    static const char *const with_commas[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8"};
    const char *locale = NULL, *text;
    struct nuc_compiler *c = nuc_compiler_new(NULL, NULL);
    struct nuc_target_facts facts;
    struct nuc_options o;
    struct heard h = {"", ""};
    char before[8], after[8];

    for (size_t i = 0; locale == NULL && i < sizeof with_commas / sizeof with_commas[0]; i++)
        locale = setlocale(LC_ALL, with_commas[i]);
    snprintf(before, sizeof before, "%.1f", 0.5);
    nuc_listen(c, hear, NULL, &h);
    set(c, "converter-flavor", "SDK_25_12");
    assert_string_equal(h.note, "");
    assert_int_equal(nuc_target_facts(c, &facts), NUC_OK);
    assert_non_null(strstr(h.note, "the rules of sdk-3.1"));
    assert_string_equal(h.decimals, before);
    set(c, "std", "0.5,1.25,2");
    o = now(c);
    assert_int_equal(nuc_option_text(c, "std", &o, NULL, &text), NUC_OK);
    assert_string_equal(text, "0.5,1.25,2");
    snprintf(after, sizeof after, "%.1f", 0.5);
    assert_string_equal(after, before);
    h.note[0] = '\0';
    nuc_listen(c, NULL, NULL, NULL);
    set(c, "converter-flavor", "SDK_25_09");
    assert_int_equal(nuc_target_facts(c, &facts), NUC_OK);
    assert_string_equal(h.note, "");
    nuc_compiler_free(c);
    setlocale(LC_ALL, "C");
}

RUN_TESTS(cmocka_unit_test(every_option_can_be_set), cmocka_unit_test(texts_mean_what_they_mean_on_the_command_line),
          cmocka_unit_test(flags_can_be_taken_back), cmocka_unit_test(mistakes_are_refused),
          cmocka_unit_test(any_text_is_set_or_refused), cmocka_unit_test(options_hold_for_what_comes_after),
          cmocka_unit_test(locale_and_listeners))
