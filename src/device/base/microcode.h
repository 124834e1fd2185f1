/*
 * The microcode of nucleon's Neutron-C programs: a header, the sizes of the program's inputs and outputs, and a list of
 * kernel calls. The converter writes it, the simulator verifies and runs it, the disassembler prints it; all three take
 * the layout from this file. docs/microcode.md is its description. Everything is little-endian 32-bit words.
 *
 * The header keeps the public words of the vendor's container (payload version 1), so that any runtime finds sizes,
 * inputs and outputs where it expects them. Word 1 holds the version of this encoding; the vendor's firmware refuses
 * it, and the simulator refuses every other.
 */
#ifndef NUC_DEVICE_BASE_MICROCODE_H
#define NUC_DEVICE_BASE_MICROCODE_H

#include <stdbool.h>
#include <stdint.h>

#define NUC_MC_MAGIC 0x64434D6Eu     /* "nMCd" */
#define NUC_MC_VERSION 0x4E550006u   /* "NU", then the revision: any change of a record's layout raises it */
#define NUC_MC_VERSION_5 0x4E550005u /* the same without matrices in two levels and tables at the end of a softmax */
#define NUC_MC_VERSION_4 0x4E550004u /* the same without copies on the channel of weights that are still read */
#define NUC_MC_VERSION_3 0x4E550003u /* the same without tables at the end of calls and in_pitch */
#define NUC_MC_ALIGNMENT 16          /* bytes: buffers, weights' tables, scratch offsets */
#define NUC_MC_MAX_RANK 8            /* of strided records, after merging dimensions */
#define NUC_MC_MAX_DIM (1 << 28)     /* bound of every size and stride: sums of eight products stay inside 64 bits */
#define NUC_MC_MAX_IO 255            /* inputs, and outputs: the payload counts them in a byte */
#define NUC_MC_SIZE_MASK 0x7FFFFFFFu /* of word 10: its top bit has a meaning of its own for the vendor's runtime */
#define NUC_MC_PROFILE_RECORD 16     /* bytes per profile record */
#define NUC_MC_LAYOUT_0 1            /* see microcode_header.h */
#define NUC_MC_CHANNELS 2            /* copies from flash under way at once */
#define NUC_MC_STOP_KERNEL 6         /* opCode of a profile record that ends a kernel */

/* Words of the header. Those not named are zero. */
enum nuc_mc_header_word {
    NUC_MC_WORD_MAGIC = 0,
    NUC_MC_WORD_VERSION = 1,
    NUC_MC_WORD_HEADER_SIZE = 2, /* bytes of the header: NUC_MC_HEADER_WORDS * 4 */
    NUC_MC_WORD_LAYOUT = 3,      /* NUC_MC_LAYOUT_0: words 10 to 14 are those of payload version 0, else of 1 */
    NUC_MC_WORD_NPU = 4,         /* its code (npu_cost.h): what the times of the calls are for */
    NUC_MC_WORD_SIZE = 6,        /* bytes of the whole microcode */
    NUC_MC_WORD_WEIGHTS = 7,     /* bytes of the weights */
    NUC_MC_WORD_KERNELS = 8,     /* bytes of the kernels */
    NUC_MC_WORD_SCRATCH = 9,     /* bytes of the scratch buffer */
    NUC_MC_WORD_PROFILE = 10,    /* bytes of the profile buffer: 0, or a record for each call and one for the end */
    NUC_MC_WORD_DEBUG = 11,      /* bytes of the debug buffer */
    NUC_MC_WORD_PREFETCH = 12,   /* bytes of the staging buffer for weights */
    NUC_MC_WORD_INPUTS = 13,
    NUC_MC_WORD_OUTPUTS = 14,
    NUC_MC_WORD_CALLS = 15,        /* number of kernel calls */
    NUC_MC_WORD_IO_OFFSET = 16,    /* bytes from the start: sizes in bytes of the inputs, then of the outputs */
    NUC_MC_WORD_CALLS_OFFSET = 17, /* bytes from the start: the first call record */
    NUC_MC_WORD_NAMES_OFFSET = 18, /* bytes from the start: what the calls were made of; 0: nothing is said */
    NUC_MC_HEADER_WORDS = 20
};

