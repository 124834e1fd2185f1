/* The commands, each a function of the arguments that it was given, and what their summaries have in common. */
#ifndef NUC_TOOLS_CLI_COMMANDS_COMMANDS_H
#define NUC_TOOLS_CLI_COMMANDS_COMMANDS_H

#include "tools/cli/arguments/command_args.h"

int cli_codegen(struct cli_args *args);
int cli_compile(struct cli_args *args);
int cli_evaluate(struct cli_args *args);
int cli_explain(struct cli_args *args);
int cli_inspect(struct cli_args *args);
int cli_make_report(struct cli_args *args);
int cli_ops(struct cli_args *args);
int cli_quantize(struct cli_args *args);
int cli_tune(struct cli_args *args);
int cli_version(struct cli_args *args);

int cli_compare_device(struct nuc_compiler *c, struct cli_args *args);
int cli_convert(struct nuc_compiler *c, struct cli_args *args);
int cli_kernels(struct nuc_compiler *c, struct cli_args *args);
int cli_merge_evaluations(struct nuc_compiler *c, struct cli_args *args);
int cli_merge_kernel_selection(struct nuc_compiler *c, struct cli_args *args);
int cli_pack(struct nuc_compiler *c, struct cli_args *args);
int cli_plan(struct nuc_compiler *c, struct cli_args *args);
int cli_run(struct nuc_compiler *c, struct cli_args *args);
int cli_targets(struct nuc_compiler *c, struct cli_args *args);

/* ---- summaries (summary.c, quality.c) ---- */

/* "model.pte: 32,554 bytes"; of a long path the end, which tells files apart. Without bytes when it is no file. */
const char *cli_file_text(const char *path, char *text, size_t size);

/* The summary of the program that was made last, unless --quiet; with --verbose more (cmd_compile.c). */
void cli_print_program(const struct nuc_compiler *c, const struct cli_args *args);

/* "  label     text", wrapped. */
void cli_print_row(const char *label, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "344 us". */
const char *cli_time_text(uint64_t cycles, double clock_hz, char *text, size_t size);

/* --timings: the seconds of each stage and their sum. */
void cli_print_timings(const struct nuc_compiler *c);

/* What the data of the last calibration is bound to. */
void cli_print_calibration(const struct nuc_compiler *c);

/* A line of the summary: SQNR of the outputs of what was quantized last, as far as it was measured. */
void cli_print_quality(const struct nuc_compiler *c);

/* ---- what `nucleon evaluate` prints (evaluate_*.c) ---- */

/* A summary in 80 columns. `confusion`: of every output with classes and labels, not only where there are few. */
void cli_print_evaluation(const struct nuc_evaluation *e, bool confusion);

/* A confusion matrix of one output, or its largest entries where that would not fit. */
void cli_print_confusion(const struct nuc_evaluation *e, const struct nuc_output_score *o, bool demanded);

/* "42.10", "equal", "none": no decibels to tell. */
void cli_decibel_text(double db, char *text, size_t size);

/* SQNR at every node; names the first below `threshold` dB. */
void cli_print_nodes(const struct nuc_node_evaluation *e, size_t n_samples, double threshold);

#endif
