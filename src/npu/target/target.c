#include "npu/target/target.h"

#include <string.h>

#include "host/nearest.h"
#include "host/text.h"

/* ---- CPUs ---- */

static const struct nuc_scratch_rules scratch_rules[NUC_ISA_COUNT] = {
    [NUC_ISA_SCALAR] = {.conv_tap_bytes = 4, .conv_tap_round = 4},
    [NUC_ISA_DSP] = {.conv_tap_bytes = 4,
                     .conv_tap_round = 4,
                     .depthwise_bytes = 2,
                     .depthwise_channels = true,
                     .depthwise_free_3x3 = true,
                     .pool_bytes = 4},
    [NUC_ISA_MVE] = {.conv_tap_bytes = 4,
                     .conv_tap_round = 16,
                     .conv_rows = true,
                     .depthwise_bytes = 4 * 124,
                     .depthwise_as_conv = 8,
                     .matmul_bytes = 4},
};

static const struct nuc_cpu cortex_m0plus = {
    .name = "Cortex-M0+", .isa = NUC_ISA_SCALAR, .scratch = &scratch_rules[NUC_ISA_SCALAR]};
static const struct nuc_cpu cortex_m33 = {
    .name = "Cortex-M33", .isa = NUC_ISA_DSP, .scratch = &scratch_rules[NUC_ISA_DSP]};
static const struct nuc_cpu cortex_m55 = {
    .name = "Cortex-M55", .isa = NUC_ISA_MVE, .scratch = &scratch_rules[NUC_ISA_MVE], .kernel_sums = true};
static const struct nuc_cpu cortex_m85 = {
    .name = "Cortex-M85", .isa = NUC_ISA_MVE, .scratch = &scratch_rules[NUC_ISA_MVE], .kernel_sums = true};

const char *nuc_isa_name(enum nuc_isa isa)
{
    static const char *const names[NUC_ISA_COUNT] = {
        [NUC_ISA_SCALAR] = "scalar", [NUC_ISA_DSP] = "DSP", [NUC_ISA_MVE] = "MVE"};

    return names[isa];
}

/* ---- targets ---- */

/* Limits that NXP publishes of N3-64. Of N1-16 none are known: these are taken to hold, too. */
#define NEUTRON_LIMITS                                                                                                 \
    .max_window = 4096, .max_mac_buffer = 65535, .max_transposed_stride = 2, .max_softmax_channels = 2040,             \
    .max_softmax_rows = 4096, .max_softmax_elements = 524288, .view_rank_limit = 8,                                    \
    .max_softmax_channels_sdk31 = 2047, .max_prelu_pixels_sdk31 = 4096

/* The eIQ Neutron N3-64 of i.MX RT700 and the memories around it. */
#define NEUTRON_N3_64                                                                                                  \
    .npu_kind = "N3-64", .pipelines = 8, .num_macs = 8, .npu = &nuc_npus[NUC_NPU_N3_64], .n_memories = 4,              \
    .memories =                                                                                                        \
        {                                                                                                              \
            {.name = "sram", .bytes = 7864320, .reach = NUC_BY_ALL, .speed = 1},                                       \
            {.name = "m_ncache", .bytes = 384 * 1024, .reach = NUC_BY_ALL, .speed = 1}, /* the only one not cached */  \
            {.name = "m_data", .bytes = 2560 * 1024, .reach = NUC_BY_CPU},                                             \
            {.name = "flash", .bytes = 134217728, .reach = NUC_BY_CPU | NUC_BY_DMA, .speed = 2, .flash = true},        \
    },                                                                                                                 \
    .slice_step = 1, NEUTRON_LIMITS

/*
 * The eIQ Neutron N1-16 of MCX N: banks A to H of the SRAM follow each other, bank X lies apart, on the code bus. That
 * the NPU reads bank X is not published. Slices: users of NXP's converter report those of fewer channels on the CPU.
 */