/* Where an operand lives. Only outputs and scratch may be written. */
enum nuc_mc_space { NUC_MC_INPUT, NUC_MC_OUTPUT, NUC_MC_SCRATCH, NUC_MC_WEIGHTS, NUC_MC_SPACE_COUNT };

/*
 * Bits of a record's first word (microcode_table.h): a table is applied to the result; the record has its last field,
 * in_pitch, which it leaves out otherwise and which is then 0.
 */
#define NUC_MC_TABLE (1u << 24)
#define NUC_MC_PITCHED (1u << 25)

/* Element types a record may name in bits 16 to 23 of its first word. */
enum nuc_mc_dtype { NUC_MC_I8 = 0, NUC_MC_I16 = 1, NUC_MC_DTYPE_COUNT };

struct nuc_mc_ref {
    uint32_t where;  /* enum nuc_mc_space | index << 8; the index counts inputs or outputs, else it is 0 */
    uint32_t offset; /* bytes */
};

/* First words of every record. */
struct nuc_mc_call {
    uint32_t opcode; /* enum nuc_mc_opcode | enum nuc_mc_dtype << 16 | NUC_MC_TABLE | NUC_MC_PITCHED */
    uint32_t words;  /* of the whole record */
    uint32_t source; /* index of the LiteRT operator the call was made of */
    uint32_t handle; /* debug handle of the graph node, 0: none */
};

/*
 * Records as lists of fields. R: operand, I: int32 word, D: NUC_MC_MAX_RANK int32 words. Lists make both the structures
 * and the disassembler's tables. Tables in the weights: `requant` holds pairs {multiplier, shift} (fixed_point.h) and
 * `bias` int32, one per output channel; int8 data is in the layout the record states.
 */

/* Field lists read as tables: a row is a group of fields. */
/* clang-format off */

/*
 * CONV_2D: input [batches, in_h, in_w, in_c], weight [out_c, k_h, k_w, in_c / groups].
 * DEPTHWISE_CONV_2D: weight [k_h, k_w, out_c], groups == in_c, output channel o reads input channel o / (out_c / in_c).
 * TRANSPOSE_CONV: weight [out_c, k_h, k_w, in_c], dilation 1, groups 1, pads are taken from the full output.
 * Bottom and right padding follow from the sizes: taps outside the input count as the input's zero point.
 * out_pitch: bytes from one output pixel to the next, 0: out_c. in_pitch: from one input pixel to the next, 0: in_c.
 */
#define NUC_MC_CONV_FIELDS(R, I, D)                                                                                    \
    R(input) R(output) R(weight) R(bias) R(requant)                                                                    \
    I(batches) I(in_h) I(in_w) I(in_c) I(out_h) I(out_w) I(out_c) I(k_h) I(k_w)                                        \
    I(stride_h) I(stride_w) I(dilation_h) I(dilation_w) I(pad_top) I(pad_left) I(groups)                               \
    I(input_zero) I(output_zero) I(clamp_min) I(clamp_max) I(out_pitch) I(in_pitch)

/*
 * FULLY_CONNECTED and BATCH_MATMUL: out[b, r, c] = sum over k of lhs[b, r, k] * rhs[b, c, k]; strides in elements.
 * `has_bias` 0: the bias operand is ignored. `per_channel` 1: a requant pair a column, else one.
 * out_pitch: bytes from one row of the output to the next, also across batches, 0: columns. With inner > 0, which
 * divides batches, batch b is b % inner of b / inner: its matrices lie (b / inner) * batch_stride + (b % inner) *
 * inner_stride from the first, those of the output, too.
 */
