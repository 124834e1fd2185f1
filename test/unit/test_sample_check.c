/* Notes of a compilation on its calibration samples and on what quantization makes of the outputs on them. */
#include <unistd.h>

#include "driver/driver.h"
#include "quantized_text.h"

enum { N_SAMPLES = 6, N = 16 };

struct network {
    const char *what, *lines;
    float scale, offset; /* samples: from offset - scale to offset + scale */
    const char *note;    /* part of the first note; NULL: there is none */
    const char *precision;
};

#define INPUT "%x = input : float32[1, 16]\n"
#define WEIGHT "%w = parameter : float32[4, 16] values(0.5, -0.25, 0.75, 0.125, -1)\n"
#define FILLED(name, value) "%" name " = parameter : float32[1, 16] values(" value ")\n"

static const struct network networks[] = {
    {"a layer", WEIGHT INPUT "%y = aten.linear.default(%x, %w)\n", 1, 0, NULL, NULL},
    {"an input of volts", WEIGHT INPUT "%y = aten.linear.default(%x, %w)\n", 1e-3f, 0, NULL, NULL},
    {"pixels", WEIGHT INPUT "%y = aten.linear.default(%x, %w)\n", 128, 128, NULL, NULL},
    {"one value", WEIGHT INPUT "%y = aten.linear.default(%x, %w); %z = aten.softmax.int(%y, 1)\n", 0, 0.5f,
     "input 'x' is 0.5 throughout all samples", NULL},
    {"a tiny range", WEIGHT INPUT "%y = aten.linear.default(%x, %w)\n", 1e-6f, 0, "input 'x' has no value beyond",
     NULL},
    {"a huge range", WEIGHT INPUT "%y = aten.linear.default(%x, %w)\n", 1e6f, 0, "input 'x' has values up to", NULL},
    {"a dead output", INPUT "%a = aten.abs.default(%x); %n = aten.neg.default(%a); %y = aten.relu.default(%n)\n", 1, 0,
     "output 'y' of the float model is the same for all 6 samples", NULL},
    {"a constant of the model",
     FILLED("k", "3") INPUT "%y = aten.add.Tensor(%x, %x); %z = aten.add.Tensor(%k, %k)\n"
                            "%output = output([%y, %z])\n",
     1, 0, NULL, NULL},
    {"a lost range", FILLED("k", "200") INPUT "%m = aten.mul.Tensor(%x, %x); %y = aten.add.Tensor(%m, %k)\n", 0.1f, 0,
     "output 'y' is the same for all 6 samples once it is quantized", NULL},
    {"a small deviation from a level",
     FILLED("k", "200") "%w = parameter : float32[4, 16] values(1, -1)\n" INPUT
                        "%s = aten.add.Tensor(%x, %k); %y = aten.linear.default(%s, %w)\n",
     1, 0, "stays in float: 2 operators from node 's'", NULL},
    {"a noisy output, int8 by name",
     FILLED("k", "200") "%w = parameter : float32[4, 16] values(1, -1)\n" INPUT
                        "%s = aten.add.Tensor(%x, %k); %y = aten.linear.default(%s, %w)\n",
     1, 0, "output 'y' has an SQNR of", "*=int8"},
    {"a level that is taken off",
     FILLED("k", "200") FILLED("l", "-200") INPUT "%s = aten.add.Tensor(%x, %k); %y = aten.add.Tensor(%s, %l)\n", 1, 0,
     "stays in float: 2 operators from node 's'", NULL},
};

struct notes {
    size_t count;
    char first[1024];
};

static void note(void *user, const char *message)
{
    struct notes *n = user;

    if (n->count++ == 0)
        snprintf(n->first, sizeof n->first, "%s", message);
}

/* An .npz with values spread over the range. */
static void write_samples(struct nuc_compiler *c, const char *name, const struct network *network)
{
    static float values[N_SAMPLES * N];
    const struct nuc_array_info a = {
        .name = "x", .dtype = NUC_F32, .rank = 2, .sizes = {N_SAMPLES, N}, .data = values, .bytes = sizeof values};

    for (size_t i = 0; i < N_SAMPLES * N; i++)
        values[i] = network->offset + network->scale * ((float)(i * 37 % (N_SAMPLES * N)) / (N_SAMPLES * N / 2) - 1);
    assert_int_equal(nuc_write_arrays(c, name, &a, 1), NUC_OK);
}

struct flow {
    const struct network *network;
    struct nuc_compiler *c;
    struct nuc_model *m;
};

static void make_model(struct nuc_context *cx, void *arg)
{
    struct flow *f = arg;

    f->m = nuc_model_make(f->c, parse_quantized(cx, f->network->lines));
}

static struct nuc_compiler *compile(const struct network *network, enum nuc_accuracy accuracy, struct notes *notes)
{
    struct flow f = {.network = network};
    char samples[] = "/tmp/nucleon-test-XXXXXX", program[] = "/tmp/nucleon-test-XXXXXX";
    struct nuc_options o;

    nuc_options_default(&o);
    o.threads = 1;
    o.accuracy = accuracy;
    o.precision = &network->precision;
    o.n_precision = network->precision != NULL;
    o.warn = note;
    o.warn_user = notes;
    f.c = nuc_compiler_new(&o, NULL);
    close(mkstemp(samples));
    close(mkstemp(program));
    write_samples(f.c, samples, network);
    assert_int_equal(nuc_settings(f.c)->trial, false);
    assert_int_equal(nuc_try(f.c->cx, make_model, &f), NUC_OK);
    if (nuc_compile_model(f.m, samples, program) != NUC_OK)
        fail_msg("%s: %s", network->what, nuc_compiler_message(f.c));
    unlink(samples);
    unlink(program);
    return f.c;
}

static void what_cannot_be_right_is_noted(void **state)
{
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++) {
        const struct network *n = &networks[i];
        struct notes notes = {0, ""};
        nuc_compiler_free(compile(n, NUC_ACCURACY_DEFAULT, &notes));
        /* Tiny values may be lost in the outputs, too. */
        size_t most = n->note == NULL ? 0 : n->scale > 0 && n->scale < 1e-4f ? 2 : 1;
        bool right = notes.count <= most && (n->note == NULL || strstr(notes.first, n->note) != NULL);
        if (!right)
            fail_msg("%s: %zu notes, the first: %s", n->what, notes.count, notes.first);
    }
}

static void outputs_have_names_and_figures(void **state)
{
    struct notes notes = {0, ""};
    struct nuc_output_quality q;
    struct nuc_compiler *c = compile(&networks[0], NUC_ACCURACY_DEFAULT, &notes);

    assert_int_equal(nuc_n_qualities(c), 1);
    assert_int_equal(nuc_quality(c, 0, &q), NUC_OK);
    assert_string_equal(q.name, "y");
    assert_true(q.is_float && q.float_varies && q.varies && q.sqnr_db > 25 && q.held_out == N_SAMPLES);
    assert_int_equal(nuc_quality(c, 1, &q), NUC_BAD_USAGE);
    nuc_compiler_free(c);
    c = compile(&networks[0], NUC_ACCURACY_FAST, &notes);
    assert_int_equal(nuc_n_qualities(c), 0);
    nuc_compiler_free(c);
}

RUN_TESTS(cmocka_unit_test(what_cannot_be_right_is_noted), cmocka_unit_test(outputs_have_names_and_figures))
