/* The arguments of a call by their names, and the check that comes before it. */
#ifndef NUC_DEVICE_RUNTIME_OPERATORS_ARGUMENTS_H
#define NUC_DEVICE_RUNTIME_OPERATORS_ARGUMENTS_H

#include "nucleon/kernels.h"

/*
 * struct nuc_args_NAME, for each list of arguments.def, is the array of values that a kernel gets:
 *
 *     const struct nuc_args_softmax *a = (const void *)args;
 */
#define A(name, accepts) struct nuc_value *name;
#define G(name, arguments) struct nuc_args_##name name;
#define GROUP(name, arguments) LIST(name, arguments)
#define LIST(name, arguments)                                                                                          \
    struct nuc_args_##name {                                                                                           \
        arguments                                                                                                      \
    };
#include "device/runtime/operators/arguments.def"

/*
 * Checks that the value is what an argument accepts (nuc_kernel_entry); `first` is the first argument of the call where
 * that is a tensor. Notes a message: NUC_BAD_INPUT for another kind of value, NUC_UNSUPPORTED for one of its kind that
 * the operator does not take.
 */
enum nuc_status nuc_check_arg(struct nuc_kernel_context *cx, uint32_t accepts, const struct nuc_value *value,
                              const struct nuc_tensor *first);

#endif