#define NUC_MC_MATMUL_FIELDS(R, I, D)                                                                                  \
    R(lhs) R(rhs) R(output) R(bias) R(requant)                                                                         \
    I(batches) I(rows) I(columns) I(depth)                                                                             \
    I(lhs_batch_stride) I(lhs_row_stride) I(lhs_depth_stride)                                                          \
    I(rhs_batch_stride) I(rhs_column_stride) I(rhs_depth_stride)                                                       \
    I(has_bias) I(per_channel) I(lhs_zero) I(rhs_zero) I(output_zero) I(clamp_min) I(clamp_max) I(out_pitch) \
    I(inner) I(lhs_inner_stride) I(rhs_inner_stride) I(out_batch_stride) I(out_inner_stride)

/*
 * ADD, SUB, MUL, MAXIMUM, MINIMUM, PRELU, alpha in b: output of `shape`, operand strides in elements (0 repeats).
 * ADD, SUB: multipliers a, b and out, both inputs shifted left by left_shift first. MUL: multiplier out.
 * PRELU: multiplier a where the input is not negative, multiplier out on products. MAXIMUM, MINIMUM: none.
 * out_pitch: bytes from one run of the last dimension to the next, 0: its size.
 */
#define NUC_MC_BINARY_FIELDS(R, I, D)                                                                                  \
    R(a) R(b) R(output) I(rank) D(shape) D(a_stride) D(b_stride)                                                       \
    I(a_zero) I(b_zero) I(output_zero) I(left_shift)                                                                   \
    I(a_multiplier) I(a_shift) I(b_multiplier) I(b_shift) I(out_multiplier) I(out_shift)                               \
    I(clamp_min) I(clamp_max) I(out_pitch)

/*
 * AVERAGE_POOL_2D, MAX_POOL_2D. An average divides by the taps inside the input, or with count_pad 1 by all of them,
 * those outside counting as pad_value. A maximum ignores taps outside. out_pitch and in_pitch as for a
 * convolution.
 */
#define NUC_MC_POOL_FIELDS(R, I, D)                                                                                    \
    R(input) R(output) I(batches) I(in_h) I(in_w) I(channels) I(out_h) I(out_w) I(k_h) I(k_w)                          \
    I(stride_h) I(stride_w) I(pad_top) I(pad_left) I(count_pad) I(pad_value) I(clamp_min) I(clamp_max) I(out_pitch) \
    I(in_pitch)

/*
 * MEAN, SUM, REDUCE_MAX, REDUCE_MIN: dense output over `shape` (kept dimensions, input strides `stride`), each the
 * reduction over `reduced_shape`. MEAN: (sum - count * input_zero) requantized. SUM: the same times
 * multiplier / divisor * 2^shift, exact and rounded once.
 */
#define NUC_MC_REDUCE_FIELDS(R, I, D)                                                                                  \
    R(input) R(output) I(rank) D(shape) D(stride) I(reduced_rank) D(reduced_shape) D(reduced_stride)                   \
    I(input_zero) I(output_zero) I(multiplier) I(divisor) I(shift) I(clamp_min) I(clamp_max)

/*
 * SOFTMAX over the last dimension; multiplier and left shift scale differences to 5 integer bits; below diff_min: 0.
 * out_pitch: bytes from one row of the output to the next, 0: depth.
 */
#define NUC_MC_SOFTMAX_FIELDS(R, I, D)                                                                                 \
    R(input) R(output) I(rows) I(depth) I(multiplier) I(left_shift) I(diff_min) I(out_pitch)

/*
 * SOFTMAX_TABLE: the same for rows of any length. table: 256 words, exp(-d * scale) in units of 2^-31 for the
 * difference d to the row's largest value; the quotient by the row's sum is rounded once.
 */
#define NUC_MC_SOFTMAX_TABLE_FIELDS(R, I, D) R(input) R(output) R(table) I(rows) I(depth) I(out_pitch)

