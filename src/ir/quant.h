/* Parameters of quantize and dequantize nodes. */
#ifndef NUC_IR_QUANT_H
#define NUC_IR_QUANT_H

#include "ir/graph.h"

struct nuc_quant {
    bool per_channel;
    double scale;                                /* per tensor */
    int64_t zero_point;                          /* per tensor */
    const struct nuc_node *scales, *zero_points; /* per channel; zero_points may be NULL: all 0 */
    int64_t axis;                                /* per channel; else -1 */
    int64_t quant_min, quant_max;
    enum nuc_dtype dtype; /* of the quantized tensor */
};

/* What a quantize or dequantize node says; false, and *out unset, for NULL, other nodes and arguments of other types.
 */
bool nuc_quant_of(const struct nuc_node *node, struct nuc_quant *out);

/* The same of a dequantize node alone, as an operator's input is, and of a quantize node alone. */
bool nuc_dequantize_quant(const struct nuc_node *node, struct nuc_quant *out);
bool nuc_quantize_quant(const struct nuc_node *node, struct nuc_quant *out);

/* Int8 parameters that quantize nodes, which alone read a value, all give it; false: there are none. */
bool nuc_result_quant(const struct nuc_node *value, struct nuc_quant *out);

/* Int16 comes into the operator or out of it, perhaps behind an activation. */
bool nuc_is_int16(const struct nuc_node *node);

/* What an operator that reads and writes such numbers computes with, if it has a kernel of them. */
enum nuc_numbers {
    NUC_NUMBERS_NONE,
    NUC_NUMBERS_INT8,
    NUC_NUMBERS_INT16,
    NUC_NUMBERS_INTEGERS, /* that stand for themselves */
    NUC_NUMBERS_FLOAT,
    NUC_NUMBERS_COUNT
};

/* Int8, int16 or integers. */
enum nuc_numbers nuc_numbers_of(const struct nuc_node *node);

/*
 * Of so many operators on the CPU, those that the other counts leave are int8: also those of which only parts, which
 * are not counted, are there.
 */
void nuc_count_int8(uint32_t counts[NUC_NUMBERS_COUNT], uint32_t on_cpu);

/* Scale and zero point are the same, bit for bit; ranges and types may differ. */
bool nuc_same_parameters(const struct nuc_quant *a, const struct nuc_quant *b);

/* The same, and range, axis and type, too. */
bool nuc_same_quant(const struct nuc_quant *a, const struct nuc_quant *b);

/* Writes all parameters but the input into a quantize or dequantize node per tensor. */
void nuc_set_quant(struct nuc_node *node, const struct nuc_quant *quant);

#endif
