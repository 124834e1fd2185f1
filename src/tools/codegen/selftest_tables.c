/* What a self-test on the device compares with, as C (nucleon/selftest.h). */
#include <string.h>

#include "nucleon/selftest.h"

#include "tools/codegen/codegen_program.h"

static const char *const kinds[] = {[NUC_SELFTEST_INPUT] = "INPUT",
                                    [NUC_SELFTEST_CONSTANT] = "CONSTANT",
                                    [NUC_SELFTEST_OUTPUT] = "OUTPUT",
                                    [NUC_SELFTEST_KERNEL] = "KERNEL"};

/* Texts are printable ASCII. */
static const char *quoted(struct nuc_context *cx, const char *text)
{
    struct nuc_text out = {.cx = cx};

    for (const char *c = text; *c != '\0'; c++)
        nuc_text_addf(&out, *c == '"' || *c == '\\' || *c == '?' ? "\\%c" : "%c", *c);
    return nuc_text_string(&out);
}

static void add_cases(struct nuc_text *out, const struct nuc_selftest *t)
{
    const uint32_t n_sums = t->n_cases * t->n_checks, n_inputs = (uint32_t)t->n_cases * t->n_inputs;

    nuc_text_addf(out, "static const uint32_t sums[] = {");
    for (uint32_t i = 0; i < n_sums; i++)
        nuc_text_addf(out, "%s0x%08x,", i % 8 == 0 ? "\n    " : " ", t->sums[i]);
    nuc_text_addf(out, "\n    0,\n};\n\n");
    for (uint32_t i = 0; i < n_inputs; i++) {
        nuc_text_addf(out, "static const _Alignas(NUC_MEMORY_ALIGNMENT) uint8_t input%u[] = {\n", i);
        nuc_codegen_bytes(out, t->inputs[i], t->input_bytes[i % t->n_inputs]);
        nuc_text_addf(out, "%s};\n\n", t->input_bytes[i % t->n_inputs] == 0 ? "0" : "");
    }
    nuc_text_addf(out, "static const uint8_t *const inputs[] = {");
    for (uint32_t i = 0; i < n_inputs; i++)
        nuc_text_addf(out, "%sinput%u, ", i % 8 == 0 ? "\n    " : "", i);
    nuc_text_addf(out, "NULL};\n\nstatic const uint32_t input_bytes[] = {");
    for (uint32_t i = 0; i < t->n_inputs; i++)
        nuc_text_addf(out, "%u, ", t->input_bytes[i]);
    nuc_text_addf(out, "0};\n\n");
}

/* By delegate of the method: the number of its payload's array in generated C, of which there are as many. */
static uint32_t *find_places(struct nuc_context *cx, const struct nuc_view_method *m, const struct nuc_selftest *t,
                             uint32_t *count)
{
    uint32_t *place_of = nuc_alloc_array(cx, (size_t)m->n_delegates + 1, sizeof *place_of);

    *count = 0;
    memset(place_of, 0xff, m->n_delegates * sizeof *place_of);
    for (uint32_t i = 0; i < t->n_blocks; i++) { /* which are in the order of the calls */
        if (place_of[t->blocks[i].payload] == UINT32_MAX)
            place_of[t->blocks[i].payload] = (*count)++;
    }
    return place_of;
}

/* How generated C gets the inputs of a case. */
static void add_giver(struct nuc_text *out, const struct nuc_selftest *t, const char *name)
{
    nuc_text_addf(
        out,
        "/* Before each case. */\nvoid %1$s_selftest_inputs(uint32_t n_case);\n\n"
        "void %1$s_selftest_inputs(uint32_t n_case)\n{\n    const uint8_t *const *of = inputs + n_case * %2$u;\n\n"
        "    (void)of;\n",
        name, t->n_inputs);
    for (uint32_t i = 0; i < t->n_inputs; i++)
        nuc_text_addf(out, "    memcpy(%1$s_input%2$u(), of[%2$u], %3$u);\n", name, i, t->input_bytes[i]);
    nuc_text_addf(out, "}\n\n");
}

const char *nuc_selftest_tables(struct nuc_context *cx, const struct nuc_program_view *view,
                                const struct nuc_selftest *t, const char *name, bool is_c)
{
    const struct nuc_view_method *m = view->methods;
    struct nuc_text out = {.cx = cx};
    uint32_t n_places;
    const uint32_t *place_of = find_places(cx, m, t, &n_places);

    nuc_text_addf(&out,
                  "/* Made by nucleon of a bundled program: what a self-test on the device compares with. */\n"
                  "#include \"nucleon/selftest.h\"\n\n%2$sextern const struct nuc_selftest %1$s_selftest;\n\n",
                  name, is_c ? nuc_format(cx, "#include <string.h>\n\n#include \"%s.h\"\n\n", name) : "");
    nuc_text_addf(&out, "static const struct nuc_selftest_node nodes[] = {\n");
    for (uint32_t i = 0; i < t->n_nodes; i++) {
        const struct nuc_selftest_node *n = &t->nodes[i];
        nuc_text_addf(&out, "    {\"%s\", \"%s\", \"%s\", %s},\n", n->number, quoted(cx, n->name), quoted(cx, n->label),
                      n->on_npu ? "true" : "false");
    }
    nuc_text_addf(&out, "};\n\nstatic const struct nuc_selftest_check checks[] = {\n");
    for (uint32_t i = 0; i < t->n_checks; i++) {
        const struct nuc_selftest_check *c = &t->checks[i];
        nuc_text_addf(&out, "    {%u, %u, %u, NUC_SELFTEST_%s},\n", c->node, c->from, c->argument, kinds[c->kind]);
    }
    nuc_text_addf(&out, "    {0, 0, 0, 0},\n};\n\n");
    /* Offsets in a program file count from its beginning, in generated C from that of the payload's array. */
    nuc_text_addf(&out, "static const struct nuc_selftest_block blocks[] = {\n");
    for (uint32_t i = 0; i < t->n_blocks; i++) {
        const struct nuc_selftest_block *b = &t->blocks[i];
        const size_t payload_at = (size_t)(m->delegates[b->payload].data.data - view->bytes.data);
        nuc_text_addf(&out, "    {%u, %u, 0x%08x, %u, %u},\n", b->at + (is_c ? 0 : (unsigned)payload_at), b->size,
                      b->sum, b->node, is_c ? place_of[b->payload] : 0);
    }
    nuc_text_addf(&out, "    {0, 0, 0, 0, 0},\n};\n\n");
    if (is_c) {
        struct nuc_text payloads = {.cx = cx};
        for (uint32_t i = 0; i < n_places; i++) {
            nuc_text_addf(&out, "extern const uint8_t %s_payload%u[];\n", name, i);
            nuc_text_addf(&payloads, "%s_payload%u, ", name, i);
        }
        nuc_text_addf(&out, "static const uint8_t *const payloads[] = {%sNULL};\n\n", nuc_text_string(&payloads));
    }
    add_cases(&out, t);
    if (is_c)
        add_giver(&out, t, name);
    nuc_text_addf(
        &out,
        "const struct nuc_selftest %1$s_selftest = {\n"
        "    \"%8$s\", %2$u, %3$u, %4$u, %5$u, %6$u, nodes, checks, blocks, sums, inputs, input_bytes, %7$s,\n"
        "};\n",
        name, t->n_nodes, t->n_inputs, t->n_cases, t->n_checks, t->n_blocks, is_c ? "payloads" : "NULL",
        nuc_codegen_name(cx, view->file));
    return nuc_text_string(&out);
}