/*
 * LUT: output[i] = table[input[i] + 128]; the table is 256 bytes. Every function of one int8 value is one. With an
 * out_pitch the output lies in runs of `run` values, out_pitch bytes from one to the next, with an in_pitch the input
 * does; `run` divides count. With a pitch of 0 they are dense.
 */
#define NUC_MC_LUT_FIELDS(R, I, D) R(input) R(output) R(table) I(count) I(run) I(out_pitch) I(in_pitch)

/*
 * COPY: `unit` bytes for each index of `shape`, strides in bytes; input strides may be 0 or negative. The copy begins
 * out_start bytes into the output, of which the first fill_size bytes are set to fill_value before. Transposes, slices,
 * concatenations, pads.
 */
#define NUC_MC_COPY_FIELDS(R, I, D)                                                                                    \
    R(input) R(output) I(rank) I(unit) D(shape) D(in_stride) D(out_stride) I(out_start) I(fill_size) I(fill_value)

/*
 * GATHER: dense output of `unit` bytes for each index of `shape`; the source is at the sum over axes of an int32 byte
 * offset from the axis' table; the tables follow each other at `table`. Mirror pads, nearest-neighbor resizes,
 * slices that are joined.
 */
#define NUC_MC_GATHER_FIELDS(R, I, D) R(input) R(output) R(table) I(rank) I(unit) D(shape)

/* RESIZE_BILINEAR: scales in 1/1024; out_pitch as for a convolution. */
#define NUC_MC_RESIZE_FIELDS(R, I, D)                                                                                  \
    R(input) R(output) I(batches) I(in_h) I(in_w) I(channels) I(out_h) I(out_w) I(scale_h) I(scale_w) I(half_pixel) \
    I(out_pitch)

/*
 * FETCH: starts copying `size` bytes of the weights into the staging buffer, on one of NUC_MC_CHANNELS copy channels.
 * WAIT: the copy with the same numbers is over; from now on, operands in the weights are read from the staging buffer,
 * and only those bytes. Without a staging buffer there is neither, and weights are read where they are.
 */
#define NUC_MC_FETCH_FIELDS(R, I, D) I(weights_offset) I(size) I(staging_offset) I(channel)

/* clang-format on */

/* Records. X(structure, field list). */
#define NUC_MC_RECORDS(X)                                                                                              \
    X(conv, NUC_MC_CONV_FIELDS)                                                                                        \
    X(matmul, NUC_MC_MATMUL_FIELDS)                                                                                    \
    X(binary, NUC_MC_BINARY_FIELDS)                                                                                    \
    X(pool, NUC_MC_POOL_FIELDS)                                                                                        \
    X(reduce, NUC_MC_REDUCE_FIELDS)                                                                                    \
    X(softmax, NUC_MC_SOFTMAX_FIELDS)                                                                                  \
    X(softmax_table, NUC_MC_SOFTMAX_TABLE_FIELDS)                                                                      \
    X(lut, NUC_MC_LUT_FIELDS)                                                                                          \
    X(copy, NUC_MC_COPY_FIELDS)                                                                                        \
    X(gather, NUC_MC_GATHER_FIELDS)                                                                                    \
    X(resize, NUC_MC_RESIZE_FIELDS)                                                                                    \
    X(fetch, NUC_MC_FETCH_FIELDS)