#define NEUTRON_N1_16                                                                                                  \
    .npu_kind = "N1-16", .pipelines = 4, .num_macs = 4, .npu = &nuc_npus[NUC_NPU_N1_16], .n_memories = 3,              \
    .memories =                                                                                                        \
        {                                                                                                              \
            {.name = "sram", .bytes = 425984, .reach = NUC_BY_ALL, .speed = 1},                                        \
            {.name = "sramx", .bytes = 98304, .reach = NUC_BY_CPU, .speed = 1},                                        \
            {.name = "flash", .bytes = 2097152, .reach = NUC_BY_ALL, .speed = 2, .flash = true},                       \
    },                                                                                                                 \
    .slice_step = 4, NEUTRON_LIMITS

/* Float kernels of a Cortex-M with a floating-point unit. */
#define FPU_KERNELS                                                                                                    \
    .real = {.call = 1200,                                                                                             \
             .mac = 7.5,                                                                                               \
             .conv_mac = 26,                                                                                           \
             .element = 30,                                                                                            \
             .function = 90,                                                                                           \
             .softmax = 200,                                                                                           \
             .gate = 130,                                                                                              \
             .real = true}

/* Those of one with DSP instructions besides. */
#define DSP_KERNELS                                                                                                    \
    .int8 = {.call = 1000, .mac = 1.3, .conv_mac = 1.2, .element = 30, .function = 6, .softmax = 150, .gate = 209},    \
    FPU_KERNELS

/* Those of one with vector instructions. */
#define MVE_KERNELS                                                                                                    \
    .int8 = {.call = 1000,                                                                                             \
             .mac = 0.3,                                                                                               \
             .conv_mac = 0.3,                                                                                          \
             .element = 30,                                                                                            \
             .function = 1,                                                                                            \
             .softmax = 150,                                                                                           \
             .gate = 209,                                                                                              \
             .vector = true},                                                                                          \
    FPU_KERNELS

enum { N3_64 = 1 << NUC_NPU_N3_64, N1_16 = 1 << NUC_NPU_N1_16 };

static const uint8_t firmware[NUC_FW_COUNT] = {
    [NUC_FW_NONE] = N1_16 | N3_64,
#define FIRMWARE_KERNEL(name, npus) [NUC_FW_##name] = (npus),
#include "npu/target/firmware.def"
#undef FIRMWARE_KERNEL
};

bool nuc_has_firmware_kernel(const struct nuc_target *target, enum nuc_firmware_kernel kernel)
{
    return (firmware[kernel] >> target->npu->kind & 1) != 0;
}

#define IMXRT700 .npu_name = "imxrt700", .cpu = &cortex_m33, .clock_hz = 324e6, .costs = {.npu_call = 3000, DSP_KERNELS}

#define MCXN .cpu = &cortex_m33, .clock_hz = 150e6, .costs = {.npu_call = 3000, DSP_KERNELS}, NEUTRON_N1_16

static const struct nuc_target targets[] = {
    {
        .name = "imxrt700",
        .description = "i.MX RT700, eIQ Neutron N3-64 next to the Cortex-M33",
        IMXRT700,
        NEUTRON_N3_64,
    },
    {
        .name = "imxrt700cm",
        .description = "another name of imxrt700 with --cpu int8",
        IMXRT700,
        .named = NUC_CPU_INT8,
        NEUTRON_N3_64,
    },
    {
        .name = "mcxn947",
        .description = "MCX N94x, eIQ Neutron N1-16 next to the Cortex-M33",
        .npu_name = "mcxn94x",
        MCXN,
    },
    {
        .name = "mcxn547",
        .description = "MCX N54x, the same NPU and memories",
        .npu_name = "mcxn54x",
        MCXN,
    },
    {
        .name = "cortex-m33",
        .description = "Cortex-M33 alone, also for M4, M7 and M35P",
        .cpu = &cortex_m33,
        .clock_hz = 324e6,
        .costs = {DSP_KERNELS},
        NEUTRON_N3_64,
    },
    {
        .name = "cortex-m55",
        .description = "Cortex-M55 alone",
        .cpu = &cortex_m55,
        .clock_hz = 324e6,
        .costs = {MVE_KERNELS},
        NEUTRON_N3_64,
    },
    {
        /* The costs are those of a Cortex-M55: of the instructions that it runs two at a time nothing is measured. */
        .name = "cortex-m85",
        .description = "Cortex-M85 alone, cycles as on a Cortex-M55",
        .cpu = &cortex_m85,
        .clock_hz = 324e6,
        .costs = {MVE_KERNELS},
        NEUTRON_N3_64,
    },
    {
        .name = "cortex-m0plus",
        .description = "Cortex-M0+ alone, also for M0, M3 and M23",
        .cpu = &cortex_m0plus,
        .clock_hz = 48e6,
        .costs = {.int8 = {.call = 2000,
                           .mac = 6,
                           .conv_mac = 20,
                           .element = 120,
                           .function = 12,
                           .softmax = 350,
                           .gate = 690,
                           .scalar = true},
                  .real = {.call = 800,
                           .mac = 150,
                           .conv_mac = 200,
                           .element = 200,
                           .function = 2000,
                           .softmax = 4000,
                           .gate = 4000,
                           .real = true,
                           .scalar = true}},
        NEUTRON_N3_64,
    },
};

