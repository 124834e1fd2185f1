/* An NPU payload as text: borders, sizes, and the kernel calls on request. */
#include "compiler/neutron/container/disassemble.h"
#include "compiler/neutron/container/payload.h"
#include "compiler/report/inspect.h"
#include "compiler/report/inspect_forms.h"

static void add_borders(struct nuc_text *out, const char *what, const struct nuc_payload_io *io, uint8_t count)
{
    for (uint8_t i = 0; i < count; i++)
        nuc_text_addf(out, "      %s %u: argument %u, %s\n", what, i, io[i].map,
                      io[i].format == 1 ? "channels-last" : "as it is");
}

void nuc_inspect_payload(struct nuc_text *out, const char *file, struct nuc_span payload, bool disassemble)
{
    struct nuc_payload p = nuc_payload_parse(out->cx, file, payload);
    struct nuc_payload_sizes sizes = nuc_payload_sizes_of(&p);

    nuc_text_addf(out, "    Neutron payload version %u: microcode %zu, weights %zu, kernels %zu bytes\n", p.version,
                  p.microcode.size, p.weights.size, p.kernels.size);
    nuc_text_addf(out, "      scratch %u, profile %u, debug %u, prefetch %u bytes\n", sizes.scratch, sizes.profile,
                  sizes.debug, sizes.prefetch);
    nuc_text_addf(out, "      converter %s\n", nuc_inspect_maker(out->cx, p.microcode));
    add_borders(out, "input", p.inputs, p.n_inputs);
    add_borders(out, "output", p.outputs, p.n_outputs);
    if (disassemble)
        nuc_disassemble(out, p.microcode);
}