/* Kernel calls. X(name, number, record). Numbers are never reused. */
#define NUC_MC_OPCODES(X)                                                                                              \
    X(CONV_2D, 1, conv)                                                                                                \
    X(DEPTHWISE_CONV_2D, 2, conv)                                                                                      \
    X(TRANSPOSE_CONV, 3, conv)                                                                                         \
    X(FULLY_CONNECTED, 4, matmul)                                                                                      \
    X(BATCH_MATMUL, 5, matmul)                                                                                         \
    X(ADD, 6, binary)                                                                                                  \
    X(SUB, 7, binary)                                                                                                  \
    X(MUL, 8, binary)                                                                                                  \
    X(MAXIMUM, 9, binary)                                                                                              \
    X(MINIMUM, 10, binary)                                                                                             \
    X(PRELU, 11, binary)                                                                                               \
    X(AVERAGE_POOL_2D, 12, pool)                                                                                       \
    X(MAX_POOL_2D, 13, pool)                                                                                           \
    X(MEAN, 14, reduce)                                                                                                \
    X(SUM, 15, reduce)                                                                                                 \
    X(REDUCE_MAX, 16, reduce)                                                                                          \
    X(REDUCE_MIN, 17, reduce)                                                                                          \
    X(SOFTMAX, 18, softmax)                                                                                            \
    X(LUT, 19, lut)                                                                                                    \
    X(COPY, 20, copy)                                                                                                  \
    X(GATHER, 21, gather)                                                                                              \
    X(RESIZE_BILINEAR, 22, resize)                                                                                     \
    X(SOFTMAX_TABLE, 23, softmax_table)                                                                                \
    X(FETCH, 24, fetch)                                                                                                \
    X(WAIT, 25, fetch)

enum nuc_mc_opcode {
#define NUC_MC_ENUM(name, number, record) NUC_MC_OP_##name = number,
    NUC_MC_OPCODES(NUC_MC_ENUM)
#undef NUC_MC_ENUM
        NUC_MC_OPCODE_COUNT
};

#define NUC_MC_STRUCT_R(field) struct nuc_mc_ref field;
#define NUC_MC_STRUCT_I(field) int32_t field;
#define NUC_MC_STRUCT_D(field) int32_t field[NUC_MC_MAX_RANK];
#define NUC_MC_STRUCT(name, fields)                                                                                    \
    struct nuc_mc_##name {                                                                                             \
        struct nuc_mc_call call;                                                                                       \
        fields(NUC_MC_STRUCT_R, NUC_MC_STRUCT_I, NUC_MC_STRUCT_D)                                                      \
    };
NUC_MC_RECORDS(NUC_MC_STRUCT)
#undef NUC_MC_STRUCT
#undef NUC_MC_STRUCT_R
#undef NUC_MC_STRUCT_I
#undef NUC_MC_STRUCT_D

/* Any record; large enough to copy one into. */
union nuc_mc_record {
    struct nuc_mc_call call;
#define NUC_MC_MEMBER(name, fields) struct nuc_mc_##name name;
    NUC_MC_RECORDS(NUC_MC_MEMBER)
#undef NUC_MC_MEMBER
};

static inline uint32_t nuc_mc_where(enum nuc_mc_space space, uint32_t index)
{
    return (uint32_t)space | index << 8;
}

static inline uint32_t nuc_mc_opcode_of(const struct nuc_mc_call *call)
{
    return call->opcode & 0xFFFFu;
}

/* A revision whose programs this encoding has. A program states the oldest one that has all its calls. */
static inline bool nuc_mc_is_version(uint32_t word)
{
    return word >= NUC_MC_VERSION_3 && word <= NUC_MC_VERSION;
}

/* Bytes of the fields of an opcode's record, 0 for one that does not exist. */
static inline uint32_t nuc_mc_record_size(uint32_t opcode)
{
    static const uint16_t size[NUC_MC_OPCODE_COUNT] = {
#define NUC_MC_SIZE(name, number, record) [number] = (uint16_t)sizeof(struct nuc_mc_##record),
        NUC_MC_OPCODES(NUC_MC_SIZE)
#undef NUC_MC_SIZE
    };
    return opcode < NUC_MC_OPCODE_COUNT ? size[opcode] : 0;
}

/* As it stands above, in capital letters. */
static inline const char *nuc_mc_opcode_name(uint32_t opcode)
{
    static const char *const names[NUC_MC_OPCODE_COUNT] = {
#define NUC_MC_NAME(name, number, record) [number] = #name,
        NUC_MC_OPCODES(NUC_MC_NAME)
#undef NUC_MC_NAME
    };
    return opcode < NUC_MC_OPCODE_COUNT && names[opcode] != 0 ? names[opcode] : "unknown";
}

#endif