static const struct nuc_flavor flavors[] = {
    {.name = "sdk-3.2",
     .description = "eIQ Neutron SDK 3.2",
     .rules = NUC_RULES_SDK_3_2,
     .aliases = {"sdk-3.2.1", "sdk-3.2.2"}},
    {.name = "sdk-3.1",
     .description = "eIQ Neutron SDK 3.1.1 and before, its default flow",
     .rules = NUC_RULES_SDK_3_1,
     .aliases = {"SDK_25_06", "SDK_25_09", "SDK_25_12"}},
};

#define N_TARGETS (sizeof targets / sizeof targets[0])
#define N_FLAVORS (sizeof flavors / sizeof flavors[0])

const struct nuc_target *nuc_target_at(size_t index)
{
    return index < N_TARGETS ? &targets[index] : NULL;
}

const struct nuc_flavor *nuc_flavor_at(size_t index)
{
    return index < N_FLAVORS ? &flavors[index] : NULL;
}

static const char *target_name(const void *list, size_t index)
{
    (void)list;
    return index < N_TARGETS ? targets[index].name : NULL;
}

static const char *flavor_name(const void *list, size_t index)
{
    (void)list;
    return index < N_FLAVORS ? flavors[index].name : NULL;
}

const struct nuc_target *nuc_target_find(struct nuc_context *cx, const char *name)
{
    struct nuc_text known = {.cx = cx};

    if (name == NULL)
        return &targets[0];
    for (size_t i = 0; i < N_TARGETS; i++) {
        if (strcmp(targets[i].name, name) == 0 ||
            (targets[i].npu_name != NULL && strcmp(targets[i].npu_name, name) == 0))
            return &targets[i];
        nuc_text_addf(&known, "%s%s", i == 0 ? "" : ", ", targets[i].name);
    }
    nuc_fail(cx, NUC_BAD_USAGE, "--target: unknown target '%s'%s: use one of %s", name,
             nuc_did_you_mean(cx, name, target_name, NULL), nuc_text_string(&known));
}

const struct nuc_flavor *nuc_flavor_look_up(struct nuc_context *cx, const char *name)
{
    struct nuc_text known = {.cx = cx};

    if (name == NULL)
        return &flavors[0];
    for (size_t i = 0; i < N_FLAVORS; i++) {
        if (strcmp(flavors[i].name, name) == 0 || nuc_is_one_of(name, flavors[i].aliases, NUC_MAX_FLAVOR_ALIASES))
            return &flavors[i];
        nuc_text_addf(&known, "%s%s", i == 0 ? "" : ", ", flavors[i].name);
    }
    nuc_fail(cx, NUC_BAD_USAGE, "--converter-flavor: unknown converter flavor '%s'%s: use one of %s", name,
             nuc_did_you_mean(cx, name, flavor_name, NULL), nuc_text_string(&known));
}

double nuc_target_peak_macs(const struct nuc_target *target)
{
    return (double)target->pipelines * (double)target->num_macs * target->clock_hz;
}

const struct nuc_flavor *nuc_flavor_find(struct nuc_context *cx, const char *name)
{
    const struct nuc_flavor *flavor = nuc_flavor_look_up(cx, name);

    if (name != NULL && nuc_is_one_of(name, flavor->aliases, NUC_MAX_FLAVOR_ALIASES))
        nuc_warn(cx, "converter flavor %s: the rules of %s stand for it", name, flavor->name);
    return flavor;
}
