#include "npu/container/disassemble.h"

#include "device/base/microcode_header.h"
#include "device/base/microcode_table.h"
#include "npu/convert/kernel_names.h"

enum field_kind { FIELD_REF, FIELD_INT, FIELD_DIMS };

struct field {
    const char *name;
    enum field_kind kind;
};

/* The fields of each record, from the lists that make the records' structures. */
#define FIELD_R(field) {#field, FIELD_REF},
#define FIELD_I(field) {#field, FIELD_INT},
#define FIELD_D(field) {#field, FIELD_DIMS},
#define FIELDS(name, fields) static const struct field name##_fields[] = {fields(FIELD_R, FIELD_I, FIELD_D)};
NUC_MC_RECORDS(FIELDS)
#undef FIELDS
#undef FIELD_R
#undef FIELD_I
#undef FIELD_D

struct opcode {
    const char *name;
    const struct field *fields;
    size_t n_fields;
};

static const struct opcode opcodes[NUC_MC_OPCODE_COUNT] = {
#define OPCODE(name, number, record) [number] = {#name, record##_fields, sizeof record##_fields / sizeof(struct field)},
    NUC_MC_OPCODES(OPCODE)
#undef OPCODE
};

static void print_ref(struct nuc_text *out, const char *name, uint32_t where, uint32_t offset)
{
    static const char *const spaces[] = {[NUC_MC_INPUT] = "input",
                                         [NUC_MC_OUTPUT] = "output",
                                         [NUC_MC_SCRATCH] = "scratch",
                                         [NUC_MC_WEIGHTS] = "weights"};
    uint32_t space = where & 0xFFu, index = where >> 8;

    nuc_text_addf(out, "    %-8s ", name);
    if (space >= NUC_MC_SPACE_COUNT)
        nuc_text_addf(out, "space %u[%u]", space, index);
    else if (space <= NUC_MC_OUTPUT)
        nuc_text_addf(out, "%s %u", spaces[space], index);
    else
        nuc_text_addf(out, "%s", spaces[space]);
    nuc_text_addf(out, " + 0x%x\n", offset);
}

/* Operands on a line each, then the parameters on one. */
static void print_fields(struct nuc_text *out, const struct opcode *op, struct nuc_span fields)
{
    uint64_t at = 0;

    for (size_t i = 0; i < op->n_fields && op->fields[i].kind == FIELD_REF; i++, at += 2)
        print_ref(out, op->fields[i].name, nuc_mc_word(fields, at), nuc_mc_word(fields, at + 1));
    nuc_text_addf(out, "   ");
    for (size_t i = (size_t)(at / 2); i < op->n_fields; i++) {
        const struct field *f = &op->fields[i];
        if (f->kind == FIELD_INT) {
            nuc_text_addf(out, " %s=%d", f->name, (int32_t)nuc_mc_word(fields, at));
            at++;
            continue;
        }
        struct nuc_span dims = {fields.data + at * 4, NUC_MC_MAX_RANK * 4};
        /* Dimensions up to the record's last one that is not 0. */
        uint32_t n = NUC_MC_MAX_RANK;
        while (n > 0 && nuc_mc_word(dims, n - 1) == 0)
            n--;
        nuc_text_addf(out, " %s=[", f->name);
        for (uint32_t k = 0; k < n; k++)
            nuc_text_addf(out, "%s%d", k ? ", " : "", (int32_t)nuc_mc_word(dims, k));
        nuc_text_addf(out, "]");
        at += NUC_MC_MAX_RANK;
    }
    nuc_text_addf(out, "\n");
}

