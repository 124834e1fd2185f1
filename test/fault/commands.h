/* The commands that are swept: what they read is in ../in, what they write in box. */
#ifndef NUC_FAULT_COMMANDS_H
#define NUC_FAULT_COMMANDS_H

#include <stdbool.h>

#define FAULT_MAX_OUTPUTS 5

struct fault_command {
    const char *name;
    const char *line;                           /* words between spaces; @ stands for nucleon */
    const char *outputs[FAULT_MAX_OUTPUTS + 1]; /* the files it writes */
    bool timed;                                 /* it prints times: digits are not compared */
};

#define IN "../in/"
#define COMPILE "@ compile " IN "tiny.pt2 --threads 1 --calibration " IN "tiny.npz -o box/o.pte"
#define QUICK "@ compile " IN "quantized.pt2 --threads 1 --placement greedy -o box/o.pte"

/* Some read what the ones in front of them wrote: see set_up(). */
static const struct fault_command fault_commands[] = {
    {"compile", COMPILE, {"box/o.pte"}, false},
    {"compile-float", "@ compile " IN "tiny.pt2 --threads 1 --no-quantize -o box/o.pte", {"box/o.pte"}, false},
    {"compile-quantized", QUICK, {"box/o.pte"}, false},
    {"compile-images",
     "@ compile " IN "tiny.pt2 --threads 1 --calibration " IN "images --resize crop -o box/o.pte",
     {"box/o.pte"},
     false},
    {"compile-tflite",
     "@ compile " IN "tag1_pure.et.tflite --threads 1 --placement greedy -o box/o.pte",
     {"box/o.pte"},
     false},
    {"compile-cortex-m",
     COMPILE " --target imxrt700cm --operators-not-to-delegate aten.add.Tensor",
     {"box/o.pte"},
     false},
    {"compile-dim-order", COMPILE " --dim-order auto", {"box/o.pte"}, false},
    {"compile-accuracy-high", COMPILE " --accuracy high", {"box/o.pte"}, true},
    {"compile-segment", QUICK " --delegate-data segment --payload-version 0", {"box/o.pte"}, false},
    {"compile-files",
     QUICK " --memory-map box/map.svg --dump-kernel-selection box/kernels.c --intermediates-dir box",
     {"box/o.pte", "box/map.svg", "box/kernels.c", "box/tag1_pure.et.tflite", "box/tag1_neutron.et.tflite"},
     false},
    {"compile-converter", QUICK " --converter ../in/converter", {"box/o.pte"}, false},
    {"quantize",
     "@ quantize " IN "tiny.pt2 --threads 1 --calibration " IN "tiny.npz -o box/o.pt2",
     {"box/o.pt2"},
     false},
    {"convert", "@ convert --input " IN "tag1_pure.et.tflite --output box/o.tflite --verbose", {"box/o.tflite"}, false},
    {"run", "@ run " IN "tiny.pte --input " IN "tiny.npz --output box/o.npz", {"box/o.npz"}, false},
    {"run-printed", "@ run " IN "tiny.pte --input " IN "images --resize crop --threads 2", {NULL}, false},
    {"run-etdump",
     "@ run " IN "profiled.pte --input " IN "tiny.npz --profile --etdump box/o.etdump --etrecord box/o.etrecord",
     {"box/o.etdump", "box/o.etrecord"},
     false},
    {"evaluate",
     "@ evaluate " IN "tiny.pte --dataset " IN "tiny.npz --reference " IN "tiny.pt2 --quantized " IN "quantized.pt2",
     {NULL},
     true},
    {"evaluate-json",
     "@ evaluate " IN "tiny.pte --dataset " IN "tiny.npz --reference " IN "tiny.pt2 --json --threads 2",
     {NULL},
     true},
    {"tune",
     "@ tune " IN "tiny.pt2 --for latency --threads 1 --io float --placement cost --accuracy fast --calibration " IN
     "tiny.npz -o box/o.pte",
     {"box/o.pte"},
     true},
    {"explain", "@ explain " IN "tiny.pt2 --threads 1", {NULL}, false},
    {"explain-json", "@ explain " IN "quantized.pt2 --json --all", {NULL}, false},
    {"inspect-archive", "@ inspect " IN "quantized.pt2", {NULL}, false},
    {"inspect-litert", "@ inspect " IN "tag1_pure.et.tflite --dot", {NULL}, false},
    {"inspect-converted", "@ inspect " IN "converted.tflite --disassemble --json", {NULL}, false},
    {"inspect-program", "@ inspect " IN "tiny.pte --disassemble", {NULL}, false},
    {"codegen", "@ codegen " IN "tiny.pte --name tiny -o box", {"box/tiny.h", "box/tiny.c", "box/tiny_data.c"}, false},
    {"merge-evaluations", "@ merge-evaluations ../out --json", {NULL}, true},
    {"kernels", "@ kernels " IN "tiny.pte " IN "profiled.pte -o box/o.c", {"box/o.c", "box/o.h"}, false},
    {"plan", "@ plan " IN "tiny.pte " IN "profiled.pte -o box/o.c", {"box/o.c", "box/o.h"}, false},
    {"pack",
     "@ pack " IN "tiny.pte --program-version 2 --signature " IN "kernels.c -o box/o.npk",
     {"box/o.npk"},
     false},
    {"merge-kernel-selection",
     "@ merge-kernel-selection " IN "kernels.c " IN "kernels.c -o box/o.c",
     {"box/o.c"},
     false},
    {"ops", "@ ops --markdown", {NULL}, false},
    {"targets", "@ targets", {NULL}, false},
    {"version", "@ version", {NULL}, false},
    {"help", "@ compile --help", {NULL}, false},
};

enum { N_FAULT_COMMANDS = sizeof fault_commands / sizeof fault_commands[0] };

/* What makes the files in ../in that are not checked in. */
static const char *const fault_preparations[] = {
    "@ quantize in/tiny.pt2 --calibration in/tiny.npz -o in/quantized.pt2",
    ("@ compile in/quantized.pt2 -o in/tiny.pte --placement greedy --intermediates-dir in --dump-kernel-selection "
     "in/kernels.c"),
    "@ compile in/quantized.pt2 -o in/profiled.pte --profile",
    "@ convert --input in/tag1_pure.et.tflite --output in/converted.tflite",
    /* the last one: what it prints stays in `out` */
    "@ evaluate in/tiny.pte --dataset in/tiny.npz --reference in/tiny.pt2 --shard 1/1 --json",
};

enum { N_FAULT_PREPARATIONS = sizeof fault_preparations / sizeof fault_preparations[0] };

#endif
