/*
 * The program file's tables: field numbers, union tags and header words, in the order ExecuTorch's schema/program.fbs
 * declares them. Writer, runtime and inspection read the format from here. Freestanding.
 */
#ifndef NUC_DEVICE_BASE_PROGRAM_SCHEMA_H
#define NUC_DEVICE_BASE_PROGRAM_SCHEMA_H

/* The extended header follows root offset and file identifier. */
#define NUC_PROGRAM_IDENTIFIER "ET12"
#define NUC_PROGRAM_HEADER_MAGIC "eh00"
#define NUC_PROGRAM_HEADER_AT 8

enum {
    NUC_PROGRAM_VERSION,
    NUC_PROGRAM_PLANS,
    NUC_PROGRAM_CONSTANT_BUFFERS,
    NUC_PROGRAM_DELEGATE_DATA,
    NUC_PROGRAM_SEGMENTS,
    NUC_PROGRAM_CONSTANT_SEGMENT,
    NUC_PROGRAM_MUTABLE_SEGMENTS,
    NUC_PROGRAM_NAMED_DATA
};

enum {
    NUC_PLAN_NAME,
    NUC_PLAN_CONTAINER,
    NUC_PLAN_VALUES,
    NUC_PLAN_INPUTS,
    NUC_PLAN_OUTPUTS,
    NUC_PLAN_CHAINS,
    NUC_PLAN_OPERATORS,
    NUC_PLAN_DELEGATES,
    NUC_PLAN_BUFFER_SIZES
};

enum { NUC_CHAIN_INPUTS, NUC_CHAIN_OUTPUTS, NUC_CHAIN_INSTRUCTIONS, NUC_CHAIN_STACK_TRACES };
enum { NUC_FRAME_FILE, NUC_FRAME_LINE, NUC_FRAME_NAME, NUC_FRAME_CONTEXT };
enum { NUC_OPERATOR_NAME, NUC_OPERATOR_OVERLOAD };
/* Compile spec of our programs: offset of the delegate's scratch in memory 1, in decimal digits. */
#define NUC_SCRATCH_SPEC "nucleon_scratch"

enum { NUC_DELEGATE_ID, NUC_DELEGATE_PROCESSED, NUC_DELEGATE_COMPILE_SPECS };
enum { NUC_REFERENCE_LOCATION, NUC_REFERENCE_INDEX };
enum { NUC_SEGMENT_OFFSET, NUC_SEGMENT_SIZE };
enum { NUC_SUBSEGMENT_INDEX, NUC_SUBSEGMENT_OFFSETS };
enum { NUC_NAMED_KEY, NUC_NAMED_SEGMENT };
enum { NUC_ALLOCATION_MEMORY, NUC_ALLOCATION_LOW, NUC_ALLOCATION_HIGH };

/* Scalar types of tensors: X(number, enum nuc_dtype). */
#define NUC_SCALAR_TYPES(X)                                                                                            \
    X(0, NUC_U8)                                                                                                       \
    X(1, NUC_I8)                                                                                                       \
    X(2, NUC_I16)                                                                                                      \
    X(3, NUC_I32)                                                                                                      \
    X(4, NUC_I64)                                                                                                      \
    X(5, NUC_F16)                                                                                                      \
    X(6, NUC_F32)                                                                                                      \
    X(7, NUC_F64)                                                                                                      \
    X(11, NUC_BOOL)                                                                                                    \
    X(15, NUC_BF16)                                                                                                    \
    X(27, NUC_U16)

/* An EValue's tag is an enum nuc_value_kind of nucleon/kernels.h. */
enum { NUC_EVALUE_TYPE, NUC_EVALUE_VALUE };

enum {
    NUC_TENSOR_TYPE,
    NUC_TENSOR_STORAGE_OFFSET,
    NUC_TENSOR_SIZES,
    NUC_TENSOR_DIM_ORDER,
    NUC_TENSOR_REQUIRES_GRAD,
    NUC_TENSOR_DATA_BUFFER,
    NUC_TENSOR_ALLOCATION,
    NUC_TENSOR_LAYOUT,
    NUC_TENSOR_DYNAMISM,
    NUC_TENSOR_EXTRA
};

enum { NUC_EXTRA_SEGMENTS, NUC_EXTRA_NAME, NUC_EXTRA_LOCATION };

enum nuc_instruction_kind {
    NUC_INSTRUCTION_KERNEL = 1,
    NUC_INSTRUCTION_DELEGATE,
    NUC_INSTRUCTION_MOVE,
    NUC_INSTRUCTION_JUMP_FALSE,
    NUC_INSTRUCTION_FREE,
    NUC_INSTRUCTION_KINDS
};
enum { NUC_INSTRUCTION_TYPE, NUC_INSTRUCTION_ARGS };
enum { NUC_CALL_INDEX, NUC_CALL_ARGS };

/* Bundled programs, in the order of devtools/bundled_program/schema/bundled_program_schema.fbs. */
#define NUC_BUNDLE_IDENTIFIER "BP08"
enum { NUC_BUNDLE_ALIGNMENT = 32, NUC_BUNDLE_DATA_ALIGNMENT = 16 }; /* of the program, of a tensor's bytes */
enum { NUC_BUNDLE_VERSION, NUC_BUNDLE_SUITES, NUC_BUNDLE_PROGRAM };
enum { NUC_SUITE_METHOD, NUC_SUITE_CASES };
enum { NUC_CASE_INPUTS, NUC_CASE_OUTPUTS };
enum { NUC_BUNDLED_TYPE, NUC_BUNDLED_VALUE };
enum nuc_bundled_kind { NUC_BUNDLED_TENSOR = 1, NUC_BUNDLED_INT, NUC_BUNDLED_BOOL, NUC_BUNDLED_DOUBLE };
enum { NUC_BUNDLED_SCALAR_TYPE, NUC_BUNDLED_SIZES, NUC_BUNDLED_DATA, NUC_BUNDLED_DIM_ORDER };

#endif