/* One call; false when the record is broken. *next is the offset of the one after. */
static bool print_call(struct nuc_text *out, struct nuc_span microcode, uint32_t number, uint64_t at, uint64_t *next)
{
    struct nuc_span record;

    if (!nuc_span_slice(microcode, at, sizeof(struct nuc_mc_call), &record))
        return false;
    uint32_t opcode = nuc_mc_word(record, 0) & 0xFFFFu, size = nuc_mc_whole_size(nuc_mc_word(record, 0));
    if (size == 0 || nuc_mc_word(record, 1) != size / 4 || !nuc_span_slice(microcode, at, size, &record))
        return false;
    nuc_text_addf(out, "call %u: %s, LiteRT operator %u", number, opcodes[opcode].name, nuc_mc_word(record, 2));
    if (nuc_mc_word(record, 3) != 0)
        nuc_text_addf(out, ", debug handle %u", nuc_mc_word(record, 3));
    struct nuc_kernel_name name = nuc_kernel_name_read(out->cx, microcode, number);
    if (name.node != NULL)
        nuc_text_addf(out, ", %s%s%s", name.node, name.source != NULL ? ", " : "",
                      name.source != NULL ? name.source : "");
    nuc_text_addf(out, " @0x%llx\n", (unsigned long long)at);
    const size_t head = sizeof(struct nuc_mc_call);
    union nuc_mc_record r;
    nuc_mc_load(record.data, &r);
    print_fields(out, &opcodes[opcode],
                 (struct nuc_span){(const uint8_t *)&r + head, nuc_mc_record_size(opcode) - head});
    if (nuc_mc_word(record, 0) & NUC_MC_TABLE) {
        struct nuc_mc_ref table = nuc_mc_table_at(record.data);
        print_ref(out, "table", table.where, table.offset);
    }
    *next = at + size;
    return true;
}

static void print_sizes(struct nuc_text *out, struct nuc_span m)
{
    const struct nuc_mc_buffers b = nuc_mc_buffers_of(m.data, nuc_mc_payload_version(m.data));
    uint32_t n_in = b.n_inputs, n_out = b.n_outputs;
    struct nuc_span sizes;

    if (!nuc_span_slice(m, nuc_mc_word(m, NUC_MC_WORD_IO_OFFSET), ((uint64_t)n_in + n_out) * 4, &sizes)) {
        nuc_text_addf(out, "sizes of inputs and outputs are cut off\n");
        return;
    }
    for (uint32_t i = 0; i < n_in; i++)
        nuc_text_addf(out, "input %u: %u bytes\n", i, nuc_mc_word(sizes, i));
    for (uint32_t i = 0; i < n_out; i++)
        nuc_text_addf(out, "output %u: %u bytes\n", i, nuc_mc_word(sizes, (uint64_t)n_in + i));
}

void nuc_disassemble(struct nuc_text *out, struct nuc_span microcode)
{
    if (!nuc_is_microcode(microcode)) {
        nuc_text_addf(out, "microcode of another converter: its records cannot be read\n");
        return;
    }
    const struct nuc_mc_buffers b = nuc_mc_buffers_of(microcode.data, nuc_mc_payload_version(microcode.data));
    nuc_text_addf(out,
                  "microcode version 0x%08x: %u bytes, weights %u, kernels %u, scratch %u, profile %u, debug %u, "
                  "prefetch %u; %u inputs, %u outputs, %u calls\n",
                  nuc_mc_word(microcode, NUC_MC_WORD_VERSION), nuc_mc_word(microcode, NUC_MC_WORD_SIZE),
                  nuc_mc_word(microcode, NUC_MC_WORD_WEIGHTS), nuc_mc_word(microcode, NUC_MC_WORD_KERNELS),
                  nuc_mc_word(microcode, NUC_MC_WORD_SCRATCH), b.profile, b.debug, b.prefetch, b.n_inputs, b.n_outputs,
                  nuc_mc_word(microcode, NUC_MC_WORD_CALLS));
    print_sizes(out, microcode);
    uint64_t at = nuc_mc_word(microcode, NUC_MC_WORD_CALLS_OFFSET);
    for (uint32_t i = 0; i < nuc_mc_word(microcode, NUC_MC_WORD_CALLS); i++) {
        if (!print_call(out, microcode, i, at, &at)) {
            nuc_text_addf(out, "call %u at 0x%llx is broken\n", i, (unsigned long long)at);
            return;
        }
    }
}
